"""The files of the simulated nation, column for column as the real sources write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.cpi import price_ratio
from proxycal.datasets.losses import BASE_YEAR
from proxycal.files import write_table

if TYPE_CHECKING:
    from pathlib import Path

ADJUSTED = 2024
# Storm Events: type of event and how it is filed, by hazard.
_FILED = {
    "Flooding": ("Flash Flood", "C"),
    "Hurricane/Tropical Storm": ("Tropical Storm", "Z"),
    "Tornado": ("Tornado", "C"),
    "Wildfire": ("Wildfire", "Z"),
}
_DETAILS = [
    "BEGIN_YEARMONTH", "BEGIN_DAY", "BEGIN_TIME", "END_YEARMONTH", "END_DAY", "END_TIME", "EPISODE_ID",
    "EVENT_ID", "STATE", "STATE_FIPS", "YEAR", "MONTH_NAME", "EVENT_TYPE", "CZ_TYPE", "CZ_FIPS", "CZ_NAME",
    "WFO", "BEGIN_DATE_TIME", "CZ_TIMEZONE", "END_DATE_TIME", "INJURIES_DIRECT", "INJURIES_INDIRECT",
    "DEATHS_DIRECT", "DEATHS_INDIRECT", "DAMAGE_PROPERTY", "DAMAGE_CROPS", "SOURCE", "MAGNITUDE",
    "MAGNITUDE_TYPE", "FLOOD_CAUSE", "CATEGORY", "TOR_F_SCALE", "TOR_LENGTH", "TOR_WIDTH", "TOR_OTHER_WFO",
    "TOR_OTHER_CZ_STATE", "TOR_OTHER_CZ_FIPS", "TOR_OTHER_CZ_NAME", "BEGIN_RANGE", "BEGIN_AZIMUTH",
    "BEGIN_LOCATION", "END_RANGE", "END_AZIMUTH", "END_LOCATION", "BEGIN_LAT", "BEGIN_LON", "END_LAT",
    "END_LON", "EPISODE_NARRATIVE", "EVENT_NARRATIVE", "DATA_SOURCE",
]  # fmt: skip
# Most events a county can have in a year of one hazard.
_MOST = 3


def write_sheldus(events: pd.DataFrame, folder: Path, rng: np.random.Generator) -> Path:
    """An export of the newer kind, with the other hazards, gaps and old codes that real ones have."""
    n = len(events)
    deaths = rng.poisson(0.02, n)
    rows = pd.DataFrame(
        {
            "state": events["state"].str.upper(),
            "county": events["county"],
            "fips": events["fips"],
            "year": events["year"],
            "hazard": events["hazard"],
            "property": events["reported_loss"] / price_ratio(events["year"], BASE_YEAR),
            "crop": np.where(rng.random(n) < 0.2, np.exp(rng.normal(8.0, 1.5, n)), 0.0),
            "injuries": rng.poisson(0.1, n) + deaths,
            "fatalities": deaths,
            "days": rng.integers(1, 15, n),
            "records": rng.integers(1, _MOST + 1, n),
            "people": events["population"],
        }
    )
    rows = pd.concat([_old_codes(rows), _others(rows, rng)], ignore_index=True)
    rows = rows.sort_values(["fips", "year", "hazard"], kind="stable")
    adjust = price_ratio(rows["year"], ADJUSTED)
    out = {
        "StateName": rows["state"], "CountyName": rows["county"], "County_FIPS": "'" + rows["fips"] + "'",
        "Year": rows["year"], "Hazard": rows["hazard"],
    }  # fmt: skip
    for name, column in (("CropDmg", "crop"), ("PropertyDmg", "property")):
        out[name] = rows[column].round(2)
        out[f"{name}(ADJ {ADJUSTED})"] = (rows[column] * adjust).round(2)
        out[f"{name}PerCapita"] = (rows[column] / rows["people"]).round(4)
        out[f"{name}PerCapita(ADJ {ADJUSTED})"] = (rows[column] * adjust / rows["people"]).round(4)
    for name, column in (("Injuries", "injuries"), ("Fatalities", "fatalities")):
        out[name] = rows[column]
        out[f"{name}PerCapita"] = (rows[column] / rows["people"]).round(8)
        out[f"{name}_Duration"] = rows["days"].where(rows[column] > 0, 0)
    out |= {"Duration_Days": rows["days"], "Records": rows["records"]}
    path = folder / "direct_loss_aggregated_output_1.csv"
    write_table(pd.DataFrame(out).reset_index(drop=True), path)
    return path


def write_storm_events(events: pd.DataFrame, folder: Path, rng: np.random.Generator) -> tuple[Path, ...]:
    """A details file per year; the loss of a county-year is the sum of one to three events."""
    count = rng.integers(1, _MOST + 1, len(events))
    single = events.loc[events.index.repeat(count)].reset_index(drop=True)
    part = rng.uniform(0.5, 1.5, len(single))
    of = np.repeat(np.arange(len(events)), count)
    part /= np.bincount(of, part)[of]
    nominal = single["reported_loss"].to_numpy() / price_ratio(single["year"], BASE_YEAR) * part
    table = _details(single, [_money(value) for value in nominal], rng)
    # Hail is another hazard, and a report may leave the damage blank.
    extra = single.sample(n=max(2, len(single) // 20), random_state=rng)
    hail, blank = extra.iloc[: len(extra) // 2], extra.iloc[len(extra) // 2 :]
    table = pd.concat(
        [
            table,
            _details(hail, ["1.00K"] * len(hail), rng).assign(EVENT_TYPE="Hail", CZ_TYPE="C"),
            _details(blank, [None] * len(blank), rng),
        ],
        ignore_index=True,
    )
    table["EVENT_ID"] = np.arange(600_000, 600_000 + len(table))
    paths = []
    for year in sorted(events["year"].unique()):
        paths.append(folder / f"StormEvents_details-ftp_v1.0_d{year}_c20250401.csv.gz")
        write_table(table[table["YEAR"] == year][_DETAILS].reset_index(drop=True), paths[-1])
    return tuple(paths)


def write_zones(counties: pd.DataFrame, folder: Path) -> Path:
    """Which county a forecast zone holds: here one each, numbered apart from the counties."""
    table = pd.DataFrame(
        {
            "STATE_FIPS": counties["fips"].str[:2],
            "CZ_FIPS": _zone(counties["fips"]),
            "FIPS": counties["fips"],
        }
    )
    path = folder / "zones.csv"
    write_table(table.reset_index(drop=True), path)
    return path


def write_transitions(changes: pd.DataFrame, folder: Path) -> Path:
    """The long table of land-cover change."""
    path = folder / "dynamic_world_transitions.csv.gz"
    write_table(changes, path)
    return path


def write_counties(counties: pd.DataFrame, folder: Path) -> Path:
    """An ACS table under the Bureau's variable codes."""
    people = counties["population"]
    base = np.round(0.975 * people)
    labor = np.round(0.48 * people)
    table = pd.DataFrame(
        {
            "GEO_ID": "0500000US" + counties["fips"],
            "NAME": counties["county"] + ", " + counties["state"],
            "B01003_001E": people,
            "B01002_001E": counties["median_age"],
            "B19013_001E": counties["median_household_income"],
            "B25077_001E": counties["median_home_value"],
            "B25001_001E": counties["housing_units"],
            "B17001_001E": base,
            "B17001_002E": np.round(base * counties["poverty_rate"] / 100),
            "B23025_003E": labor,
            "B23025_005E": np.round(labor * counties["unemployment_rate"] / 100),
            "pct_bachelors": counties["pct_bachelors"],
        }
    )
    path = folder / "acs_counties.csv"
    write_table(table.reset_index(drop=True), path)
    return path


