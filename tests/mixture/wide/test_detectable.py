"""The size that would have been found: more rows show less, and it agrees with a simulation."""

import numpy as np
import pytest

from proxycal import ProxyCalibrator
from proxycal.mixture.wide.detectable import detectable
from proxycal.mixture.wide.fit import fit, plain_start
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.problem import Problem
from proxycal.testing.worlds import draw_world


def nothing(n, q=2, seed=0, noise=1.0):
    """The best model without a bias of rows without one, and the rows."""
    rng = np.random.default_rng(seed)
    E, z = rng.normal(size=(n, q)), rng.normal(size=n)
    problem = Problem(z + noise * rng.normal(size=n), np.column_stack([np.ones(n), z]), E, z, np.ones(n))
    return fit(problem, Law(), plain_start(problem, Law())), problem


def test_more_rows_show_smaller_biases():
    sizes = [detectable(*nothing(n)) for n in (150, 500, 3000)]
    assert sizes[0] >= sizes[1] >= sizes[2]
    assert sizes[2] < sizes[0]
    assert 0.75 < sizes[2] < 3.0


def test_few_rows_show_nothing():
    assert detectable(*nothing(20, q=6)) == np.inf


def test_without_an_environment_no_bias_shows():
    assert detectable(*nothing(200, q=0)) == np.inf


def test_the_size_is_in_sds_of_the_residual():
    one, other = (detectable(*nothing(400, noise=noise)) for noise in (0.5, 1.0))
    # Neighbouring answers differ by a factor of 1.13.
    assert one == pytest.approx(other, rel=0.15)


@pytest.mark.slow
def test_it_is_about_what_a_simulation_says():
    world = draw_world("gaussian", 500, 0.0, 0)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    assert model.verdict_ == "no bias found"
    size = model.result_.method_fit.evidence.detectable_size
    sd = float(np.std(world.table()[world.roles.outcome]))
    points = model.power([0.5 * size / sd, 2.0 * size / sd], repetitions=12).points
    chance = [point.chance for point in points if point.alpha > 0.0]
    assert chance[0] < 0.9
    assert chance[1] > 0.8
