"""Rubin's rules where the answer is known by hand."""

from __future__ import annotations

import numpy as np

from proxycal.analysis.rubin import degrees, pool_arrays


def test_by_hand():
    """Three estimates 1, 2, 3 with variance 1: T = 1 + 4/3, half-width by Student's t with its df."""
    pooled = pool_arrays(np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1, 1)), np.inf, 0.95)
    total = 1.0 + 4.0 / 3.0
    assert np.isclose(pooled.se[0] ** 2, total)
    share = (4.0 / 3.0) / total
    assert np.isclose(pooled.df[0], 2.0 / share**2)
    assert np.isclose(pooled.fmi[0], (4.0 / 3.0 + 2.0 / (pooled.df[0] + 3.0)) / (4.0 / 3.0 + 1.0))


def test_the_covariance_has_both_parts():
    estimates = np.array([[0.0, 0.0], [2.0, 2.0]])
    pooled = pool_arrays(estimates, np.tile(np.eye(2), (2, 1, 1)), np.inf, 0.9)
    np.testing.assert_allclose(pooled.cov, np.eye(2) + 1.5 * 2.0)


def test_an_estimate_without_an_error_of_its_own_is_all_missing():
    pooled = pool_arrays(np.array([[1.0], [2.0]]), np.zeros((2, 1, 1)), np.inf, 0.95)
    assert pooled.fmi[0] == 1.0
    assert pooled.df[0] == 1.0


def test_degrees_never_exceed_those_of_a_complete_table():
    share = np.linspace(0.0, 0.99, 50)
    made = degrees(20, share, np.array(57.0))
    assert (made <= 57.0).all()
    assert (np.diff(made) <= 1e-9).all()
