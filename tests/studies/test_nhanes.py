"""The NHANES study: its cells, what a cell measures, and that the page is written whole."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.datasets import load_nhanes
from proxycal.studies import nhanes
from proxycal.studies.sweep import Done, How

SMALL = 10


@pytest.fixture(scope="module")
def rows():
    """One draw of a tenth of the people, a tenth of them validated."""
    settings = {"outcome": "weight", "body_fat": False, "share": 0.1, "seed": 1, "step": SMALL}
    return nhanes.run_cell(settings)


def value(rows, method, metric, group="all"):
    found = [row for row in rows if (row["method"], row["metric"], row["group"]) == (method, metric, group)]
    assert len(found) == 1
    return found[0]["value"]


def test_the_cells_are_outcomes_by_shares_by_draws():
    cells = nhanes.cells(quick=False)
    weight = [cell.settings for cell in cells if cell.key.startswith("weight,")]
    assert {one["share"] for one in weight} == {0.0, 0.05, 0.1, 0.2}
    assert [one["seed"] for one in weight if one["share"] == 0.1] == list(range(nhanes.SEEDS["weight"]))
    assert [one["seed"] for one in weight if one["share"] == 0.0] == [0]
    assert {cell.settings["outcome"] for cell in cells} == {"weight", "height", "bmi"}


def test_errors_are_those_of_rows_that_were_not_validated(rows):
    table = load_nhanes("weight", validated=0.1, random_state=1).table.iloc[::SMALL]
    held_out = table[table["validated"].isna()]
    error = held_out["weight_selfreport_kg"] - held_out["weight_kg"]
    assert value(rows, "self-report", "rmse") == pytest.approx(np.sqrt((error**2).mean()))
    men = error[held_out["sex"] == "Male"]
    assert value(rows, "self-report", "bias", "Male") == pytest.approx(men.mean())
    heavy = error[held_out["bmi"] >= 35]
    assert value(rows, "self-report", "mae", "BMI 35 and over") == pytest.approx(heavy.abs().mean())


def test_the_report_is_left_alone_unless_a_bias_is_found(rows):
    verdict = next(row["text"] for row in rows if row["metric"] == "verdict")
    assert verdict in ("no bias found", "not identified")
    assert value(rows, "exact", "rmse") == value(rows, "self-report", "rmse")
    # The validated rows are learned from whatever the verdict.
    assert value(rows, "proxycal", "rmse") < value(rows, "self-report", "rmse")
    assert value(rows, "proxycal, totals", "half width") < value(rows, "validated rows alone", "half width")
    assert next(row["text"] for row in rows if row["metric"] == "reasons")


def test_prediction_powered_means_stand_beside_the_others(rows):
    table = load_nhanes("weight", validated=0.1, random_state=1).table.iloc[::SMALL]
    known = table["validated"].notna()
    report, measured = table["weight_selfreport_kg"], table["weight_kg"]
    ppi = report[~known].mean() + (measured - report)[known].mean()
    assert value(rows, "PPI", "mean error") == pytest.approx(ppi - measured.mean())
    assert value(rows, "PPI", "half width") < 0.5 * value(rows, "validated rows alone", "half width")


def test_groups_share_out_everybody_once():
    table = load_nhanes("bmi").table
    among = nhanes.groups(table)
    assert among["all"].all()
    assert (sum(among[name].astype(int) for name in nhanes.BMI_NAMES) == 1).all()
    assert (among["Female"] != among["Male"]).all()


def test_a_failed_cell_is_one_row_with_its_error():
    frame = nhanes.long_form([Done("a", {"outcome": "weight"}, [], "ValueError: no", 0.1)])
    assert frame["error"].tolist() == ["ValueError: no"]


def test_a_quick_study_writes_page_tables_and_figures(rows, tmp_path, monkeypatch):
    """The cell without validated rows is fitted; the other one was, for the tests above."""
    fit_cell = nhanes.run_cell
    monkeypatch.setattr(nhanes, "QUICK_STEP", 4 * SMALL)
    monkeypatch.setattr(nhanes, "run_cell", lambda cell: rows if cell["share"] else fit_cell(cell))
    page = nhanes.perform(True, tmp_path, How())
    assert page == (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "QUICK RUN" in page
    assert "Cells that failed" not in page
    assert "weight: **no" in page
    assert 'weight, `method="gradual"`: **' in page
    left = value(rows, "proxycal", "rmse")
    assert f'With 10% of the people measured, `method="validated"` leaves **{left:.2f}**' in page
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("nhanes-*")}
    assert {
        f"figures/nhanes-{name}.{end}" for name in ("rmse", "groups", "error") for end in ("png", "pdf")
    } <= made
    assert {f"tables/nhanes-{name}.{end}" for name in ("rmse", "means") for end in ("csv", "md")} <= made
    again = nhanes.perform(True, tmp_path, How(resume=True))
    assert again == page
