"""Results in words and small tables: the result in one sentence, shares by environment, the command."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from proxycal.report.helps import would_be_found
from proxycal.report.shell import listed, role_options, shell

if TYPE_CHECKING:
    from proxycal.questions.answers import Refutation
    from proxycal.result import EnvironmentColumn, Estimate, Fit, GateTerm

# More levels than this are hard to read in one column of a page: the rarest are shown together.
MAX_LEVELS = 8
QUANTILE_BINS = 4


def number(value: float, digits: int = 4) -> str:
    """Four significant digits or as many as asked, thousands set apart, "n/a" for what does not exist.

    >>> number(1234567.0), number(0.012345), number(float("nan"))
    ('1,234,567', '0.01235', 'n/a')
    """
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if abs(value) >= 1000:
        return f"{value:,.{max(0, digits - len(str(int(abs(value)))))}f}"
    return f"{value:.{digits}g}"


def percent(value: float) -> str:
    """A share as whole per cent, with a digit more near the ends so that 0% and 100% mean just that.

    >>> percent(0.481), percent(0.004)
    ('48%', '0.4%')
    """
    if not math.isfinite(value):
        return "n/a"
    return f"{value:.1%}" if 0 < value < 0.01 or 0.99 < value < 1 else f"{value:.0%}"


def between(low: float, high: float) -> str:
    """Both ends of an interval, or "n/a" where there is none; a narrow one gets the digits that show it.

    >>> between(4.9, 5.1), between(0.99985, 1.00014), between(float("nan"), float("nan"))
    ('4.9 to 5.1', '0.99985 to 1.0001', 'n/a')
    """
    if math.isnan(low) or math.isnan(high):
        return "n/a"
    width, size = high - low, max(abs(low), abs(high))
    digits = 4
    if math.isfinite(width) and 0.0 < width < size:
        digits = min(max(4, math.ceil(math.log10(size / width)) + 1), 9)
    return f"{number(low, digits)} to {number(high, digits)}"


def interval_text(low: float, high: float, level: float) -> str:
    """An interval in words.

    >>> interval_text(4.9, 5.1, 0.95)
    '95% interval 4.9 to 5.1'
    """
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    return f"{level * 100:g}% interval {between(low, high)}"


def sentence(fit: Fit) -> str:
    """The result in one sentence, as strong as the verdict allows and no stronger."""
    y, way, main = fit.roles.outcome, f"{fit.settings.direction}-reported", fit.estimate
    size = f"{number(main.alpha)} ({interval_text(main.low, main.high, fit.settings.level)})"
    log = fit.settings.scale == "log"
    if log:
        size = f"{ratio_text(fit, main)} ({ratio_interval_text(fit, main)})"
    if fit.verdict == "bias found":
        details = fit.method_fit.details
        rows = "rows above zero" if log else details.unit
        where = details.claim or f"in {percent(fit.share_biased)} of the {rows}"
        where += f"; {details.law}" if details.law else ""
        if log:
            return f"{y} is {way}: biased rows report about {size}, {where}."
        return f"{y} is {way} by about {size} {where}."
    # Validated rows judge the calibrated values themselves, whatever they say of a bias.
    then = (
        "calibrated as validated rows suggest" if fit.method_fit.details.by_validation else "left as reported"
    )
    if fit.verdict == "no bias found":
        return f"No evidence that {y} is {way} was found; {y} is {then}. {would_be_found(fit)}"
    return f"These data cannot tell whether {y} is {way}; {y} is {then}."


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
    size = (("Estimated size", number(main.alpha)), (level, between(main.low, main.high)))
    if fit.settings.scale == "log":
        size = (("Biased rows report", ratio_text(fit, main)), (level, ratio_between(fit, main)))
    counts = (("Share of biased rows", percent(fit.share_biased)), ("Rows in the fit", f"{fit.n:,}"))
    if fit.verdict == "not identified":
        return (*((f"{name} (do not quote)", value) for name, value in (*size, counts[0])), counts[1])
    return size + counts


def change(value: float) -> str:
    """A change in per cent, with its sign.

    >>> change(12.345), change(float("nan"))
    ('+12.3%', 'n/a')
    """
    return f"{value:+.1f}%" if math.isfinite(value) else "n/a"


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
            groups.append((f"{number(float(low))} to {number(float(high))}", inside))
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


def options(fit: Fit) -> dict[str, str]:
    """What the run was asked beside its roles, as option -> value."""
    asked = {
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


def notebook(fit: Fit) -> str:
    """The result as a notebook shows it: verdict, estimators, and the findings that ask for something."""
    log = fit.settings.scale == "log"
    rows = "".join(
        f"<tr><th>{html.escape(row.name)}</th><td>{number(row.alpha)}</td><td>{number(row.se)}</td>"
        f"<td>{between(row.low, row.high)}</td>"
        + (f"<td>{ratio_text(fit, row)} ({ratio_between(fit, row)})</td>" if log else "")
        + f"<td>{html.escape(row.note)}</td></tr>"
        for row in fit.estimates
    )
    failed = "".join(
        f"<li>{html.escape(f'{finding.question} {finding.reading} {finding.remedy}')}</li>"
        for finding in fit.findings
        if not finding.ok
    )
    heads = "".join(
        f"<th>{head}</th>"
        for head in (
            "estimator",
            "alpha",
            "se",
            f"{fit.settings.level * 100:g}% interval",
            *(["biased rows report"] if log else []),
            "note",
        )
    )
    return (
        f"<div><p><b>{html.escape(fit.verdict)}</b> ({fit.n:,} rows): {html.escape(sentence(fit))}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{failed}</ul>" if failed else "")
        + "</div>"
    )


def cite(fit: Fit) -> str:
    """The result in a form to quote."""
    version, asked = fit.versions.get("proxycal", ""), fit.settings
    return (
        f"{sentence(fit)} (proxycal {version}, method {asked.method}, direction {asked.direction}, "
        f"{fit.n:,} rows, seed {asked.random_state}.)"
    )


def reproduce(fit: Fit) -> str:
    """The command that reproduces this run from the same table."""
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
    given = (option for option in options.items() if option[1])
    return shell("proxycal", "fit", "TABLE", *(part for option in given for part in option))
