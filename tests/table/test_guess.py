from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.app.request import roles_from
from proxycal.table.guess import guess_roles


def guessed(table: pd.DataFrame) -> dict[str, str]:
    return {guess.column: guess.role for guess in guess_roles(table)}


def test_jobs_gets_the_roles_of_the_study():
    jobs = proxycal.datasets.load_jobs()
    found = roles_from(guessed(jobs.table))
    assert found == jobs.roles
    biased = proxycal.inject_bias(jobs.table, jobs.roles, alpha=1.0, random_state=0)
    assert roles_from(guessed(biased.table)) == jobs.roles
    why = {guess.column: guess.why for guess in guess_roles(jobs.table)}
    assert "levels are separate columns" in why["race"]
    assert "a copy of log_re78" in why["re78"]


def test_simulated_tables_get_their_roles():
    sim = proxycal.simulate(n=300, d_z=2, d_e=3, n_proxies=3, random_state=1)
    found = roles_from(guessed(sim.table))
    assert (found.outcome, found.proxies, found.environment) == (
        sim.roles.outcome,
        sim.roles.proxies,
        sim.roles.environment,
    )


@pytest.fixture
def losses() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 200
    true = rng.normal(size=n)
    return pd.DataFrame(
        {
            "case_id": np.arange(n) + 1000,
            "county": rng.integers(0, 25, n),
            "reported_loss": true + rng.normal(0, 0.3, n),
            "verified_loss": np.where(rng.random(n) < 0.2, true, np.nan),
            "trusted_office": np.arange(n) % 7 == 0,
            "damage_reported_by_owner": true + rng.normal(0, 0.3, n),
            "flooded_area": true + rng.normal(0, 0.3, n),
            "unrelated": rng.normal(size=n),
            "hazard": rng.choice(["flood", "wind"], n),
            "note": [f"note {i % 60}" for i in range(n)],
            "survey_weight": rng.uniform(0.5, 2, n),
            "state": "TX",
            "day": pd.date_range("2020-01-01", periods=n),
        }
    )


def test_names_and_values_give_the_roles(losses):
    assert guessed(losses) == {
        "case_id": "id",
        "county": "cluster",
        "reported_loss": "outcome",
        "verified_loss": "truth",
        "trusted_office": "trusted",
        "damage_reported_by_owner": "",  # reported too: it would hide the bias
        "flooded_area": "proxies",  # no name says so: it moves with the outcome
        "unrelated": "environment",
        "hazard": "environment",
        "note": "",
        "survey_weight": "weights",
        "state": "",
        "day": "",
    }


def test_every_guess_has_a_reason(losses):
    assert all(guess.why for guess in guess_roles(losses))
    why = {guess.column: guess.why for guess in guess_roles(losses)}
    assert "same bias" in why["damage_reported_by_owner"]
    assert "rank correlation 0.9" in why["flooded_area"]


def test_body_weight_is_no_survey_weight():
    roles = guessed(proxycal.datasets.load_nhanes().table)
    assert roles["weight_selfreport_kg"] == "outcome"
    assert "weights" not in roles.values()
    assert roles["seqn"] == "id"
    assert roles["bmi_selfreport"] == ""


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [None, None], "b": [None, None]}),
        pd.DataFrame({"a": ["x", "y", "x"], "b": ["p", "p", "q"]}),
        pd.DataFrame({"y": [1.0]}),
        pd.DataFrame({"": [1.0, 2.0, 3.0], "<b>": [True, False, True]}),
        pd.DataFrame({"y": [1.0, 2.0, None, 4.0], "p": [None, None, 1.0, None]}),
    ],
)
def test_odd_tables_get_a_guess_for_each_column(table):
    assert list(guessed(table)) == list(table.columns)


def test_a_strangers_spreadsheet():
    """Codes, dates, notes and near-unique columns have no role; one column is the id."""
    rng = np.random.default_rng(0)
    n = 120
    true = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "case": [f"{i:06d}" for i in range(n)],
            "zip": [f"0{1000 + i}" for i in range(n)],
            "region_code": rng.integers(100, 140, n),
            "day": pd.date_range("2024-01-01", periods=n),
            "date_filed": 20240101 + np.arange(n) % 28,
            "claimed": true,
            "invoices": true + 0.3 * rng.normal(size=n),
            "staff": rng.normal(size=n),
            "place": [f"village {i % 115}" for i in range(n)],
            "notes": [f"see file {i}, page {i % 7} of the folder" for i in range(n)],
        }
    )
    found = guessed(table)
    assert found == {
        "case": "id",
        "zip": "",
        "region_code": "",
        "day": "",
        "date_filed": "",
        "claimed": "outcome",
        "invoices": "proxies",
        "staff": "environment",
        "place": "",
        "notes": "",
    }
    why = {guess.column: guess.why for guess in guess_roles(table)}
    assert why["zip"] == "differs in every row, and case is already the id"
    assert "a code, not a measurement" in why["region_code"]
    assert "a date" in why["date_filed"]
    assert why["notes"] == "free text"
    assert "nearly every row" in why["place"]
    roles_from(found)


@pytest.mark.parametrize(
    "name",
    ["% rural", "pct_rural", "medincome", "staff_count", "Office", "reporting method", "Population 2020",
     "pop_density", "UrbanShare", "poverty_rate", "broadband"],
)  # fmt: skip
def test_a_circumstance_of_the_report_is_never_suggested_as_a_proxy(name):
    rng = np.random.default_rng(0)
    true, n = rng.normal(size=300), 300
    table = pd.DataFrame(
        {
            "loss": true + 0.3 * rng.normal(size=n),
            "flooded_area": true + 0.3 * rng.normal(size=n),
            name: -true + 0.1 * rng.normal(size=n),
            "hazard": rng.choice(["flood", "wind"], n),
        }
    )
    by_name = {guess.column: guess for guess in guess_roles(table)}
    assert by_name[name].role == "environment"
    assert "who reports" in by_name[name].why
    assert by_name["flooded_area"].role == "proxies"
    assert "measures the same thing" in by_name["flooded_area"].why


def test_an_earlier_measurement_of_a_reported_income_stays_a_proxy():
    rng = np.random.default_rng(0)
    true = rng.normal(size=300)
    names = ("reported_income", "income_register", "age")
    table = pd.DataFrame({name: true + 0.3 * rng.normal(size=300) for name in names})
    assert guessed(table) == {
        "reported_income": "outcome",
        "income_register": "proxies",
        "age": "environment",
    }
