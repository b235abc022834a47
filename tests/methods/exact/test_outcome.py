"""Outcomes that are no plain numbers: how they are read, and what is claimed of them."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator, Roles
from proxycal.methods.exact.outcome import Outcome, off_spike, read_outcome, told_by_environment
from proxycal.table.encode import Encoder
from proxycal.testing import wider_world


def arrays_with(y, seed=0, cluster=None):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"y": y, "p": rng.normal(size=len(y)), "e": rng.normal(size=len(y))})
    if cluster is not None:
        table["c"] = cluster
    return Encoder.fit_transform(table, Roles("y", ["p"], ["e"], cluster=None if cluster is None else "c"))[1]


# --- how an outcome is read ---------------------------------------------------------------------------------


def test_a_plain_number_is_taken_as_it_is():
    outcome = read_outcome(np.random.default_rng(0).normal(size=500))
    assert not outcome.ranged
    assert math.isnan(outcome.spike)
    assert outcome.round_to == 0.0
    assert outcome.ranges(np.zeros(3), 1.0) is None


def test_a_rating_stands_for_a_range_that_is_open_at_the_ends():
    y = np.clip(np.rint(3.0 + np.random.default_rng(0).normal(size=500)), 1.0, 5.0)
    outcome = read_outcome(y)
    assert outcome.ranged
    low, high = outcome.ranges(np.array([1.0, 3.0, 5.0]), 1.0)
    np.testing.assert_array_equal(low, [-np.inf, 2.5, 4.5])
    np.testing.assert_array_equal(high, [1.5, 3.5, np.inf])
    # Turned over, the range of minus the outcome.
    low, high = outcome.ranges(np.array([1.0, 3.0]), -1.0)
    np.testing.assert_array_equal(low, [-1.5, -3.5])
    np.testing.assert_array_equal(high, [np.inf, -2.5])


def test_fine_rounding_changes_nothing():
    y = np.random.default_rng(0).normal(size=500)
    assert not read_outcome(np.round(y, 2)).ranged
    assert read_outcome(np.round(2.0 * y) / 2.0).ranged


def test_one_spike_is_set_apart_and_two_are_not():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.3, 0.0, 5.0 + rng.normal(size=600))
    outcome = read_outcome(y)
    assert outcome.spike == 0.0
    np.testing.assert_array_equal(outcome.on_spike(y), y == 0.0)
    moved = np.where((y == 0.0) & (rng.random(600) < 0.5), 2.0, y)
    assert math.isnan(read_outcome(moved).spike)


def test_what_is_cut_off_at_an_end_has_no_copy_inside():
    rng = np.random.default_rng(0)
    y = np.maximum(rng.normal(1.0, 1.0, size=600), 0.0)
    assert read_outcome(y).ranged
    # Zeros of which some were shifted are values like all others: the distance of the two is the bias.
    shifted = np.where(rng.random(600) < 0.5, y + 3.0, y)
    outcome = read_outcome(shifted)
    assert outcome.kind.low == 0.0
    assert not outcome.ranged
    # Both ends cut off are no copies of each other.
    assert read_outcome(np.minimum(y, 2.0)).ranged


def test_rows_on_the_spike_are_left_out_and_clusters_numbered_anew():
    y = np.r_[np.zeros(30), 5.0 + np.random.default_rng(0).normal(size=70)]
    arrays = arrays_with(y, cluster=np.arange(100) // 10)
    left = off_spike(arrays, Outcome(spike=0.0))
    assert left.n == 70
    np.testing.assert_array_equal(np.unique(left.cluster), np.arange(7))
    np.testing.assert_array_equal(left.P, arrays.P[30:])
    assert off_spike(arrays, Outcome()) is arrays


def test_the_type_comes_back_from_a_file():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=300)
    for y in (
        noise,
        np.clip(np.rint(3.0 + noise), 1.0, 5.0),
        np.where(rng.random(300) < 0.3, 0.0, 5.0 + noise),
        np.where(rng.random(300) < 0.5, 10.0 * np.rint(5.0 * noise), np.rint(50.0 * noise)),
    ):
        outcome = read_outcome(y)
        again = Outcome.from_state(json.loads(json.dumps(outcome.state(), allow_nan=False)))
        assert repr(again) == repr(outcome)


def test_the_environment_that_says_who_is_on_the_spike():
    rng = np.random.default_rng(0)
    y = 5.0 + rng.normal(size=600)
    arrays = arrays_with(y)
    by_e = rng.random(600) < 1.0 / (1.0 + np.exp(1.0 - 1.5 * arrays.E[:, 0]))
    by_chance = rng.random(600) < 0.3
    told, untold = (arrays_with(np.where(on, 0.0, y)) for on in (by_e, by_chance))
    spike = Outcome(spike=0.0)
    assert told_by_environment(told, spike)[0] < 1e-4
    assert told_by_environment(untold, spike)[0] > 1e-3
    assert all(math.isnan(p) for p in told_by_environment(arrays, Outcome()))


# --- what is claimed ----------------------------------------------------------------------------------------


def fitted(name, n=None, seed=101):
    drawn = wider_world(name).draw(seed, n)
    return drawn, ProxyCalibrator(drawn.roles, direction=drawn.direction).fit(drawn.table)


@pytest.mark.parametrize("name", ["7 points, no bias", "rounded to 5, no bias"])
def test_a_grid_without_a_bias_is_not_claimed(name):
    assert fitted(name)[1].verdict_ != "bias found"


@pytest.mark.parametrize("name", ["11 points", "rounded to 5"])
def test_a_bias_on_a_grid_is_found(name):
    drawn, model = fitted(name)
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(drawn.alpha, rel=0.2)
    low, high = model.alpha_interval_
    assert high - low > 0.02 * drawn.alpha


@pytest.fixture(scope="module")
def zeros():
    return fitted("zeros", 1000)


def test_a_spike_is_left_alone_beside_a_bias(zeros):
    drawn, model = zeros
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(drawn.alpha, rel=0.1)
    answers = model.calibrate(drawn.table)
    on = drawn.y == 0.0
    assert on.mean() > 0.1
    np.testing.assert_array_equal(answers["y_cal"][on], 0.0)
    np.testing.assert_array_equal(answers["shift"][on], 0.0)
    # Whose report is a zero may be a biased reporter, as likely as the environment makes it.
    assert 0.02 < answers["p_biased"][on].mean() < 0.98


def test_a_fit_with_a_spike_answers_the_same_from_its_folder(zeros, tmp_path):
    import proxycal

    drawn, model = zeros
    model.save(tmp_path / "run")
    again = proxycal.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(drawn.table), model.calibrate(drawn.table))
    assert again.verdict_ == model.verdict_
