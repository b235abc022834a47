"""Answers of the exact method: what must not matter to them, calibration, effects, and saved fits."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from proxycal import ProxyCalibrator, load
from proxycal.errors import ProxycalWarning, TableError
from proxycal.methods.exact.fit import exact_estimate, wide_estimate
from proxycal.methods.exact.record import ExactFit, data_of
from proxycal.mixture.answers import answer_rows
from proxycal.result import plain
from proxycal.table.encode import Encoder
from proxycal.testing.worlds import World, draw_world

KINDS = ("gaussian", "exponential", "t3", "two-humped", "zero-inflated")


def quietly(answer, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        return answer(*arguments)


def answers(model: ProxyCalibrator, table: pd.DataFrame) -> list[pd.DataFrame]:
    return [quietly(ask, table) for ask in (model.calibrate, model.effects, model.latents)] + [
        model.summary()
    ]


def rmse(one, other) -> float:
    return float(np.sqrt(np.mean((np.asarray(one) - np.asarray(other)) ** 2)))


# --- what must not matter -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(fit):
    world = draw_world("exponential", 300, 3.0, seed=1)
    return world, fit(world)


def test_under_mirrors_over(small, fit):
    world, model = small
    table = world.table()
    mirrored = fit(world, table.assign(y=-table["y"]), direction="under")
    pd.testing.assert_frame_equal(mirrored.summary(), model.summary(), rtol=0, atol=1e-10)
    assert mirrored.verdict_ == model.verdict_
    one, other = model.calibrate(table), mirrored.calibrate(table.assign(y=-table["y"]))
    np.testing.assert_allclose(other["p_biased"], one["p_biased"], atol=1e-10)
    for mine, theirs in [("y_cal", "y_cal"), ("y_cal_low", "y_cal_high"), ("shift", "shift"), ("mu", "mu")]:
        np.testing.assert_allclose(other[theirs], -one[mine], atol=1e-10)
    tau = model.effects(table)["tau"]
    np.testing.assert_allclose(mirrored.effects(table.assign(y=-table["y"]))["tau"], -tau, atol=1e-10)


def test_row_order_changes_nothing(small, fit):
    world, model = small
    table = world.table()
    shuffled = table.sample(frac=1.0, random_state=3)
    other = fit(world, shuffled)
    own, again = model.summary(), other.summary()
    pd.testing.assert_frame_equal(again.drop("gradual"), own.drop("gradual"), rtol=1e-12, atol=1e-12)
    # That row comes of sums in the order of the rows, and of a search that ends near its maximum.
    pd.testing.assert_frame_equal(again.loc[["gradual"]], own.loc[["gradual"]], rtol=0.0, atol=1e-7)
    assert other.verdict_ == model.verdict_
    pd.testing.assert_frame_equal(
        other.calibrate(shuffled).loc[table.index], model.calibrate(table), rtol=1e-11, atol=1e-11
    )


def test_units_of_the_outcome(small, fit):
    # tests/bias/test_exact.py has more units; here it is about the answers made of the fit.
    unit, offset = 1000.0, 1e4
    world, model = small
    table = world.table()
    other = fit(world, table.assign(y=unit * table["y"] + offset))
    numbers = ["alpha", "se", "low", "high"]
    pd.testing.assert_frame_equal(other.summary()[numbers] / unit, model.summary()[numbers], rtol=1e-6)
    assert other.share_biased_ == pytest.approx(model.share_biased_, rel=1e-9)
    assert other.verdict_ == model.verdict_
    moved = other.calibrate(table.assign(y=unit * table["y"] + offset))
    np.testing.assert_allclose((moved["y_cal"] - offset) / unit, model.calibrate(table)["y_cal"], atol=1e-7)


def test_units_of_every_column(small, fit):
    world, model = small
    table = world.table()
    columns = [*world.roles.proxies, *world.roles.environment]
    scale = np.array([1000.0, 1e-3, -2.0, 1.0, 7.0] * 2)
    moved = table.assign(**(table[columns] * scale + np.arange(10.0) * 100.0))
    other = fit(world, moved)
    pd.testing.assert_frame_equal(other.summary(), model.summary(), rtol=1e-6, atol=1e-9)
    assert other.verdict_ == model.verdict_


def test_the_same_seed_gives_the_same_bytes(small, fit):
    world, model = small
    again = fit(world)
    for one, other in zip(answers(model, world.table()), answers(again, world.table()), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert again.findings_ == model.findings_


def test_weights_of_one_are_no_weights(small, fit):
    world, model = small
    weighted = fit(world, world.table().assign(w=1.0), replace(world.roles, weights="w"))
    pd.testing.assert_frame_equal(weighted.summary(), model.summary(), rtol=1e-10, atol=1e-12)


def test_level_sets_the_width_and_nothing_else(small, fit):
    world, model = small
    wide = fit(world, level=0.99)
    assert wide.alpha_ == model.alpha_
    low, high = wide.alpha_interval_
    assert (high - low) == pytest.approx(2.0 * norm.ppf(0.995) * model.alpha_se_)


# --- calibration --------------------------------------------------------------------------------------------


def test_calibration_brings_rows_it_never_saw_closer_to_the_truth(fit, drawn):
    world, model = drawn("gaussian", 1000, 3.0, 1)
    out = model.calibrate(world.table())
    assert rmse(out["y_cal"], world.y_true) < 0.5 * rmse(world.y, world.y_true)
    np.testing.assert_allclose(out["y_cal"], world.y - out["shift"], atol=1e-12)
    np.testing.assert_allclose(out["shift"], model.alpha_ * out["p_biased"], atol=1e-12)
    learned = fit(world, world.table().iloc[:500])
    unseen = learned.calibrate(world.table().iloc[500:])
    assert rmse(unseen["y_cal"], world.y_true[500:]) < 0.5 * rmse(world.y[500:], world.y_true[500:])
    assert rmse(unseen["mu"], world.y_true[500:]) < 1.2 * world.residual_sd


def coverage(world: World, model: ProxyCalibrator, level: float) -> float:
    made = replace(model.result_.method_fit, level=level).predict(
        model.result_.encoder.transform(world.table())
    )
    assert ((made.y_cal_low <= made.y_cal) & (made.y_cal <= made.y_cal_high)).all()
    slack = 1e-9 * np.abs(world.y_true).max()
    above, below = made.y_cal_low - slack <= world.y_true, world.y_true <= made.y_cal_high + slack
    return float(np.mean(above & below))


def test_intervals_of_the_calibrated_outcome_cover_the_truth(drawn):
    # Rows share the error of one alpha, so worlds are averaged.
    covered = [coverage(*drawn(kind, 1000, 3.0, 1), 0.95) for kind in KINDS]
    assert np.mean(covered) > 0.9
    narrow = [coverage(*drawn(kind, 1000, 3.0, 1), 0.5) for kind in KINDS]
    assert np.mean(narrow) < np.mean(covered)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_cover_at_their_level_over_many_worlds(level, drawn):
    covered = [coverage(*drawn("gaussian", 500, 3.0, seed), level) for seed in range(20)]
    assert level - 0.06 < np.mean(covered)


def test_without_a_finding_the_outcome_is_left_alone_with_a_warning(drawn):
    world, model = drawn("gaussian", 500, 0.0, 0)
    with pytest.warns(ProxycalWarning, match="left as reported"):
        out = model.calibrate(world.table())
    np.testing.assert_array_equal(out["y_cal"], world.y)
    # Nobody knows how far a report is off that is left alone for want of a finding.
    assert out[["y_cal_low", "y_cal_high"]].isna().all(axis=None)
    assert not out["shift"].any()


def test_mu_is_the_content_without_the_bias(drawn):
    world, model = drawn("gaussian", 1000, 3.0, 1)
    mu = model.calibrate(world.table())["mu"]
    assert rmse(mu, world.y_true) < 1.1 * world.residual_sd
    assert abs(np.mean(mu - world.y_true)) < 0.2 * world.residual_sd


def test_effects_compare_each_row_with_unbiased_ones(drawn):
    world, model = drawn("gaussian", 1000, 3.0, 1)
    out = model.effects(world.table())
    biased = world.a == 1.0
    assert out["tau"][biased].mean() == pytest.approx(world.alpha[0], rel=0.15)
    assert abs(out["tau"][~biased].mean()) < 0.15 * world.alpha[0]
    np.testing.assert_array_equal(out["tau_abs"], out["tau"].abs())


def test_without_unbiased_rows_there_are_no_effects(small):
    world, model = small
    lonely = replace(model.result_.method_fit, controls=None)
    with pytest.raises(TableError, match="no unbiased rows"):
        lonely.effects(model.result_.encoder.transform(world.table()))


# --- saving -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["constant", "by level", "under", "clusters", "null"])
def test_a_saved_fit_gives_identical_answers(which, small, tmp_path, fit, drawn):
    if which == "under":
        world = small[0]
        table = world.table().assign(y=-world.y)
        model = fit(world, table, direction="under")
    else:
        world, model = {
            "constant": lambda: small,
            "by level": lambda: drawn("alpha by level", 1000, 1.5, 0),
            "clusters": lambda: drawn("clusters", 800, 3.0, 0),
            "null": lambda: drawn("gaussian", 500, 0.0, 0),
        }[which]()
        table = world.table()
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    for one, other in zip(answers(model, table), answers(again, table), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert again.verdict_ == again.result_.method_fit.verdict == model.verdict_
    assert again.findings_ == model.findings_
    assert again.result_.method_fit.findings == model.result_.method_fit.findings


def test_state_is_plain_json_and_arrays(small):
    world, model = small
    values, tensors = model.result_.method_fit.state()
    values = plain(values)
    assert all(type(value) is np.ndarray for value in tensors.values())
    again = ExactFit.from_state(json.loads(json.dumps(values, allow_nan=False)), tensors)
    arrays = model.result_.encoder.transform(world.table())
    np.testing.assert_array_equal(again.predict(arrays).y_cal, model.result_.method_fit.predict(arrays).y_cal)
    assert again.estimates == model.result_.method_fit.estimates
    assert again.details.history == {}


# --- pieces -------------------------------------------------------------------------------------------------


def test_summary_puts_the_estimators_side_by_side(small):
    _, model = small
    assert list(model.summary().index) == ["exact", "moments", "match", "gradual"]
    assert model.result_.method_fit.estimate.name == "exact"
    assert model.summary().loc["exact", "alpha"] == model.alpha_


def test_findings_name_every_topic(small):
    _, model = small
    made = [one.topic for one in model.result_.method_fit.findings]
    assert made[:4] == ["comparison", "separation", "gate", "relevance"]
    assert len(set(made)) == len(made)
    json.dumps([one.to_dict() for one in model.findings_], allow_nan=False)


def test_under_reporting_is_seen_as_over_reporting_of_the_negative(small):
    world, _ = small
    arrays = Encoder.fit(world.table(), world.roles).transform(world.table())
    np.testing.assert_array_equal(data_of(arrays, -1.0).y, -world.y)
    np.testing.assert_array_equal(data_of(arrays, -1.0).P, data_of(arrays, 1.0).P)
    assert data_of(arrays, 1.0).curved.all()


def test_the_content_index_follows_the_outcome(small):
    world, model = small
    spec = model.result_.method_fit.spec
    z = answer_rows(spec, data_of(model.result_.encoder.transform(world.table()), 1.0), 0.0).content
    shape = spec.shape
    assert z.shape == (300, {"shared": 1, "own": shape.J, "atom": shape.J - 1}[shape.means])
    assert np.corrcoef(z[:, 0], world.y_true)[0, 1] > 0.8


def test_a_mean_against_the_stated_direction_is_no_negative_alpha():
    spec, half = SimpleNamespace(frame=SimpleNamespace(effect="by:sex")), np.array([0.5, 0.5])
    over, against = (
        exact_estimate(
            SimpleNamespace(shift=shift, shift_cov=np.eye(2), where_biased=half, bias=spec), level=0.95
        )
        for shift in (np.array([3.0, -2.0]), np.array([2.0, -9.0]))
    )
    assert over.alpha == pytest.approx(0.5)
    assert (against.alpha, against.high) == (0.0, 0.0)
    assert against.low == pytest.approx(-3.5 - norm.ppf(0.975) * np.sqrt(0.5))
    widely = wide_estimate(SimpleNamespace(size=-3.5, se=0.5, gain=-20.0), level=0.95)
    assert widely.alpha == 0.0
    assert widely.low == pytest.approx(-3.5 - norm.ppf(0.975) * 0.5)
