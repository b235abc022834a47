"""The embedded JOBS table: the facts that the paper states about it."""

import numpy as np
import pytest

from proxycal.datasets import load_jobs
from proxycal.testing.simulation import inject_bias


@pytest.fixture(scope="module")
def jobs():
    return load_jobs()


def test_row_count_and_groups(jobs):
    assert len(jobs.table) == 614
    assert jobs.table["treat"].value_counts().to_dict() == {0: 429, 1: 185}
    assert not jobs.table.isna().any().any()


@pytest.mark.parametrize(
    ("column", "unique"), [("re74", 358), ("re75", 356), ("re78", 457), ("log_re78", 457)]
)
def test_unique_values(jobs, column, unique):
    assert jobs.table[column].nunique() == unique


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("age", 16, 55),
        ("educ", 0, 18),
        ("re74", 0.0, 35040.07),
        ("re75", 0.0, 25142.24),
        ("re78", 0.0, 60307.93),
        ("log_re78", 0.0, 11.007),
    ],
)
def test_ranges(jobs, column, low, high):
    assert jobs.table[column].min() == pytest.approx(low, abs=5e-4)
    assert jobs.table[column].max() == pytest.approx(high, abs=5e-4)


@pytest.mark.parametrize("column", ["treat", "black", "hispan", "married", "nodegree"])
def test_flags_are_flags(jobs, column):
    assert set(jobs.table[column].unique()) == {0, 1}


def test_race_repeats_the_flags(jobs):
    race = jobs.table["race"]
    assert ((race == "black") == (jobs.table["black"] == 1)).all()
    assert ((race == "hispan") == (jobs.table["hispan"] == 1)).all()


def test_outcome_is_log_of_one_plus_earnings(jobs):
    np.testing.assert_allclose(np.exp(jobs.table["log_re78"]) - 1, jobs.table["re78"], rtol=1e-10, atol=1e-9)


def test_roles(jobs):
    assert jobs.roles.outcome == "log_re78"
    assert jobs.roles.proxies == ("re74", "re75")
    assert jobs.roles.environment == ("treat", "age", "educ", "black", "hispan", "married", "nodegree")
    assert set(jobs.roles.columns) <= set(jobs.table.columns)


def test_about_names_the_source(jobs):
    assert "Dehejia" in jobs.about
    assert "1999" in jobs.about


def test_each_call_returns_its_own_table(jobs):
    mine = load_jobs().table
    mine["age"] = 0
    assert load_jobs().table["age"].min() == 16


def test_injected_share_is_neither_nobody_nor_everybody(jobs):
    shares = [inject_bias(jobs.table, jobs.roles, random_state=seed).truth["a"].mean() for seed in range(20)]
    assert min(shares) > 0.3
    assert max(shares) < 0.7
