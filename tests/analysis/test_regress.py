"""Pooled regressions of the calibrated column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc

N = 700


@pytest.fixture(scope="module")
def world():
    """Two of five reports too high by two residual sds; w follows the truth beyond the proxies."""
    rng = np.random.default_rng(11)
    e = rng.normal(size=(N, 2))
    y = 1.0 + e @ [0.6, -0.3] + rng.normal(size=N) + 0.5 * rng.normal(size=N)
    p = y[:, None] * [1.0, 0.8, 1.2] + 0.6 * rng.normal(size=(N, 3))
    a = rng.random(N) < 1.0 / (1.0 + np.exp(0.3 - 1.2 * e[:, 0]))
    table = pd.DataFrame(np.column_stack([y + a, p, e]), columns=["y", "p1", "p2", "p3", "e1", "e2"])
    table["w"] = 0.6 * y + 0.5 * rng.normal(size=N)
    table["sick"] = (rng.random(N) < 1.0 / (1.0 + np.exp(1.0 - y))).astype(int)
    table["visits"] = rng.poisson(np.exp(0.3 * y))
    table["state"] = rng.integers(0, 30, N)
    table["kind"] = rng.choice(["a", "b", "c"], N)
    table["pw"] = rng.uniform(0.5, 2.0, N)
    roles = pc.Roles("y", ["p1", "p2", "p3"], ["e1", "e2"])
    model = pc.ProxyCalibrator(roles, direction="over", method="exact").fit(table)
    assert model.verdict_ == "bias found"
    return table, y, model


def plain(table, y, columns):
    """Least squares on the truth, and its standard errors."""
    x = np.column_stack([np.ones(N), table[columns]])
    beta, rest = np.linalg.lstsq(x, y, rcond=None)[:2]
    cov = np.linalg.inv(x.T @ x) * rest / (N - x.shape[1])
    return beta, np.sqrt(np.diag(cov))


@pytest.mark.parametrize("columns", [["e1", "e2"], ["p1", "e1"], ["w", "e1"]])
def test_slopes_are_those_of_the_truth(world, columns):
    table, y, model = world
    pooled = model.regress("y ~ " + " + ".join(columns), table)
    beta, se = plain(table, y, columns)
    # Estimates differ by what the draws do not know, which is part of the pooled error.
    assert (abs(pooled.estimate - beta) < 3.0 * pooled.se).all()
    assert (pooled.se > 0.9 * se).all()
    assert (pooled.se < 2.0 * se).all()
    assert {"estimate", "se", "df", "low", "high", "fmi"} <= set(pooled.columns)
    assert pooled.attrs["rows"] == N


def test_a_column_outside_takes_part_and_the_reading_says_so(world):
    table, y, model = world
    pooled = model.regress("y ~ w + e1", table)
    assert "column 'w' took part in the draws" in pooled.attrs["reading"]
    assert "took part" not in model.regress("y ~ e1", table, m=2).attrs["reading"]
    blind = pc.pool([_ols(one, ["w", "e1"]) for one in model.impute(table, m=20)])
    heard = pc.pool([_ols(one, ["w", "e1"]) for one in model.impute(table, m=20, include=["w"])])
    slope = plain(table, y, ["w", "e1"])[0][1]
    assert blind.estimate.iloc[1] < 0.985 * slope
    assert abs(heard.estimate.iloc[1] - slope) < 0.6 * abs(blind.estimate.iloc[1] - slope)


def _ols(table, columns):
    x = np.column_stack([np.ones(N), table[columns]])
    beta, rest = np.linalg.lstsq(x, table["y"], rcond=None)[:2]
    return beta, np.linalg.inv(x.T @ x) * rest / (N - x.shape[1])


def test_on_the_right_it_is_no_flatter_than_the_truth(world):
    table, y, model = world
    pooled = model.regress("w ~ y", table)
    x = np.column_stack([np.ones(N), y])
    slope = np.linalg.lstsq(x, table["w"], rcond=None)[0][1]
    assert abs(pooled.estimate["y"] - slope) < 2.0 * pooled.se["y"]
    report = np.linalg.lstsq(np.column_stack([np.ones(N), table["y"]]), table["w"], rcond=None)[0][1]
    assert report < slope - 3.0 * pooled.se["y"]


@pytest.mark.parametrize(("family", "left"), [("logit", "sick"), ("poisson", "visits")])
def test_other_families(world, family, left):
    sm = pytest.importorskip("statsmodels.api")
    table, y, model = world
    pooled = model.regress(f"{left} ~ y", table, family=family)
    law = {"logit": sm.families.Binomial(), "poisson": sm.families.Poisson()}[family]
    true = sm.GLM(table[left], sm.add_constant(y), family=law).fit()
    assert (abs(pooled.estimate.to_numpy() - true.params.to_numpy()) < 1.5 * pooled.se.to_numpy()).all()
    assert (pooled.se.to_numpy() > 0.85 * true.bse.to_numpy()).all()


def test_weights_and_clusters_are_carried_along(world):
    sm = pytest.importorskip("statsmodels.api")
    table, _, model = world
    pooled = model.regress("y ~ e1", table, m=3, weights="pw", vcov={"cluster": "state"})
    fits = []
    for one in model.impute(table, m=3):
        x = sm.add_constant(one[["e1"]])
        kinds = {"cov_type": "cluster", "cov_kwds": {"groups": one["state"]}}
        done = sm.WLS(one["y"], x, weights=one["pw"]).fit(**kinds)
        fits.append((done.params, done.cov_params()))
    other = pc.pool(fits, df=29)
    np.testing.assert_allclose(pooled.to_numpy(), other.to_numpy(), rtol=1e-7)


def test_frames_of_other_kinds_and_categories(world):
    table, _, model = world
    frame = model.regress("y ~ C(kind) + e1", pl.from_pandas(table), m=2)
    assert isinstance(frame, pl.DataFrame)
    assert frame["term"].to_list() == ["Intercept", "C(kind)[T.b]", "C(kind)[T.c]", "e1"]


def test_too_few_rows_for_the_column_warn_by_how_much(world):
    table, _, model = world
    few = table.iloc[:60]
    with pytest.warns(pc.ProxycalWarning, match="column 'w' took no part .* too small by about"):
        model.regress("y ~ w", few, m=2)


@pytest.mark.parametrize(
    ("formula", "more", "says"),
    [
        ("y + ", {}, "cannot be read"),
        ("~ e1", {}, "one column left of"),
        ("e1 ~ e2", {}, "does not hold the calibrated column"),
        ("y ~ nowhere", {}, "no column 'nowhere'"),
        ("y ~ e1 + I(2*e1)", {}, "repeats what columns before it say"),
        ("y ~ e1", {"vcov": "HC9"}, "vcov='HC9' is not known"),
        ("y ~ e1", {"family": "probit"}, "family='probit' is not known"),
        ("y ~ e1", {"family": "logit"}, "left side of 0 and 1"),
        ("y ~ e1", {"family": "poisson"}, "below 0"),
        ("y ~ e1", {"m": 1}, "two completed tables"),
    ],
)
def test_what_cannot_be_asked_is_named(world, formula, more, says):
    table, _, model = world
    if more.get("family") in ("logit", "poisson"):
        pytest.importorskip("statsmodels")
    with pytest.raises(pc.ProxycalError, match=says):
        model.regress(formula, table, **{"m": 2, **more})
