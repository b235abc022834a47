"""Cells out of seeds, and figures from trials made by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import accuracy, coverage, null
from benchmarks.bench import blocks, config, figures, trials
from hand_trials import row
from proxycal.studies.sweep import Done


def test_figures_by_hand():
    frame = pd.DataFrame([row(2.2, high=2.3), row(1.8, low=1.9), row(2.0, verdict="not identified")])
    made = figures(frame, ["world"]).iloc[0]
    assert made["ours"] == pytest.approx(np.sqrt((0.01 + 0.01) / 3))
    assert made["oracle"] == pytest.approx(0.1)
    assert made["ratio"] == pytest.approx(made["ours"] / 0.1)
    assert made["bias"] == pytest.approx(0.0, abs=1e-12)
    assert made["sd"] == pytest.approx(0.1)
    assert made["coverage"] == 1.0
    assert made["width"] == pytest.approx((2.3 + 2.1 + 4.0) / 3 / (2 * 1.96 * 0.2))
    assert (made["found"], made["none"], made["unidentified"]) == pytest.approx((2 / 3, 0, 1 / 3))


def test_intervals_that_miss_or_are_missing_do_not_cover():
    frame = pd.DataFrame([row(2.0), row(2.0, low=2.1), row(2.0, high=1.9), row(2.0, low=np.nan, high=np.nan)])
    assert figures(frame, ["world"]).iloc[0]["coverage"] == 0.25


def test_a_fit_that_failed_finds_and_covers_nothing():
    failed = {"world": "w", "error": "ValueError: no"}
    made = figures(trials([Done("k", {"seeds": [1, 2]}, [row(2.0), failed], None, 1.0)]), ["world"]).iloc[0]
    assert (made["repetitions"], made["errors"], made["found"], made["coverage"]) == (2, 1, 0.5, 0.5)
    assert made["ours"] == 0.0


def test_a_cell_that_failed_counts_with_all_its_seeds():
    frame = trials([Done("k", {"world": "w", "seeds": [4, 5, 6]}, [], "MemoryError: no", 1.0)])
    assert frame["error"].tolist() == ["MemoryError: no"] * 3
    assert figures(frame, ["world"]).iloc[0]["errors"] == 3


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("module", [accuracy, coverage, null])
def test_cells_are_distinct_and_seeds_belong_to_one_benchmark(module, quick):
    cells = module.bench(quick).cells
    assert len({cell.key for cell in cells}) == len(cells)
    seeds = {seed for cell in cells for seed in cell.settings["seeds"]}
    assert min(seeds) == module.FIRST_SEED
    assert max(seeds) < module.FIRST_SEED + 1_000_000


def test_the_full_runs_are_as_large_as_they_say():
    counted = {
        module.__name__.rpartition(".")[2]: sum(len(cell.settings["seeds"]) for cell in module.bench().cells)
        for module in (accuracy, coverage, null)
    }
    assert counted == {"accuracy": 1500 + 60 + 80 + 60 + 100 + 1200, "coverage": 2000, "null": 3600}
    synthetic = [cell for cell in accuracy.bench().cells if cell.settings["part"] == "synthetic"]
    names = ("n", "d_z", "alpha", "noise")
    assert len({tuple(cell.settings[name] for name in names) for cell in synthetic}) == 150


def test_blocks_hold_every_seed_once():
    seeds = [seed for cell in blocks({"n": 2000, "alpha": 1.0}, 12, 100) for seed in cell.settings["seeds"]]
    assert seeds == list(range(100, 112))


def test_the_config_changes_with_cells_and_code(monkeypatch):
    full, quick = config(null.bench()), config(null.bench(quick=True))
    assert full["code"] == quick["code"] == null.bench().code()
    assert full["cells"] != quick["cells"]
    monkeypatch.setattr("proxycal.studies.pages.ROOMS", ("effect",))
    assert null.bench().code() != full["code"]
