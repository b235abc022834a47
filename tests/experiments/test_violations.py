"""Broken assumptions: the table is broken as named, and the finding that should fire does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import SettingsError
from proxycal.experiments.violations import broken, run_violations, summary


def test_shuffled_proxies_are_the_same_values_without_the_outcome():
    world, table = broken("useless proxies", 300, 1)
    np.testing.assert_array_equal(np.sort(table["p_1"]), np.sort(world.P[:, 0]))
    assert abs(np.corrcoef(table["p_1"], world.y_true)[0, 1]) < 0.2
    np.testing.assert_array_equal(table["y"], world.y)


def test_an_unknown_violation_is_refused_with_the_list():
    with pytest.raises(SettingsError, match=r"leak 0\.5"):
        broken("bad luck", 100, 0)


def test_the_right_finding_fires_and_a_clean_world_is_quiet():
    trials = run_violations(["clean", "leak 0.5", "useless proxies"], n=600, seeds=[1])
    assert trials["as expected"].tolist() == [True, True, True]
    assert trials["no wrong number"].all()
    made = summary(trials)
    assert made.loc["leak 0.5", "expected"] == "exclusion"
    assert "exclusion 1" in made.loc["leak 0.5", "fired most"]


def test_summary_averages_by_world():
    row = {"alpha_true": 2.0, "verdict": "bias found", "no wrong number": True, "fired": "", "world": "clean"}
    trials = pd.DataFrame([
        {**row, "alpha_hat": 1.0, "as expected": True},
        {**row, "alpha_hat": 3.0, "as expected": False, "verdict": "not identified", "fired": "gate, race"},
    ])  # fmt: skip
    made = summary(trials).loc["clean"]
    assert made["alpha_hat"] == 2.0
    assert made["as expected"] == 0.5
    assert made["bias found"] == 0.5
    assert made["repetitions"] == 2