def _old_codes(rows: pd.DataFrame) -> pd.DataFrame:
    """Some counties under codes of another year, as exports have them; the loader must bring them back."""
    rows = rows.copy()
    shannon = (rows["fips"] == "46102") & (rows["year"] < 2018)
    rows.loc[shannon, ["fips", "county"]] = ["46113", "*Shannon"]
    chugach = (rows["fips"] == "02261") & (rows["year"] >= 2020)
    rows.loc[chugach, ["fips", "county"]] = ["02063", "Chugach"]
    return rows


def _others(rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows that are not for the study: other hazards, places off the list."""
    some = rows.sample(n=max(4, len(rows) // 20), random_state=rng)
    half = len(some) // 2
    other = some.iloc[:half].assign(hazard=rng.choice(["Hail", "Wind", "Winter Weather"], half))
    away = some.iloc[half:].head(25).assign(state="PUERTO RICO", county="San Juan", fips="72127")
    return pd.concat([other, away])


def _details(events: pd.DataFrame, damage: list[str | None], rng: np.random.Generator) -> pd.DataFrame:
    filed = pd.DataFrame(events["hazard"].map(_FILED).tolist(), columns=["type", "kind"])
    year = events["year"].to_numpy()
    month, day = rng.integers(3, 12, len(events)), rng.integers(1, 28, len(events))
    begin = pd.to_datetime({"year": year, "month": month, "day": day})
    stamp = begin.dt.strftime("%d-%b-%y").str.upper()
    fips = events["fips"].reset_index(drop=True)
    zone = (filed["kind"] == "Z").to_numpy(dtype=bool)
    table = pd.DataFrame(index=range(len(events)), columns=_DETAILS, dtype=object)
    table["BEGIN_YEARMONTH"] = table["END_YEARMONTH"] = year * 100 + month
    table["BEGIN_DAY"] = table["END_DAY"] = day
    table["BEGIN_TIME"], table["END_TIME"] = 1200, 1800
    table["STATE"] = events["state"].str.upper().to_numpy()
    # The files write these codes as numbers, without leading zeros.
    table["STATE_FIPS"] = fips.str[:2].astype(int)
    table["CZ_FIPS"] = np.where(zone, _zone(fips), fips.str[2:].astype(int))
    table["CZ_TYPE"], table["EVENT_TYPE"] = filed["kind"], filed["type"]
    table["CZ_NAME"] = events["county"].str.upper().to_numpy()
    table["YEAR"], table["MONTH_NAME"] = year, begin.dt.month_name()
    table["BEGIN_DATE_TIME"], table["END_DATE_TIME"] = stamp + " 12:00:00", stamp + " 18:00:00"
    for name in ("INJURIES_DIRECT", "INJURIES_INDIRECT", "DEATHS_DIRECT", "DEATHS_INDIRECT"):
        table[name] = rng.poisson(0.02, len(events))
    table["DAMAGE_PROPERTY"] = pd.Series(damage, dtype=object)
    table["DATA_SOURCE"] = "SIMULATED"
    return table


def _zone(fips: pd.Series) -> np.ndarray:
    """Zones are numbered on their own: taking one for a county must go wrong at once."""
    return np.asarray(999 - fips.str[2:].astype(int).to_numpy())


def _money(value: float) -> str:
    """Dollars as the files write them.

    >>> [_money(value) for value in (0.0, 10_000.0, 1_500_000.0, 2.5e9)]
    ['0.00K', '10.00K', '1.50M', '2.50B']
    """
    for unit, size in (("B", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.2f}{unit}"
    return f"{value / 1e3:.2f}K"
