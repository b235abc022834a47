"""Any method on the log scale: factors, zeros, answers in the outcome's own units, run folders."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from loss_tables import KEPT, ROLES, losses
from proxycal.effect.calibrate import predict
from proxycal.effect.totals import Groups, conclude, sum_rows
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.methods.log_scale import LogFit, positive_logs
from proxycal.methods.registry import METHODS, register
from proxycal.settings import Settings
from proxycal.table.encode import Encoder
from toy_method import TOY


@pytest.fixture(scope="module", params=["under", "over"])
def fitted(request):
    table, true, a = losses(direction=request.param)
    model = pc.ProxyCalibrator(ROLES, "moments", direction=request.param, scale="log").fit(table)
    return model, table, true, a


def test_the_ratio_is_found_and_stated(fitted):
    model, _, _, _ = fitted
    wanted = KEPT if model.direction == "under" else 1.0 / KEPT
    assert model.verdict_ == "bias found"
    np.testing.assert_allclose(model.ratio_, wanted, rtol=0.1)
    low, high = model.ratio_interval_
    assert low < model.ratio_ < high
    np.testing.assert_allclose(math.log(model.ratio_), model.result_.settings.sign * model.alpha_)
    row = model.summary().loc["moments"]
    np.testing.assert_allclose((row["ratio"], row["ratio_low"], row["ratio_high"]), (model.ratio_, low, high))
    assert "are biased and report about" in repr(model)


@pytest.mark.parametrize(
    ("verdict", "alpha", "share"),
    [
        ("no bias found", -0.02, 0.0),
        ("no bias found", 1e-8, 0.0),
        ("no bias found", math.nan, 0.0),
        ("no bias found", 0.2, 0.3),
        ("not identified", 1e-8, 0.3),
    ],
)
def test_a_bias_that_was_not_found_and_has_no_size_has_no_share(fitted, verdict, alpha, share):
    inner = SimpleNamespace(verdict=verdict, estimate=SimpleNamespace(alpha=alpha), share_biased=0.3)
    assert replace(fitted[0].result_.method_fit, inner=inner).share_biased == share


def test_answers_come_back_in_the_units_of_the_outcome(fitted):
    model, table, true, _ = fitted
    answer = model.calibrate(table)
    above = table["loss"] > 0
    # Rows of nearly no doubt are the truth, but for the error of alpha.
    sure = above & ((answer["p_biased"] < 0.01) | (answer["p_biased"] > 0.99))
    assert sure.mean() > 0.3
    np.testing.assert_allclose(np.log(answer["y_cal"] / true)[sure].median(), 0.0, atol=0.05)
    np.testing.assert_allclose(answer["y_cal"], table["loss"] - answer["shift"])
    assert ((answer["y_cal_low"] <= answer["y_cal"]) & (answer["y_cal"] <= answer["y_cal_high"])).all()
    # mu is a mean, not a median: on average it is what would have been reported.
    np.testing.assert_allclose(answer["mu"][above].mean(), true[above].mean(), rtol=0.25)


def test_the_calibrated_outcome_is_a_mean_of_dollars(fitted):
    model, table, _, _ = fitted
    answer, y = model.calibrate(table), table["loss"]
    p, ratio = answer["p_biased"], model.ratio_
    wanted = y * (1.0 - p + p / ratio)
    np.testing.assert_allclose(answer["y_cal"][y > 0], wanted[y > 0], rtol=1e-9)
    totals = model.totals(table).iloc[0]
    np.testing.assert_allclose(totals["calibrated"], answer["y_cal"].sum())


def test_zeros_stay_zero_and_have_no_part_in_the_size(fitted):
    model, table, _, _ = fitted
    zero = (table["loss"] == 0).to_numpy()
    answer = model.calibrate(table)[zero]
    assert not answer[["y_cal", "y_cal_low", "y_cal_high", "shift"]].to_numpy().any()
    assert answer["p_biased"].between(0.0, 1.0).all()
    # By the environment: where more are biased, zeros are more likely of biased reporters.
    assert np.corrcoef(answer["p_biased"], table["e1"][zero])[0, 1] > 0.5
    alone = table[~zero]
    logs = alone.assign(loss=np.log(alone["loss"]))
    by_hand = pc.ProxyCalibrator(ROLES, "moments", direction=model.direction).fit(logs)
    np.testing.assert_allclose(model.alpha_, by_hand.alpha_, rtol=1e-6)
    effects = model.effects(table)
    assert not effects["tau"][zero].any()
    assert not effects["n_matched"][zero].any()


def test_effects_are_dollars_and_name_fitted_rows(fitted):
    model, table, _, a = fitted
    effects = model.effects(table)
    biased = a & (table["loss"] > 0).to_numpy()
    tau = effects["tau"][biased] / table["loss"][biased]
    # y - y / ratio, as a share of y.
    assert np.sign(tau.median()) == np.sign(1.0 - 1.0 / model.ratio_)
    matched = {int(label) for labels in effects["matched"] for label in labels.split("; ") if label}
    assert (table["loss"].iloc[sorted(matched)] > 0).all()


def test_a_run_folder_answers_the_same(fitted, tmp_path):
    model, table, _, _ = fitted
    model.save(tmp_path / "run")
    again = pc.load(tmp_path / "run")
    assert isinstance(again.result_.method_fit, LogFit)
    pd.testing.assert_frame_equal(again.calibrate(table), model.calibrate(table))
    pd.testing.assert_frame_equal(again.effects(table), model.effects(table))
    pd.testing.assert_frame_equal(again.totals(table), model.totals(table))
    assert [f.reading for f in again.findings_] == [f.reading for f in model.findings_]


def test_a_fit_without_an_answer_is_saved_and_loaded(tmp_path):
    """A gradual fit that is refused keeps no array of its own."""
    table, _, _ = losses(n=200)
    roles = replace(ROLES, proxies=ROLES.proxies[:1])
    model = pc.ProxyCalibrator(roles, "gradual", direction="under", scale="log").fit(table)
    assert math.isnan(model.alpha_)
    model.save(tmp_path / "run")
    pd.testing.assert_frame_equal(pc.load(tmp_path / "run").calibrate(table), model.calibrate(table))


def test_questions_are_put_to_the_logarithms(fitted):
    model, _, _, _ = fitted
    seeds = model.refute("seed", repetitions=2)
    np.testing.assert_allclose(seeds.table["alpha"], model.alpha_, rtol=0.3)
    power = model.power([4.0], repetitions=8)
    assert "of the truth)" in power.reading
    assert {finding.topic for finding in model.check()} >= {"zeros", "heteroscedasticity", "shape"}


def test_any_method_is_taken_to_the_log_scale():
    table, _, _ = losses(n=200)
    with register(TOY):
        model = pc.ProxyCalibrator(ROLES, direction="over", method="toy", scale="log").fit(table)
        answer = model.calibrate(table)
    above = table["loss"] > 0
    assert model.alpha_ == 2.0
    upper = above & (answer["p_biased"] == 1.0)
    np.testing.assert_allclose(answer["y_cal"][upper], table["loss"][upper] * math.exp(-2.0))
    assert not answer["y_cal"][~above].any()


def test_a_graded_bias_is_no_mixture_of_two_states():
    table, _, _ = losses(n=600, zeros=0.2)
    model = pc.ProxyCalibrator(ROLES, "gradual", direction="under", scale="log").fit(table)
    fit = model.result_.method_fit
    assert isinstance(fit, LogFit)
    arrays = model.result_.training
    above = arrays.y > 0
    own, inner = fit.predict(arrays), fit.inner.predict(positive_logs(arrays))
    np.testing.assert_allclose(np.log(own.y_cal[above]), inner.y_cal, rtol=1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_limit_that_no_number_holds_is_infinite_and_zeros_stay_zero(fitted):
    model = fitted[0]
    fit, arrays = model.result_.method_fit, model.result_.training

    class Unbounded:
        """The method's own fit with a calibrated logarithm that may be anything upward."""

        def __getattr__(self, name):
            return getattr(fit.inner, name)

        def predict(self, arrays):
            own = fit.inner.predict(arrays)
            return replace(own, y_cal_high=own.y_cal_high + 1e4)

    plain, wide = fit.predict(arrays), replace(fit, inner=Unbounded()).predict(arrays)
    above = arrays.y > 0
    assert np.isinf(wide.y_cal_high[above]).all()
    assert not wide.y_cal_high[~above].any()
    assert (~above).any()
    for name in ("y_cal", "y_cal_low"):
        np.testing.assert_array_equal(getattr(wide, name), getattr(plain, name))


