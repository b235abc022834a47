"""Pooling against mice's own numbers, and results of other libraries."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.analysis.pool import pool

REFERENCE = pd.read_csv(Path(__file__).with_name("mice_pool.csv"))


def reference(model, what, table=0):
    rows = REFERENCE[(REFERENCE.model == model) & (REFERENCE.what == what) & (REFERENCE.table == table)]
    return rows.value.to_numpy()


def fits(model):
    k = len(reference(model, "coef", 1))
    return [
        SimpleNamespace(
            coef=reference(model, "coef", i),
            vcov=reference(model, "vcov", i).reshape(k, k),
            df_resid=reference(model, "df", i)[0],
        )
        for i in range(1, 6)
    ]


@pytest.mark.parametrize("model", ["ols", "logit"])
def test_equals_mice(model):
    pooled = pool(fits(model))
    for column in ("estimate", "se", "df", "t", "p", "low", "high", "fmi"):
        # The reference is written with 15 digits; six are promised.
        np.testing.assert_allclose(pooled[column], reference(model, column), rtol=1e-8, err_msg=column)


def test_results_of_other_libraries_are_understood():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"x": rng.normal(size=60)})
    done = [sm.OLS(x.x + rng.normal(size=60), sm.add_constant(x)).fit() for _ in range(3)]
    pooled = pc.pool(done)
    assert list(pooled.index) == ["const", "x"]
    pairs = pc.pool([(one.params, one.cov_params()) for one in done], df=58)
    pd.testing.assert_frame_equal(pooled, pairs)
    # As linearmodels has them: attributes; as pyfixest: a method, and the covariance in _vcov.
    linear = [SimpleNamespace(params=one.params, cov=one.cov_params(), df_resid=58) for one in done]
    fixest = [
        SimpleNamespace(
            coef=lambda one=one: one.params,
            vcov=lambda how: None,
            _vcov=one.cov_params().to_numpy(),
            _df_t=58,
        )
        for one in done
    ]
    pd.testing.assert_frame_equal(pooled, pc.pool(linear))
    pd.testing.assert_frame_equal(pooled, pc.pool(fixest))


def test_equal_results_are_left_as_they_are():
    pooled = pool([([1.0, 2.0], np.diag([4.0, 9.0]))] * 4, df=20)
    assert pooled.se.tolist() == [2.0, 3.0]
    assert pooled.df.tolist() == [20.0, 20.0]
    assert pooled.fmi.tolist() == [0.0, 0.0]
    assert pooled.attrs["vcov"] == [[4.0, 0.0], [0.0, 9.0]]


def test_intervals_cover_at_their_level():
    """Half of 40 normal values unseen and drawn from their posterior: the mean's interval keeps its level."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        y = rng.normal(size=20)
        drawn = []
        for _ in range(10):
            sd = np.sqrt(y.var(ddof=1) * 19 / rng.chisquare(19))
            mean = y.mean() + sd / np.sqrt(20) * rng.normal()
            whole = np.r_[y, mean + sd * rng.normal(size=20)]
            drawn.append((whole.mean(), whole.var(ddof=1) / 40))
        row = pool(drawn, df=39).iloc[0]
        covered += row.low < 0.0 < row.high
    # Three standard errors of a share of 1,000 around 0.95.
    assert 0.929 < covered / 1000 < 0.971


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "nothing to pool"),
        ([(1.0, 1.0)], "one result"),
        ([(1.0, 1.0), object()], "result 2 .object. is not understood"),
        ([([1.0, 2.0], [[1.0]])] * 2, "covariance of shape"),
        ([(np.nan, 1.0)] * 2, "not finite"),
        ([(pd.Series([1.0], ["a"]), [[1.0]]), (pd.Series([1.0], ["b"]), [[1.0]])], "different terms"),
    ],
)
def test_what_cannot_be_pooled_is_named(given, says):
    with pytest.raises(pc.ProxycalError, match=says):
        pool(given)
