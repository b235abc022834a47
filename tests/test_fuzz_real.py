"""Real tables under the invariants of random ones: every method that applies, rare levels and gaps kept.

They stand in ../shared/data, which is no part of the package: where it is absent, these tests are skipped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal
from benchmarks.invariant_checks import (
    ask,
    containers,
    intervals,
    next_table,
    reach,
    rows_alone,
    saved,
    shape,
    shifts,
    strangers,
    totals,
    words,
)
from benchmarks.invariant_tables import Case, plain_recipe
from proxycal.table.roles import Roles

ROOT = Path(__file__).parents[1]
# A worktree stands deeper than a clone.
DATA = next(
    (place / "shared" / "data" for place in ROOT.parents if (place / "shared" / "data").is_dir()), None
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(DATA is None, reason="../shared/data is absent")]
CHECKS = (
    shape, intervals, shifts, reach, totals, words, rows_alone, saved, strangers, next_table, containers,
)  # fmt: skip
BLIND = ("exact", "gradual", "moments")
# What the fit is not shown: next month's rows.
NEW = 200


def read(name: str, **how) -> pd.DataFrame:
    return pd.read_csv(DATA / name, **how)


def case_of(table, roles: dict, direction: str, **arguments) -> Case:
    """The outcome is called y, the truth truth, and the first category kind, as the checks know them."""
    table = table.sample(frac=1.0, random_state=1).reset_index(drop=True)
    recipe = plain_recipe(
        direction=direction, missing="impute", container="parquet", scale=arguments.get("scale", "linear")
    )
    arguments = {"direction": direction, "missing": "impute", **arguments}
    return Case(recipe, table.iloc[:-NEW], table.iloc[-NEW:], Roles(**roles), arguments)


def hold(case: Case, method: str):
    model = proxycal.ProxyCalibrator(case.roles, method=method, **case.arguments).fit(case.table)
    said = ask(case, model, case.table)
    assert [f"{check.__name__}: {text}" for check in CHECKS for text in check(said)] == []
    return model, said


def nhanes(outcome: str, share: float = 0.0, seed: int = 0) -> Case:
    table = read("nhanes_2017_2018.csv.gz")
    for kind in ("kg", "cm"):
        table = table[table[f"{'weight' if kind == 'kg' else 'height'}_selfreport_{kind}"].notna()]
    table = table.dropna(subset=["weight_kg", "height_cm"])
    for which in ("", "_selfreport"):
        table[f"bmi{which}"] = table[f"weight{which}_kg"] / (table[f"height{which}_cm"] / 100.0) ** 2
    names = {
        "weight": ("weight_selfreport_kg", "weight_kg"),
        "height": ("height_selfreport_cm", "height_cm"),
        "bmi": ("bmi_selfreport", "bmi"),
    }[outcome]
    chosen = np.random.default_rng(seed).random(len(table)) < share
    table = table.assign(y=table[names[0]], truth=table[names[1]].where(chosen), kind=table["education"])
    environment = ["kind", "sex", "age", "race", "marital", "poverty_ratio", "household_size"]
    roles = {"outcome": "y", "proxies": ["waist_cm", "sbp1", "hdl", "a1c"], "environment": environment}
    if share:
        roles["truth"] = "truth"
    kept = ["y", "truth", *roles["proxies"], *environment]
    return case_of(table[kept], roles, "over" if outcome == "height" else "under")


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("outcome", ["weight", "height", "bmi"])
def test_nhanes_with_validated_rows(outcome, share):
    """Self-reports, every column of the environment, levels of two people kept."""
    model, said = hold(nhanes(outcome, share), "auto")
    assert model.result_.settings.method in ("auto", "validated")
    # Nobody is another person: by more than 40 kg, 30 cm or 15 units no self-report is off.
    most = {"weight": 40.0, "height": 30.0, "bmi": 15.0}[outcome]
    assert np.abs(said.column("shift"))[np.isnan(said.truth)].max() < most


@pytest.mark.parametrize("method", BLIND)
@pytest.mark.parametrize("outcome", ["weight", "height"])
def test_nhanes_without_a_truth(outcome, method):
    hold(nhanes(outcome), method)


@pytest.mark.parametrize("method", BLIND)
def test_counties_of_51_states(method):
    table = read("county_covariates.csv.gz", dtype={"fips": str})
    table = table.assign(y=table["median_household_income"], kind=table["state"]).dropna(subset=["y"])
    roles = {
        "outcome": "y",
        "proxies": ["per_capita_income", "poverty_rate", "median_rent_2013"],
        "environment": ["kind", "median_age", "pct_high_school", "unemployment_rate"],
    }
    assert table["kind"].nunique() == 51
    kept = ["y", *roles["proxies"], *roles["environment"]]
    hold(case_of(table[kept], roles, "over"), method)


@pytest.mark.parametrize("method", [*BLIND, "validated"])
def test_polls(method):
    data = proxycal.datasets.load_polls()
    table = data.table.rename(columns={"margin_poll": "y", "sponsor": "kind"})
    chosen = np.random.default_rng(2).random(len(table)) < 0.1
    table["truth"] = table["margin_actual"].where(chosen)
    names = {"sponsor": "kind"}
    roles = {
        "outcome": "y",
        "proxies": list(data.roles.proxies),
        "environment": [names.get(name, name) for name in data.roles.environment],
        "cluster": data.roles.cluster,
    }
    if method == "validated":
        roles["truth"] = "truth"
    kept = ["y", "truth", *roles["proxies"], *roles["environment"], roles["cluster"]]
    hold(case_of(table[kept], roles, "over"), method)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("method", BLIND)
def test_tornadoes(method, scale):
    table = read("tornado_2008_2020.csv.gz", dtype={"fips": str}).dropna(subset=["Loss"])
    table = table.sample(4_000, random_state=3)
    table = table.assign(y=table["Loss"], kind=table["fips"].str.zfill(5).str[:2])
    # A state with a few tornadoes stays as it is.
    roles = {"outcome": "y", "proxies": ["Length", "Width", "EF"], "environment": ["kind", "Year", "Month"]}
    kept = ["y", *roles["proxies"], *roles["environment"]]
    hold(case_of(table[kept], roles, "under", scale=scale), method)


@pytest.mark.parametrize("method", BLIND)
def test_storm_losses_over_decades(method):
    table = read("storm_losses_2000_2021.csv.gz", dtype={"FIPS": str}).sample(4_000, random_state=4)
    counties = read("county_covariates.csv.gz", dtype={"fips": str})
    table = table.assign(fips=table["FIPS"].str.zfill(5)).merge(counties, on="fips", how="left")
    table = table.assign(y=table["TOTAL_DAMAGE"], kind=table["EVENT_TYPE"])
    roles = {
        "outcome": "y",
        "proxies": ["households", "housing_units_2010", "median_home_value_2010"],
        "environment": ["kind", "Year", "median_household_income", "pct_bachelors"],
    }
    kept = ["y", *roles["proxies"], *roles["environment"]]
    hold(case_of(table[kept].dropna(subset=["y"]), roles, "under", scale="log"), method)
