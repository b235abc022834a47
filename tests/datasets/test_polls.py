"""The embedded polls: counts against the file itself, and proxies that share nothing with their row."""

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets import load_polls
from proxycal.datasets.polls import ENVIRONMENT, OUTCOME, PROXIES, TRUTH, other_polls, prepare_polls


@pytest.fixture(scope="module")
def raw():
    with (files("proxycal.datasets") / "data" / "polls_1998_2023.csv.gz").open("rb") as source:
        return pd.read_csv(source, compression="gzip")


@pytest.fixture(scope="module")
def polls():
    return load_polls()


def test_the_file_is_the_one_described(raw, polls):
    assert raw.shape == (9483, 14)
    assert raw["race"].nunique() == 1820
    assert raw["pollster"].nunique() == 473
    assert "CC BY 4.0" in polls.about
    assert "FiveThirtyEight" in polls.about


def test_roles_are_complete_and_the_result_has_none(polls):
    table, roles = polls.table, polls.roles
    assert not table[[OUTCOME, TRUTH, *PROXIES, *ENVIRONMENT]].isna().any().any()
    assert TRUTH not in roles.columns
    assert set(table["sponsor"]) == {"none", "D", "R"}
    assert table["days"].between(1, 21).all()
    assert table["era"].nunique() == 6


def test_the_account_adds_up(raw):
    table, account = prepare_polls(raw)
    counts = list(account.values())
    assert counts[0] - sum(counts[1:-1]) == counts[-1] == len(table)


def test_proxies_are_means_of_other_pollsters_without_a_sponsor(polls, raw):
    neutral = raw[raw["partisan"].isna()]
    for _, row in polls.table.sample(25, random_state=0).iterrows():
        others = neutral[(neutral["race"] == row["race"]) & (neutral["pollster"] != row["pollster"])]
        names = sorted(others["pollster"].unique())
        halves = [others[others["pollster"].isin(names[start::2])][OUTCOME].mean() for start in (0, 1)]
        np.testing.assert_allclose([row[PROXIES[0]], row[PROXIES[1]]], halves)


def test_the_order_of_rows_does_not_matter(raw):
    table, _ = prepare_polls(raw)
    shuffled, _ = prepare_polls(raw.sample(frac=1.0, random_state=1))
    key = ["poll_id", "race", "pollster", OUTCOME, "samplesize"]
    pd.testing.assert_frame_equal(
        table.sort_values(key).reset_index(drop=True), shuffled.sort_values(key).reset_index(drop=True)
    )


def test_a_race_with_one_other_pollster_has_no_proxies():
    table = pd.DataFrame(
        {
            "race": ["a"] * 3 + ["b"] * 3,
            "pollster": ["x", "y", "y", "x", "y", "z"],
            "sponsor": ["none", "none", "none", "D", "none", "none"],
            OUTCOME: [1.0, 2.0, 4.0, 9.0, 3.0, 5.0],
        }
    )
    halves = other_polls(table)
    assert halves.loc[:2].isna().any(axis=1).all()
    assert halves.loc[3].tolist() == [3.0, 5.0]
    assert np.isnan(halves.loc[4, PROXIES[1]])


def test_another_file_can_be_read(raw, tmp_path):
    path = tmp_path / "polls.csv"
    raw.head(2000).to_csv(path, index=False)
    assert len(load_polls(path).table) < 2000
