"""A fit and rows that came after it: one table of both, and whether they have the same bias."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.drift.bias import BiasRows, Law, compare_bias, log_odds_of, with_squares
from proxycal.drift.compare import compare, known_rows
from proxycal.drift.wording import p_text, refusal
from proxycal.effect.row_truth import row_bias
from proxycal.errors import TableError, UnitsError
from proxycal.result import Update
from proxycal.table.decode import decoded
from proxycal.table.frames import to_pandas
from proxycal.table.kept import kept_table, like_kept, readable
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from proxycal.drift.bias import BiasChange
    from proxycal.drift.compare import Moved
    from proxycal.result import Fit
    from proxycal.table.encode import Arrays

# False alarms allowed where nothing changed: of the bias, to which that of the report (drift/compare.py,
# 0.4%) is added, so that one table in a hundred is flagged. Measured: see benchmarks/updates.md.
ALARM, BOTH_ALARMS = 0.005, 0.01


@dataclass(frozen=True, slots=True)
class Compared:
    """Rows that came later, beside a fit.

    table : all rows, to be fitted. rows : how many are new. known : how many of those given are rows of the
    fit, and are left out. bias : None where there is none to compare. report : given all other columns.
    """

    table: pd.DataFrame
    rows: int
    known: int
    bias: BiasChange | None
    report: Moved | None

    @property
    def changed(self) -> bool:
        """Whether the new rows do not behave as the fit expects."""
        by_report = self.report is not None and self.report.what == "refit"
        return by_report or (self.bias is not None and self.bias.p < ALARM)


def compare_new(fit: Fit, df: Any, old: Any = None) -> Compared:
    """New rows beside those of the fit; old : the table that was fitted, where the fit does not hold it."""
    new = to_pandas(df)
    encoder = fit.encoder
    if old is None:
        if fit.training.n < fit.n:
            raise TableError(
                f"the fit keeps {fit.training.n:,} of its {fit.n:,} rows: pass the table that was fitted, "
                "model.update(new, old=table)"
            )
        before = kept_table(encoder, fit.training, fit.labels)
        arrays, new = fit.training, like_kept(encoder, new)
    else:
        before = to_pandas(old)
        if len(before) != encoder.rows_seen:
            raise TableError(
                f"the fit has seen {encoder.rows_seen:,} rows and old has {len(before):,}: pass the table "
                "that was fitted, with the rows of earlier updates"
            )
        arrays = encoder.transform(before)
    at = np.flatnonzero(readable(encoder, new))
    bias, report, known = None, None, np.zeros(len(new), dtype=bool)
    if len(at):
        rows = encoder.transform(new.iloc[at])
        own, values = decoded(encoder, arrays), decoded(encoder, rows)
        same = known_rows(own, values, arrays.n)
        known[at[np.flatnonzero(rows.kept)[same]]] = True
        fresh = np.flatnonzero(~same)
        if len(fresh):
            rows = rows.take(fresh)
            drift = compare(own, decoded(encoder, rows), arrays.n)
            if drift.units:
                raise UnitsError(refusal(drift.units))
            bias, report = bias_change(fit, arrays, rows), drift.rows[-1]
    if known.all():
        raise TableError("all of these rows are rows of the fit already: there is nothing to learn from them")
    added = new[~known]
    return Compared(pd.concat([before, added]), len(added), int(known.sum()), bias, report)


def bias_change(fit: Fit, old: Arrays, new: Arrays) -> BiasChange | None:
    """New rows beside fitted ones; None where the fit has no bias of two states to compare."""
    details = fit.method_fit.details
    two_states = not (details.claim or details.by_validation or fit.roles.reports) and details.unit == "rows"
    # What is left of counts, and of yes and no, has no one law.
    if fit.verdict != "bias found" or not two_states or fit.settings.method in ("counts", "binary"):
        return None
    old, new = _asked(fit, old), _asked(fit, new)
    if min(old.n, new.n) == 0:
        return None
    p = row_bias(fit.method_fit, old).p
    slopes = log_odds_of(old.E, p, old.weights)
    before, after = _rows(fit, old, slopes), _rows(fit, new, slopes)
    return compare_bias(before, after, Law.of(before, p))


def logged(before: Fit, after: Fit, made: Compared, when: str | None) -> tuple[Update, ...]:
    """The log of the earlier fit, and a line for the new one."""
    name = datetime.now(UTC).date().isoformat() if when is None else when
    first = before.updates or (_line(before, "first fit", before.n),)
    return (*first, _line(after, name, made.rows, made))


def _line(fit: Fit, when: str, rows: int, made: Compared | None = None) -> Update:
    bias = None if made is None else made.bias
    return Update(
        when=when,
        rows=rows,
        n=fit.n,
        verdict=fit.verdict,
        alpha=fit.estimate.alpha,
        low=fit.estimate.low,
        high=fit.estimate.high,
        share_biased=fit.share_biased,
        changed=made is not None and made.changed,
        p_bias=math.nan if bias is None else bias.p,
        size=math.nan if bias is None else bias.size,
        odds=math.nan if bias is None else bias.odds,
        p_report=math.nan if made is None or made.report is None else made.report.p,
    )


def log_frame(fit: Fit) -> pd.DataFrame:
    """A row per fit, the first one first."""
    lines = fit.updates or (_line(fit, "first fit", fit.n),)
    return pd.DataFrame(
        {field.name: [getattr(line, field.name) for line in lines] for field in fields(Update)}
    )


def change_text(made: Compared) -> str:
    """What a reader should know of new rows that do not behave as the fit expects."""
    parts = []
    if made.bias is not None and made.bias.p < ALARM:
        size, se = made.bias.size, made.bias.size_se
        parts.append(
            f"a bias is {size:.2f} times as large as before (se {se:.2f}) and its odds are "
            f"{made.bias.odds:.2g} times what they were (likelihood ratio {made.bias.ratio:.1f} with 2 "
            f"degrees of freedom, {p_text(made.bias.p)})"
        )
    if made.report is not None and made.report.what == "refit":
        parts.append(f"{made.report.detail} ({p_text(made.report.p)})")
    return (
        f"the {counted(made.rows, 'new row')} do not behave as the fit expects: {'; '.join(parts)}. One "
        f"table in {round(1 / BOTH_ALARMS)} is flagged where nothing changed. The refit is an average over "
        "both: fit the new rows on their own, or give the period a column of the environment, with "
        "effect='by:COLUMN'"
    )


def _asked(fit: Fit, arrays: Arrays) -> Arrays:
    """Rows that may have a bias to be seen: a report of zero on the log scale has none, nor a trusted one."""
    assert arrays.y is not None  # a comparison asks for it
    asked = arrays.y > 0.0 if fit.settings.scale == "log" else np.ones(arrays.n, dtype=bool)
    if arrays.trusted is not None:
        asked &= ~arrays.trusted
    return arrays if asked.all() else arrays.take(np.flatnonzero(asked))


def _rows(fit: Fit, arrays: Arrays, slopes: np.ndarray) -> BiasRows:
    assert arrays.y is not None  # a comparison asks for it
    bias, mu = row_bias(fit.method_fit, arrays), fit.method_fit.predict(arrays).mu
    # mu is a mean; the middle of logarithms lies lower by the same for all rows, which m takes up.
    off = np.log(arrays.y) - np.log(mu) if bias.factor else arrays.y - mu
    return BiasRows(off, bias.size, with_squares(arrays.E) @ slopes, arrays.weights, arrays.cluster)
