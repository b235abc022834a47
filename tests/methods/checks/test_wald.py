"""The Wald test: closed forms, with many rows and with few clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from proxycal.methods.checks.wald import count_clusters, meat, wald_p


def test_scores_are_added_up_within_clusters():
    scores = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    np.testing.assert_allclose(meat(scores), [[5.0, 2.0], [2.0, 10.0]])
    np.testing.assert_allclose(meat(scores, np.array([0, 0, 1])), [[9.0, 3.0], [3.0, 10.0]])
    assert count_clusters(np.array([4, 4, 7])) == 2
    assert count_clusters(None) is None


def test_few_clusters_make_a_careful_test():
    value, cov = np.array([2.0, 1.0]), np.eye(2)
    assert wald_p(value, cov) == pytest.approx(chi2.sf(5.0, 2))
    # Hotelling: T2 (g - q) / (q (g - 1)) is F with q and g - q degrees of freedom.
    assert wald_p(value, cov, 10) == pytest.approx(f_distribution.sf(5.0 * 8 / 18, 2, 8))
    assert wald_p(value, cov, 10) > wald_p(value, cov, 1000) > wald_p(value, cov)
    assert wald_p(value, cov, 2) == 1.0


def test_a_direction_without_variance_counts_only_where_degrees_of_freedom_say_so():
    value, cov = np.array([2.0, 0.0]), np.diag([1.0, 0.0])
    assert wald_p(value, cov) == pytest.approx(chi2.sf(4.0, 1))
    assert wald_p(value, cov, df=2) == pytest.approx(chi2.sf(4.0, 2))


def test_without_units_it_is_the_chi_square_test():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    value, cov = rng.normal(size=3), root @ root.T
    wanted = chi2.sf(value @ np.linalg.inv(cov) @ value, 3)
    assert wald_p(value, cov, df=3) == pytest.approx(wanted, rel=1e-8)
    assert wald_p(np.zeros(2), np.eye(2), df=2) == 1.0
