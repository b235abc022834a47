from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, polygamma
from scipy.stats import binom, nbinom, poisson

from differences import differences
from proxycal.engine.families.count_cells import trigamma
from proxycal.engine.families.counts import Counts

KINDS = [
    Counts(report, zeros, sign)
    for report in ("none", "gate", "graded")
    for zeros in (False, True)
    for sign in (-1.0, 1.0)
]
KINDS += [replace(family, noise=0.4) for family in KINDS if not family.zeros]


def example(family):
    rng = np.random.default_rng(3)
    y = np.array([0.0, 0.0, 1.0, 2.0, 7.0, 40.0])
    trusted = np.array([False, True, False, False, False, True])
    return {"y": y, "exposure": 0.3 * rng.normal(size=6), "trusted": trusted}, rng.normal(
        size=(len(family.names), 6)
    )


def validated(sign):
    """Truths of some of the rows of the example, as a bias of this direction allows them."""
    truth = [np.nan, 0.0, 4.0, 2.0, np.nan, 40.0] if sign < 0.0 else [np.nan, 0.0, 1.0, 0.0, np.nan, 40.0]
    return {
        "truth": np.array(truth),
        "checked": np.array([0.0, 7.0, 0.0, 2.0, 0.0, 1.0]),
        "confirmed": np.array([0.0, 5.0, 0.0, 0.0, 0.0, 1.0]),
    }


@pytest.mark.parametrize("truths", [False, True], ids=["reports", "validated"])
@pytest.mark.parametrize("family", KINDS, ids=str)
def test_derivatives_are_those_of_the_log_density(family, truths):
    outcome, eta = example(family)
    if truths and family.report == "none":
        return
    outcome |= validated(family.sign) if truths else {}
    rows = family.derivatives(outcome, eta)
    np.testing.assert_allclose(rows.log, family.log_density(outcome, eta))
    first = differences(lambda at: family.log_density(outcome, at), eta)
    # Central differences of a step of 1e-4 bear seven digits.
    np.testing.assert_allclose(rows.first, first, atol=1e-6, rtol=1e-6)
    second = differences(lambda at: family.derivatives(outcome, at).first, eta)
    upper = np.triu_indices(len(eta))
    np.testing.assert_allclose(rows.second[upper], second[upper], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", KINDS, ids=str)
def test_the_probabilities_sum_to_one(family):
    eta = 0.5 * np.random.default_rng(1).normal(size=(len(family.names), 1))
    y = np.arange(3_000.0)
    density = np.exp(family.log_density({"y": y}, np.repeat(eta, len(y), axis=1)))
    assert density.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("report", ["gate", "graded"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_truth_and_report_sum_to_the_report(sign, report, zeros):
    family = Counts(report, zeros, sign, noise=0.3)
    eta = 0.5 * np.random.default_rng(1).normal(size=(len(family.names), 1))
    # More rows than the largest number, and few rows: both ways to the gamma functions.
    for y, width in ((3.0, 400), (3.0, 4)):
        truth = np.arange(y, width) if sign < 0.0 else np.arange(y + 1.0)
        truth = np.concatenate([truth, np.arange(y, 400)]) if sign < 0.0 and width == 4 else truth
        truth = np.unique(truth)
        at = np.repeat(eta, len(truth), axis=1)
        both = family.log_density({"y": np.full(len(truth), y), "truth": truth}, at)
        alone = family.log_density({"y": np.array([y])}, eta)[0]
        assert np.exp(both).sum() == pytest.approx(np.exp(alone), rel=1e-9)


def test_without_a_bias_it_is_the_negative_binomial_and_poisson_in_the_limit():
    y, eta = np.array([0.0, 3.0, 9.0]), np.array([[1.0, 1.0, 1.0], [0.7, 0.7, 20.0]])
    mean, k = np.exp(1.2), np.exp(0.7)
    got = Counts().log_density({"y": y, "exposure": np.full(3, 0.2)}, eta)
    np.testing.assert_allclose(got[:2], nbinom.logpmf(y[:2], k, k / (k + mean)))
    # At the largest k, 3,000, the two differ by (y - m)^2 / 2k.
    assert got[2] == pytest.approx(poisson.logpmf(9.0, mean), abs=0.01)


def reports_of_truths(family, k, mean, p, r, size=400):
    """P(truth, report), from the story itself, by brute force."""
    counts = np.arange(size)
    law = nbinom.pmf(counts, k, k / (k + mean))
    if family.sign < 0.0:
        thinned = law[:, None] * binom.pmf(counts[None, :], counts[:, None], r)
    else:
        all_reports = nbinom.pmf(counts, k, k / (k + mean / r))
        thinned = (all_reports[:, None] * binom.pmf(counts[None, :], counts[:, None], r)).T
    return (1.0 - p) * np.diag(law), p * thinned


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_law_of_reports_and_of_the_truth_behind_them_is_that_of_the_story(sign):
    family = Counts("gate", sign=sign)
    k, mean, p, r = 2.0, 4.0, 0.3, 0.4
    eta = np.array([np.log(mean), np.log(k), np.log(p / (1.0 - p)), np.log(r / (1.0 - r))])
    y = np.array([0.0, 2.0, 6.0])
    outcome, eta = {"y": y}, np.repeat(eta[:, None], 3, axis=1)
    unbiased, biased = reports_of_truths(family, k, mean, p, r)
    joint = (unbiased + biased)[:, [0, 2, 6]]
    np.testing.assert_allclose(np.exp(family.log_density(outcome, eta)), joint.sum(axis=0), rtol=1e-8)
    truth = family.truth(outcome, eta)
    np.testing.assert_allclose(truth.p, biased[:, [0, 2, 6]].sum(axis=0) / joint.sum(axis=0), rtol=1e-8)
    given = biased[:, [0, 2, 6]] / biased[:, [0, 2, 6]].sum(axis=0)
    counts = np.arange(400)
    np.testing.assert_allclose(truth.moved, counts @ given - y, rtol=1e-7)
    np.testing.assert_allclose(truth.variance, counts**2 @ given - (counts @ given) ** 2, rtol=1e-6)


def test_a_zero_of_its_own_is_one_cell_more():
    outcome, eta = {"y": np.array([0.0, 2.0])}, np.array([[1.0, 1.0], [0.5, 0.5], [-1.0, -1.0]])
    plain = Counts().log_density(outcome, eta[:2])
    own = np.log(1.0 / (1.0 + np.exp(1.0)))
    expected = [logsumexp([own, plain[0] + np.log1p(-np.exp(own))]), plain[1] + np.log1p(-np.exp(own))]
    np.testing.assert_allclose(Counts(zeros=True).log_density(outcome, eta), expected)


@pytest.mark.parametrize("report", ["gate", "graded"])
def test_a_trusted_row_has_the_law_of_an_unbiased_one(report):
    outcome, eta = example(Counts(report))
    everybody = outcome | {"trusted": np.ones(6, dtype=bool)}
    np.testing.assert_allclose(
        Counts(report).log_density(everybody, eta), Counts().log_density(outcome, eta[:2]), atol=1e-12
    )
    truth = Counts(report).truth(everybody, eta)
    np.testing.assert_allclose(truth.p * truth.moved, 0.0, atol=1e-12)


def test_trigamma_is_the_derivative_that_scipy_has():
    x = np.geomspace(1e-2, 1e6, 200)
    np.testing.assert_allclose(trigamma(x), polygamma(1, x), rtol=1e-8)
