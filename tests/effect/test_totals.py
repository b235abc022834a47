"""Totals: closed forms, brute force, pieces that add up, and intervals of sums with jumps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from proxycal import ProxyCalibrator, simulate
from proxycal.effect.row_truth import (
    RowBias,
    RowTruth,
    averaged,
    row_truth,
    shared_cov,
    truth_of_factor,
    truth_of_shift,
    truth_of_states,
)
from proxycal.effect.totals import (
    KEPT,
    MOST_GROUPS,
    Groups,
    conclude,
    intervals,
    mixture_quantile,
    refuse_groups,
    sum_rows,
)
from proxycal.errors import SettingsError, TableError
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles
from toy_method import ToyFit

ROLES = Roles("y", ["p"], ["e"])


def arrays_of(y):
    table = pd.DataFrame({"y": y, "p": np.arange(len(y)) % 7, "e": np.arange(len(y)) % 3})
    return Encoder.fit(table, ROLES).transform(table)


def bias_of(p, size):
    p, size = np.array(p), np.array(size)
    # One parameter: the size itself.
    return RowBias(p, size, np.zeros((len(p), 1)), np.ones((len(p), 1)))


def test_a_shift_has_the_moments_of_its_two_states():
    truth = truth_of_shift(np.array([5.0]), bias_of([0.25], [2.0]))
    np.testing.assert_allclose((truth.mean[0], truth.variance[0], truth.slope[0, 0]), (4.5, 0.75, -0.25))


def test_a_factor_is_averaged_in_the_units_of_the_outcome():
    """Reports of half the truth, with 40%: the truth is 10 or 20, its mean 14 and not 10 * 2**0.4."""
    truth = truth_of_factor(np.array([10.0]), bias_of([0.4], [-np.log(2.0)]))
    np.testing.assert_allclose((truth.mean[0], truth.variance[0]), (14.0, 0.24 * 100.0))
    # d/dsize of 10 (1 - p + p exp(-size)) = -10 p exp(-size).
    np.testing.assert_allclose(truth.slope[0, 0], -8.0)


@pytest.mark.parametrize("states", [truth_of_shift, truth_of_factor])
def test_slopes_are_those_of_the_mean(states):
    y, h = np.array([3.0, 8.0]), 1e-6
    base = RowBias(np.array([0.2, 0.7]), np.array([-0.5, 0.4]), np.array([[0.3], [-0.1]]), np.ones((2, 1)))
    moved = replace(base, p=base.p + h * base.p_slope[:, 0], size=base.size + h)
    numeric = (states(y, moved).mean - states(y, base).mean) / h
    np.testing.assert_allclose(states(y, base).slope[:, 0], numeric, rtol=1e-4)


def test_chances_are_averaged_over_the_error_of_the_parameters():
    """Against draws of the parameters; rows that are known, or move with no parameter, stay."""
    rng = np.random.default_rng(0)
    odds, moves = (
        np.array([-6.0, -3.0, 0.0, 2.5]),
        np.array([[1.0, 0.5], [0.2, -1.0], [1.0, 1.0], [-1.0, 0.3]]),
    )
    cov = np.array([[1.5, 0.4], [0.4, 1.0]])
    p = 1.0 / (1.0 + np.exp(-odds))
    bias = RowBias(p, np.ones(4), (p * (1.0 - p))[:, None] * moves, np.zeros((4, 2)))
    draws = 1.0 / (1.0 + np.exp(-(odds + rng.multivariate_normal([0.0, 0.0], cov, size=100_000) @ moves.T)))
    done = averaged(bias, cov)
    # The formula is an approximation: far out, in the first row, it is up to twice the mean.
    np.testing.assert_allclose(done.p[1:], draws.mean(axis=0)[1:], rtol=0.1)
    assert 1.0 < done.p[0] / draws.mean(axis=0)[0] < 2.0
    slopes = (draws * (1.0 - draws)).mean(axis=0)[:, None] * moves
    np.testing.assert_allclose(done.p_slope[1:], slopes[1:], rtol=0.15)
    known = RowBias(np.array([0.0, 1.0, 0.3]), np.ones(3), np.zeros((3, 2)), np.zeros((3, 2)))
    np.testing.assert_array_equal(averaged(known, cov).p, known.p)


def test_a_doubtful_large_row_is_inside_though_its_chance_at_the_estimate_is_small():
    """A row of 1,000 that is half reported with 2% at the estimate, and its log-odds known to +- 3 only."""
    y, p = np.r_[1000.0, np.full(50, 10.0)], np.r_[0.02, np.zeros(50)]
    slope = np.zeros((51, 1))
    slope[0] = 0.02 * 0.98
    bias = RowBias(p, np.full(51, -np.log(2.0)), slope, np.zeros((51, 1)))

    class Doubtful(ToyFit):
        shared_cov = np.array([[9.0]])

        def row_truth(self, arrays):
            return truth_of_states(truth_of_factor, arrays.y, bias, self.shared_cov)

    fit, arrays = Doubtful(10.0, "bias found"), arrays_of(y)
    totals = conclude(fit, sum_rows(fit, arrays, Groups.one(51), np.ones(51)), 0.95)
    # As calibrated row by row, whatever the interval.
    assert totals.calibrated[0] == pytest.approx(1500.0 + 0.02 * 1000.0)
    assert totals.low[0] <= 1500.0 + 1.0
    assert totals.high[0] > 2400.0


def test_without_a_hook_alpha_is_the_shared_parameter():
    toy, arrays = ToyFit(10.0, "bias found"), arrays_of(np.arange(20.0))
    truth = row_truth(toy, arrays)
    np.testing.assert_allclose(truth.mean, toy.predict(arrays).y_cal)
    # The upper half is biased by alpha = 2: a unit of alpha moves each of them by one.
    np.testing.assert_allclose(truth.slope[:, 0], -(arrays.y > 10.0).astype(float))
    np.testing.assert_allclose(shared_cov(toy), [[0.01]])


def test_a_total_shares_the_error_of_alpha():
    toy, arrays = ToyFit(10.0, "bias found"), arrays_of(np.arange(20.0))
    sums = sum_rows(toy, arrays, Groups.one(20), np.ones(20))
    total = conclude(toy, sums, 0.95)
    # Nine rows are biased for sure: the error of their sum is nine times that of alpha.
    np.testing.assert_allclose(total.high - total.calibrated, 1.959964 * 9 * 0.1, rtol=1e-6)
    np.testing.assert_allclose((total.reported[0], total.calibrated[0]), (190.0, 172.0))
    np.testing.assert_allclose(total.change_pct, -100.0 * 18.0 / 190.0)
    mean = conclude(toy, sums, 0.95, "mean")
    np.testing.assert_allclose(mean.high, total.high / 20.0)


def test_without_a_finding_totals_are_as_reported_and_have_no_interval():
    toy, arrays = ToyFit(10.0, "not identified"), arrays_of(np.arange(20.0))
    total = conclude(toy, sum_rows(toy, arrays, Groups.one(20), np.ones(20)), 0.95)
    assert total.calibrated[0] == total.reported[0] == 190.0
    assert np.isnan([total.low[0], total.high[0]]).all()


def test_groups_stand_in_their_order_with_all_rows_last():
    toy, arrays = ToyFit(10.0, "bias found"), arrays_of(np.arange(20.0))
    sums = sum_rows(toy, arrays, Groups(np.arange(20) % 2, ("west", "overall")), np.full(20, 2.0))
    total = conclude(toy, sums, 0.95, by="region")
    assert total.labels == ("overall", "west", "overall (all rows)")
    np.testing.assert_allclose(total.reported, [2 * 100.0, 2 * 90.0, 2 * 190.0])
    np.testing.assert_allclose(total.calibrated[:-1].sum(), total.calibrated[-1])
    with pytest.raises(SettingsError, match="'total' or 'mean'"):
        conclude(toy, sums, 0.95, "median")


def test_the_sums_of_pieces_add_up():
    """More rows in doubt than are kept, in groups that not every piece has."""
    rng = np.random.default_rng(0)
    y = np.exp(rng.normal(size=400))

    @dataclass(frozen=True)
    class Doubtful(ToyFit):
        def row_truth(self, arrays):
            n = arrays.n
            bias = RowBias(np.full(n, 0.3), np.full(n, -0.7), np.zeros((n, 1)), np.full((n, 1), -1.0))
            return truth_of_factor(arrays.y, bias)

    fit, arrays, codes = Doubtful(0.0, "bias found"), arrays_of(y), rng.integers(0, 3, 400)
    weights = rng.random(400)
    whole = conclude(fit, sum_rows(fit, arrays, Groups(codes, ("a", "b", "c")), weights), 0.95, by="g")
    parts = None
    for rows in np.split(np.arange(400), [30, 200]):
        present, local = np.unique(codes[rows], return_inverse=True)
        groups = Groups(local, tuple("abc"[code] for code in present))
        part = sum_rows(fit, arrays.take(rows), groups, weights[rows])
        parts = part if parts is None else parts + part
    assert parts is not None
    assert parts.jump.shape == (3, KEPT)
    pieces = conclude(fit, parts, 0.95, by="g")
    assert pieces.labels == whole.labels
    for name, values in whole.columns().items():
        np.testing.assert_allclose(getattr(pieces, name), values, rtol=1e-9)


def test_an_interval_knows_a_rare_jump():
    """Brute force: three large rows in doubt beside a normal rest."""
    jump, chance = np.array([[50.0, 30.0, -20.0]]), np.array([[0.04, 0.3, 0.5]])
    variance = 4.0 + (jump**2 * chance * (1.0 - chance)).sum(axis=1)
    low, high = intervals(np.array([100.0]), variance, jump, chance, 0.95)
    rng = np.random.default_rng(1)
    drawn = 100.0 + ((rng.random((400_000, 3)) < chance[0]) - chance[0]) @ jump[0]
    drawn += 2.0 * rng.normal(size=len(drawn))
    # So many draws of who is biased: the chances of the tails are known to half a per cent.
    assert 0.94 < np.mean((drawn >= low[0]) & (drawn <= high[0])) < 0.965
    # One row of a chance of 4%: a normal interval ends far below its jump.
    alone = np.array([4.0 + 96.0])
    _, high = intervals(np.array([0.0]), alone, np.array([[50.0]]), np.array([[0.04]]), 0.95)
    assert high[0] > 45.0 > 1.96 * np.sqrt(alone[0])


def test_a_method_may_bring_its_own_totals():
    @dataclass(frozen=True)
    class Own(ToyFit):
        def row_truth(self, arrays):
            extra = np.column_stack([np.ones(arrays.n), arrays.y])
            return RowTruth(arrays.y, np.zeros(arrays.n), np.zeros((arrays.n, 1)), extra=extra)

        def finish_totals(self, sums):
            return sums.extra[:, 1] + sums.extra[:, 0], np.full(len(sums.labels), 4.0)

    fit, arrays = Own(0.0, "no bias found"), arrays_of(np.arange(20.0))
    total = conclude(fit, sum_rows(fit, arrays, Groups.one(20), np.ones(20)), 0.95)
    np.testing.assert_allclose(
        (total.calibrated[0], total.high[0]), (210.0, 210.0 + 1.959964 * 2.0), rtol=1e-6
    )


def test_too_many_groups_are_refused():
    refuse_groups(MOST_GROUPS, "county")
    with pytest.raises(TableError, match="column 'county' has 4,001 levels or more"):
        refuse_groups(MOST_GROUPS + 1, "county")


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_add_up_like_repeated_rows(weighted):
    sim = simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=1.0, random_state=0)
    rng = np.random.default_rng(0)
    table = sim.table.assign(
        times=rng.integers(1, 5, 300), w=rng.uniform(1.0, 3.0, 300), region=rng.choice(["a", "b"], 300)
    )
    roles = replace(sim.roles, weights="w" if weighted else None)
    model = ProxyCalibrator(replace(roles, counts="times"), direction="over", method="moments").fit(table)
    found = model.totals(table, by="region")
    repeated = table.loc[table.index.repeat(table["times"])].assign(times=1)
    # To adding in another order: the sums of thousands of rows differ in their last digits.
    pd.testing.assert_frame_equal(found, model.totals(repeated, by="region"), rtol=1e-9)
    assert found["rows"].iloc[-1] == table["times"].sum()


@pytest.mark.parametrize("spread", [1e-6, 0.3, 5.0, 1e4])
@pytest.mark.parametrize("q", [0.0213, 0.5017, 0.9912])
def test_quantiles_of_a_mixture_of_normals_are_where_its_chance_is(spread, q):
    centres = 50.0 + spread * np.random.default_rng(3).normal(size=201)
    at = mixture_quantile(q, centres, 2.0)
    assert ndtr((at - centres) / 2.0).mean() == pytest.approx(q, abs=1e-8)
