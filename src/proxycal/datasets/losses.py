"""What the two loss databases share: hazards, years, and one row per county, hazard and year."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.account import Entry, left_out, summed
from proxycal.datasets.county_shapes import county_list
from proxycal.errors import StoreError, TableError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# The hazards of the study, as SHELDUS calls them.
HAZARDS = ("Flooding", "Hurricane/Tropical Storm", "Tornado", "Wildfire")
KEYS = ("fips", "hazard", "year")
# Sums over the rows of a county, hazard and year; `loss` is in dollars of the base year.
MEASURES = ("loss", "records", "injuries", "fatalities", "duration_days")
BASE_YEAR = 2023


def find_files(path: str | Path | Sequence[str | Path], pattern: str, what: str) -> list[Path]:
    """The named files; of a folder all that match the pattern, in order."""
    given = [Path(path)] if isinstance(path, (str, Path)) else [Path(one) for one in path]
    found: list[Path] = []
    for one in given:
        inside = sorted(one.glob(pattern)) if one.is_dir() else [one]
        if not inside:
            raise StoreError(f"'{one}' holds no {what} ({pattern}): name the file itself")
        found += inside
    if not found:
        raise StoreError(f"no {what} named: give a file, a folder or a list of files")
    return found


def numbers(column: pd.Series, path: Path) -> np.ndarray:
    """Floats (n,); blank is NaN, text that is no number an error that says where."""
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    blank = column.isna() | (column.astype("string").str.strip() == "").fillna(True)
    wrong = column[np.isnan(values) & ~blank.to_numpy(dtype=bool)]
    if len(wrong):
        raise TableError(
            f"column '{column.name}' of '{path}' holds {len(wrong)} values that are no numbers, first "
            f"{wrong.iloc[0]!r} in row {wrong.index[0] + 2}: export it again or correct them"
        )
    return values


def whole_years(column: pd.Series, path: Path) -> np.ndarray:
    """Years as whole numbers (n,); anything else is an error that says where."""
    years = numbers(column, path)
    wrong = np.isnan(years) | (years != np.round(years))
    if wrong.any():
        raise TableError(
            f"column '{column.name}' of '{path}' holds {int(wrong.sum())} values that are no year, first in "
            f"row {int(np.flatnonzero(wrong)[0]) + 2}: remove totals and footnotes below the table"
        )
    return years.astype(int)


def chosen_years(table: pd.DataFrame, years: Collection[int] | None, source: str) -> list[Entry]:
    """The entry for rows outside the years of the study; they stay in `table` for the caller to drop."""
    if years is None:
        return []
    outside = ~table["year"].isin(list(years))
    return left_out(source, table.loc[outside, "year"], "left out: outside the years of the study")


def by_county(table: pd.DataFrame, source: str) -> tuple[pd.DataFrame, list[Entry]]:
    """One row per county, hazard and year, summed, with the county's name; and the entry about it."""
    measures = [name for name in MEASURES if name in table.columns]
    # min_count: a county whose every value is blank stays blank instead of becoming a loss of zero.
    sums = table.groupby(list(KEYS), sort=True)[measures].sum(min_count=1).reset_index()
    names = county_list().loc[sums["fips"], ["county", "state"]]
    for position, name in enumerate(("county", "state")):
        sums.insert(position + 1, name, names[name].to_numpy())
    what = "summed into another row of the same county, hazard and year"
    return sums, summed(source, len(table), len(sums), what)
