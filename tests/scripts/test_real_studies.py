"""The real studies on made-up files of the same format: rows accounted for, joins right, a page written."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.account import balance
from proxycal.datasets.cpi import price_ratio

SCRIPTS = Path(__file__).parents[2] / "scripts" / "studies"
CODES = [f"{code:05d}" for code in range(1001, 1061)]


@pytest.fixture(scope="module")
def scripts():
    """The modules, found as they are when a script is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield {
            name: importlib.import_module(name)
            for name in ("study_page", "tornado_losses", "hurricane_losses", "check_storms", "nation")
        }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sixty counties, tornadoes with all kinds of gaps, two storms of one autumn and one of another."""
    rng = np.random.default_rng(0)
    here = tmp_path_factory.mktemp("data")
    counties = pd.DataFrame({"fips": CODES, "state": rng.choice(["Here", "There"], 60)})
    counties["population"] = rng.integers(1_000, 90_000, 60)
    counties["area_sq_mi"] = rng.uniform(200, 900, 60)
    for name in ("median_household_income", "poverty_rate", "pct_bachelors", "median_age"):
        counties[name] = rng.uniform(10, 60, 60)
    counties["homeownership_2010"] = rng.uniform(50, 90, 60)
    counties.loc[59, "population"] = np.nan
    counties.to_csv(here / "county_covariates.csv.gz", index=False)
    n = 240
    tornadoes = pd.DataFrame({"fips": rng.choice(CODES[:59], n), "Year": rng.integers(2008, 2021, n)})
    tornadoes["Length"], tornadoes["Width"] = rng.lognormal(0, 1, n), rng.lognormal(4, 1, n).round(1)
    content = np.log(tornadoes["Length"]) + np.log(tornadoes["Width"])
    tornadoes["Loss"] = np.exp(5 + content + rng.normal(size=n)).round()
    tornadoes.loc[:4, "Length"] = 0.0
    tornadoes.loc[5:7, "fips"] = "01000"
    tornadoes.loc[8:8, "fips"] = CODES[59]
    tornadoes.loc[9:28, "Loss"] = np.nan
    tornadoes.to_csv(here / "tornado_2008_2020.csv.gz", index=False)
    return here


def test_every_tornado_is_accounted_for(scripts, folder):
    study = scripts["tornado_losses"].study(folder)
    main, everyone = study.questions[0].table, study.questions[-1].table
    assert balance(study.account, "tornadoes") == len(main) == 240 - 5 - 3 - 1 - 20
    assert len(everyone) == len(main) + 20
    words = " ".join(str(entry) for entry in study.account)
    assert "5 rows left out: path of no length" in words
    assert "01000 x3" in words
    for question in study.questions:
        assert not question.table[list(question.roles.columns)].isna().any().any()


def test_losses_are_in_constant_dollars(scripts, folder):
    table, _ = scripts["tornado_losses"].read(folder)
    row = table[table["Loss"].notna()].iloc[0]
    expected = np.log(row["Loss"] * price_ratio([int(row["Year"])], 2020)[0])
    assert row["log_loss"] == pytest.approx(expected)
    assert table.loc[table["Loss"].isna(), "log_loss_or_none"].eq(0.0).all()


def test_an_event_goes_to_the_storm_of_its_county_and_day(scripts):
    events = pd.DataFrame(
        {
            "fips": ["01001", "01001", "01001", "01002", "01003"],
            "EVENT_DATE": ["2005-08-29", "2005-09-23", "2005-12-01", "2005-08-29", "2005-08-29"],
        }
    )
    days = pd.to_datetime(["2005-08-24", "2005-09-19", "2005-08-24", "2005-08-28"])
    wind = pd.DataFrame(
        {
            "fips": ["01001", "01001", "01003", "01003"],
            "storm_id": ["Katrina-2005", "Rita-2005", "Katrina-2005", "Later-2005"],
            "first": days,
            "last": days + pd.Timedelta(days=7),
        }
    )
    joined, lost = scripts["hurricane_losses"].join(events, wind)
    found = dict(zip(joined["event"], joined["storm_id"], strict=True))
    assert found == {0: "Katrina-2005", 1: "Rita-2005", 4: "Later-2005"}
    assert lost.tolist() == ["2005-12-01", "2005-08-29"]


def test_events_of_one_county_and_storm_are_added(scripts):
    joined = pd.DataFrame(
        {
            "fips": ["01001", "01001", "01002"],
            "storm_id": ["A-2020"] * 3,
            "TOTAL_DAMAGE": [1e6, 2e6, 5e6],
            "Year": [2020] * 3,
            "vmax_sust": [17.5, 17.5, 25.7],
            "sust_dur": [60.0, 60.0, 120.0],
        }
    )
    rows = scripts["hurricane_losses"].by_storm(joined)
    assert np.exp(rows["log_loss"]).tolist() == pytest.approx([3e6, 5e6])
    assert np.exp(rows["log_hours_of_wind"]).tolist() == pytest.approx([1.0, 2.0])


def test_the_days_of_the_storms_are_days_of_their_year():
    storms = pd.read_csv(SCRIPTS / "storms.csv", parse_dates=["first", "last"])
    assert storms["storm"].is_unique
    assert (storms["first"] <= storms["last"]).all()
    assert ((storms["last"] - storms["first"]).dt.days <= 12).all()
    assert (storms["first"].dt.year == storms["storm"].str[-4:].astype(int)).all()


def test_a_study_writes_its_page_tables_and_figure(scripts, folder, tmp_path, monkeypatch):
    page = scripts["study_page"]
    monkeypatch.setattr(page, "POWER_SIZES", (1.0,))
    study = scripts["tornado_losses"].study(folder)
    text = page.make(replace(study, questions=study.questions[1:2]), tmp_path, repetitions=2)
    assert text == (tmp_path / "tornado.md").read_text(encoding="utf-8")
    assert any(f"**{verdict}**" in text for verdict in ("bias found", "no bias found", "not identified"))
    assert all(limit in text for limit in study.limits)
    assert "## If the bias varies gradually with the county" in text
    assert study.exclusion in text
    assert "{" not in text
    assert (tmp_path / "figures" / "tornado-fit.png").stat().st_size > 10_000
    # What the gradual method holds back is nowhere.
    assert (tmp_path / "tables" / "tornado-along.csv").exists() == ("log points on average" in text)
    answers = pd.read_csv(tmp_path / "tables" / "tornado-answers.csv")
    assert answers["rows"].tolist() == [len(study.questions[0].table)]


def test_the_simulated_nation_is_told_beside_its_truth(scripts, tmp_path):
    text = scripts["nation"].make(tmp_path, counties=160)
    assert text == (tmp_path / "nation.md").read_text(encoding="utf-8")
    assert "SIMULATED" in text
    for part in ("About counties", "Under which assumption", "Does the assumption hold here?"):
        assert f"**{part}" in text
    graded = pd.read_csv(tmp_path / "tables" / "nation-graded.csv").set_index("fit")
    assert list(graded.index) == ["all hazards", "Flooding"]
    # With one factor of exp(1.8), the mean bias above the least biased tenth lies below 1.8.
    assert graded["mean_bias_true"].between(0.3, 1.8).all()
    shown = [f"| {truth:.2f} |" in text for truth in graded["mean_bias_true"]]
    assert all(shown)
    assert (tmp_path / "figures" / "nation-ratio.png").stat().st_size > 10_000


def test_verdicts_that_differ_are_said_to(scripts):
    differ = scripts["study_page"]._agreement({"bias found", "no bias found"})
    assert "depends on how the table is asked (bias found; no bias found)" in differ
    assert "same verdict" in scripts["study_page"]._agreement({"no bias found"})


def test_days_of_storms_are_compared_with_their_tracks_near_land(scripts):
    """A centre at sea, off Louisiana, over Mississippi and at sea again; a storm that no track knows."""
    tracks = pd.DataFrame({
        "name": "Ann", "year": 2005, "month": 8, "day": [26, 28, 29, 30],
        "lat": [22.0, 28.5, 31.5, 45.0], "long": [-86.0, -90.0, -89.5, -50.0],
    })  # fmt: skip
    storms = pd.DataFrame({"storm": ["Ann-2005", "Bob-2005"]})
    storms["first"], storms["last"] = pd.Timestamp("2005-08-26"), pd.Timestamp("2005-08-30")
    made = scripts["check_storms"].compare(storms, tracks).set_index("storm")
    assert made.loc["Ann-2005", ["starts", "ends"]].tolist() == [-2, 1]
    assert made["overlap"].tolist() == [True, False]
