"""County covariates from the user's ACS table (American Community Survey, US Census Bureau).

A row per county: a code (fips, GEOID or GEO_ID) and numeric columns, under names such as `population` or the
Bureau's own variable codes. A `year` column makes it a row per county and year.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.account import Entry, Source, read_rows, repaired, summed
from proxycal.datasets.fips import clean_fips, repair
from proxycal.datasets.losses import numbers, whole_years
from proxycal.errors import TableError
from proxycal.reading.table import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = "county covariates"
_CODES = ("fips", "geoid", "geo_id", "county_fips")
# Variables of the 5-year tables that the paper's appendix lists.
ACS = {
    "B01003_001E": "population", "B01002_001E": "median_age", "B19013_001E": "median_household_income",
    "B19301_001E": "per_capita_income", "B25077_001E": "median_home_value", "B25064_001E": "median_rent",
    "B17001_001E": "poverty_base", "B17001_002E": "poverty_count", "B25001_001E": "housing_units",
    "B11001_001E": "households", "B25010_001E": "household_size", "B23025_003E": "labor_force",
    "B23025_004E": "employed", "B23025_005E": "unemployed",
}  # fmt: skip
# Counts are skewed over four orders of magnitude and enter as logs; they add up where counties merge.
COUNTS = (
    "population", "poverty_base", "poverty_count", "housing_units", "housing_units_2010", "households",
    "labor_force", "employed", "unemployed", "area_sq_mi",
)  # fmt: skip
# The Bureau writes estimates it does not give as large negative numbers.
_NOT_GIVEN = -1e8
# The Capitol planning region took over most of two counties: population of the 2020 census.
_CAPITOL, _HARTFORD, _TOLLAND = "09110", ("09003", 899_498), ("09013", 149_788)


def read_counties(path: str | Path) -> Source:
    """Covariates by county (and year, where the table has one), on the county list of the shapes."""
    raw = read_table(path, text=("fips", "FIPS", "GEOID", "GEO_ID", "geoid"))
    code = next((name for name in raw.columns if str(name).lower() in _CODES), None)
    if code is None:
        raise TableError(
            f"'{path}' has no county code: name that column fips, GEOID or GEO_ID; its columns are "
            f"{', '.join(map(str, raw.columns[:8]))}"
        )
    raw = raw.rename(columns={code: "code"} | ACS)
    keys = ["fips"] + (["year"] if "year" in raw.columns else [])
    values = [
        str(name) for name in raw.columns
        if name not in ("code", "year") and pd.api.types.is_numeric_dtype(raw[name])
    ]  # fmt: skip
    if not values:
        raise TableError(f"'{path}' has no numeric column besides its codes: it holds no covariate")
    _refuse_twice(raw, ["code", *keys[1:]], path)
    account = [read_rows(SOURCE, len(raw), f"read from '{Path(path).name}'")]
    text = tuple(str(name) for name in raw.columns if name not in ("code", "year", *values))
    if text:
        account.append(Entry(SOURCE, len(raw), 0, "have columns of text, which are not used", text))
    if "year" in raw.columns:
        raw["year"] = whole_years(raw["year"], Path(path))
    table, entries = _split_capitol(raw)
    account += entries
    fixed, known, entries = repair(table["code"], SOURCE)
    account += entries
    table = table.assign(fips=fixed)[known]
    for name in values:
        column = numbers(table[name], Path(path))
        table[name] = np.where(column < _NOT_GIVEN, np.nan, column)
    merged = _merge(table, keys, values)
    what = "summed into another row of the same county (counts added, rates averaged by population)"
    account += summed(SOURCE, len(table), len(merged), what)
    return Source(_derived(merged), tuple(account))


def environment_columns(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The table with logs of its counts, and the covariates to use.

    >>> table = pd.DataFrame({"fips": ["01001"], "population": [99.0], "age": [40.0]})
    >>> made, names = environment_columns(table)
    >>> names, round(float(made["log_population"].iloc[0]), 4)
    (['log_population', 'age'], 4.6052)
    """
    made, names = table.copy(), []
    for name in table.columns:
        if name in ("fips", "year") or not pd.api.types.is_numeric_dtype(table[name]):
            continue
        if name in COUNTS:
            made[f"log_{name}"] = np.log1p(table[name])
        names.append(f"log_{name}" if name in COUNTS else str(name))
    return made, names


def _split_capitol(raw: pd.DataFrame) -> tuple[pd.DataFrame, list[Entry]]:
    """Connecticut's Capitol region stands for Hartford and Tolland: counts shared out, rates for both."""
    capitol = (clean_fips(raw["code"]) == _CAPITOL).fillna(False).to_numpy(dtype=bool)
    if not capitol.any():
        return raw, []
    whole = _HARTFORD[1] + _TOLLAND[1]
    parts = []
    for fips, people in (_HARTFORD, _TOLLAND):
        part = raw[capitol].assign(code=fips)
        shared = [name for name in COUNTS if name in part.columns]
        part[shared] = part[shared].astype(float) * people / whole
        parts.append(part)
    n = int(capitol.sum())
    account = repaired(
        SOURCE, [_CAPITOL] * n, "of Connecticut's Capitol region, shared by Hartford and Tolland"
    )
    account.append(Entry(SOURCE, n, n, "more, for Tolland"))
    return pd.concat([raw[~capitol], *parts], ignore_index=True), account


def _refuse_twice(table: pd.DataFrame, keys: Sequence[str], path: str | Path) -> None:
    twice = table.duplicated(list(keys))
    if twice.any():
        raise TableError(
            f"'{path}' names county {table.loc[twice, 'code'].iloc[0]} twice ({int(twice.sum())} such rows): "
            "keep one row per county, or add a year column"
        )


def _merge(table: pd.DataFrame, keys: list[str], values: list[str]) -> pd.DataFrame:
    """One row per key: counts added, everything else averaged by population where it is known."""
    if not table.duplicated(keys).any():
        return table[[*keys, *values]].reset_index(drop=True)
    weight = table["population"] if "population" in table.columns else pd.Series(1.0, index=table.index)
    groups = [table[key] for key in keys]
    made = {}
    for name in values:
        if name in COUNTS:
            made[name] = table[name].groupby(groups).sum(min_count=1)
        else:
            here = weight.where(table[name].notna())
            made[name] = (table[name] * here).groupby(groups).sum(min_count=1) / here.groupby(groups).sum()
    return pd.DataFrame(made).reset_index()


def _derived(table: pd.DataFrame) -> pd.DataFrame:
    """Rates that the counts give, where the table does not have them already."""
    rates = {
        "poverty_rate": ("poverty_count", "poverty_base"),
        "unemployment_rate": ("unemployed", "labor_force"),
    }
    made = table.copy()
    for name, (part, whole) in rates.items():
        if name not in made.columns and {part, whole} <= set(made.columns):
            made[name] = 100.0 * made[part] / made[whole].where(made[whole] > 0)
    return made
