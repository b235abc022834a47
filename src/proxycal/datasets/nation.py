"""A simulated nation: counties, disasters and reports whose truth is known, in the formats of the real files.

    E ~ p(E)    D = 0.55 e_population + m_hazard + eps    w = m'_hazard + eps      (damage, share of water)
    A ~ Bernoulli(logistic(g'E))    log loss = 11.2 + 1.2 D + eps    log report = log loss - alpha A
    fractions of land that changed: functions of (D, w) and of noise, never of the report

so that the assumptions of the method hold by construction and its error can be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import expit

from proxycal.datasets import nation_files
from proxycal.datasets.county_shapes import county_list
from proxycal.datasets.losses import HAZARDS
from proxycal.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

YEARS = tuple(range(2016, 2024))
# Mean damage and mean log-odds that changed land turns to water, by hazard.
_SEVERITY = dict(zip(HAZARDS, (0.0, 0.8, -0.3, 0.3), strict=True))
_WATER = dict(zip(HAZARDS, (0.6, 0.2, -1.2, -1.8), strict=True))
_COAST = {
    "Florida": 0.5, "Louisiana": 0.45, "Mississippi": 0.3, "Alabama": 0.25, "Texas": 0.15,
    "Georgia": 0.25, "South Carolina": 0.3, "North Carolina": 0.3, "Virginia": 0.12, "Maryland": 0.1,
    "Delaware": 0.15, "New Jersey": 0.15, "New York": 0.08, "Connecticut": 0.12, "Rhode Island": 0.12,
    "Massachusetts": 0.1, "Hawaii": 0.1, "Pennsylvania": 0.05,
}  # fmt: skip
_OTHER_LAND = (
    "trees", "grass", "flooded_vegetation", "crops", "shrub_and_scrub", "bare", "snow_and_ice", "water",
)  # fmt: skip
# Events that did no damage to property.
_NO_LOSS = 0.06


@dataclass(frozen=True, slots=True)
class Nation:
    """Where the files of a simulated nation are, and its truth.

    sheldus, transitions, counties, zones : files. storm_events : a file per year
    truth : fips, hazard, year, true_loss and reported_loss in dollars of 2023, a in {0, 1}, and
        shift = alpha * a, by which the log of the loss was under-reported, and expected_shift, its mean over
        counties with the same environment
    """

    folder: Path
    sheldus: Path
    storm_events: tuple[Path, ...]
    zones: Path
    transitions: Path
    counties: Path
    truth: pd.DataFrame


def simulate_disasters(
    folder: str | Path,
    n_counties: int = 3142,
    years: Sequence[int] = YEARS,
    alpha: float | Mapping[str, float] = 1.8,
    random_state: int = 0,
    *,
    sd_loss: float = 0.4,
    sd_proxy: float = 0.5,
) -> Nation:
    """Write a SHELDUS export, Storm Events details files, a transition table and an ACS table to `folder`.

    n_counties : 3142 for the nation, fewer for a part of it spread over the map.
    alpha : by how much a biased county's log loss is too low, one number or one per hazard.
    sd_loss, sd_proxy : noise of the log loss, and of the log fractions of changed land, given the damage.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nation = simulate_disasters(folder, n_counties=40, years=[2022, 2023])
    ...     nation.sheldus.name, len(nation.storm_events)
    ('direct_loss_aggregated_output_1.csv', 2)
    """
    _check(n_counties, years, alpha)
    rng = np.random.default_rng(random_state)
    everywhere = county_list()
    chosen = np.sort(rng.permutation(len(everywhere))[:n_counties])
    counties = draw_counties(everywhere.iloc[chosen], rng)
    events = draw_events(counties, years, alpha, rng, sd_loss)
    changes = draw_changes(events, rng, sd_proxy)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = ["fips", "hazard", "year", "true_loss", "reported_loss", "a", "shift", "expected_shift"]
    return Nation(
        folder=folder,
        sheldus=nation_files.write_sheldus(events, folder, rng),
        storm_events=nation_files.write_storm_events(events, folder, rng),
        zones=nation_files.write_zones(counties, folder),
        transitions=nation_files.write_transitions(changes, folder),
        counties=nation_files.write_counties(counties, folder),
        truth=events[known].reset_index(drop=True),
    )


def draw_counties(places: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Covariates of every county: `urban` and `wealth` move what they move in life."""
    n = len(places)
    urban = rng.normal(size=n)
    wealth = 0.3 * urban + np.sqrt(1 - 0.09) * rng.normal(size=n)
    income = np.exp(10.85 + 0.18 * wealth + 0.05 * urban + 0.08 * rng.normal(size=n))
    population = np.round(np.exp(10.2 + 1.35 * urban)) + 100
    noise = rng.normal(size=(6, n))
    return pd.DataFrame(
        {
            "fips": places.index.to_numpy(),
            **{name: places[name].to_numpy() for name in ("county", "state", "x", "y")},
            "population": population,
            "median_age": np.round(41 - 1.5 * urban + 4 * noise[0], 1),
            "median_household_income": np.round(income),
            "poverty_rate": np.clip(16 - 4.5 * wealth + 3 * noise[1], 2, 50),
            "pct_bachelors": np.round(np.clip(21 + 4 * urban + 5 * wealth + 4 * noise[2], 4, 75), 1),
            "unemployment_rate": np.clip(4.6 - 0.8 * wealth + 1.1 * noise[3], 1.2, 20),
            "median_home_value": np.round(np.exp(11.7 + 0.3 * wealth + 0.2 * urban + 0.2 * noise[4])),
            "housing_units": np.round(population / 2.4 * np.exp(0.1 * noise[5])),
        }
    )


