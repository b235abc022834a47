"""Least squares against statsmodels, with every covariance."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal import ProxycalError
from proxycal.analysis.models import Design, fit_model, require_family

RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(80), RNG.normal(size=(80, 2))])
Y = X @ [1.0, 0.5, -0.3] + RNG.normal(size=80) * (1.0 + abs(X[:, 1]))
W = RNG.uniform(0.5, 2.0, 80)
GROUPS = np.repeat(np.arange(16), 5)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("iid", {}),
        ("hetero", {"cov_type": "HC1"}),
        ("cluster", {"cov_type": "cluster", "cov_kwds": {"groups": GROUPS}}),
    ],
)
def test_least_squares_equal_statsmodels(kind, options):
    sm = pytest.importorskip("statsmodels.api")
    weights = np.ones(80) if kind == "iid" else W / W.mean()
    own = fit_model("ols", Y, Design(X, weights, kind, GROUPS if kind == "cluster" else None))
    other = sm.WLS(Y, X, weights=weights).fit(**options)
    np.testing.assert_allclose(own.estimate, other.params, rtol=1e-9)
    np.testing.assert_allclose(own.cov, other.cov_params(), rtol=1e-9)


def test_degrees_of_freedom_are_those_of_clusters_where_there_are_some():
    assert Design(X, W, "hetero").df == 77
    assert Design(X, W, "cluster", GROUPS).df == 15


def test_without_statsmodels_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr("proxycal.analysis.models.is_installed", lambda package: False)
    assert require_family("ols") == "ols"
    with pytest.raises(ProxycalError, match=r"pip install 'proxycal\[models\]'"):
        require_family("logit")
