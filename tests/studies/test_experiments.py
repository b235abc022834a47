"""A study as a folder of results: a killed run ends like a whole one, and what cannot run is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest

from proxycal.errors import SettingsError, StoreError
from proxycal.studies import studies
from proxycal.studies.experiments import make, page, perform, write_sanity
from proxycal.studies.sweep import How

CHEAP = ("proxy-only", "oracle")
QUIET = How()


def test_an_unknown_method_is_refused():
    with pytest.raises(SettingsError, match="'magic' is not known: use one or more of proxy-only"):
        make("synthetic", True, ["magic"])


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


@pytest.mark.parametrize(("methods", "as_published", "command", "alpha"), [
    ([], False, "proxycal experiment synthetic --quick", "estimated on the fitted folds"),
    (["paper"], True, "proxycal experiment synthetic --quick --as-published --methods paper",
     "held-out rows of a fold"),
])  # fmt: skip
def test_a_page_says_what_makes_it_again_and_where_alpha_comes_from(methods, as_published, command, alpha):
    study = make("synthetic", True, methods, as_published=as_published)
    long = pd.DataFrame({"error": [""], "cell": ["x"]})
    text = page(study, long, [], [], "code")
    assert f"Made by `{command}` with" in text
    assert alpha in text


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
