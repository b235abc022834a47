"""The logistic model against scikit-learn's."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from proxycal.mixture.logistic import fit_logistic


@pytest.mark.parametrize("ridge", [1.0, 0.04])
def test_the_maximum_is_scikit_learns(ridge):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 4)), rng.uniform(0.2, 3.0, size=300)
    # A column of other units, and one that repeats another.
    X[:, 2] *= 50.0
    X[:, 3] = X[:, 0]
    share = rng.random(300) < expit(-1.0 + X[:, 0] + 0.05 * X[:, 2])
    theirs = LogisticRegression(C=1.0 / ridge, max_iter=10_000, tol=1e-10).fit(
        X, share, sample_weight=weights
    )
    mine = fit_logistic(X, share.astype(float), weights, ridge)
    np.testing.assert_allclose(mine, np.r_[theirs.intercept_, theirs.coef_[0]], atol=1e-4)


def test_a_share_is_so_many_rows_of_each_kind():
    rng = np.random.default_rng(1)
    X, share, weights = rng.normal(size=(80, 2)), rng.random(80), rng.uniform(0.5, 2.0, size=80)
    whole = fit_logistic(X, share, weights, 0.5)
    both = np.r_[weights * share, weights * (1.0 - share)]
    split = fit_logistic(np.vstack([X, X]), np.repeat([1.0, 0.0], 80), both, 0.5)
    np.testing.assert_allclose(whole, split, atol=1e-6)


def test_groups_that_a_column_separates_keep_a_finite_slope():
    x = np.r_[-1.0 - np.arange(20), 1.0 + np.arange(20)][:, None]
    beta = fit_logistic(x, (x[:, 0] > 0.0).astype(float), np.ones(40), 1.0)
    assert 0.3 < beta[1] < 5.0
    assert beta[0] == pytest.approx(0.0, abs=1e-6)