def test_zeros_that_the_environment_moves_are_a_finding():
    table, _, _ = losses(n=1000, zeros=0.0)
    rng = np.random.default_rng(0)
    gone = rng.random(1000) < 1.0 / (1.0 + np.exp(1.0 + 1.5 * table["e2"]))
    model = pc.ProxyCalibrator(ROLES, "moments", direction="under", scale="log").fit(
        table.assign(loss=table["loss"].where(~gone, 0.0))
    )
    (finding,) = [finding for finding in model.findings_ if finding.topic == "zeros"]
    assert not finding.ok
    assert "more common where 'e2' is lower" in finding.reading
    assert "may not be reported at all" in finding.reading


def test_validated_rows_with_a_zero_on_one_side_are_told():
    table, true, _ = losses(n=400)
    truth = np.where(np.arange(400) < 60, true, np.nan)
    odd = int(np.flatnonzero((np.arange(400) < 60) & (true > 0))[0])
    table.loc[odd, "loss"] = 0.0
    model = pc.ProxyCalibrator(replace(ROLES, truth="t"), "moments", direction="under", scale="log")
    finding = model.fit(table.assign(t=truth)).findings_[-1]
    assert "In 1 validated rows one of report and truth is zero" in finding.reading


@pytest.mark.parametrize("rows", [[3], [3, 7]])
def test_negative_values_are_refused_by_name(rows):
    table, _, _ = losses(n=100)
    table.loc[rows, "loss"] = -5.0
    with pytest.raises(TableError, match=r"column 'loss' \(outcome\) holds .* negative value.* index 3"):
        pc.ProxyCalibrator(ROLES, "moments", direction="under", scale="log").fit(table)
    model = pc.ProxyCalibrator(ROLES, "moments", direction="under", scale="log").fit(losses(n=100)[0])
    with pytest.raises(TableError, match="scale='linear'"):
        model.calibrate(table)


