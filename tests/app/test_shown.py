"""Totals on the page are those of the API, and so is what follows from an assumption."""

from __future__ import annotations

import pandas as pd

from proxycal.app.shown import band_shown, first_choice, fit_in, groupable, may_assume, totals_shown
from proxycal.app.worker import RUN
from proxycal.model import load


def test_totals_are_those_of_the_api_and_the_picture_is_of_them(finished):
    done, _ = finished
    fit, frame = fit_in(done.folder / RUN), done.table.frame
    shown = totals_shown(fit, frame, "state")
    wanted = load(done.folder / RUN).totals(frame, by="state")
    assert [row[0] for row in shown.rows] == ["Iowa", "Ohio", "all rows"]
    assert [row[1] for row in shown.rows] == [f"{rows:,}" for rows in wanted["rows"]]
    assert shown.rows[-1][-1] == f"{wanted['change_pct'].iloc[-1]:+.1f}%"
    assert "by state" in shown.picture.page_svg
    assert totals_shown(fit, frame, "").rows == (shown.rows[-1],)


def test_columns_of_few_groups_can_be_added_up_by(finished):
    frame = finished[0].table.frame
    assert groupable(frame) == ["state"]
    assert groupable(frame.assign(year=[2020.0, 2021.0] * 250, gap=pd.Series(["a", None] * 250))) == [
        "state",
        "year",
    ]
    assert first_choice(["code", "year", "State of loss"]) == "State of loss"


def test_an_assumption_gives_the_band_of_the_api(finished):
    done, _ = finished
    fit, frame = fit_in(done.folder / RUN), done.table.frame
    said, rows = band_shown(fit, frame, (0.1, 0.4), (0.6, 0.9), "state")
    assert said.startswith("An assumption, not a finding")
    assert [row[0] for row in rows] == ["Iowa", "Ohio", "all rows"]
    assert may_assume(fit, frame)
    assert not may_assume(fit, frame.assign(loss=-1.0))
