"""Draws of the truth: against closed forms, in pieces, and with what is known left alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from proxycal.effect.draws import BLOCK, Draws, draw_truth, draws_of
from proxycal.effect.row_truth import RowBias, row_truth
from proxycal.methods.log_scale import LogFit
from proxycal.methods.log_zeros import Zeros
from proxycal.result import Details, Estimate
from toy_rows import toy_arrays


@dataclass(frozen=True)
class Known:
    """A fit that says the same of every row: who is biased depends on E, the size is shared."""

    slope: float = 1.0
    size: float = 2.0
    cov: tuple[tuple[float, float], ...] = ((0.04, 0.01), (0.01, 0.09))
    verdict: str = "bias found"
    spread: float = 0.0
    unit: str = "rows"

    estimate = Estimate("known", 2.0, 0.3, 1.4, 2.6)

    @property
    def details(self):
        return Details(unit=self.unit)

    @property
    def shared_cov(self):
        return np.array(self.cov)

    def row_bias(self, arrays):
        p = 1.0 / (1.0 + np.exp(-self.slope * arrays.E[:, 0]))
        zero = np.zeros(arrays.n)
        return RowBias(
            p,
            np.full(arrays.n, self.size),
            np.column_stack([p * (1.0 - p) * arrays.E[:, 0], zero]),
            np.column_stack([zero, zero + 1.0]),
            zero + self.spread if self.spread else None,
        )


def test_moments_of_a_total_are_those_of_the_delta_method():
    """Sum of the draws: mean of the calibrated total, variance of rows and of what all rows share."""
    arrays, fit = toy_arrays(300), Known()
    sums = draw_truth(fit, arrays, draws_of(fit, 4000, 1), np.arange(300)).sum(axis=1)
    truth = row_truth(fit, arrays)
    shared = truth.slope.sum(axis=0)
    variance = truth.variance.sum() + shared @ fit.shared_cov @ shared
    # Four standard errors of a mean and of a variance of 4,000 draws, and one percent of the variance for
    # the bend of the logit.
    assert abs(sums.mean() - truth.middle.sum()) < 4.0 * np.sqrt(variance / 4000)
    assert abs(sums.var() / variance - 1.0) < 4.0 * np.sqrt(2.0 / 4000) + 0.01


def test_parameters_are_drawn_and_not_the_rows_alone():
    arrays, fit = toy_arrays(300), Known()
    sure = replace(fit, cov=((0.0, 0.0), (0.0, 0.0)))
    sums = [draw_truth(one, arrays, draws_of(one, 500, 1), np.arange(300)).sum(axis=1) for one in (fit, sure)]
    assert sums[0].std() > 2.0 * sums[1].std()


def test_a_factor_multiplies_and_leaves_zeros():
    arrays = toy_arrays(200)
    halved = Known(cov=((0.0, 0.0), (0.0, 0.0)), size=-np.log(2.0))
    zeros = Zeros(50, 200, 1.0, "e", False, 0)
    fit = LogFit(halved, zeros, np.arange(50, 200), np.zeros(2), 1.0, 1.0)
    y = np.where(np.arange(200) < 50, 0.0, 8.0)
    truth = np.where(np.arange(200) == 199, 12.0, np.nan)
    given = replace(arrays, y=y, truth=truth)
    drawn = draw_truth(fit, given, draws_of(fit, 3, 0), np.arange(200))
    assert set(np.unique(drawn[:, :50])) == {0.0}
    np.testing.assert_allclose(np.unique(drawn[:, 50:199].round(9)), [8.0, 16.0])
    assert (drawn[:, 199] == 12.0).all()


def test_sizes_that_vary_are_drawn():
    arrays = toy_arrays(2000)
    fit = Known(spread=0.5, cov=((0.0, 0.0), (0.0, 0.0)))
    drawn = arrays.y - draw_truth(fit, arrays, draws_of(fit, 1, 0), np.arange(2000))[0]
    sizes = drawn[drawn != 0.0]
    assert abs(sizes.std() - 0.5) < 0.05  # four standard errors of an sd of 1,000 sizes
    assert abs(sizes.mean() - 2.0) < 0.07


def test_pieces_get_what_the_whole_gets_and_more_tables_begin_with_the_same():
    n = 2 * BLOCK + 100
    arrays, fit = toy_arrays(n), Known()
    places = np.arange(n)
    whole = draw_truth(fit, arrays, draws_of(fit, 3, 5), places)
    cuts = (slice(0, 1000), slice(1000, BLOCK + 7), slice(BLOCK + 7, n))
    parts = [draw_truth(fit, arrays.take(places[at]), draws_of(fit, 3, 5), places[at]) for at in cuts]
    assert np.array_equal(whole, np.concatenate(parts, axis=1))
    more = draw_truth(fit, arrays, draws_of(fit, 7, 5), places)
    assert np.array_equal(whole, more[:3])
    assert not np.array_equal(whole, draw_truth(fit, arrays, draws_of(fit, 3, 6), places))


def test_known_truths_stay_and_trusted_rows_keep_their_report():
    arrays, fit = toy_arrays(100), Known(slope=0.0, size=5.0)
    truth = np.where(np.arange(100) < 10, 7.25, np.nan)
    trusted = np.arange(100) >= 90
    given = replace(arrays, truth=truth, trusted=trusted)
    drawn = draw_truth(fit, given, draws_of(fit, 4, 0), np.arange(100))
    assert (drawn[:, :10] == 7.25).all()
    assert (drawn[:, 90:] == arrays.y[90:]).all()
    assert (drawn[:, 10:90] != arrays.y[10:90]).any()


@pytest.mark.parametrize("verdict", ["no bias found", "not identified"])
def test_without_a_finding_reports_stand(verdict):
    arrays, fit = toy_arrays(50), Known(verdict=verdict)
    assert (draw_truth(fit, arrays, draws_of(fit, 3, 0), np.arange(50)) == arrays.y).all()


def test_rows_of_a_cluster_share_their_bias():
    arrays = replace(toy_arrays(400), cluster=np.repeat(np.arange(40), 10))
    arrays = replace(arrays, E=np.zeros_like(arrays.E))
    fit = Known(unit="clusters")
    biased = draw_truth(fit, arrays, draws_of(fit, 5, 0), np.arange(400)) != arrays.y
    by_cluster = biased.reshape(5, 40, 10)
    assert (by_cluster.all(axis=2) | ~by_cluster.any(axis=2)).all()
    assert 0.2 < by_cluster[:, :, 0].mean() < 0.8


def test_draws_have_the_covariance_asked_for():
    cov = np.array([[1.0, 0.8], [0.8, 2.0]])
    drawn = Draws.of(cov, 20_000, 3).moved
    # Five standard errors: sqrt((c_ii c_jj + c_ij^2) / 20000) is at most 0.02.
    np.testing.assert_allclose(np.cov(drawn.T), cov, atol=0.1)
