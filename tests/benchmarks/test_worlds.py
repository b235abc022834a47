"""Wider worlds: a trial beside its truth, and what each verdict counts for."""

from __future__ import annotations

import pytest

from benchmarks import worlds
from benchmarks.bench import trials
from proxycal.studies.sweep import Done
from proxycal.testing import wider_worlds

FOUND, NONE, UNSAID = "bias found", "no bias found", "not identified"


def block(world: str, answers: list[dict], draw: str = "fresh", n: int = 1000) -> Done:
    clean = {"alpha_true": 2.0, "alpha_hat": 2.0, "low": 1.8, "high": 2.2, "covered": True, "law": "",
             "rmse_obs": 1.0, "rmse_cal": 0.5, "seconds": 1.0, "error": None}  # fmt: skip
    rows = [{"seed": seed, **clean, **answer} for seed, answer in enumerate(answers)]
    settings = {"world": world, "n": n, "draw": draw, "seeds": list(range(len(answers)))}
    return Done("k", settings, rows, None, 1.0)


def test_a_trial_of_a_plain_world_finds_its_bias():
    row = worlds.run_block({"world": "500 rows", "n": 500, "draw": "fresh", "seeds": [2]})[0]
    assert row["error"] is None
    assert row["verdict"] == FOUND
    assert row["alpha_hat"] == pytest.approx(row["alpha_true"], rel=0.25)
    assert row["rmse_cal"] < row["rmse_obs"]
    assert row["seconds"] > 0.0
    assert "BIC" in row["law"]


def test_what_a_verdict_counts_for():
    null = {"alpha_true": 0.0, "rmse_obs": 0.0}
    frame = worlds.judged(trials([
        block("1000 rows, no bias", [{**null, "verdict": FOUND, "rmse_cal": 0.3},
                                     {**null, "verdict": NONE, "rmse_cal": 0.0}]),
        block("one size, 3 sd", [{"verdict": FOUND}, {"verdict": FOUND, "alpha_hat": 2.6, "covered": False},
                                 {"verdict": NONE}, {"verdict": UNSAID}]),
        block("share 0.01", [{"verdict": NONE, "rmse_cal": 1.06}]),
        block("y7", [{"verdict": NONE}]),
    ]))  # fmt: skip
    shown = frame[["false", "wrong", "reassured", "found", "coverage", "harm"]].astype(object)
    lines = shown.where(shown.notna(), None).to_numpy().tolist()
    assert lines == [
        [1.0, None, None, None, None, 1.0],
        [0.0, None, None, None, None, 0.0],
        [None, 0.0, 0.0, 1.0, 1.0, 0.0],
        [None, 1.0, 0.0, 1.0, 0.0, 0.0],
        [None, None, 1.0, 0.0, None, 0.0],
        [None, None, 0.0, 0.0, None, 0.0],
        # A bias that may be "not identified" may still not be denied; one of 0.9 sd may.
        [None, None, 1.0, None, None, 1.0],
        [None, None, None, None, None, 0.0],
    ]


def test_the_page_judges_and_keeps_undecidable_worlds_apart():
    null = {"alpha_true": 0.0, "rmse_obs": 0.0, "rmse_cal": 0.0}
    lost = Done(
        "k", {"world": "share 0.5", "n": 1000, "draw": "fresh", "seeds": [0]}, [], "ValueError: no", 1.0
    )
    page = worlds.page(trials([
        block("unseen cause, no bias", [{**null, "verdict": FOUND}]),
        block("1000 rows, no bias", [{**null, "verdict": NONE}] * 10),
        block("one size, 3 sd", [{"verdict": FOUND}] * 9),
        block("y1", [{"verdict": FOUND, "alpha_hat": 2.3}], "published", 2000),
        block("y4", [{**null, "verdict": UNSAID}], "published", 2000),
        lost,
    ]))  # fmt: skip
    totals = {row["figure"]: row for row in page.parts[0].rows}
    assert (totals["false"]["share"], totals["false"]["of fits"], totals["false"]["reached"]) == (
        "0.0%",
        "10",
        "yes",
    )
    assert (totals["found"]["share"], totals["found"]["reached"]) == ("90.0%", "yes")
    assert (totals["errors"]["share"], totals["errors"]["reached"]) == ("1", "**no**")
    assert [row["reached"] for row in page.parts[1].rows] == ["**no**", "yes"]
    families = {row["family"]: row for row in page.parts[2].rows}
    assert families["undecidable*"]["false"] == "100%"
    assert families["number of rows"]["false"] == "0%"
    names = [row["world"] for row in page.parts[4].rows]
    assert names[:2] == ["unseen cause, no bias*", "1000 rows, no bias"]
    assert len(page.figures) == 23


def test_seeds_of_the_report_and_of_tuning_are_apart():
    def seeds(bench):
        fresh = [cell for cell in bench.cells if cell.settings["draw"] == "fresh"]
        return {seed for cell in fresh for seed in cell.settings["seeds"]}

    full, tuned = worlds.bench(), worlds.tuning()
    assert len({cell.key for cell in full.cells}) == len(full.cells)
    assert len(seeds(full)) >= 20
    assert min(seeds(full)) == worlds.FIRST_SEED
    assert not seeds(full) & seeds(tuned)
    assert not seeds(full) & seeds(worlds.bench(quick=True))
    assert {cell.settings["world"] for cell in full.cells} == {world.name for world in wider_worlds()}
    published = [cell.settings for cell in full.cells if cell.settings["draw"] == "published"]
    assert [cell["world"] for cell in published] == [f"y{k}" for k in range(1, 8)]
    assert {seed for cell in published for seed in cell["seeds"]} == {0}
    assert 10 <= len(worlds.bench(quick=True).cells) <= 40
