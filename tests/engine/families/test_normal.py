import numpy as np
import pytest
from scipy.stats import norm

from differences import differences
from proxycal.engine.families.bins import bin_moments
from proxycal.engine.families.normal import SPIKE_SD, Normal

KINDS = [Normal(j, states, spread) for j in (1, 3) for states in (0, 1, 2) for spread in (False, True)]
KINDS += [Normal(1, 1, through=True), Normal(3, 2, through=True)]
SPIKED = [
    Normal(1, 0, spikes=(-1.0,)),
    Normal(2, 2, True, spikes=(-1.0, 0.5)),
    Normal(2, 2, spikes=(-1.0,), through=True),
]


def example(family, n=6):
    rng = np.random.default_rng(len(family.names))
    eta = 0.5 * rng.normal(size=(len(family.names), n))
    if "spread" in family.names:
        eta[family.names.index("spread")] -= 0.8
    return {"y": 2.0 * rng.normal(size=n)}, eta


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("family", KINDS, ids=str)
def test_derivatives_are_those_of_the_log_density(family, ranges):
    outcome, eta = example(family)
    if ranges:
        # Reports as they are, to the next integer, and above a cap.
        y = outcome["y"]
        outcome |= {"low": np.where(y > 1.0, 1.0, y), "high": np.where(y > 1.0, np.inf, np.ceil(y))}
        outcome["high"][0] = outcome["low"][0] = y[0]
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


def test_a_spike_is_a_narrow_cell_that_a_bias_moves():
    family = Normal(1, 1, spikes=(-1.0,))
    at = {name: place for place, name in enumerate(family.names)}
    eta = np.zeros((len(at), 3))
    eta[at["size"]] = np.log(2.0)
    # On the spike, on the spike moved by 2, and far from both.
    p, bias, _ = family.posterior({"y": np.array([-1.0, 1.0, 5.0])}, eta)
    assert p[0] < 0.01
    assert p[1] > 0.99
    np.testing.assert_allclose(bias, 2.0 * p)
    first = family.log_density({"y": np.array([-1.0])}, eta[:, :1])
    expected = 0.25 * (norm.pdf(-1.0) + norm.pdf(-1.0, 2.0) + norm.pdf(0.0) / SPIKE_SD)
    np.testing.assert_allclose(first, np.log(expected))


@pytest.mark.parametrize("family", SPIKED, ids=str)
def test_derivatives_near_a_spike(family):
    outcome, eta = example(family)
    # Beside the spike, where its cell and others share a row.
    outcome["y"][:2] = family.spikes[0] + 3.0 * SPIKE_SD
    rows = family.derivatives(outcome, eta)
    first = differences(lambda at: family.log_density(outcome, at), eta)
    np.testing.assert_allclose(rows.first, first, atol=1e-5)
    second = differences(lambda at: family.derivatives(outcome, at).first, eta)
    upper = np.triu_indices(len(eta))
    np.testing.assert_allclose(rows.second[upper], second[upper], atol=2e-3)


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