def draw_events(
    counties: pd.DataFrame,
    years: Sequence[int],
    alpha: float | Mapping[str, float],
    rng: np.random.Generator,
    sd_loss: float,
) -> pd.DataFrame:
    """A row per county, hazard and year with an event: its damage, its loss, and what was reported."""
    parts = []
    for hazard in HAZARDS:
        rate = _rate(counties, hazard)
        for year in years:
            # Some years are worse than others.
            struck = rng.random(len(counties)) < np.clip(rate * rng.uniform(0.6, 1.4), 0.0, 0.9)
            parts.append(counties[struck].assign(hazard=hazard, year=int(year)))
    events = pd.concat(parts, ignore_index=True)
    n = len(events)
    people = _standard(np.log(events["population"]))
    severity = events["hazard"].map(_SEVERITY).to_numpy(dtype=float)
    D = 0.55 * people + severity + 1.1 * rng.normal(size=n)
    # Small, poor and less schooled counties under-report more often.
    gate = -0.8 * people + 0.9 * _standard(events["poverty_rate"]) - 0.5 * _standard(events["pct_bachelors"])
    chance = expit(gate)
    a = (rng.random(n) < chance).astype(int)
    size = np.asarray(events["hazard"].map(alpha) if isinstance(alpha, Mapping) else alpha, dtype=float)
    shift = size * a
    log_loss = 11.2 + 1.2 * D + sd_loss * rng.normal(size=n)
    true_loss = np.where(rng.random(n) < _NO_LOSS, 0.0, np.exp(log_loss))
    return events.assign(
        damage=D,
        a=a,
        shift=shift,
        expected_shift=size * chance,
        true_loss=true_loss,
        reported_loss=true_loss * np.exp(-shift),
    )


