"""Figures from hand-made trials, pages that say what was measured, and the command from end to end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from proxycal.studies.bench import blocks, code_digest, config, figures, markdown, paper_table, trials

from benchmarks import accuracy as bench_accuracy
from benchmarks import coverage as bench_coverage
from benchmarks import null as bench_null
from proxycal.cli import main
from proxycal.studies.sweep import Done


def row(hat, low=0.0, high=4.0, verdict="bias found", error=None, **more):
    """A trial of a bias of 2."""
    fitted = {"alpha_true": 2.0, "alpha_hat": hat, "low": low, "high": high, "verdict": verdict}
    return {"world": "w", **fitted, "accuracy": 0.9, "oracle": 2.2, "seconds": 1.0, "error": error, **more}


def fake_block(settings):
    """Trials without fits: alpha is overestimated by 1% and covered, and a null is mostly clean."""
    alpha = settings["alpha"]
    made = []
    for seed in settings["seeds"]:
        hat = alpha * (1.01 if seed % 2 else 0.99)
        verdict = "bias found" if alpha or seed % 40 == 0 else "no bias found"
        one = {**row(hat, hat - alpha, hat + alpha, verdict), "alpha_true": alpha, "oracle": alpha * 1.02}
        del one["world"]
        if settings["world"] == "alpha by level":
            levels = [("a", 1.0), ("b", 7 / 3), ("c", 11 / 3), ("d", 5.0)]
            one["levels"] = [
                {"level": name, "alpha_true": size, "alpha_hat": 1.05 * size, "low": 0.0, "high": 9.0,
                 "oracle": 1.1 * size, "told apart": True}
                for name, size in levels
            ]  # fmt: skip
        made.append({"seed": seed, **one})
    return made


def all_trials(bench):
    return trials(
        [Done(cell.key, cell.settings, fake_block(cell.settings), None, 1.0) for cell in bench.cells]
    )


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


def test_the_figures_of_the_paper():
    table = paper_table("table2_alpha")
    error = np.hypot(table["mean"] - table["alpha"], table["sd"]) / table["alpha"]
    assert len(error) == 150
    assert error.mean() == pytest.approx(0.20, abs=0.005)
    assert error.max() == pytest.approx(0.43, abs=0.005)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("module", [bench_accuracy, bench_coverage, bench_null])
def test_cells_are_distinct_and_seeds_belong_to_one_benchmark(module, quick):
    cells = module.bench(quick).cells
    assert len({cell.key for cell in cells}) == len(cells)
    seeds = {seed for cell in cells for seed in cell.settings["seeds"]}
    assert min(seeds) == module.FIRST_SEED
    assert max(seeds) < module.FIRST_SEED + 1_000_000


def test_the_full_runs_are_as_large_as_they_say():
    counted = {
        module.__name__.rpartition("_")[2]: sum(len(cell.settings["seeds"]) for cell in module.bench().cells)
        for module in (bench_accuracy, bench_coverage, bench_null)
    }
    assert counted == {"accuracy": 1500 + 60 + 80 + 60 + 100 + 1200, "coverage": 2000, "null": 3600}
    synthetic = [cell for cell in bench_accuracy.bench().cells if cell.settings["part"] == "synthetic"]
    names = ("n", "d_z", "alpha", "noise")
    assert len({tuple(cell.settings[name] for name in names) for cell in synthetic}) == 150


def test_blocks_hold_every_seed_once():
    seeds = [seed for cell in blocks({"n": 2000, "alpha": 1.0}, 12, 100) for seed in cell.settings["seeds"]]
    assert seeds == list(range(100, 112))


def test_the_accuracy_page_judges_each_target():
    bench = bench_accuracy.bench()
    page = bench.page(all_trials(bench))
    targets = {line["what"]: line for line in page.parts[0].rows}
    mean = targets["synthetic: relative RMSE of alpha, mean over cells"]
    assert (mean["paper"], mean["ours"], mean["oracle"]) == ("0.20", "0.0100", "0.0200")
    assert (mean["ratio to oracle"], mean["reached"], mean["repetitions"]) == ("0.50", "**no**", "150 x 10")
    assert targets["synthetic: the worst cell"]["paper"] == "0.43"
    assert targets["synthetic: the worst cell"]["reached"] == "yes"
    assert targets["synthetic: accuracy of p_biased > 0.5, mean over cells"]["reached"] == "**no**"
    assert targets["JOBS, alpha 1: bias and sd, relative"]["paper"] == "+50% to +69%"
    assert targets["alpha by a 4-level category: worst level of 2 sd and more"]["ours"] == "5.00%"
    assert targets["alpha by a 4-level category: coverage, lowest and highest level"]["reached"] == "**no**"
    assert sum(line["what"].startswith("found at 3 sd") for line in page.parts[0].rows) == 12
    figures_of_cells = page.figures[page.figures["part"] == "synthetic"]
    assert len(figures_of_cells) == 150
    assert figures_of_cells["paper"].notna().all()


def test_a_failed_fit_keeps_a_target_from_being_reached():
    bench = bench_accuracy.bench()
    frame = all_trials(bench)
    at = frame.index[(frame["part"] == "zero-inflated") & (frame["alpha"] == 5.0)][0]
    before = bench.page(frame).parts[0].rows
    frame.loc[at, "error"] = "ValueError: no"
    after = bench.page(frame).parts[0].rows
    changed = [
        new["what"] for old, new in zip(before, after, strict=True) if old["reached"] != new["reached"]
    ]
    assert changed == ["zero-inflated outcome, 40% zeros, alpha 5 sd"]


def test_the_null_page_counts_verdicts():
    bench = bench_null.bench()
    lines = bench.page(all_trials(bench)).parts[0].rows
    assert len(lines) == 18
    assert {(line["bias found"], line["no bias found"], line["reached"]) for line in lines} == {
        ("2.5%", "97.5%", "yes")
    }


def test_the_coverage_page_wants_neither_too_little_nor_too_much():
    bench = bench_coverage.bench()
    lines = bench.page(all_trials(bench)).parts[0].rows
    assert {(line["coverage"], line["reached"]) for line in lines} == {("100.0%", "**no**")}
    assert {(line["world"], line["n"]) for line in lines} >= {("JOBS resampled", "2,000"), ("poisson", "500")}


def test_a_page_of_an_unfinished_run_shows_what_there_is():
    bench = bench_accuracy.bench()
    frame = all_trials(bench)
    text = markdown(bench.page(frame[frame["part"] == "JOBS"]), "command", "code", quick=False)
    assert "JOBS, alpha 5" in text
    assert "Nothing finished yet." in text


def test_the_config_changes_with_cells_and_code(monkeypatch):
    full, quick = config(bench_null.bench()), config(bench_null.bench(quick=True))
    assert full["code"] == quick["code"] == code_digest()
    assert full["cells"] != quick["cells"]
    monkeypatch.setattr("proxycal.studies.bench._CODE", ("bias",))
    assert code_digest() != full["code"]


def test_the_command_from_end_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("proxycal.studies.bench.run_block", fake_block)
    monkeypatch.setattr("proxycal.studies.bench._CODE", ("simulation.py",))
    monkeypatch.setattr(bench_null, "WORLDS", ("t3",))
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "null", "--jobs", "1"]) == 0
    text = (tmp_path / "benchmarks" / "null.md").read_text()
    assert text in capsys.readouterr().out
    assert text.startswith(
        "# No bias where there is none\n\nMade by `proxycal bench null --jobs 1` with proxycal"
    )
    assert len(pd.read_csv(tmp_path / "benchmarks" / "null.csv")) == 2

    assert main(["bench", "null", "--jobs", "1"]) == 2
    assert "--resume" in capsys.readouterr().err
    (tmp_path / "benchmarks" / "null.md").unlink()
    assert main(["bench", "null", "--jobs", "1", "--resume", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "benchmarks" / "null.md").read_text() == text

    assert main(["bench", "null", "--so-far"]) == 0
    assert "(unfinished)" in capsys.readouterr().out


def test_a_quick_run_is_marked_judges_nothing_and_starts_over(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("proxycal.studies.bench.run_block", fake_block)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["bench", "coverage", "--quick", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "QUICK RUN" in out.splitlines()[0]
    assert "reached" not in out
    assert sorted(path.name for path in (tmp_path / "benchmarks").iterdir()) == [
        "coverage-quick.csv",
        "coverage-quick.md",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bench", "beauty"], "accuracy, coverage, null"),
        (["bench", "null", "--so-far"], "no finished cell"),
        (["bench", "null", "--jobs", "0"], "jobs=0"),
    ],
)
def test_bad_requests_are_one_line(args, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
