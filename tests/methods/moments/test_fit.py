"""The moment method as a whole fit, against the simulated truth."""

from dataclasses import replace

import numpy as np
import pytest

import proxycal as pc
from proxycal.methods.moments.fit import p_biased


def fitted(alpha=5.0, direction="over", n=1500, seed=0):
    sim = pc.simulate(n=n, d_z=2, alpha=alpha, random_state=seed, direction=direction)
    return sim, pc.ProxyCalibrator(sim.roles, method="moments", direction=direction).fit(sim.table)


def test_the_simulated_bias_is_found_and_removed():
    sim, model = fitted()
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(5.0, abs=4 * model.alpha_se_)
    out = model.calibrate(sim.table)
    truth = sim.truth["y_true"]
    before = np.sqrt(((sim.table["y"] - truth) ** 2).mean())
    assert np.sqrt(((out["y_cal"] - truth) ** 2).mean()) < 0.2 * before
    assert ((out["p_biased"] > 0.5) == (sim.truth["a"] == 1)).mean() > 0.98
    tau = model.effects(sim.table)["tau"][sim.truth["a"] == 1]
    assert tau.mean() == pytest.approx(5.0, abs=0.3)


def test_under_reporting_mirrors_over_reporting():
    over, model = fitted()
    mirrored = over.table.assign(y=-over.table["y"])
    other = pc.ProxyCalibrator(over.roles, method="moments", direction="under").fit(mirrored)
    assert other.alpha_ == pytest.approx(model.alpha_, abs=1e-10)
    np.testing.assert_allclose(
        other.calibrate(mirrored)["y_cal"], -model.calibrate(over.table)["y_cal"], atol=1e-10
    )


def test_no_bias_is_not_a_finding():
    sim, model = fitted(alpha=0.0)
    assert model.verdict_ == "not identified"
    with pytest.warns(pc.ProxycalWarning):
        out = model.calibrate(sim.table)
    assert (out["y_cal"] == sim.table["y"]).all()


def test_the_reading_of_the_two_valued_test_stands_alone():
    _, model = fitted(n=400)
    fit = model.result_.method_fit

    def reading(p: float, note: str = "") -> str:
        changed = replace(fit, two_valued_p=p, moments=replace(fit.moments, note=note))
        (finding,) = (finding for finding in changed.findings if finding.topic == "two-valued")
        return finding.reading

    assert reading(0.25) == "A bias of one size explains how the environment moves the outcome (p = 0.25)."
    assert "does not explain" in reading(0.002)
    assert "p = 0.002" in reading(0.002)
    assert reading(0.002, "The size differs between groups.") == "The size differs between groups."
    assert reading(np.nan, "Too few rows.") == "The moments give no size of the bias. Too few rows."


def test_save_and_load_give_the_same_answers(tmp_path):
    sim, model = fitted(n=400)
    model.save(tmp_path / "run")
    again = pc.load(tmp_path / "run")
    assert again.alpha_ == model.alpha_
    assert again.calibrate(sim.table).equals(model.calibrate(sim.table))
    assert again.effects(sim.table).equals(model.effects(sim.table))


def test_who_is_biased_follows_bayes():
    u, h, alpha, sigma = np.array([0.3, 1.1, 2.2]), np.array([0.4, 1.0, 1.6]), 2.0, 0.7
    pi = h / alpha
    there = pi * np.exp(-0.5 * ((u - alpha) / sigma) ** 2)
    not_there = (1 - pi) * np.exp(-0.5 * (u / sigma) ** 2)
    np.testing.assert_allclose(p_biased(u, h, alpha, sigma), there / (there + not_there), rtol=1e-12)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(p_biased(u, h, alpha, 1e308), pi)


def test_a_size_that_varies_is_refused_by_name():
    sim, _ = fitted(n=300)
    with pytest.raises(pc.ProxycalError, match="effect='linear' is not available with method='moments'"):
        pc.ProxyCalibrator(sim.roles, direction="over", method="moments", effect="linear").fit(sim.table)
