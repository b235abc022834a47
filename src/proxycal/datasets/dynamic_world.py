"""Dynamic World: land-cover change in a county between two dates, as proxies for damage.

The input is a long table, a row per county, event window and pair of classes: fips, hazard, year, from_class,
to_class, area (any unit, the same everywhere), and `window` where a county was struck more than once in a
year. Classes are the nine of Dynamic World, by name or by number. Unchanged area (from_class = to_class)
must be in it, since a proxy is the FRACTION of a class that changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.account import Entry, Source, left_out, read_rows, summed
from proxycal.datasets.fips import repair
from proxycal.datasets.losses import HAZARDS, KEYS, chosen_years, numbers, whole_years
from proxycal.errors import SettingsError, TableError
from proxycal.reading.table import read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SOURCE = "Dynamic World"
# In the order of their numbers in the product, 0 to 8.
CLASSES = (
    "water", "trees", "grass", "flooded_vegetation", "crops", "shrub_and_scrub", "built", "bare",
    "snow_and_ice",
)  # fmt: skip
VEGETATION = ("trees", "grass", "crops", "shrub_and_scrub")
DAMAGE = ("water", "flooded_vegetation", "bare")
PROXIES = (
    "bare_to_water", "built_to_damage", "built_to_water", "vegetation_to_damage", "vegetation_to_water",
)  # fmt: skip
# The paper's factor: fractions are tiny, and log(1 + 1e6 f) is a log over all but the smallest of them.
FACTOR = 1e6
_NEEDED = ("fips", "hazard", "year", "from_class", "to_class", "area")


def read_transitions(
    path: str | Path,
    damage: Sequence[str] = DAMAGE,
    hazards: Sequence[str] = HAZARDS,
    years: Collection[int] | None = None,
) -> Source:
    """The five proxies by county, hazard and year, with the account of every county-year lost.

    damage : the classes that count as damage where a built or vegetated pixel turns into them.
    """
    unknown = [name for name in damage if name not in CLASSES]
    if unknown or not damage:
        raise SettingsError(f"damage={tuple(damage)}: name some of {', '.join(CLASSES)}")
    table, account = _read(path, hazards, years)
    fractions = _fractions(table, damage)
    account += summed(SOURCE, len(table), len(fractions), "summed into the proxies of a county-year")
    gaps = fractions.isna().any(axis=1)
    lost = [f"{fips} {year}" for fips, _, year in fractions.index[gaps]]
    what = "left out: county-years without built or vegetated land, which have no fraction"
    account += left_out(SOURCE, lost, what)
    return Source(standardised(fractions[~gaps]).reset_index(), tuple(account))


def standardised(fractions: pd.DataFrame) -> pd.DataFrame:
    """log(1 + 1e6 f), every column with mean 0 and sd 1; a column that never varies stays 0.

    >>> standardised(pd.DataFrame({"f": [0.0, 1e-6 * (np.e - 1)]}))["f"].tolist()
    [-1.0, 1.0]
    """
    logs = np.log1p(FACTOR * fractions)
    sd = logs.std(ddof=0)
    return (logs - logs.mean()) / sd.where(sd > 0, 1.0)


def _read(
    path: str | Path, hazards: Sequence[str], years: Collection[int] | None
) -> tuple[pd.DataFrame, list[Entry]]:
    """The rows of the study with class numbers in `start` and `end`, and the account so far."""
    raw = read_table(path, text=("fips", "from_class", "to_class"))
    missing = [name for name in _NEEDED if name not in raw.columns]
    if missing:
        raise TableError(
            f"'{path}' has no column {', '.join(missing)}: a transition table has {', '.join(_NEEDED)}"
        )
    table = raw.assign(start=_codes(raw["from_class"], path), end=_codes(raw["to_class"], path))
    table["hazard"] = raw["hazard"].astype("string").str.strip()
    table["year"] = whole_years(raw["year"], Path(path))
    table["area"] = numbers(raw["area"], Path(path))
    wrong = ~(table["area"] >= 0)
    if wrong.any():
        raise TableError(
            f"'{path}' holds {int(wrong.sum())} areas that are blank or negative, first in row "
            f"{int(np.flatnonzero(wrong)[0]) + 2}: correct them or leave those rows out"
        )
    if not (table["start"] == table["end"]).any():
        raise TableError(
            f"'{path}' holds no unchanged area (from_class = to_class), so no fraction can be taken: "
            "export all pairs of classes"
        )
    account = [read_rows(SOURCE, len(table), f"read from '{Path(path).name}'")]
    other = ~table["hazard"].isin(list(hazards))
    account += left_out(SOURCE, table.loc[other, "hazard"], "left out: another hazard")
    table = table[~other]
    account += chosen_years(table, years, SOURCE)
    table = table if years is None else table[table["year"].isin(list(years))]
    fixed, known, entries = repair(table["fips"], SOURCE)
    return table.assign(fips=fixed)[known], account + entries


def _codes(column: pd.Series, path: str | Path) -> np.ndarray:
    """Class numbers 0 to 8 from names or numbers."""
    text = column.str.strip().str.lower().str.replace(r"[\s&]+", "_", regex=True)
    by_name = {name: code for code, name in enumerate(CLASSES)}
    by_number = {str(code): code for code in range(len(CLASSES))}
    codes = text.map(by_name | by_number)
    wrong = codes.isna()
    if wrong.any():
        raise TableError(
            f"column '{column.name}' of '{path}' holds {int(wrong.sum())} values that are no Dynamic World "
            f"class, first {column[wrong].iloc[0]!r}: use {', '.join(CLASSES)}, or 0 to 8"
        )
    return codes.to_numpy(dtype=int)


def _fractions(table: pd.DataFrame, damage: Sequence[str]) -> pd.DataFrame:
    """The five fractions by county, hazard and year, NaN where a class has no area to begin with."""
    pair = table["start"] * len(CLASSES) + table["end"]
    keys = [table[key] for key in KEYS]
    areas = table["area"].groupby([*keys, pair]).sum().unstack()
    areas = areas.reindex(columns=range(len(CLASSES) ** 2)).fillna(0.0)
    cube = areas.to_numpy().reshape(-1, len(CLASSES), len(CLASSES))
    # Losses of a year add up over its events, so fractions do too: change is summed over the windows, and the
    # area to begin with, which every window measures again, is averaged.
    windows = table["window"].groupby(keys).nunique().to_numpy() if "window" in table.columns else 1.0
    bare, built = _positions(["bare"]), _positions(["built"])
    water, plants, worse = _positions(["water"]), _positions(VEGETATION), _positions(damage)
    land = [code for code in range(len(CLASSES)) if code not in water]

    def fraction(start: list[int], end: list[int], of: list[int]) -> np.ndarray:
        changed = cube[:, start][:, :, [code for code in end if code not in start]].sum(axis=(1, 2))
        whole = cube[:, of].sum(axis=(1, 2))
        return np.where(whole > 0, windows * changed / np.where(whole > 0, whole, 1.0), np.nan)

    made = (
        fraction(bare, water, land),
        fraction(built, worse, built),
        fraction(built, water, built),
        fraction(plants, worse, plants),
        fraction(plants, water, plants),
    )
    return pd.DataFrame(dict(zip(PROXIES, made, strict=True)), index=areas.index)


def _positions(names: Sequence[str]) -> list[int]:
    return [CLASSES.index(name) for name in names]
