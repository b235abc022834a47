"""The studies: their cells, and what a cell measures."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.studies import studies
from proxycal.studies.experiments import make
from proxycal.studies.sweep import Cell, Done


def test_the_full_studies_are_those_of_the_paper():
    cells = make("synthetic", False, []).cells
    data = {tuple(cell.settings[key] for key in ("n", "d_z", "alpha", "noise")) for cell in cells}
    assert (len(data), len(cells)) == (150, 150 * (len(studies.METHODS) - 1))
    assert {cell.settings["folds"] for cell in cells} == {10}
    real = make("semisynthetic", False, ["paper"]).cells
    assert {(cell.settings["d_z"], cell.settings["alpha"]) for cell in real} == {
        (d_z, alpha) for d_z in (5, 10, 15, 20) for alpha in (1, 5, 10)
    }


def test_all_alphas_of_a_data_set_have_the_same_units():
    cells = [cell.settings for cell in studies.synthetic(True, ["oracle"]).cells]
    one, two = (studies.draw(next(c for c in cells if c["alpha"] == alpha)) for alpha in (1, 10))
    pd.testing.assert_frame_equal(one.truth, two.truth)


def test_a_cell_has_a_row_per_fold_and_metric():
    cell = next(one for one in studies.semisynthetic(True, ["oracle"]).cells if one.settings["alpha"] == 5)
    rows = studies.run_cell(cell.settings)
    assert {row["fold"] for row in rows} == {0, 1, 2}
    alphas = [row["value"] for row in rows if row["metric"] == "alpha"]
    assert alphas == pytest.approx([5.0] * 3, abs=0.6)


def test_a_failed_cell_is_one_row_with_its_error():
    done = [Done("a", {"method": "exact", "alpha": 1, "folds": 3}, [], "ValueError: no", 0.1)]
    frame = studies.long_form(done)
    assert frame[["cell", "method", "error"]].to_numpy().tolist() == [["a", "exact", "ValueError: no"]]


def test_every_method_answers_on_a_small_table(monkeypatch):
    """All but exact, which test_protocol looks at, the networks with hardly any training."""
    monkeypatch.setattr(studies, "NETWORK", {"width": 8, "min_steps": 0, "epochs": 2})
    common = {
        "study": "synthetic",
        "dataset": "synthetic",
        "n": 120,
        "d_z": 2,
        "alpha": 5,
        "noise": "poisson",
    }
    for method in (name for name in studies.METHODS if name not in ("exact", "tedvae-treatment")):
        rows = studies.run_cell({**common, "method": method, "folds": 2, "seed": 1})
        metrics = {row["metric"] for row in rows}
        assert {"alpha", "alpha_error", "accuracy", "brier", "rmse_y_cal"} <= metrics, method
        assert ({"r2_z", "r2_a", "a_mae", "z_mae", "rmse_y_obs"} <= metrics) == (method == "paper")
        assert ("rmse_proxies" in metrics) == (method == "paper")


def test_keys_name_the_cell():
    assert isinstance(studies.synthetic(True).cells[0], Cell)
    assert studies.synthetic(True).cells[0].key == (
        "dataset=synthetic,n=500,d_z=5,alpha=1,noise=gaussian,method=proxy-only"
    )


def test_as_published_changes_the_settings_and_the_noise_of_every_cell():
    plain, published = (studies.synthetic(True, ["paper"], flag).cells[0].settings for flag in (False, True))
    assert studies.paper_settings(plain).section("paper").cut == "mixture"
    asked = studies.paper_settings(published).section("paper")
    assert (asked.cut, asked.quantile, asked.adjust, asked.d_z) == ("quantile", 0.4, False, 5)
    # Quieter proxies are nearer to a line in each other.
    noisy, quiet = (studies.draw(cell).table[["p_1", "p_2"]].corr().iloc[0, 1] for cell in (plain, published))
    assert quiet > noisy
    assert make("semisynthetic", True, ["paper"], as_published=True).cells[0].settings["as_published"]
