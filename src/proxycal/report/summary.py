"""Results in words and small tables: the result in one sentence, shares by environment, the command."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from proxycal.report.helps import detectable_text, would_be_found
from proxycal.report.numbers import change, number, percent, size_text, sized
from proxycal.report.rows import sizes_vary
from proxycal.report.shell import listed, role_options, shell
from proxycal.table.formula import formula_of

if TYPE_CHECKING:
    from proxycal.effect.grouped import Totals
    from proxycal.questions.answers import Refutation
    from proxycal.result import EnvironmentColumn, Estimate, Fit, GateTerm

# More levels than this are hard to read in one column of a page: the rarest are shown together.
MAX_LEVELS = 8
QUANTILE_BINS = 4


def sentence(fit: Fit) -> str:
    """The result in one sentence, and in a second one what would have been found where nothing was."""
    return " ".join(filter(None, (headline(fit), unseen(fit))))


def unseen(fit: Fit) -> str:
    """What size of bias would have been found; nothing unless none was."""
    return would_be_found(fit) if fit.verdict == "no bias found" else ""


def headline(fit: Fit) -> str:
    """The result in one sentence, as strong as the verdict allows and no stronger."""
    y, way, main = subject(fit), f"{fit.settings.direction}-reported", fit.estimate
    shown = size_text(main)
    level = f"{fit.settings.level * 100:g}% interval"
    size = f"{shown.size} ({'no interval' if shown.interval == 'n/a' else f'{level} {shown.interval}'})"
    log = fit.settings.factor
    if log:
        size = f"{ratio_text(fit, main)} ({ratio_interval_text(fit, main)})"
    if fit.verdict == "bias found":
        details = fit.method_fit.details
        share = percent(fit.share_biased)
        law = f"; {details.law}" if details.law and sizes_vary(fit) else ""
        if not log:
            where = details.claim or f"in {share} of the {details.unit}"
            return f"{y} is {way} by about {size} {where}{law}."
        if details.claim:
            return f"{y} is {way}: biased rows report about {size}, {details.claim}{law}."
        return f"{y} is {way}: {share} of the rows above zero are biased and report about {size}{law}."
    # Validated rows judge the calibrated values themselves, whatever they say of a bias.
    then = (
        "calibrated as validated rows suggest" if fit.method_fit.details.by_validation else "left as reported"
    )
    left = fit.roles.outcome
    if fit.verdict == "no bias found":
        return f"No evidence that {y} is {way} was found; {left} is {then}."
    return f"These data cannot tell whether {y} is {way}; {left} is {then}."


def subject(fit: Fit) -> str:
    """What a bias is looked for in: the outcome, or any of several reports."""
    names = fit.roles.report_names
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def ratio_text(fit: Fit, row: Estimate) -> str:
    """What biased rows report of the truth, where the bias is a factor: "40% of the truth"."""
    ratio = row.ratio(fit.settings.sign)[0]
    return f"{_ratio(ratio)} of the truth" if math.isfinite(ratio) else "n/a"


def ratio_between(fit: Fit, row: Estimate) -> str:
    """Both ends of the interval of that ratio, or "n/a"."""
    _, low, high = row.ratio(fit.settings.sign)
    return "n/a" if math.isnan(low) or math.isnan(high) else f"{_ratio(low)} to {_ratio(high)}"


def ratio_interval_text(fit: Fit, row: Estimate) -> str:
    """The interval of that ratio in words."""
    between_ends = ratio_between(fit, row)
    return (
        "no interval" if between_ends == "n/a" else f"{fit.settings.level * 100:g}% interval {between_ends}"
    )


def _ratio(value: float) -> str:
    """A ratio in per cent; thousands of per cent as a factor."""
    return f"{value:.3g} times" if value >= 10.0 else percent(value) if value < 0.99 else f"{value:.1%}"


def facts(fit: Fit) -> tuple[tuple[str, str], ...]:
    """The numbers of the answer, each with its name."""
    main, level = fit.estimate, f"{fit.settings.level * 100:g}% interval"
    shown = size_text(main)
    size = (("Estimated size", shown.size), (level, shown.interval))
    if fit.settings.factor:
        size = (("Biased rows report", ratio_text(fit, main)), (level, ratio_between(fit, main)))
    counts = (("Share of biased rows", percent(fit.share_biased)), ("Rows in the fit", f"{fit.n:,}"))
    if fit.verdict == "not identified":
        return (*((f"{name} (do not quote)", value) for name, value in (*size, counts[0])), counts[1])
    if fit.verdict == "no bias found":
        # Sizes of models with a bias, which explain the table no better than those without, are no answer.
        limit = detectable_text(fit)
        return (("Bias", "none found"), *([("Would have been found", limit)] if limit else []), counts[1])
    return size + counts


def change_text(totals: Totals, row: dict[str, Any]) -> str:
    """What calibration changes of one total, in per cent; of a mean, in its own units.

    A mean of values on both sides of zero may lie near zero, and per cent of it say nothing.
    """
    if totals.statistic == "total":
        return change(row["change_pct"])
    by = row["calibrated"] - row["reported"]
    return f"{'+' if by > 0 else ''}{sized(by)}"


@dataclass(frozen=True, slots=True)
class ShareRow:
    """Share of biased rows in one group of one environment column, with a pointwise interval."""

    column: str
    group: str
    n: int
    share: float
    low: float
    high: float


def shares(fit: Fit) -> tuple[ShareRow, ...]:
    """Share biased by the levels of each categorical column and the quartiles of each numeric one.

    The interval is that of a weighted mean of p_biased over rows; it is pointwise and takes the fit as given.
    """
    rows: list[ShareRow] = []
    for column in fit.rows.environment:
        for group, inside in _groups(column):
            p, weights = fit.rows.predicted.p_biased[inside], fit.rows.weights[inside]
            rows.append(_share(column.name, group, p, weights, fit.settings.level))
    return tuple(rows)


def spread(rows: tuple[ShareRow, ...]) -> dict[str, float]:
    """For each column, how far the share of biased rows moves between its groups."""
    by_column: dict[str, list[float]] = {}
    for row in rows:
        by_column.setdefault(row.column, []).append(row.share)
    return {name: max(values) - min(values) for name, values in by_column.items()}


def _share(column: str, group: str, p: np.ndarray, weights: np.ndarray, level: float) -> ShareRow:
    total = weights.sum()
    mean = float(weights @ p / total)
    se = float(np.sqrt(np.sum(weights**2 * (p - mean) ** 2)) / total)
    reach = float(ndtri(0.5 + level / 2)) * se
    return ShareRow(column, group, len(p), mean, max(0.0, mean - reach), min(1.0, mean + reach))


def _groups(column: EnvironmentColumn) -> list[tuple[str, np.ndarray]]:
    if column.levels is not None:
        return _level_groups(column.values, column.levels)
    values = column.values[np.isfinite(column.values)]
    distinct = np.unique(values)
    if len(distinct) <= QUANTILE_BINS + 1:
        return [(number(float(v)), column.values == v) for v in distinct]
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, QUANTILE_BINS + 1)))
    groups = []
    for i, (low, high) in enumerate(pairwise(cuts)):
        # The first bin is closed on both sides, the others on the right: every value falls in exactly one.
        inside = (column.values <= high) & (column.values >= low if i == 0 else column.values > low)
        if inside.any():
            groups.append((f"{number(float(low), 3)} to {number(float(high), 3)}", inside))
    return groups


def _level_groups(codes: np.ndarray, levels: tuple[str, ...]) -> list[tuple[str, np.ndarray]]:
    counts = [int(np.sum(codes == code)) for code in range(len(levels))]
    present = [code for code in range(len(levels)) if counts[code]]
    if len(present) <= MAX_LEVELS:
        return [(levels[code], codes == code) for code in present]
    kept = sorted(sorted(present, key=lambda code: -counts[code])[: MAX_LEVELS - 1])
    rest = np.isin(codes, [code for code in present if code not in kept])
    groups = [(levels[code], codes == code) for code in kept]
    return [*groups, (f"{len(present) - len(kept)} other levels", rest)]


def gate_label(row: GateTerm) -> str:
    """What changes: one standard deviation of a number, or one level in place of another.

    >>> from proxycal.result import GateTerm
    >>> gate_label(GateTerm("hazard", "flood", "drought", 2.0, 1.5, 2.5))
    'hazard: flood, not drought'
    """
    if row.level is None:
        return f"{row.column}, 1 sd more"
    return f"{row.column}: {row.level}" + (f", not {row.reference}" if row.reference else "")


def sources(fit: Fit) -> dict[str, str]:
    """The columns of the further roles that were set, by role."""
    columns = {field.name: getattr(fit.roles, field.name) for field in fields(fit.roles)}
    return {role: name for role, name in columns.items() if isinstance(name, str) and role != "outcome"}


def formula(fit: Fit) -> str:
    """The fit as one line: outcome ~ proxies | environment."""
    return formula_of(fit.roles, fit.settings.scale, fit.settings.log_proxies)


def options(fit: Fit) -> dict[str, str]:
    """What the run was asked, as option -> value."""
    asked = {
        "formula": formula(fit),
        "scale": fit.settings.scale,
        "log_proxies": ", ".join(fit.settings.log_proxies) or "none",
        "effect": fit.settings.effect,
        "missing": fit.settings.missing,
    }
    own = fit.settings.sections.get(fit.settings.method)
    named = {} if own is None else asdict(own)
    return asked | {f"{fit.settings.method}.{name}": str(value) for name, value in named.items()}


def refutations(fit: Fit) -> list[Refutation]:
    """The attempts to break the fit so far."""
    return [answer for name, answer in fit.questions.items() if name != "power"]  # type: ignore[misc]


def cite(fit: Fit) -> str:
    """The result in a form to quote."""
    version, asked = fit.versions.get("proxycal", ""), fit.settings
    return (
        f"{sentence(fit)} (proxycal {version}, method {asked.method}, direction {asked.direction}, "
        f"{fit.n:,} rows, seed {asked.random_state}.)"
    )


def reproduce(fit: Fit) -> str:
    """The command that reproduces this run from the same table, an option to a line."""
    asked = fit.settings
    options = role_options(fit.roles) | {
        "--direction": asked.direction,
        "--method": asked.method,
        "--scale": asked.scale,
        "--log-proxies": listed(asked.log_proxies),
        "--level": f"{asked.level:g}",
        "--effect": asked.effect,
        "--missing": asked.missing,
        "--seed": str(asked.random_state),
        "--out": "RUN",
    }
    given = (shell(*option) for option in options.items() if option[1])
    return " \\\n  ".join((shell("proxycal", "fit", "TABLE"), *given))
