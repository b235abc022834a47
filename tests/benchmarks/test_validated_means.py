"""Means of NHANES: what least squares and the design of an audit make of a draw, and the page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import validated_means
from benchmarks.validated import ROLES, draw, means_held
from proxycal.table.encode import Encoder


def test_least_squares_out_of_fold_with_a_design_holds_the_mean():
    table, _ = draw("rounding down", 2000, 5)
    arrays, truth = Encoder.fit_transform(table, ROLES)[1], table["true"].to_numpy()
    held = []
    for seed in range(40):
        known = validated_means.validate(arrays, truth, 0.1, seed)
        assert np.isfinite(known.truth).sum() == 200
        fit = validated_means.least_squares(known, 0.1, seed)
        row = means_held(fit, known, truth)
        held.append(row["mean_held"])
        # The mean of 200 validated rows alone would be off by more.
        assert row["mean_half"] < 1.5 * truth.std() / np.sqrt(200)
    assert sum(held) >= 34


def test_the_page_states_shares_with_their_error():
    rows = [
        {"by": by, "world": f"nhanes {world}", "share": 0.1, "seed": seed, "error": None, "groups": 6,
         "groups_held": 6, "mean_held": seed > 0}
        for by in ("regression", "method") for world in ("bmi", "weight") for seed in range(20)
    ]  # fmt: skip
    alone, whole = validated_means.page(pd.DataFrame(rows)).parts
    assert [row["world"] for row in alone.rows] == ["nhanes bmi", "nhanes weight", "all outcomes"]
    # Both outcomes miss in the same draw: no less is known from one of them.
    assert {row["mean"] for row in alone.rows} == {"95.0% +- 4.9%"}
    assert whole.rows[2]["groups"] == "100.0% +- 0.0% of 240"
    assert whole.rows[2]["reached"] == "yes"
