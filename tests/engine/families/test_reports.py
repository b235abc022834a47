import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from proxycal.engine.families.reports import Reports

KINDS = [
    Reports((1, -1)),
    Reports((1, 0)),
    Reports((1, -1, 1), known=True),
    Reports((0, 1, -1)),
    Reports((1, 1), known=True),
    Reports((1, 0), wide=(1, 2)),
    Reports((0, -1, 1), wide=(1,), step=0.1),
    Reports((1, 0), known=True, step=0.1),
    Reports((0, 1, 1), wide=(2,), equal=True),
]


def example(family, n=5):
    rng = np.random.default_rng(len(family.names))
    y = 1.5 * rng.normal(size=(n, len(family.signs)))
    y[0, -1] = np.nan
    y[1] = y[1, 0]
    return {"y": y}, 0.4 * rng.normal(size=(len(family.names), n))


def differences(function, eta, step=1e-4):
    moves = step * np.eye(len(eta))[:, :, None]
    return np.stack([(function(eta + move) - function(eta - move)) / (2.0 * step) for move in moves])


@pytest.mark.parametrize("family", KINDS, ids=str)
def test_derivatives_are_those_of_the_log_density(family):
    outcome, eta = example(family)
    rows = family.derivatives(outcome, eta)
    np.testing.assert_allclose(rows.log, family.log_density(outcome, eta))
    np.testing.assert_allclose(
        rows.first, differences(lambda at: family.log_density(outcome, at), eta), atol=1e-6
    )
    second = differences(lambda at: family.derivatives(outcome, at).first, eta)
    upper = np.triu_indices(len(eta))
    np.testing.assert_allclose(rows.second[upper], second[upper], atol=1e-5)


def test_reports_of_a_known_truth_are_jointly_normal():
    family = Reports((0, 0), known=True)
    y, eta = np.array([[0.3, -0.4]]), np.array([[0.1], [0.2], [0.5], [-0.3], [0.4]])
    cov = np.exp(0.4) * np.ones((2, 2)) + np.diag(np.exp([-0.6, 0.8]))
    expected = multivariate_normal([0.1, 0.6], cov).logpdf(y[0])
    assert family.log_density({"y": y}, eta)[0] == pytest.approx(expected)


def test_two_reports_of_an_unknown_truth_say_what_their_difference_says():
    family = Reports((1, 0))
    n = 4
    rng = np.random.default_rng(0)
    y = rng.normal(size=(n, 2))
    # offset2, scale1, scale2, who1, size1
    eta = np.repeat(np.array([[0.2], [0.1], [-0.2], [-0.5], [0.6]]), n, axis=1)
    sd, p, size = np.sqrt(np.exp(0.2) + np.exp(-0.4)), 1.0 / (1.0 + np.exp(0.5)), np.exp(0.6)
    d = y[:, 0] - y[:, 1] + 0.2
    expected = np.log((1.0 - p) * norm.pdf(d, 0.0, sd) + p * norm.pdf(d, size, sd))
    np.testing.assert_allclose(family.log_density({"y": y}, eta), expected)
    moved = family.log_density({"y": y + 7.0}, eta)
    np.testing.assert_allclose(moved, expected)


def test_the_truth_is_the_mean_of_equal_reports():
    family = Reports((0, 0, 0))
    y = np.array([[1.0, 2.0, 6.0], [1.0, np.nan, 3.0]])
    eta = np.zeros((len(family.names), 2))
    mean, variance = family.posterior({"y": y}, eta)[:2]
    np.testing.assert_allclose(mean, [3.0, 2.0])
    np.testing.assert_allclose(variance, [1.0 / 3.0, 0.5])


def test_reports_that_agree_exactly_are_the_truth():
    family = Reports((1, 0), step=0.01)
    # offset2, scale1, scale2, who1, size1, exact
    eta = np.tile(np.array([[0.0], [0.0], [0.0], [0.0], [0.7], [0.0]]), 3)
    y = np.array([[2.0, 2.0], [2.0, 1.9], [2.0, np.nan]])
    known = family.truths({"y": y}, eta)
    assert known.mean[0] == pytest.approx(2.0, abs=0.05)
    assert known.biased[0, 0] < 0.02
    assert known.variance[0] < 0.02 < known.variance[1]
    # A single report agrees with itself, which says nothing.
    assert known.biased[0, 2] == pytest.approx(0.25)


def test_a_step_makes_the_density_of_agreement_a_probability():
    # Differences on a grid: the densities, times the step, add up to about one.
    family, step = Reports((1, 0), step=0.05), 0.05
    d = np.arange(-200, 200) * step
    y = np.column_stack([d, np.zeros_like(d)])
    eta = np.tile(np.array([[0.0], [0.0], [0.0], [-1.0], [0.7], [-0.5]]), len(d))
    assert step * np.exp(family.log_density({"y": y}, eta)).sum() == pytest.approx(1.0, abs=1e-6)
