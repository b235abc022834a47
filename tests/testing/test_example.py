"""The example of demo and app."""

from __future__ import annotations

import pytest

from proxycal.testing.example import biased_jobs


def test_the_injected_bias_is_what_it_says():
    sim = biased_jobs(alpha=3.0, seed=2)
    shift = sim.table[sim.roles.outcome] - sim.truth["y_true"]
    assert shift.to_numpy() == pytest.approx(3.0 * sim.truth["a"].to_numpy())
    assert 0.1 < sim.truth["a"].mean() < 0.9
