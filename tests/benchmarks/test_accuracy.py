"""The page of the benchmark of accuracy."""

from __future__ import annotations

from benchmarks import accuracy
from benchmarks.pages import markdown
from hand_trials import all_trials


def test_the_accuracy_page_judges_each_target():
    bench = accuracy.bench()
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
    bench = accuracy.bench()
    frame = all_trials(bench)
    at = frame.index[(frame["part"] == "zero-inflated") & (frame["alpha"] == 5.0)][0]
    before = bench.page(frame).parts[0].rows
    frame.loc[at, "error"] = "ValueError: no"
    after = bench.page(frame).parts[0].rows
    changed = [
        new["what"] for old, new in zip(before, after, strict=True) if old["reached"] != new["reached"]
    ]
    assert changed == ["zero-inflated outcome, 40% zeros, alpha 5 sd"]


def test_a_page_of_an_unfinished_run_shows_what_there_is():
    bench = accuracy.bench()
    frame = all_trials(bench)
    text = markdown(bench.page(frame[frame["part"] == "JOBS"]), "command", "code", quick=False)
    assert "JOBS, alpha 5" in text
    assert "Nothing finished yet." in text
