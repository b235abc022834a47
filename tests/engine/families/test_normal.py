import numpy as np
import pytest
from scipy.stats import norm

from differences import differences
from proxycal.engine.families.normal import Normal, bin_moments

KINDS = [Normal(j, states, spread) for j in (1, 3) for states in (0, 1, 2) for spread in (False, True)]


def example(family, n=6):
    rng = np.random.default_rng(len(family.names))
    eta = 0.5 * rng.normal(size=(len(family.names), n))
    if "spread" in family.names:
        eta[family.names.index("spread")] -= 0.8
    return {"y": 2.0 * rng.normal(size=n)}, eta


@pytest.mark.parametrize("family", KINDS, ids=str)
def test_derivatives_are_those_of_the_log_density(family):
    outcome, eta = example(family)
    rows = family.derivatives(outcome, eta)
    np.testing.assert_allclose(rows.log, family.log_density(outcome, eta))
    first = differences(lambda at: family.log_density(outcome, at), eta)
    np.testing.assert_allclose(rows.first, first, atol=1e-5)
    second = differences(lambda at: family.derivatives(outcome, at).first, eta)
    upper = np.triu_indices(len(eta))
    # The spread's own curvature is a difference of differences: four digits are what they bear.
    np.testing.assert_allclose(rows.second[upper], second[upper], atol=2e-3)


def test_a_gated_shift_is_a_mixture_of_two_normals():
    family = Normal(1, 1)
    y, eta = np.array([0.3, 2.0]), np.array([[0.1, 0.2], [0.0, 0.4], [-1.0, 0.5], [0.7, 0.2]])
    p, size, sd = 1.0 / (1.0 + np.exp(-eta[2])), np.exp(eta[3]), np.exp(eta[1])
    expected = (1.0 - p) * norm.pdf(y, eta[0], sd) + p * norm.pdf(y, eta[0] + size, sd)
    np.testing.assert_allclose(family.log_density({"y": y}, eta), np.log(expected))
    biased, bias, square = family.posterior({"y": y}, eta)
    chance = p * norm.pdf(y, eta[0] + size, sd) / expected
    np.testing.assert_allclose(biased, chance)
    np.testing.assert_allclose(bias, chance * size)
    np.testing.assert_allclose(square, chance * size**2)


@pytest.mark.parametrize("family", KINDS, ids=str)
def test_the_density_sums_to_one(family):
    _, eta = example(family, n=1)
    y = np.linspace(-60.0, 60.0, 40_001)
    density = np.exp(family.log_density({"y": y}, np.repeat(eta, len(y), axis=1)))
    assert np.trapezoid(density, y) == pytest.approx(1.0, abs=1e-4)


def test_the_sizes_of_a_spread_average_to_their_predictor():
    mean, variance = (bin_moments(np.array([0.5]))[at][:, 0] for at in (0, 3))
    assert mean.mean() == pytest.approx(1.0, abs=1e-9)
    between = np.mean(mean**2) - 1.0
    assert variance.mean() + between == pytest.approx(np.exp(0.25) - 1.0, rel=1e-6)