def test_what_no_method_could_fit_is_refused():
    table, _, _ = losses(n=100)
    few = table.assign(loss=table["loss"].where(table.index < 15, 0.0))
    with pytest.raises(TableError, match="only rows above 0 say how large"):
        pc.ProxyCalibrator(ROLES, "moments", direction="under", scale="log").fit(few)
    by = replace(ROLES, environment=["e1", "kind"])
    kinds = table.assign(kind=np.where(table["loss"] > 0, "a", "b"))
    with pytest.raises(TableError, match="every report of kind=b is zero"):
        pc.ProxyCalibrator(by, direction="over", method="exact", scale="log", effect="by:kind").fit(kinds)


def test_a_bias_that_is_added_has_no_ratio():
    sim = pc.simulate(n=200, alpha=5.0, random_state=0)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    with pytest.raises(SettingsError, match="fit with scale='log'"):
        _ = model.ratio_


def test_positive_rows_keep_their_weights_and_clusters():
    table, _, _ = losses(n=60)
    roles = replace(ROLES, weights="w", cluster="c")
    table = table.assign(w=np.linspace(0.5, 2.0, 60), c=np.arange(60) // 3)
    arrays = Encoder.fit_transform(table, roles)[1]
    logs = positive_logs(arrays)
    assert logs.n == int((table["loss"] > 0).sum())
    np.testing.assert_allclose(logs.weights.mean(), 1.0)
    assert set(logs.cluster) == set(range(len(np.unique(logs.cluster))))
    fit = METHODS["moments"].fit(arrays, Settings(direction="under", scale="log"))
    assert isinstance(fit, LogFit)


# --- validated rows ---


def validated_losses(n=700, known=150, seed=0, never=0.0):
    """Losses of which some rows were validated; `never` is the share of losses that nobody reported."""
    table, true, _ = losses(n=n, zeros=0.15, seed=seed)
    rng = np.random.default_rng(seed + 1)
    shown = np.where(np.isin(np.arange(n), rng.choice(n, known, replace=False)), true, np.nan)
    unreported = rng.random(n) < never
    table = table.assign(truth=shown, group=np.where(np.arange(n) % 3, "b", "a"))
    return table.assign(loss=table["loss"].where(~unreported, 0.0)), true


@pytest.fixture(scope="module")
def taught():
    table, true = validated_losses()
    model = pc.ProxyCalibrator(replace(ROLES, truth="truth"), direction="under", scale="log").fit(table)
    return model, table, true


def test_validated_rows_teach_on_the_log_scale(taught):
    model, table, true = taught
    assert model.result_.settings.method == "validated"
    assert model.verdict_ == "bias found"
    done = model.calibrate(table)
    rest = np.isnan(table["truth"]) & (table["loss"] > 0)
    error, before = done["y_cal"] - true, table["loss"] - true
    assert np.mean(error[rest] ** 2) < 0.5 * np.mean(before[rest] ** 2)
    held = (done["y_cal_low"] <= true) & (true <= done["y_cal_high"])
    # 595 or so unvalidated rows, known to 1 point, and an interval that 130 validated rows chose: to 2.
    assert 0.90 < held[rest].mean() < 0.99
    assert (done["y_cal"][table["loss"] == 0] == 0.0).all()
    np.testing.assert_array_equal(done["y_cal"][~np.isnan(table["truth"])], table["truth"].dropna())
    assert ((done["y_cal_low"] <= done["y_cal"]) & (done["y_cal"] <= done["y_cal_high"])).all()


def test_answers_of_validated_rows_are_means_not_medians(taught):
    """exp of a mean logarithm is too low by the spread of what is left: the answers add up to the truth."""
    model, table, true = taught
    rest = np.isnan(table["truth"])
    y_cal = model.calibrate(table)["y_cal"]
    # Totals of 550 losses over decades: a standard error is about 4% of them.
    np.testing.assert_allclose(y_cal[rest].sum(), true[rest].sum(), rtol=0.12)


def test_totals_of_validated_losses(taught, tmp_path):
    model, table, true = taught
    totals = model.totals(table, by="group")
    last = totals.iloc[-1]
    assert last["low"] < true.sum() < last["high"]
    np.testing.assert_allclose(totals["calibrated"].iloc[:-1].sum(), last["calibrated"])
    model.save(tmp_path / "run")
    again = pc.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.totals(table, by="group"), totals)
    pd.testing.assert_frame_equal(again.calibrate(table), model.calibrate(table))


