"""What a page shows of a fit, against the fit itself and against simulated truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import proxycal
from proxycal.methods.exact.record import data_of
from proxycal.mixture.compare import fit_exact


def simulated(n=600):
    return proxycal.simulate(n=n, d_z=1, d_e=2, n_proxies=2, alpha=4.0, random_state=0)


def plain():
    sim = simulated()
    return sim.table, sim.roles


def clustered():
    table, roles = plain()
    rng = np.random.default_rng(1)
    county = rng.integers(0, 50, len(table))
    table = table.assign(county=county, y=table["y"] + rng.normal(0.0, 1.0, 50)[county])
    return table, replace(roles, cluster="county")


def with_an_atom():
    jobs = proxycal.datasets.load_jobs()
    sim = proxycal.inject_bias(jobs.table, jobs.roles, alpha=1.0, random_state=0)
    return sim.table, sim.roles


@pytest.mark.parametrize("world", [plain, clustered, with_an_atom])
def test_the_gate_covariance_of_the_comparison_is_kept_and_saved(world, tmp_path):
    table, roles = world()
    model = proxycal.ProxyCalibrator(roles, direction="over").fit(table)
    expected = fit_exact(data_of(model.result_.training, 1.0)).gate_cov
    assert np.allclose(model.result_.method_fit.gate_cov, expected, rtol=1e-9)
    model.save(tmp_path / "run")
    kept = proxycal.load(tmp_path / "run").result_.method_fit
    assert np.array_equal(kept.gate_cov, model.result_.method_fit.gate_cov)
    assert kept.details.gate == model.result_.method_fit.details.gate
    assert kept.details.sizes == model.result_.method_fit.details.sizes
    assert np.array_equal(kept.details.curve.biased, model.result_.method_fit.details.curve.biased)


def test_the_gate_is_the_logistic_that_made_the_biased():
    sim = simulated(n=3000)
    rng = np.random.default_rng(0)
    south = rng.random(3000) < np.where(sim.truth["a"] == 1, 0.7, 0.4)
    table = sim.table.assign(region=np.where(south, "south", "north"))
    roles = replace(sim.roles, environment=(*sim.roles.environment, "region"))
    model = proxycal.ProxyCalibrator(roles, direction="over").fit(table)
    terms = {one.column: one for one in model.result_.method_fit.details.gate}
    assert (terms["region"].level, terms["region"].reference) == ("south", "north")
    assert terms["region"].low > 1.0
    # Against a logistic regression on who is really biased.
    truth = LogisticRegression(C=1e4, max_iter=1000).fit(model.result_.training.E, sim.truth["a"]).coef_[0]
    assert np.log([one.odds for one in terms.values()]) == pytest.approx(truth, abs=0.3)


@pytest.mark.parametrize(("direction", "sign"), [("over", 1.0), ("under", -1.0)])
def test_the_mixture_lies_where_the_rows_lie(direction, sign):
    sim = simulated(n=2000)
    table = sim.table.assign(y=sign * sim.table["y"])
    model = proxycal.ProxyCalibrator(sim.roles, direction=direction).fit(table)
    rows = model.result_.rows
    gap = rows.y_obs - rows.predicted.mu
    made = model.result_.method_fit.details.curve
    assert made.at[0] < gap.min() < gap.max() < made.at[-1]
    assert made.unbiased[-1] + made.biased[-1] == pytest.approx(1.0, abs=0.01)
    assert made.biased[-1] == pytest.approx(model.share_biased_, abs=0.01)
    assert (np.diff(made.unbiased) >= -1e-12).all()
    for name, part in (("unbiased", 1.0 - rows.predicted.p_biased), ("biased", rows.predicted.p_biased)):
        seen = [float(part[gap <= place].sum()) / len(gap) for place in made.at]
        assert np.abs(getattr(made, name) - seen).max() < 0.03


def test_other_methods_have_no_mixture_to_show():
    table, roles = plain()
    model = proxycal.ProxyCalibrator(roles, direction="over", method="moments").fit(table)
    details = model.result_.method_fit.details
    assert (details.curve, details.gate, details.sizes) == (None, (), ())
