"""What a page shows of a fit, against the fit itself and against simulated truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import proxycal
from proxycal.methods.exact.fit import data_of
from proxycal.methods.exact.portrait import gate_covariance, gate_of, spread_of
from proxycal.mixture.compare import fit_exact
from proxycal.testing.example import biased_jobs


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
    sim = biased_jobs(seed=0)
    return sim.table, sim.roles


@pytest.mark.parametrize("world", [plain, clustered, with_an_atom])
def test_the_gate_covariance_read_off_a_saved_fit_is_that_of_the_fit(world):
    table, roles = world()
    model = proxycal.ProxyCalibrator(roles).fit(table)
    expected = fit_exact(data_of(model.training_, 1.0)).gate_cov
    assert np.allclose(gate_covariance(model.fit_, model.training_, model.result_.n), expected, rtol=1e-6)


def test_the_gate_is_the_logistic_that_made_the_biased():
    sim = simulated(n=3000)
    rng = np.random.default_rng(0)
    south = rng.random(3000) < np.where(sim.truth["a"] == 1, 0.7, 0.4)
    table = sim.table.assign(region=np.where(south, "south", "north"))
    roles = replace(sim.roles, environment=(*sim.roles.environment, "region"))
    model = proxycal.ProxyCalibrator(roles).fit(table)
    terms = {one.column: one for one in gate_of(model.fit_, model.training_, model.result_.n, 0.95)}
    assert (terms["region"].level, terms["region"].reference) == ("south", "north")
    assert terms["region"].low > 1.0
    # Against a logistic regression on who is really biased.
    truth = LogisticRegression(C=1e4, max_iter=1000).fit(model.training_.E, sim.truth["a"]).coef_[0]
    assert np.log([one.odds for one in terms.values()]) == pytest.approx(truth, abs=0.3)


def test_a_part_of_the_rows_is_scaled_to_all():
    table, roles = plain()
    model = proxycal.ProxyCalibrator(roles).fit(table)
    whole = gate_covariance(model.fit_, model.training_, model.result_.n)
    assert np.allclose(gate_covariance(model.fit_, model.training_, 2 * model.result_.n), whole / 2)


@pytest.mark.parametrize(("direction", "sign"), [("over", 1.0), ("under", -1.0)])
def test_the_mixture_lies_where_the_rows_lie(direction, sign):
    sim = simulated(n=2000)
    table = sim.table.assign(y=sign * sim.table["y"])
    model = proxycal.ProxyCalibrator(sim.roles, direction=direction).fit(table)
    gap = model.rows_.y_obs - model.rows_.mu
    made = spread_of(model.fit_, model.training_, gap)
    assert made.unbiased[-1] + made.biased[-1] == pytest.approx(1.0, abs=0.01)
    assert made.biased[-1] == pytest.approx(model.share_biased_, abs=0.01)
    assert (np.diff(made.unbiased) >= -1e-12).all()
    for name, part in (("unbiased", 1.0 - model.rows_.p_biased), ("biased", model.rows_.p_biased)):
        seen = [float(part[gap <= place].sum()) / len(gap) for place in made.at]
        assert np.abs(getattr(made, name) - seen).max() < 0.03


def test_other_methods_have_no_mixture_to_show():
    table, roles = plain()
    model = proxycal.ProxyCalibrator(roles, method="moments").fit(table)
    assert spread_of(model.fit_, model.training_, model.rows_.y_obs) is None
    assert gate_of(model.fit_, model.training_, model.result_.n, 0.95) == ()
