"""The gradual row beside other methods: where it is computed, what it says, and that it is kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc

ROLES = pc.Roles("y", ["p1", "p2", "p3"], ["e"])


def draw(size, n=500, seed=4):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=n)
    z = 0.5 * e + 0.8 * rng.normal(size=n)
    proxies = z[:, None] + 0.6 * rng.normal(size=(n, 3))
    table = pd.DataFrame(proxies, columns=["p1", "p2", "p3"])
    return table.assign(e=e, y=1.5 * z + size * e + 0.6 * rng.normal(size=n))


@pytest.fixture(scope="module")
def graded():
    return pc.ProxyCalibrator(ROLES, direction="over", method="moments").fit(draw(1.0))


def finding(model):
    return next(one for one in model.findings_ if one.topic == "gradual")


def test_a_graded_bias_is_told_with_its_assumption(graded, tmp_path):
    assert graded.verdict_ != "bias found"
    row = graded.summary().loc["gradual"]
    own = pc.ProxyCalibrator(ROLES, direction="over", method="gradual").fit(draw(1.0))
    assert row["alpha"] == pytest.approx(own.alpha_)
    assert "only through content" in finding(graded).reading
    assert "method='gradual'" in finding(graded).remedy
    graded.save(tmp_path / "run")
    pd.testing.assert_frame_equal(pc.load(tmp_path / "run").summary(), graded.summary())


def test_none_is_told_as_none():
    model = pc.ProxyCalibrator(ROLES, direction="over", method="moments").fit(draw(0.0))
    assert "not found either" in finding(model).reading


def test_what_is_refused_has_no_number():
    one = pc.Roles("y", ["p1"], ["e"])
    model = pc.ProxyCalibrator(one, direction="over", method="exact").fit(draw(1.0))
    assert model.verdict_ != "bias found"
    assert np.isnan(model.summary().loc["gradual", "alpha"])
    assert "Nothing can be said" in finding(model).reading


def test_where_a_bias_of_two_states_is_found_there_is_a_row_and_no_finding():
    sim = pc.simulate(n=400, alpha=5.0, random_state=0)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    assert model.verdict_ == "bias found"
    own = pc.ProxyCalibrator(sim.roles, direction="over", method="gradual").fit(sim.table)
    row = model.summary().loc["gradual"]
    assert row["alpha"] == pytest.approx(own.alpha_)
    assert "changes gradually with the environment" in row["note"]
    assert not [one for one in model.findings_ if one.topic == "gradual"]
    # Beside itself the method has no second row.
    assert list(own.summary().index).count("gradual") == 1


@pytest.mark.parametrize("fault", [np.linalg.LinAlgError("Singular matrix"), ValueError("infs or NaNs")])
@pytest.mark.parametrize("size", [0.0, 5.0])
def test_a_gradual_row_that_cannot_be_computed_ends_no_fit(monkeypatch, tmp_path, fault, size):
    """It serves one row of the summary: fits of every method died of it in 7 of 523 random tables."""

    def fails(*_):
        raise fault

    monkeypatch.setattr("proxycal.methods.registry.Method.fit_row", fails)
    sim = pc.simulate(n=200, alpha=size, random_state=0)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    row = model.summary().loc["gradual"]
    assert np.isnan(row["alpha"])
    assert str(fault) in row["note"]
    if model.verdict_ != "bias found":
        assert str(fault) in finding(model).reading
    model.save(tmp_path / "run")
    assert pc.load(tmp_path / "run").verdict_ == model.verdict_