def draw_changes(events: pd.DataFrame, rng: np.random.Generator, sd_proxy: float) -> pd.DataFrame:
    """Area in square metres by event and pair of classes, in long form."""
    n = len(events)
    D = events["damage"].to_numpy()
    water = expit(events["hazard"].map(_WATER).to_numpy(dtype=float) + 0.8 * rng.normal(size=n))
    built = expit(-4.0 + 0.8 * _standard(np.log(events["population"])) + 0.3 * rng.normal(size=n))
    area = 1.5e9 * np.exp(0.6 * rng.normal(size=n))
    mix = rng.dirichlet([6.0, 4.0, 0.2, 5.0, 3.0, 0.3, 0.1, 0.4], size=n) * (1.0 - built)[:, None]
    share = dict(zip(_OTHER_LAND, mix.T, strict=True)) | {"built": built}
    # A change to bare ground or marsh is what is not a change to water; both carry the damage and own noise.
    pairs: dict[tuple[str, str], np.ndarray] = {}

    def changed(starts: tuple[str, ...], level: float) -> None:
        wet = np.exp(level + D + sd_proxy * rng.normal(size=n)) * water
        dry = np.exp(level + D + sd_proxy * rng.normal(size=n)) * (1.0 - water)
        marsh = rng.uniform(0.05, 0.3, size=n)
        for start in starts:
            pairs[start, "water"] = share[start] * wet
            pairs[start, "bare"] = share[start] * dry * (1.0 - marsh)
            pairs[start, "flooded_vegetation"] = share[start] * dry * marsh

    changed(("built",), -7.5)
    changed(("trees", "grass", "crops", "shrub_and_scrub"), -7.0)
    pairs["bare", "water"] = share["bare"] * np.exp(-5.5 + D + sd_proxy * rng.normal(size=n)) * water
    # Fields are ploughed and mown whatever the weather: change that is no damage.
    pairs["crops", "grass"] = share["crops"] * rng.uniform(0.0, 0.05, size=n)
    for start in share:
        # A class cannot lose more than it has.
        lost = sum(part for (source, _), part in pairs.items() if source == start)
        most = 0.95 * share[start] / np.maximum(lost, 1e-300)
        for pair in [pair for pair in pairs if pair[0] == start]:
            pairs[pair] = pairs[pair] * np.minimum(1.0, most)
        pairs[start, start] = share[start] - lost * np.minimum(1.0, most)
    frames = [
        events[["fips", "hazard", "year"]].assign(from_class=start, to_class=end, area=np.round(area * part))
        for (start, end), part in pairs.items()
    ]
    return pd.concat(frames, ignore_index=True)


def _rate(counties: pd.DataFrame, hazard: str) -> np.ndarray:
    """How likely a county is struck in a year, by where it lies on the map."""
    x, y = counties["x"].to_numpy(), counties["y"].to_numpy()
    if hazard == "Flooding":
        return np.full(len(counties), 0.28)
    if hazard == "Tornado":
        return 0.02 + 0.4 * np.exp(-(((x - 560) / 130) ** 2) - ((y - 350) / 110) ** 2)
    if hazard == "Wildfire":
        return 0.02 + 0.35 / (1.0 + np.exp((x - 300) / 40))
    return counties["state"].map(_COAST).fillna(0.0).to_numpy(dtype=float)


def _standard(values: pd.Series) -> np.ndarray:
    x = values.to_numpy(dtype=float)
    return np.asarray((x - x.mean()) / x.std())


def _check(n_counties: int, years: Sequence[int], alpha: float | Mapping[str, float]) -> None:
    most = len(county_list())
    if not 2 <= n_counties <= most:
        raise SettingsError(f"n_counties={n_counties}: use 2 to {most}")
    if not years or not all(2016 <= int(year) <= 2023 for year in years):
        raise SettingsError(f"years={list(years)}: use years from 2016 to 2023, which Dynamic World covers")
    sizes = list(alpha.values()) if isinstance(alpha, Mapping) else [alpha]
    if isinstance(alpha, Mapping) and set(alpha) != set(HAZARDS):
        raise SettingsError(f"alpha names {', '.join(alpha)}: give a size for each of {', '.join(HAZARDS)}")
    if not all(np.isfinite(size) and size >= 0 for size in sizes):
        raise SettingsError(f"alpha={alpha!r}: use finite numbers of 0 or more")
