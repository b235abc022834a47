"""Refuters and power with every method, weights, clusters and missing values."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal import ProxyCalibrator, Roles, simulate
from proxycal.config import PaperSettings

KINDS = ("null", "placebo", "drop-proxy", "leak", "seed")
# Networks that learn next to nothing: refuters and power refit them again and again.
SMALL = PaperSettings(d_z=2, width=8, restarts=1, epochs=3, min_steps=0)


@pytest.fixture(scope="module")
def sim():
    return simulate(n=300, d_z=2, d_e=3, alpha=5.0, random_state=1)


@pytest.fixture(scope="module")
def moments(sim):
    return ProxyCalibrator(sim.roles, method="moments").fit(sim.table)


@pytest.fixture(scope="module")
def paper(sim):
    return ProxyCalibrator(sim.roles, method="paper", paper=SMALL).fit(sim.table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["moments", "paper"])
def test_every_method_can_be_refuted(request, method, kind):
    model = request.getfixturevalue(method)
    made = model.refute(kind, repetitions=3)
    assert made.reading
    first = made.table.iloc[0]
    assert (first["alpha"], first["verdict"]) == (pytest.approx(model.alpha_), model.verdict_)


def test_a_method_that_sees_nothing_in_tables_without_bias_passes_the_null(moments):
    made = moments.refute("null", repetitions=20)
    assert made.ok
    assert "p = 0.048" in made.statistic


@pytest.mark.parametrize("method", ["moments", "paper"])
def test_every_method_has_power_for_a_size_and_none_for_no_bias(request, method):
    table = request.getfixturevalue(method).power([4.0], repetitions=4).table
    assert list(table.index) == [0.0, 4.0]
    assert table.loc[0.0, "chance"] <= 0.25
    if method == "moments":
        assert table.loc[4.0, "chance"] == 1.0


def test_weights_clusters_and_gaps_go_through_refuters_and_power(sim):
    rng = np.random.default_rng(0)
    table = sim.table.assign(w=rng.integers(1, 3, 300), site=np.repeat(np.arange(60), 5))
    column = sim.roles.environment[0]
    table.loc[rng.choice(300, 10, replace=False), column] = np.nan
    roles = Roles(sim.roles.outcome, sim.roles.proxies, sim.roles.environment, weights="w", cluster="site")
    model = ProxyCalibrator(roles, missing="impute").fit(table)
    assert model.verdict_ == "bias found"
    assert model.refute("null", repetitions=3).ok
    parts = model.refute("seed", repetitions=3).table
    assert parts["alpha"].to_numpy() == pytest.approx(5.0, rel=0.15)
    assert model.power([5.0], repetitions=2).table.loc[5.0, "chance"] == 1.0
