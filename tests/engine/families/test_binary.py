import numpy as np
import pytest
from scipy.stats import norm

from differences import differences
from proxycal.engine.families.binary import Binary

KINDS = [Binary(denied, alarms) for denied in (False, True) for alarms in (False, True)]


def example(family):
    rng = np.random.default_rng(5)
    eta = rng.normal(size=(len(family.names), 6))
    eta[0, :2] = -5.0, 5.0
    trusted = np.array([False, False, False, True, False, True])
    return {"y": np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0]), "trusted": trusted}, eta


VALIDATED = {
    "truth": np.array([1.0, 1.0, 0.0, np.nan, 0.0, 1.0]),
    "checked": np.array([0.0, 7.0, 0.0, 2.0, 0.0, 1.0]),
    "confirmed": np.array([0.0, 5.0, 0.0, 0.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("more", [{}, VALIDATED], ids=["reports", "validated"])
@pytest.mark.parametrize("family", KINDS, ids=str)
def test_derivatives_are_those_of_the_log_density(family, more):
    outcome, eta = example(family)
    outcome |= more
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
    _, eta = example(family)
    both = [np.exp(family.log_density({"y": np.full(6, value)}, eta)) for value in (0.0, 1.0)]
    np.testing.assert_allclose(sum(both), 1.0)


def test_truth_and_report_are_the_story_and_sum_to_the_report():
    family, eta = Binary(denied=True, alarms=True), np.array([[0.3] * 4, [1.0] * 4, [-2.0] * 4])
    y, truth = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
    got = np.exp(family.log_density({"y": y, "truth": truth}, eta))
    F, r, a = norm.cdf(0.3), 1.0 / (1.0 + np.exp(-1.0)), 1.0 / (1.0 + np.exp(2.0))
    np.testing.assert_allclose(got, [F * r, F * (1.0 - r), (1.0 - F) * a, (1.0 - F) * (1.0 - a)])
    np.testing.assert_allclose(got[:2] + got[2:], np.exp(family.log_density({"y": y[:2]}, eta[:, :2])))


def test_what_a_report_says_of_the_truth_is_bayes_rule():
    family = Binary(denied=True, alarms=True)
    eta = np.array([[0.3, 0.3], [1.0, 1.0], [-2.0, -2.0]])
    F, r, a = norm.cdf(0.3), 1.0 / (1.0 + np.exp(-1.0)), 1.0 / (1.0 + np.exp(2.0))
    given, before = family.truth({"y": np.array([1.0, 0.0])}, eta)
    yes = r * F + a * (1.0 - F)
    np.testing.assert_allclose(given, [r * F / yes, (1.0 - r) * F / (1.0 - yes)])
    np.testing.assert_allclose(before, F)


def test_certain_rows_have_finite_derivatives():
    family = Binary(denied=True)
    rows = family.derivatives({"y": np.array([1.0, 0.0])}, np.array([[-40.0, 40.0], [0.0, 30.0]]))
    assert all(np.isfinite(part).all() for part in (rows.log, rows.first, rows.second))
