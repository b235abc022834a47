"""NOAA Storm Events: the free details files, StormEvents_details-ftp_v1.0_dYYYY_cYYYYMMDD.csv[.gz].

Events are filed by county (CZ_TYPE C) or by forecast zone (Z; hurricanes and wildfires mostly are). A zone
is no county: with a zone table its events are spread over the zone's counties, without one they are left out
and counted. Damage is text such as 10.00K, 1.5M or 2B.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.account import Entry, Source, left_out, read_rows, repaired
from proxycal.datasets.cpi import price_ratio
from proxycal.datasets.fips import clean_fips, repair
from proxycal.datasets.losses import BASE_YEAR, by_county, chosen_years, find_files, numbers
from proxycal.errors import TableError
from proxycal.reading.table import read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SOURCE = "Storm Events"
# EVENT_TYPE -> hazard of the study.
EVENT_TYPES = {
    "Flood": "Flooding", "Flash Flood": "Flooding", "Coastal Flood": "Flooding",
    "Lakeshore Flood": "Flooding", "Hurricane": "Hurricane/Tropical Storm",
    "Hurricane (Typhoon)": "Hurricane/Tropical Storm", "Tropical Storm": "Hurricane/Tropical Storm",
    "Tornado": "Tornado", "Wildfire": "Wildfire",
}  # fmt: skip
_UNITS = {"": 1.0, "H": 1e2, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_NEEDED = ("STATE_FIPS", "CZ_TYPE", "CZ_FIPS", "EVENT_TYPE", "BEGIN_DATE_TIME", "DAMAGE_PROPERTY")
_COUNTS = {
    "injuries": ("INJURIES_DIRECT", "INJURIES_INDIRECT"),
    "fatalities": ("DEATHS_DIRECT", "DEATHS_INDIRECT"),
}


def dollars(text: pd.Series) -> pd.Series:
    """Damage in dollars; missing where the text is blank or cannot be read.

    >>> dollars(pd.Series(["10.00K", "1.5M", "2B", "0", None, "K"])).tolist()
    [10000.0, 1500000.0, 2000000000.0, 0.0, nan, nan]
    """
    parts = text.astype("string").str.strip().str.upper().str.extract(r"^(\d*\.?\d+)([HKMBT]?)$")
    return pd.to_numeric(parts[0]).astype(float) * parts[1].map(_UNITS).astype(float)


def read_storm_events(
    path: str | Path | Sequence[str | Path],
    zones: str | Path | None = None,
    event_types: Mapping[str, str] | None = None,
    years: Collection[int] | None = None,
    base_year: int = BASE_YEAR,
) -> Source:
    """Property losses by county, hazard and year in dollars of `base_year`, with the account of every row.

    path : a file, several, or a folder of details files.
    zones : CSV with STATE_FIPS, CZ_FIPS (the zone) and FIPS (a county in it), and SHARE where the counties
        of a zone should not share its losses equally.
    event_types : EVENT_TYPE -> hazard, EVENT_TYPES if None. years : those to keep, all if None.
    """
    parts, account = [], []
    for file in find_files(path, "StormEvents_details*.csv*", "Storm Events details file"):
        part = _read(file)
        account.append(read_rows(SOURCE, len(part), f"read from '{file.name}'"))
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table, entries = _select(table, EVENT_TYPES if event_types is None else event_types, years)
    account += entries
    table, entries = _place(table, zones)
    account += entries
    table["loss"] = table["nominal"] * price_ratio(table["year"], base_year)
    summed, entries = by_county(table, SOURCE)
    return Source(summed, (*account, *entries))


def _read(path: Path) -> pd.DataFrame:
    raw = read_table(path, text=("DAMAGE_PROPERTY", "STATE_FIPS", "CZ_FIPS", "BEGIN_DATE_TIME"))
    missing = [name for name in _NEEDED if name not in raw.columns]
    if missing:
        raise TableError(
            f"'{path}' has no column {', '.join(missing)}: is it a details file of Storm Events (not "
            "locations or fatalities)?"
        )
    table = raw[list(_NEEDED)].copy()
    begin = _dates(raw["BEGIN_DATE_TIME"])
    wrong = begin.isna()
    if wrong.any():
        raise TableError(
            f"column 'BEGIN_DATE_TIME' of '{path}' holds {int(wrong.sum())} values that are no date such as "
            f"28-APR-16 15:30:00, first {raw['BEGIN_DATE_TIME'][wrong].iloc[0]!r}: download the file again"
        )
    table["year"] = begin.dt.year
    table["nominal"] = dollars(raw["DAMAGE_PROPERTY"])
    for name, columns in _COUNTS.items():
        if all(column in raw.columns for column in columns):
            table[name] = sum(np.nan_to_num(numbers(raw[column], path)) for column in columns)
    if "END_DATE_TIME" in raw.columns:
        lasted = (_dates(raw["END_DATE_TIME"]) - begin).dt.total_seconds() / 86_400
        table["duration_days"] = np.maximum(1.0, np.ceil(lasted.fillna(0.0)))
    table["records"] = 1.0
    return table


def _dates(column: pd.Series) -> pd.Series:
    dates = pd.to_datetime(column, format="%d-%b-%y %H:%M:%S", errors="coerce")
    # Two digits: the files begin in 1950, and "50" is read as 2050.
    return dates.where(~(dates.dt.year >= 2050), dates - pd.DateOffset(years=100))


def _select(
    table: pd.DataFrame, event_types: Mapping[str, str], years: Collection[int] | None
) -> tuple[pd.DataFrame, list[Entry]]:
    """The events of the study whose damage is known, and the entries for the others."""
    account: list[Entry] = []
    table = table.assign(hazard=table["EVENT_TYPE"].map(dict(event_types)))
    other = table["hazard"].isna()
    account += left_out(SOURCE, table.loc[other, "EVENT_TYPE"], "left out: another type of event")
    table = table[~other]
    account += chosen_years(table, years, SOURCE)
    table = table if years is None else table[table["year"].isin(list(years))]
    unknown = table["nominal"].isna()
    blank = (table["DAMAGE_PROPERTY"].str.strip().fillna("") == "").to_numpy(dtype=bool)
    gone, odd = table[unknown & blank], table[unknown & ~blank]
    account += left_out(SOURCE, gone["hazard"], "left out: DAMAGE_PROPERTY is blank")
    account += left_out(SOURCE, odd["DAMAGE_PROPERTY"], "left out: DAMAGE_PROPERTY cannot be read")
    return table[~unknown], account


def _place(table: pd.DataFrame, zones: str | Path | None) -> tuple[pd.DataFrame, list[Entry]]:
    """Events on counties; zone events through the zone table, where there is one."""
    account: list[Entry] = []
    # Whether it is a county or a zone, the code is built alike.
    code = table["STATE_FIPS"].str.strip().str.zfill(2) + table["CZ_FIPS"].str.strip().str.zfill(3)
    table = table.assign(fips=code, zone=code)
    kind = table["CZ_TYPE"].astype("string").str.strip().str.upper()
    other = ~kind.isin(["C", "Z"]).to_numpy(dtype=bool)
    what = "left out: neither county nor forecast zone (marine)"
    account += left_out(SOURCE, table.loc[other, "hazard"], what)
    county, zoned = table[(kind == "C").to_numpy(dtype=bool)], table[(kind == "Z").to_numpy(dtype=bool)]
    if zones is None:
        what = "left out: filed by forecast zone and no zone table was given"
        account += left_out(SOURCE, zoned["hazard"], what)
        placed = county
    else:
        spread, entries = _spread(zoned, _read_zones(zones))
        account += entries
        placed = pd.concat([county, spread], ignore_index=True)
    fixed, known, entries = repair(placed["fips"], SOURCE)
    return placed.assign(fips=fixed)[known].copy(), account + entries


def _read_zones(path: str | Path) -> pd.DataFrame:
    """Zone, county and the share of the zone's losses that goes there."""
    raw = read_table(path, text=("STATE_FIPS", "CZ_FIPS", "FIPS"))
    missing = [name for name in ("STATE_FIPS", "CZ_FIPS", "FIPS") if name not in raw.columns]
    if missing:
        raise TableError(f"zone table '{path}' has no column {', '.join(missing)}: see read_storm_events")
    table = pd.DataFrame({"county_fips": clean_fips(raw["FIPS"])})
    table["zone"] = raw["STATE_FIPS"].str.strip().str.zfill(2) + raw["CZ_FIPS"].str.strip().str.zfill(3)
    wrong = table["county_fips"].isna() | table["zone"].isna()
    if wrong.any():
        raise TableError(
            f"zone table '{path}' has {int(wrong.sum())} rows without a zone or a county code, first row "
            f"{int(np.flatnonzero(wrong)[0]) + 2}: fill or remove them"
        )
    table["share"] = numbers(raw["SHARE"], Path(path)) if "SHARE" in raw.columns else 1.0
    if not (table["share"] > 0).all():
        raise TableError(f"zone table '{path}' has a SHARE that is blank or not above 0: give a positive one")
    table["share"] /= table.groupby("zone")["share"].transform("sum")
    return table


def _spread(zoned: pd.DataFrame, zones: pd.DataFrame) -> tuple[pd.DataFrame, list[Entry]]:
    """Zone events as a row for each county of the zone; what is counted is shared out, so sums stay."""
    unknown = ~zoned["zone"].isin(zones["zone"])
    account = left_out(SOURCE, zoned.loc[unknown, "zone"], "left out: zone not in the zone table")
    known = zoned[~unknown]
    account += repaired(SOURCE, known["hazard"], "filed by forecast zone, spread over the zone's counties")
    made = known.merge(zones, on="zone", how="left")
    for name in ("nominal", "records", "injuries", "fatalities"):
        if name in made.columns:
            made[name] = made[name] * made["share"]
    if len(made) > len(known):
        more = len(made) - len(known)
        account.append(Entry(SOURCE, more, more, "more, since a zone may hold several counties"))
    return made.assign(fips=made["county_fips"]), account
