"""The example of demo and app."""

from __future__ import annotations

import pytest

from proxycal import ProxyCalibrator
from proxycal.testing.example import EXAMPLE_ALPHA, biased_weights


def test_some_weights_are_lowered_and_no_value_repeats():
    sim = biased_weights(alpha=12.0, seed=1)
    shift = sim.table[sim.roles.outcome] - sim.truth["y_true"]
    assert shift.to_numpy() == pytest.approx(-12.0 * sim.truth["a"].to_numpy())
    assert 0.1 < sim.truth["a"].mean() < 0.9
    assert sim.table[sim.roles.outcome].value_counts(normalize=True).max() < 0.01
    assert sim.truth["y_true"].between(25.0, 350.0).all(), "kilograms"


@pytest.mark.slow
def test_the_bias_of_the_example_is_found_whoever_is_drawn():
    found = 0
    for seed in range(100, 120):
        sim = biased_weights(seed=seed)
        model = ProxyCalibrator(sim.roles, direction="under", random_state=seed).fit(sim.table)
        found += model.verdict_ == "bias found" and abs(model.alpha_ - EXAMPLE_ALPHA) < 2.0
    assert found >= 18
