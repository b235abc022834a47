"""The polls study: what it compares, against closed forms and a table with a planted lean."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets import load_polls
from proxycal.datasets.polls import OUTCOME, TRUTH
from proxycal.studies import polls
from proxycal.studies.polls_page import page, perform


@pytest.fixture(scope="module")
def table():
    rows = load_polls().table
    return rows.assign(error=rows[OUTCOME] - rows[TRUTH])


def test_true_leans_are_least_squares_with_errors_by_race(table):
    planted = table.assign(error=2.0 * (table["sponsor"] == "D") - 1.0 * (table["method"] == "IVR"))
    truth = polls.true_leans(planted)
    assert truth.loc["sponsor=D", "bias"] == pytest.approx(2.0)
    assert truth.loc["method=IVR", "bias"] == pytest.approx(-1.0)
    assert truth["se"].max() < 1e-6
    # The figures that the study is known for, with other columns held: +2.7 (0.4) and -2.6 (0.4).
    known = polls.true_leans(table)
    assert known.loc["sponsor=D"].round(1).tolist() == [2.7, 0.4]
    assert known.loc["sponsor=R"].round(1).tolist() == [-2.6, 0.4]


def test_the_share_of_races_is_that_of_the_variance_components():
    rng = np.random.default_rng(0)
    race = np.repeat(np.arange(400), 10)
    error = 2.0 * rng.normal(size=400)[race] + rng.normal(size=4000)
    assert polls.shared_by_race(pd.DataFrame({"race": race, "error": error})) == pytest.approx(0.8, abs=0.03)


def test_the_study_finds_sponsors_and_says_where_it_fails(table, tmp_path, monkeypatch):
    monkeypatch.setattr(polls, "DRAWS", 1)
    monkeypatch.setattr(polls, "SHUFFLES", 1)
    small = table[table["era"].isin(["2010-2013", "2018-2023"])].reset_index(drop=True)
    whole = load_polls()
    monkeypatch.setattr(polls, "load_polls", lambda: type(whole)(small, whole.roles, whole.about))
    text = perform(False, tmp_path)
    assert "**bias found**" in text
    assert "The sign is right in 4 of 4 fits" in text
    assert "The failure: what all polls of a race share" in text
    assert "CC BY 4.0" in text
    assert '`method="exact"` on the same polls: **not identified**' in text
    made = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {
        "results.md",
        "polls-levels.csv",
        "polls-eras.csv",
        "polls-resampled.csv",
        "polls-levels.png",
    } <= made
    eras = pd.read_csv(tmp_path / "polls-eras.csv")
    assert polls.rmse(eras, "sponsor") < polls.rmse(eras, "reported")


def test_a_lean_that_is_wrong_is_marked():
    levels = pd.DataFrame(
        {
            "column": ["sponsor", "sponsor", "method"], "level": ["D", "R", "IVR"], "polls": 9,
            "against": "z",
            "bias": [3.0, -3.0, 1.0], "se": 0.1, "truth": [2.9, -3.1, -1.0], "truth_se": 0.1,
            "apart": [0.7, 0.7, 14.1],
        }
    )  # fmt: skip
    numbers = {name: [1.0] for name in ("D", "D_se", "D_true", "R_se", "R_true", "reported", "sponsor")}
    eras = pd.DataFrame({"era": ["x"], "polls": [4], "R": [-1.0], "calibrated": 1.0, "true": 1.0, **numbers})
    drawn = pd.DataFrame({"party": ["D", "R"], "holds": 1.0, "false": 0.0, "draws": 1, "shuffles": 1})
    study = polls.Study(pd.DataFrame(), "", 1.0, "bias found", "", levels, eras, 0.5, drawn)
    text = page(study, quick=True, code="x")
    assert "1 of 1 methods are off by more than 2 standard errors (IVR)" in text
    assert "**14.1**" in text
    assert "QUICK RUN" in text
    assert "What the default method says" not in text
