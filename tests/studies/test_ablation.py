"""The ablation: distances are what they say, a killed run ends like a whole one, wrong names are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import SettingsError
from proxycal.methods.paper.settings import PaperSettings
from proxycal.studies import ablation
from proxycal.studies.ablation import CHOICES, Choice, by_cell, distances, grid, perform, within_reach
from proxycal.studies.pages import paper_table
from proxycal.studies.sweep import Done, How

TINY = {"width": 8, "epochs": 2, "min_steps": 0, "restarts": 1}


def done_like_published(bias: float) -> list[Done]:
    """A choice whose estimates are the published ones less `bias` of alpha, with the published sd."""
    cells = []
    for row in (
        paper_table("table2_alpha").query("n == 500 and noise == 'gaussian' and d_z == 5").itertuples()
    ):
        settings = {
            "choice": "literal",
            "n": 500,
            "d_z": 5,
            "alpha": row.alpha,
            "noise": "gaussian",
            "folds": 2,
        }
        # Two values with this sd (n - 1 in the denominator) around the mean.
        values = row.mean - bias * row.alpha + np.array([-1, 1]) * row.sd / np.sqrt(2)
        rows = [{"fold": f, "metric": "alpha", "value": float(v)} for f, v in enumerate(values)]
        rows += [{"fold": f, "metric": "rmse_proxies", "value": 0.29} for f in range(2)]
        cells.append(Done("key", settings, rows, None, 1.0))
    return cells


def test_the_distance_to_the_published_cells_is_the_difference_put_in():
    same, off = (distances(by_cell(done_like_published(bias))).iloc[0] for bias in (0.0, 0.07))
    assert same["bias"] == pytest.approx(0, abs=1e-9)
    assert same["sd"] == pytest.approx(0, abs=1e-9)
    assert off["bias"] == pytest.approx(0.07)
    assert off["bias_500"] == pytest.approx(0.07)
    assert np.isnan(off["bias_2500"])
    assert off["sd"] == pytest.approx(0, abs=1e-9)
    # Published with 0.19 for this data set.
    assert same["rmse_proxies"] == pytest.approx(0.10)
    # 1.08, 3.95 and 8.61 for 1, 5 and 10.
    assert [same[f"mean_bias_{alpha}"] for alpha in (1, 5, 10)] == pytest.approx([0.08, -0.21, -0.139])


def test_what_no_setting_removes_is_measured_between_draws_and_within_the_published_table():
    cells = [
        replace(cell, settings={**cell.settings, "choice": choice})
        for choice, bias in (("published", 0.0), ("redrawn", 0.07))
        for cell in done_like_published(bias)
    ]
    reach = within_reach(by_cell(cells))
    assert reach["redrawn"] == pytest.approx(0.07)
    assert np.isnan(within_reach(by_cell(cells[:3]))["redrawn"])
    table = paper_table("table2_alpha")
    by_hand = [
        abs(group - np.median(group)).sum() for _, part in table.groupby("alpha")
        for group in [part["mean"] / part["alpha"]]
    ]  # fmt: skip
    assert reach["alpha"] == pytest.approx(sum(by_hand) / len(table))
    assert reach["alpha and n"] < reach["alpha"]


def test_an_ablation_that_stops_is_resumed_and_grows(tmp_path, monkeypatch):
    for name in ("literal", "median"):
        monkeypatch.setitem(CHOICES, name, replace(CHOICES[name], paper={**CHOICES[name].paper, **TINY}))
    alone = perform(tmp_path, How(), True, ["literal"])
    assert "3 of " in alone
    assert "| median |" not in alone
    page = perform(tmp_path, How(resume=True), True)
    assert "| literal | 3 |" in page
    assert "| median | 3 |" in page
    table = pd.read_csv(tmp_path / "distance.csv")
    assert set(table["choice"]) == {"literal", "median"}
    assert np.isfinite(table[["bias", "rmse", "sd"]].to_numpy()).all()


def test_a_cell_that_fails_is_named_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setitem(CHOICES, "literal", Choice("tiny", TINY))
    monkeypatch.setitem(CHOICES, "median", Choice("refused", {"cut": "nowhere"}))
    page = perform(tmp_path, How(), True)
    assert "## Cells that failed" in page
    assert "alpha=1,choice=median: SettingsError" in page


@pytest.mark.parametrize(("choices", "sizes", "says"), [
    (["magic"], [], "choice 'magic' is not known: use one or more of literal"),
    ([], [700], "no data sets of these sizes: use one or more of 500, 2500, 10000"),
])  # fmt: skip
def test_names_that_are_not_on_the_grid_are_refused(choices, sizes, says):
    with pytest.raises(SettingsError, match=says):
        grid(choices=choices, sizes=sizes)


def test_every_choice_is_a_setting_of_the_method():
    for name, choice in CHOICES.items():
        PaperSettings(**choice.paper)
        assert choice.says, name
    assert ablation.FOLDS == 5


def test_a_page_says_how_to_go_on_while_there_is_more_to_run():
    done = done_like_published(0.0)
    results = by_cell(done)
    failed = [replace(done[0], rows=[], error="TableError: too few")]
    part, whole, with_failures = (
        ablation.page(results, distances(results), n_cells, "code", False, errors)
        for n_cells, errors in ((5, []), (3, []), (4, failed))
    )
    assert "--resume" in part
    assert "--resume" not in whole
    assert "1 failed" in with_failures
