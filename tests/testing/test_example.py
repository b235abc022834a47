"""The example of demo and app."""

from __future__ import annotations

import pytest

from proxycal.testing.example import biased_jobs, biased_weights


def test_the_injected_bias_is_what_it_says():
    sim = biased_jobs(alpha=3.0, seed=2)
    shift = sim.table[sim.roles.outcome] - sim.truth["y_true"]
    assert shift.to_numpy() == pytest.approx(3.0 * sim.truth["a"].to_numpy())
    assert 0.1 < sim.truth["a"].mean() < 0.9


def test_the_example_of_the_demo_is_lowered_and_has_no_spike():
    sim = biased_weights(alpha=2.0, seed=1)
    shift = sim.table[sim.roles.outcome] - sim.truth["y_true"]
    assert shift.to_numpy() == pytest.approx(-2.0 * sim.truth["a"].to_numpy())
    assert sim.table[sim.roles.outcome].value_counts(normalize=True).max() < 0.01
