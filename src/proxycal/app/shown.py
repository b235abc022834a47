"""Totals of a finished run by any column, and under an assumption, as the page shows them."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from pandas.api import types

from proxycal.analysis.band import band_of
from proxycal.errors import ProxycalWarning
from proxycal.report.numbers import amount, band_text, total_text
from proxycal.report.pictures import picture_of
from proxycal.report.plots.totals import PLOT
from proxycal.report.summary import change_text
from proxycal.scale.totals import totals_of
from proxycal.store import load_fit
from proxycal.table.columns import read_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from proxycal.report.pictures import Picture
    from proxycal.result import Fit

# More groups than this are read in a file, not on a page.
MOST = 200
# Names of columns by which people add up, most likely first.
_LIKELY = ("state", "province", "land", "estado", "region", "district", "county", "year")
_DRAWING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Shown:
    """Totals as the page shows them.

    by, statistic : as asked. level : of the intervals, in per cent. rows : group, rows, reported, calibrated,
    interval, change, as text; all rows last. picture : None where no bias was found. notes : what to know.
    """

    by: str
    statistic: str
    level: str
    rows: tuple[tuple[str, ...], ...]
    picture: Picture | None
    notes: tuple[str, ...]


@cache
def fit_in(folder: Path) -> Fit:
    """The fit of a finished job; a folder is written once."""
    return load_fit(folder)


def groupable(frame: pd.DataFrame) -> list[str]:
    """Columns that totals can be by: a few groups, every row in one.

    >>> import pandas as pd
    >>> groupable(pd.DataFrame({"state": ["a", "b"] * 9, "x": np.arange(18) / 7, "id": range(18)}))
    ['state']
    """
    found = []
    for name in frame.columns:
        values = frame[name]
        if types.is_float_dtype(values.dtype) and not (values == values.round()).all():
            continue
        count = values.nunique()
        if 2 <= count <= min(MOST, len(frame) // 2) and not values.isna().any():
            found.append(str(name))
    return found


def first_choice(names: Sequence[str]) -> str:
    """The column that totals are shown by at first, "" for all rows.

    >>> first_choice(["kind", "State"]), first_choice(["kind"])
    ('State', '')
    """
    for word in _LIKELY:
        for name in names:
            if word in name.casefold():
                return name
    return ""


def totals_shown(fit: Fit, frame: pd.DataFrame, by: str) -> Shown:
    """The totals of a table by a column, "" for all rows; means where some reports are below zero."""
    statistic = fit.totals[0].statistic if fit.totals else "total"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        totals = totals_of(fit, frame, by or None, statistic)  # type: ignore[arg-type]
    told = [str(item.message) for item in caught if issubclass(item.category, ProxycalWarning)]
    records = totals.records()
    rows = []
    for row in records:
        words = total_text(row)
        name = "all rows" if row is records[-1] else row["group"]
        numbers = (words.reported, words.calibrated, words.interval, change_text(totals, row))
        rows.append((name, f"{row['rows']:,}", *numbers))
    picture = None
    if fit.verdict == "bias found" or fit.method_fit.details.by_validation:
        with _DRAWING:  # matplotlib draws one figure at a time
            picture = picture_of(PLOT, replace(fit, totals=(totals,)))
    notes = tuple(text for text in dict.fromkeys(told) if text != fit.why_left_alone)
    return Shown(by, statistic, f"{fit.settings.level * 100:g}", tuple(rows), picture, notes)


def may_assume(fit: Fit, frame: pd.DataFrame) -> bool:
    """Whether totals under an assumption mean anything: of numbers of which none is below zero."""
    column = read_column(frame[fit.roles.outcome], fit.roles.outcome)
    return column.numbers is not None and bool((column.numbers[np.isfinite(column.numbers)] >= 0.0).all())


def band_shown(
    fit: Fit, frame: pd.DataFrame, share: tuple[float, float], reports: tuple[float, float], by: str
) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """The assumption, and rows of text: group, rows, reported, the truth then, whichever rows they are."""
    made = band_of(fit, frame, share, reports, None, by or None)
    rows = []
    records = made.to_dict("records")
    for record in records:
        row = {str(name): value for name, value in record.items()}
        group = "all rows" if record is records[-1] else str(row[by])
        rows.append((group, f"{row['rows']:,}", amount(row["reported"]), *band_text(row)))
    return str(made["assumption"].iloc[0]), tuple(rows)
