"""The benchmark of a graded bias: its worlds, one trial, and the page."""

from __future__ import annotations

import numpy as np

from benchmarks import gradual
from benchmarks.bench import trials
from proxycal.studies.sweep import Done


def test_the_worlds_are_what_their_names_say():
    table, roles = gradual.draw("positive part", 400, 4, seed=3)
    np.testing.assert_allclose(table["bias"], 3.0 * np.maximum(table["e1"], 0.0))
    np.testing.assert_allclose(table["y"] - table["true"], table["bias"])
    assert (roles.cluster, roles.truth) == (None, "validated")
    useless, _ = gradual.draw(gradual.USELESS, 400, 4, seed=3)
    assert abs(np.corrcoef(useless["p1"], useless["true"])[0, 1]) < 0.2
    assert np.corrcoef(table["p1"], table["true"])[0, 1] > 0.5
    clustered, roles = gradual.draw("none, clusters of 10", 400, 4, seed=3)
    assert roles.cluster == "unit"
    assert (clustered.groupby("unit")["e1"].nunique() == 1).all()
    assert not clustered["bias"].any()


def test_a_trial_puts_the_answer_beside_the_truth():
    (row,) = gradual.run_block({"world": "linear", "n": 500, "proxies": 4, "seeds": [1]})
    assert row["error"] is None
    assert row["verdict"] == "bias found"
    assert row["left"] < 0.3
    (refused,) = gradual.run_block({"world": gradual.USELESS, "n": 500, "proxies": 4, "seeds": [1]})
    assert refused["verdict"] == "not identified"


def by_hand(settings):
    """A bias is found and 10% of it left; every tenth null is a false alarm; what should be refused is."""
    rows = []
    for seed in settings["seeds"]:
        null = settings["world"].startswith("none")
        verdict = "no bias found" if null and seed % 10 else "bias found"
        if settings["world"] in (gradual.REACHED, gradual.USELESS, gradual.TOO_FEW):
            verdict = "not identified"
        rows.append({"seed": seed, "verdict": verdict, "left": 0.1, "held": 0.94 + 0.02 * (seed % 2),
                     "seconds": 0.2, "error": None})  # fmt: skip
    return rows


def test_the_page_judges_each_world_by_its_own_target():
    bench = gradual.bench()
    page = bench.page(trials([Done(c.key, c.settings, by_hand(c.settings), None, 1.0) for c in bench.cells]))
    bias, allowed, null, refuse = (part.rows for part in page.parts)
    fits = [row for row in allowed if row["told"] == "the fit, told nothing"]
    assert [(row["clusters"], row["left"]) for row in fits] == [("50", "0.100"), ("200", "0.100")]
    assert len(allowed) == 2 * 5
    assert (len(bias), len(null), len(refuse)) == (2 * 13, 2 * 4, 2 * 7)
    assert {(row["left"], row["coverage"], row["reached"]) for row in bias} == {("0.100", "95.0%", "yes")}
    assert {(row["bias found"], row["reached"]) for row in null} == {("10.0%", "**no**")}
    assert {(row["not identified"], row["reached"]) for row in refuse} == {("100.0%", "yes")}
