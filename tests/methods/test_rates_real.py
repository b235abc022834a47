"""Counts and answers whose final numbers are known, where the files are at hand; none of them is shipped."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal as pc

DATA = next(
    (
        place / "shared" / "data"
        for place in Path(__file__).resolve().parents
        if (place / "shared" / "data").is_dir()
    ),
    Path("shared/data"),
)


def read(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand")
    return pd.read_csv(path)


def known_in_part(values, share=0.2, seed=0):
    return np.where(np.random.default_rng(seed).random(len(values)) < share, values, np.nan)


def beside_the_truth(model, table, by, final):
    """Totals of the rows that nobody validated, with what they came to in the end."""
    new = table[table["known"].isna()]
    totals = model.totals(new, by=by).set_index(by)
    totals["final"] = new.groupby(by)[final].sum()
    return totals.dropna()


def test_hamburg_reports_15_percent_of_its_hospital_cases_after_two_days():
    table = read("germany_covid_hosp_reports.csv")
    by_week = table.groupby(["week", "age_group"]).by_day2.transform("sum")
    by_state = table.groupby(["week", "location"]).by_day2.transform("sum")
    table = table.assign(
        others=np.log1p(by_week - table.by_day2),
        ages=np.log1p(by_state - table.by_day2),
        known=known_in_part(table.final),
    )
    roles = pc.Roles("by_day2", ["others", "ages"], ["location"], truth="known")
    model = pc.ProxyCalibrator(roles, direction="under", family="counts").fit(table)
    assert model.verdict_ == "bias found"
    states = beside_the_truth(model, table, "location", "final")
    assert ((states.low <= states.final) & (states.final <= states.high)).sum() >= 14
    least, most = states.reported / states.high, states.reported / states.low
    assert least["DE-HH"] < 0.155 < most["DE-HH"]
    assert most["DE-HH"] < least.drop("DE-HH").min()


def test_dengue_reports_of_2005_came_sooner_than_those_of_2007():
    table = read("dengue_pr_reports.csv").sort_values(["gender", "onset_week"])
    reports = table.groupby("gender").by_2weeks
    table = table.assign(
        before=np.log1p(reports.shift(3)),
        earlier=np.log1p(reports.shift(4)),
        other=np.log1p(table.groupby("onset_week").by_2weeks.transform("sum") - table.by_2weeks),
        year=table.year.astype(str),
        known=known_in_part(table.final),
    ).dropna(subset=["before", "earlier"])
    roles = pc.Roles("by_2weeks", ["before", "earlier", "other"], ["year"], truth="known")
    asked = {"direction": "under", "family": "counts", "total_rows": "keep"}
    model = pc.ProxyCalibrator(roles, **asked).fit(table)
    years = beside_the_truth(model, table, "year", "final")
    share = years.reported / years.calibrated
    assert share["2007"] < 0.8 < 0.85 < share["2005"]
    assert share.median() == pytest.approx(0.85, abs=0.03)


def test_sums_of_validation_give_the_shares_of_registered_deaths():
    table, checks = read("pogit_cervical.csv"), read("pogit_cervical_validation.csv")
    table = table.merge(checks, on="country", how="left")
    table.loc[table.country.duplicated(), ["v", "m"]] = np.nan
    roles = pc.Roles("y", ["agegroup"], ["country"], exposure="E", checked="m", confirmed="v")
    model = pc.ProxyCalibrator(roles, direction="under", family="counts").fit(table)
    assert model.verdict_ == "bias found"
    totals = model.totals(table, by="country").set_index("country")
    for row in checks.itertuples():
        part = totals.loc[row.country]
        least, most = part.reported / part.high, part.reported / part.low
        assert least < row.v / row.m < most
        # As wide as a share of 50 or 53 can be known, within a half.
        assert most - least < 1.5 * 2 * 1.96 * np.sqrt(0.25 / row.m)


@pytest.mark.parametrize("family", ["binary", "auto"])
def test_validated_voters_give_the_turnout(family):
    table = read("cces2018_turnout.csv")
    proxies, environment = ["news_interest", "party7"], ["education", "age", "income"]
    table = table.dropna(subset=["said_voted", *proxies, *environment])
    covered = 0
    for seed in range(4):
        drawn = table.assign(known=known_in_part(table.record_voted, seed=seed))
        roles = pc.Roles("said_voted", proxies, environment, truth="known")
        model = pc.ProxyCalibrator(roles, direction="over", family=family).fit(drawn)
        mean = model.totals(drawn, statistic="mean").iloc[0]
        covered += mean.low <= table.record_voted.mean() <= mean.high
        rows = model.calibrate(drawn)
        assert rows.y_cal.between(0.0, 1.0).all()
    assert covered >= 3
