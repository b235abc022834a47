"""The studies: their cells, what a cell measures, and that a killed run ends like a whole one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest

from proxycal.cli import main
from proxycal.errors import SettingsError, StoreError
from proxycal.studies import studies
from proxycal.studies.experiments import make, perform, write_sanity
from proxycal.studies.sweep import Cell, Done, How

CHEAP = ("proxy-only", "oracle")
QUIET = How()


def test_the_full_studies_are_those_of_the_paper():
    cells = make("synthetic", False, []).cells
    data = {tuple(cell.settings[key] for key in ("n", "d_z", "alpha", "noise")) for cell in cells}
    assert (len(data), len(cells)) == (150, 150 * (len(studies.METHODS) - 1))
    assert {cell.settings["folds"] for cell in cells} == {10}
    real = make("semisynthetic", False, ["paper"]).cells
    assert {(cell.settings["d_z"], cell.settings["alpha"]) for cell in real} == {
        (d_z, alpha) for d_z in (5, 10, 15, 20) for alpha in (1, 5, 10)
    }


def test_an_unknown_method_is_refused():
    with pytest.raises(SettingsError, match="'magic' is not known: use one or more of proxy-only"):
        make("synthetic", True, ["magic"])


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


def outputs(folder):
    """Every result file; the cells hold seconds, which differ."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "run" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_study_killed_halfway_ends_like_a_whole_one(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    study = make("semisynthetic", True, CHEAP)
    perform(study, whole, QUIET)
    command = [
        sys.executable,
        "-m",
        "proxycal",
        "experiment",
        "semisynthetic",
        "--quick",
        "--jobs",
        "1",
        "-q",
    ]
    command += ["--methods", ",".join(CHEAP), "--out", str(killed)]
    run = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    while run.poll() is None and len(list(killed.glob("run/cells/*.json"))) < 2:
        time.sleep(0.005)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, "it had ended before the kill"
    assert not (killed / "results.md").exists()
    perform(study, killed, replace(QUIET, resume=True))
    assert outputs(killed) == outputs(whole)
    assert {"results.parquet", "results.csv", "results.md", "tables/table3_semisynthetic.tex"} <= outputs(
        whole
    ).keys()


def test_sanity_pages_stand_beside_a_study_on_request(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "NETWORK", {"width": 8, "min_steps": 0, "epochs": 2})
    write_sanity(studies.synthetic(True, ["oracle"]), tmp_path)
    assert [path.name for path in sorted((tmp_path / "sanity").glob("*.png"))] == [
        "sanity-1-histograms.png",
        "sanity-2-core.png",
        "sanity-3-latents.png",
        "sanity-4-elbo.png",
    ]


def test_a_stand_in_is_called_one_in_every_table(tmp_path):
    page = perform(make("semisynthetic", True, ["proxy-only"], stand_in=True), tmp_path, QUIET)
    assert "simulated stand-in" in page
    assert "OHIE" not in page
    assert "simulated stand-in, alpha=1" in (tmp_path / "tables" / "table3_semisynthetic.md").read_text()


def test_missing_ohie_files_are_named_before_anything_runs(tmp_path):
    with pytest.raises(StoreError, match="oregonhie_descriptive_vars"):
        make("semisynthetic", True, ohie=str(tmp_path))


def test_the_command_refuses_what_it_cannot_do(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "synthetic", "--quick"]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["experiment", "sideways", "--out", "x"]) == 2
    assert "use one of synthetic, semisynthetic" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("study", ["synthetic", "semisynthetic"])
def test_the_quick_studies_run_with_every_method(study, tmp_path):
    page = perform(make(study, True), tmp_path, replace(QUIET, jobs=2))
    assert "Cells that failed" not in page
    summary = pd.read_csv(tmp_path / "summary.csv")
    alphas = summary[summary["metric"] == "alpha"]
    own = {"tedvae-treatment"} if study == "synthetic" else set()
    assert set(alphas["method"]) == set(studies.METHODS) - own
    exact = alphas[(alphas["method"] == "exact") & (alphas["alpha"] >= 5)]
    assert (exact["mean"] / exact["alpha"] - 1).abs().max() < 0.1


@pytest.mark.slow
def test_dask_gives_the_same_results_to_the_last_digit(tmp_path):
    perform(make("semisynthetic", True, CHEAP), tmp_path / "joblib", QUIET)
    perform(make("semisynthetic", True, CHEAP), tmp_path / "dask", replace(QUIET, engine="dask", jobs=2))
    assert outputs(tmp_path / "joblib") == outputs(tmp_path / "dask")


def test_keys_name_the_cell():
    assert isinstance(studies.synthetic(True).cells[0], Cell)
    assert studies.synthetic(True).cells[0].key == (
        "dataset=synthetic,n=500,d_z=5,alpha=1,noise=gaussian,method=proxy-only"
    )
