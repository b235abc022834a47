"""Coefficient tables, against regressions of somebody who knows the truth and who is biased."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc

N = 2000


@pytest.fixture(scope="module")
def world():
    """A bias so large that everybody sees who has it; columns in units far from one."""
    rng = np.random.default_rng(21)
    income, town = 50.0 + 12.0 * rng.normal(size=N), rng.choice(["a", "b"], N)
    x = (income - 50.0) / 12.0
    truth = 1.0 + 0.5 * x + rng.normal(size=N)
    proxies = truth[:, None] * [1.0, 20.0] + [0.5, 10.0] * rng.normal(size=(N, 2))
    odds = -0.4 + 0.9 * x + 0.7 * (town == "b")
    biased = rng.random(N) < 1.0 / (1.0 + np.exp(-odds))
    table = pd.DataFrame({"y": truth + 8.0 * biased, "p1": proxies[:, 0], "p2": proxies[:, 1]})
    table["income"], table["town"] = income, town
    return table, truth, biased


@pytest.fixture(scope="module")
def model(world):
    return pc.ProxyCalibrator(pc.Roles("y", ["p1", "p2"], ["income", "town"]), direction="over").fit(world[0])


def part(frame, component):
    return frame[frame["component"] == component].set_index("term")


def logit(x, biased):
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-x @ beta))
        information = x.T @ (x * (p * (1.0 - p))[:, None])
        beta = beta + np.linalg.solve(information, x.T @ (biased - p))
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def test_who_is_the_logit_of_those_who_are(world, model):
    table, _, biased = world
    who = part(model.tidy(), "who")
    assert list(who.index) == ["(Intercept)", "income", "town=b"]
    x = np.column_stack([np.ones(N), table["income"], table["town"] == "b"])
    beta, se = logit(x, biased)
    # A ridge of the method's keeps separated groups finite, and moves a slope by less than a hundredth of
    # its error; robust errors are those of the model within 10% in 2,000 rows.
    np.testing.assert_allclose(who["estimate"], beta, atol=0.05 * se.max(), rtol=0.02)
    np.testing.assert_allclose(who["std_error"], se, rtol=0.1)
    odds = part(model.tidy(exponentiate=True), "who")
    np.testing.assert_allclose(odds["estimate"], np.exp(who["estimate"]))
    np.testing.assert_allclose(odds["high"], np.exp(who["high"]))
    np.testing.assert_allclose(odds["p_value"], who["p_value"])


def test_content_and_size_are_the_regression_on_columns_and_bias(world, model):
    table, _, biased = world
    names = ["(Intercept)", "p1", "p2", "income", "town=b"]
    x = np.column_stack([np.ones(N), table[["p1", "p2", "income"]], table["town"] == "b"])
    whole = np.column_stack([x, biased])
    beta = np.linalg.lstsq(whole, table["y"], rcond=None)[0]
    frame = model.tidy()
    size, content = part(frame, "size"), part(frame, "content")
    np.testing.assert_allclose(size.loc["alpha", "estimate"], beta[-1], rtol=1e-3)
    assert size.loc["alpha", "estimate"] == pytest.approx(model.alpha_)
    assert size.loc["alpha", "std_error"] == pytest.approx(model.alpha_se_, rel=0.05)
    assert list(content.index) == names
    np.testing.assert_allclose(content["estimate"], beta[:-1], atol=0.01, rtol=0.02)


def test_the_frames_agree_with_each_other(model):
    frame, cov, ends = model.tidy(), model.vcov(), model.confint()
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), frame["std_error"])
    np.testing.assert_allclose(ends[["low", "high"]], frame[["low", "high"]])
    assert list(cov.index) == list(cov.columns) == list(ends.index)
    assert (model.confint(0.99)["high"] > ends["high"]).all()
    np.testing.assert_allclose(cov, cov.T)


def test_one_row_says_the_fit(world, model):
    row = model.glance().iloc[0]
    assert row["verdict"] == "bias found"
    assert row["n"] == N
    assert row["alpha"] == model.alpha_
    table, _, biased = world
    x = np.column_stack([np.ones(N), table[["p1", "p2", "income"]], table["town"] == "b", biased])
    rest = table["y"] - x @ np.linalg.lstsq(x, table["y"], rcond=None)[0]
    gate = np.column_stack([np.ones(N), table["income"], table["town"] == "b"])
    p = 1.0 / (1.0 + np.exp(-gate @ logit(gate, biased)[0]))
    # With A known the likelihood is that of a regression and a logit.
    both = -0.5 * N * (np.log(2.0 * np.pi * np.mean(rest**2)) + 1.0)
    both += np.sum(np.log(np.where(biased, p, 1.0 - p)))
    assert row["log_lik"] == pytest.approx(both, abs=0.5)
    assert row["parameters"] == 5 + 1 + 1 + 3
    assert row["bic"] == pytest.approx(row["parameters"] * np.log(N) - 2.0 * row["log_lik"])


def test_under_reporting_mirrors_it(world, model):
    table, _, _ = world
    mirrored = table.assign(y=-table["y"], p1=-table["p1"], p2=-table["p2"])
    roles = pc.Roles("y", ["p1", "p2"], ["income", "town"])
    other = pc.ProxyCalibrator(roles, direction="under").fit(mirrored).tidy()
    own = model.tidy()
    flip = np.where(own["component"].eq("content") & ~own["term"].isin(["p1", "p2"]), -1.0, 1.0)
    np.testing.assert_allclose(other["estimate"], flip * own["estimate"], rtol=1e-4, atol=1e-5)


def test_other_methods_have_their_size(world):
    table, _, _ = world
    roles = pc.Roles("y", ["p1", "p2"], ["income", "town"])
    model = pc.ProxyCalibrator(roles, direction="over", method="moments").fit(table)
    frame = model.tidy()
    assert frame[["term", "component"]].to_numpy().tolist() == [["alpha", "size"]]
    assert frame["std_error"][0] == model.alpha_se_
    assert np.isnan(model.glance()["log_lik"][0])
    with pytest.raises(pc.ProxycalError, match="between 0 and 1"):
        model.confint(95)


def test_sizes_by_level_are_terms(world):
    table, _, _ = world
    roles = pc.Roles("y", ["p1", "p2"], ["income", "town"])
    model = pc.ProxyCalibrator(roles, direction="over", method="exact", effect="by:town").fit(table)
    size = part(model.tidy(), "size")
    if len(size) == 2:
        assert list(size.index) == ["town=a", "town=b"]
    np.testing.assert_allclose(size["estimate"], 8.0, atol=0.3)


def test_maketables_reads_the_same_coefficients(world, model):
    table, tidied = model.__maketables_coef_table__, model.tidy()
    assert list(table.columns) == ["b", "se", "t", "p", "ci95l", "ci95u"]
    assert table.index.name == "Coefficient"
    assert table.index[:2].tolist() == ["who: (Intercept)", "who: income"]
    assert table.loc["alpha", "b"] == model.alpha_
    np.testing.assert_array_equal(table["p"], tidied["p_value"])
    assert model.__maketables_stat__("N") == N
    assert model.__maketables_stat__("verdict") == "bias found"
    assert model.__maketables_stat__("adj_r2") is None
    assert model.__maketables_depvar__ == "y"
    unfitted = pc.ProxyCalibrator(pc.Roles("y", ["p1"], ["income"]), direction="over")
    assert not hasattr(unfitted, "__maketables_coef_table__")
