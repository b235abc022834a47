"""The disaster study's table: losses, land-cover change and covariates of counties, joined.

Every row that a source had and the study has not is in the account, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.datasets.account import Entry, Source, left_out, lines
from proxycal.datasets.counties import SOURCE as COVARIATES
from proxycal.datasets.counties import environment_columns, read_counties
from proxycal.datasets.dataset import Dataset
from proxycal.datasets.dynamic_world import DAMAGE, PROXIES, read_transitions
from proxycal.datasets.dynamic_world import SOURCE as LAND
from proxycal.datasets.environment import independent, is_flat
from proxycal.datasets.losses import BASE_YEAR, HAZARDS, KEYS
from proxycal.datasets.sheldus import read_sheldus
from proxycal.datasets.storm_events import read_storm_events
from proxycal.errors import TableError
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import pandas as pd

OUTCOME = "log_loss"
JOINED = "the study"
# What a loss database itself holds besides losses. The same people report it, so it is only a makeshift.
SAME_REPORTERS = ("duration_days", "records", "injuries", "fatalities")
_MAKESHIFT = (
    "WITHOUT LAND COVER the proxies are other columns of the same database (duration, records, casualties). "
    "The same people report them, so they may carry the same bias: give transitions= and counties=."
)


@dataclass(frozen=True, slots=True)
class Study:
    """A data set ready to be fitted, and what became of every row of its sources."""

    dataset: Dataset
    account: tuple[Entry, ...]


def load_sheldus(
    path: str | Path | Sequence[str | Path],
    transitions: str | Path | None = None,
    counties: str | Path | None = None,
    hazards: Sequence[str] = HAZARDS,
    years: Collection[int] | None = None,
    base_year: int = BASE_YEAR,
    damage: Sequence[str] = DAMAGE,
) -> Dataset:
    """The user's own SHELDUS export as a study: log property loss in constant dollars, direction "under".

    transitions : table of Dynamic World transitions (see dynamic_world.py), the proxies.
    counties : the user's ACS table (see counties.py), the environment. `about` holds the account of rows.
    """
    return study(read_sheldus(path, hazards, years, base_year), transitions, counties, years, damage).dataset


def load_storm_events(
    path: str | Path | Sequence[str | Path],
    transitions: str | Path | None = None,
    counties: str | Path | None = None,
    zones: str | Path | None = None,
    years: Collection[int] | None = None,
    base_year: int = BASE_YEAR,
    damage: Sequence[str] = DAMAGE,
) -> Dataset:
    """NOAA Storm Events details files as a study: log property loss in constant dollars, direction "under".

    zones : table that says which counties a forecast zone holds (see storm_events.py); without one, events
    filed by zone are left out and counted. Otherwise as `load_sheldus`.
    """
    losses = read_storm_events(path, zones, None, years, base_year)
    return study(losses, transitions, counties, years, damage).dataset


def study(
    losses: Source,
    transitions: str | Path | None,
    counties: str | Path | None,
    years: Collection[int] | None = None,
    damage: Sequence[str] = DAMAGE,
) -> Study:
    """Losses joined with what is given of land cover and covariates, and the account of the join."""
    account = list(losses.account)
    table = losses.table
    account.append(Entry(JOINED, len(table), len(table), "by county, hazard and year"))
    zero = table["loss"] <= 0
    # A reported zero has no logarithm, and a share of nothing is nothing: no shift could be seen in it.
    account += left_out(JOINED, table.loc[zero, "hazard"], "left out: the reported loss is zero")
    table = table[~zero].reset_index(drop=True)
    proxies = [name for name in SAME_REPORTERS if name in table.columns]
    if transitions is not None:
        table, entries = _join_land(table, read_transitions(transitions, damage, years=years))
        account += entries
        proxies = list(PROXIES)
    environment: list[str] = []
    if counties is not None:
        table, environment, entries = _join_counties(table, read_counties(counties))
        account += entries
    if len(table) < 2 or not proxies:
        raise TableError(
            "nothing is left to study:\n" + lines(account) + "\ncheck that the files are of the same years"
        )
    flat = [name for name in environment if is_flat(table[name])]
    kept, twins = independent(table, [name for name in environment if name not in flat])
    table = table.assign(**{OUTCOME: np.log(table["loss"])})
    table.insert(0, "id", table["fips"] + " " + table["hazard"] + " " + table["year"].astype(str))
    roles = Roles(OUTCOME, proxies, [*kept, "hazard"], cluster="fips", id="id")
    notes = [
        "Property losses by county, hazard and year, in logs of constant dollars; direction 'under'.",
        *([_MAKESHIFT] if transitions is None else []),
        f"Environment columns dropped for low variance: {', '.join(flat) or 'none'}; "
        f"as collinear: {', '.join(twins) or 'none'}.",
        "What became of every row:",
        lines(account),
    ]
    return Study(Dataset(table, roles, "\n".join(notes)), tuple(account))


def _join_land(table: pd.DataFrame, land: Source) -> tuple[pd.DataFrame, list[Entry]]:
    account = list(land.account)
    joined = table.merge(land.table, on=list(KEYS), how="left", validate="one_to_one", indicator=True)
    seen = (joined["_merge"] == "both").to_numpy(dtype=bool)
    account += left_out(JOINED, table.loc[~seen, "hazard"], "left out: no land-cover change for it")
    unused = land.table.merge(table[list(KEYS)], on=list(KEYS), how="left", indicator=True)
    alone = (unused["_merge"] == "left_only").to_numpy(dtype=bool)
    what = "not used: no reported loss above zero for this county, hazard and year"
    account += left_out(LAND, unused.loc[alone, "hazard"], what)
    return joined.drop(columns="_merge")[seen].reset_index(drop=True), account


def _join_counties(table: pd.DataFrame, counties: Source) -> tuple[pd.DataFrame, list[str], list[Entry]]:
    """The table with covariates, their names, and the entries; rows with a gap are left out and named."""
    account = list(counties.account)
    covariates, names = environment_columns(counties.table)
    keys = ["fips", "year"] if "year" in covariates.columns else ["fips"]
    joined = table.merge(covariates, on=keys, how="left", validate="many_to_one", indicator=True)
    there = (joined["_merge"] == "both").to_numpy(dtype=bool)
    account += left_out(JOINED, joined.loc[~there, "fips"], f"left out: not in the {COVARIATES}")
    joined = joined.drop(columns="_merge")[there]
    gaps = joined[names].isna()
    holes = gaps.any(axis=1)
    # The first column with a gap stands for the row, so that each row is counted once.
    why = gaps[holes].idxmax(axis=1)
    account += left_out(JOINED, why, "left out: a covariate is missing")
    return joined[~holes].reset_index(drop=True), names, account
