"""Dollars from a bias of the log: against draws, and against what exp of the mean gets wrong."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.studies.case_study_dollars import calibrated_loss, total, total_variance


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.exp(rng.normal(11.0, 1.5, 400)), rng.beta(0.5, 0.5, 400)


def draws(rows, alpha, se, n):
    """Totals of true losses drawn from what is known given the data, (n,)."""
    rng = np.random.default_rng(1)
    loss, p = rows
    biased = rng.random((n, len(loss))) < p
    sizes = rng.normal(alpha, se, (n, 1))
    return (loss * np.exp(sizes * biased)).sum(axis=1)


def test_the_calibrated_total_is_the_mean_of_the_draws(rows):
    made = calibrated_loss(*rows, alpha=1.5).sum()
    np.testing.assert_allclose(made, draws(rows, 1.5, 0.0, 4000).mean(), rtol=0.005)
    # The exponential of the mean log is another number, and too small.
    loss, p = rows
    assert (loss * np.exp(1.5 * p)).sum() < 0.9 * made


def test_the_variance_is_that_of_the_draws(rows):
    for se in (0.0, 0.05):
        made = total_variance(*rows, alpha=1.5, se=se)
        np.testing.assert_allclose(np.sqrt(made), draws(rows, 1.5, se, 4000).std(), rtol=0.06)


def test_the_interval_holds_its_share_of_the_draws(rows):
    made = calibrated_loss(*rows, alpha=1.5).sum()
    found = total(rows[0].sum(), made, total_variance(*rows, alpha=1.5, se=0.05), 0.9)
    drawn = draws(rows, 1.5, 0.05, 4000)
    assert 0.87 < np.mean((drawn > found.low) & (drawn < found.high)) < 0.93
    assert found.low < found.calibrated < found.high


def test_certain_rows_are_moved_whole_or_not_at_all():
    made = calibrated_loss(np.array([10.0, 10.0]), np.array([0.0, 1.0]), np.log(4.0))
    np.testing.assert_allclose(made, [10.0, 40.0])
    assert total(0.0, 0.0, 0.0, 0.95).high == 0.0
