"""SHELDUS: county losses by hazard, from the user's own export.

SHELDUS (Arizona State University, CEMHS) is licensed to each user, so nothing of it is shipped. Newer exports
are called direct_loss_aggregated_output_<n>.csv (StateName, County_FIPS, PropertyDmg(ADJ 2024), ...), older
ones UID<...>_AGG_A<...>.csv (`State Name`, `County FIPS`, ...). Both are read; the year of their constant
dollars is taken from the header.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.account import Entry, Source, left_out, read_rows, repaired
from proxycal.datasets.cpi import price_ratio
from proxycal.datasets.fips import repair
from proxycal.datasets.losses import (
    BASE_YEAR,
    HAZARDS,
    by_county,
    chosen_years,
    find_files,
    numbers,
    whole_years,
)
from proxycal.errors import TableError
from proxycal.reading.table import read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

SOURCE = "SHELDUS"
# Header without case, blanks and underscores -> our name.
_NAMES = {
    "countyfips": "fips", "countyname": "county", "year": "year", "hazard": "hazard",
    "propertydmg": "nominal", "injuries": "injuries", "fatalities": "fatalities",
    "durationdays": "duration_days", "records": "records",
}  # fmt: skip
_NEEDED = ("fips", "county", "year", "hazard")
_ADJUSTED = re.compile(r"(?:crop|property)dmg\(adj(\d{4})\)")


def read_sheldus(
    path: str | Path | Sequence[str | Path],
    hazards: Sequence[str] = HAZARDS,
    years: Collection[int] | None = None,
    base_year: int = BASE_YEAR,
) -> Source:
    """Property losses by county, hazard and year in dollars of `base_year`, with the account of every row.

    path : a file, several, or a folder of exports. years : those to keep, all if None.
    """
    parts, account = [], []
    for file in find_files(path, "*.csv*", "SHELDUS export"):
        part, adjusted = _read(file, base_year)
        dollars = f"dollars of {adjusted}" if adjusted else "current dollars"
        account.append(read_rows(SOURCE, len(part), f"read from '{file.name}' in {dollars}"))
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table, more = _select(table, hazards, years)
    summed, entries = by_county(table, SOURCE)
    return Source(summed, (*account, *more, *entries))


def _read(path: Path, base_year: int) -> tuple[pd.DataFrame, int | None]:
    """One export: our columns, `loss` in dollars of the base year; and the year of its constant dollars."""
    # A row that names a total is refused by its year, with what an export looks like.
    raw = read_table(path, total_rows="keep")
    plain = {re.sub(r"[\s_]", "", str(name)).lower(): name for name in raw.columns}
    own = {ours: raw[plain[theirs]] for theirs, ours in _NAMES.items() if theirs in plain}
    years = {int(found[1]) for name in plain if (found := _ADJUSTED.fullmatch(name))}
    if len(years) > 1:
        raise TableError(
            f"'{path}' mixes constant dollars of {' and '.join(map(str, sorted(years)))}: "
            "export it again with one year of adjustment"
        )
    adjusted = next((year for year in years if f"propertydmg(adj{year})" in plain), None)
    missing = [name for name in _NEEDED if name not in own]
    if adjusted is None and "nominal" not in own:
        missing.append("PropertyDmg")
    if missing:
        raise TableError(
            f"'{path}' has no column for {', '.join(missing)}; its columns are {', '.join(raw.columns[:8])}"
            "...: is it a SHELDUS export by county?"
        )
    table = pd.DataFrame({name: own[name] for name in _NEEDED})
    table["hazard"] = table["hazard"].astype("string").str.strip()
    table["year"] = whole_years(own["year"], path)
    for name in ("injuries", "fatalities", "duration_days", "records"):
        if name in own:
            table[name] = numbers(own[name], path)
    if adjusted is None:
        table["loss"] = numbers(own["nominal"], path) * price_ratio(table["year"], base_year)
    else:
        table["loss"] = numbers(raw[plain[f"propertydmg(adj{adjusted})"]], path)
        table["loss"] *= price_ratio(adjusted, base_year)[0]
    negative = table["loss"] < 0
    if negative.any():
        raise TableError(
            f"'{path}' holds {int(negative.sum())} negative losses, first in row "
            f"{int(np.flatnonzero(negative)[0]) + 2}: correct them"
        )
    return table, adjusted


def _select(
    table: pd.DataFrame, hazards: Sequence[str], years: Collection[int] | None
) -> tuple[pd.DataFrame, list[Entry]]:
    """The rows of the study, and the entries for the others in the order in which they went."""
    account: list[Entry] = []
    other = ~table["hazard"].isin(list(hazards))
    account += left_out(SOURCE, table.loc[other, "hazard"], "left out: another hazard")
    table = table[~other]
    entries = chosen_years(table, years, SOURCE)
    table = table if years is None else table[table["year"].isin(list(years))]
    account += entries
    blank = table["loss"].isna()
    account += left_out(SOURCE, table.loc[blank, "county"], "left out: property damage is blank")
    table = table[~blank]
    fixed, known, entries = repair(table["fips"], SOURCE)
    account += entries
    historic = table["county"].astype("string").str.strip().str.startswith("*").fillna(False)
    kept = historic.to_numpy(dtype=bool) & known
    account += repaired(SOURCE, table.loc[kept, "county"], "of historic counties, summed into the successor")
    return table.assign(fips=fixed)[known], account