def test_totals_hold_losses_that_nobody_reported():
    """A factor cannot add them to a row; validated rows of zero show how much is missing in all."""
    held = []
    for seed in range(6):
        table, true = validated_losses(n=500, known=150, seed=seed + 10, never=0.2)
        arrays = Encoder.fit_transform(table, replace(ROLES, truth="truth"))[1]
        fit = METHODS["validated"].fit(arrays, Settings(direction="under", scale="log"))
        total = conclude(fit, sum_rows(fit, arrays, Groups.one(500), np.ones(500)), 0.95)
        held.append(total.low[0] <= true.sum() <= total.high[0])
        assert total.calibrated[0] > predict(fit, arrays).y_cal.sum()
    assert sum(held) >= 5


def test_too_few_positive_truths_are_one_line_or_another_method():
    table, _ = validated_losses(n=300, known=32)
    table.loc[table["truth"].dropna().index[:5], "truth"] = 0.0
    roles = replace(ROLES, truth="truth")
    with pytest.raises(TableError, match="on the log scale only those whose report and truth are above 0"):
        pc.ProxyCalibrator(roles, "validated", direction="under", scale="log").fit(table)
    with pytest.warns(ProxycalWarning, match="learned from 30 on"):
        model = pc.ProxyCalibrator(roles, direction="under", scale="log").fit(table)
    assert model.result_.settings.method == "exact"
