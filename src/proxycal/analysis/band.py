"""Totals under an assumption about a table: what is read, what is refused, and the frame that comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.effect.band import Assumed, band
from proxycal.effect.totals import refuse_groups
from proxycal.errors import SettingsError, TableError
from proxycal.scale.totals import weights_column
from proxycal.table.columns import read_column
from proxycal.table.frames import from_columns, to_pandas
from proxycal.table.groups import read_counts, read_groups, read_outcome, read_weights
from proxycal.table.wording import counted, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from proxycal.result import Fit

OVERALL = "overall"
_EXAMPLE = "such as share=(0.1, 0.4), reports=(0.6, 0.9)"


def band_of(
    fit: Fit,
    df: Any,
    share: Sequence[float],
    reports: Sequence[float] | None = None,
    amount: Sequence[float] | None = None,
    by: str | None = None,
) -> Any:
    """Totals of a frame under an assumption, as a frame of its kind."""
    way = fit.settings.direction
    assumed = assumed_of(share, reports, amount, str(way))
    frame = to_pandas(df)
    y = read_outcome(frame, fit.roles)
    _require(y, assumed, fit.roles.outcome)
    codes, labels = read_groups(frame, by)
    refuse_groups(len(labels), by or "")
    order = sorted(range(len(labels)), key=lambda at: str(labels[at]))
    place = np.empty(len(labels), dtype=np.intp)
    place[order] = np.arange(len(labels))
    w = read_weights(frame, weights_column(fit, None)) * read_counts(frame, fit.roles.counts)
    has = np.isfinite(y)
    made = band(
        y[has], w[has], place[codes][has], len(labels), assumed, fit.settings.sign, _known(fit, frame, y)[has]
    )
    names = [str(labels[at]) for at in order]
    columns: dict[str, Any] = {} if by is None else {by: np.array([*names, OVERALL], dtype=object)}
    for name in ("rows", "reported", "low", "high", "lowest", "highest"):
        values = getattr(made, name)
        columns[name] = values if by is not None else values[-1:]
    columns["rows"] = columns["rows"].astype(np.int64)
    # In a column, so that no file has the numbers without it.
    columns["assumption"] = np.full(len(columns["rows"]), assumed.words(str(way)), dtype=object)
    return from_columns(columns, df)


def assumed_of(
    share: Sequence[float], reports: Sequence[float] | None, amount: Sequence[float] | None, way: str
) -> Assumed:
    """The assumption, or one message that says what is wrong with it.

    >>> assumed_of((0.1, 0.4), (0.6, 0.9), None, "under").reports
    (0.6, 0.9)
    """
    if (reports is None) == (amount is None):
        raise SettingsError(
            f"say which part of the truth biased rows report, or by what amount they are off, {_EXAMPLE}"
        )
    part = _ends(share, "share", 0.0, 1.0)
    if amount is not None:
        return Assumed(part, amount=_ends(amount, "amount", 0.0, np.inf))
    assert reports is not None
    low, high = (1.0, np.inf) if way == "over" else (0.0, 1.0)
    ends = _ends(reports, "reports", low, high)
    if ends[0] <= 0.0:
        raise SettingsError(
            f"reports={ends}: a row that reports nothing of its truth says nothing about it; begin above 0"
        )
    return Assumed(part, reports=ends)


def _ends(given: Sequence[float], name: str, low: float, high: float) -> tuple[float, float]:
    try:
        first, last = (float(end) for end in given)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{name}={given!r} must be two numbers, {_EXAMPLE}") from error
    if not low <= first <= last <= high:
        between = f"between {low:g} and {high:g}" if np.isfinite(high) else f"{low:g} or more"
        raise SettingsError(
            f"{name}={(first, last)} must be two numbers, the smaller first, {between}: {_EXAMPLE}"
        )
    return first, last


def _require(y: np.ndarray, assumed: Assumed, name: str) -> None:
    below = y < 0.0
    if assumed.reports is not None and below.any():
        raise TableError(
            f"column {shown(name)} (outcome) holds {counted(int(below.sum()), 'negative value')}: a part of "
            "the truth is for values of 0 or more; say by what amount reports are off"
        )


def _known(fit: Fit, frame: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """(N,) the truth where it was validated, the report where it is trusted, else NaN."""
    known = np.full(len(frame), np.nan)
    roles = fit.roles
    if roles.trusted is not None and roles.trusted in frame:
        trusted = read_column(frame[roles.trusted], roles.trusted).numbers
        known = known if trusted is None else np.where(trusted == 1.0, y, known)
    if roles.truth is not None and roles.truth in frame:
        truth = read_column(frame[roles.truth], roles.truth).numbers
        known = known if truth is None else np.where(np.isfinite(truth), truth, known)
    return known
