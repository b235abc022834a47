"""The exact method end to end: known truth, sizes that vary, clusters, validated rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from proxycal import ProxyCalibrator, inject_bias, load, simulate
from proxycal.datasets import load_jobs
from proxycal.errors import SettingsError
from proxycal.methods.exact.record import data_of
from proxycal.mixture.answers import answer_rows
from proxycal.mixture.laws import posterior
from proxycal.studies.protocol import assign
from proxycal.testing.example import biased_weights
from proxycal.testing.worlds import draw_world

KINDS = ("gaussian", "exponential", "t3", "two-humped", "zero-inflated")
NULLS = ("gaussian", "exponential", "t3", "two-humped", "heteroscedastic", "zero-inflated", "E in the mean")


def rmse(one, other) -> float:
    return float(np.sqrt(np.mean((np.asarray(one) - np.asarray(other)) ** 2)))


def topics(model: ProxyCalibrator) -> set[str]:
    return {one.topic for one in model.findings_ if not one.ok}


# --- known truth --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_of_three_residual_sds_is_found_and_measured(kind, drawn):
    world, model = drawn(kind, 1000, 3.0, 1)
    alpha = world.alpha[0]
    assert model.verdict_ == "bias found"
    assert abs(model.alpha_ - alpha) < 4.0 * model.alpha_se_
    assert model.alpha_ == pytest.approx(alpha, rel=0.1)
    low, high = model.alpha_interval_
    reach = norm.ppf(0.975) * model.alpha_se_
    # The interval also spans the sizes of other laws that explain the table about as well.
    assert low <= model.alpha_ - reach + 1e-9
    assert high >= model.alpha_ + reach - 1e-9
    assert low <= alpha <= high
    assert model.share_biased_ == pytest.approx(world.a.mean(), abs=0.05)
    who = model.calibrate(world.table())["p_biased"] > 0.5
    assert np.mean(who == (world.a == 1.0)) > 0.9


def test_a_maximum_that_long_steps_overshoot_is_reached_by_short_ones():
    made = simulate(n=10_000, d_z=1, alpha=5.0, noise="poisson", random_state=10_001)
    model = ProxyCalibrator(made.roles, direction="over", random_state=10_001).fit(
        made.table[assign(10_000, 10, seed=10_001) != 6]
    )
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize("kind", NULLS)
def test_no_bias_is_claimed_where_there_is_none(kind, drawn):
    _, model = drawn(kind, 500, 0.0, 0)
    assert model.verdict_ != "bias found"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*NULLS, "poisson", "E curved in the mean", "clusters", "alpha by level"])
def test_hardly_ever_is_a_bias_claimed_where_there_is_none(kind, fit):
    found = [fit(draw_world(kind, n, 0.0, seed)).verdict_ for n in (500, 2000) for seed in range(5)]
    assert found.count("bias found") <= 1


@pytest.mark.parametrize("kind", ["gaussian", "t3", "heteroscedastic"])
def test_data_that_could_have_shown_a_bias_and_did_not(kind, drawn):
    assert drawn(kind, 500, 0.0, 0)[1].verdict_ == "no bias found"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_of_three_residual_sds_is_found_again_and_again(kind, drawn):
    models = {seed: drawn(kind, 1000, 3.0, seed) for seed in range(1, 7)}
    off = [(m.alpha_ - w.alpha[0]) / w.alpha[0] for w, m in models.values()]
    assert sum(m.verdict_ == "bias found" for _, m in models.values()) >= 5
    assert np.abs(off).max() < 0.1
    assert abs(np.mean(off)) < 0.04


def jobs_with(alpha: float, seed: int) -> ProxyCalibrator:
    jobs = load_jobs()
    biased = inject_bias(jobs.table, jobs.roles, alpha=alpha, random_state=seed)
    return ProxyCalibrator(biased.roles, direction="over", method="exact").fit(biased.table)


def test_jobs_with_its_zero_earnings_does_not_mislead():
    model = jobs_with(1.0, seed=0)
    assert model.alpha_ == pytest.approx(1.0, rel=0.02)
    assert model.verdict_ == "bias found"


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.0, 5.0, 10.0])
def test_jobs_at_every_size(alpha):
    found = np.array([jobs_with(alpha, seed).alpha_ for seed in range(5)])
    assert found.mean() == pytest.approx(alpha, rel=0.02)
    assert found.std() < 0.03 * alpha


def test_useless_proxies_identify_nothing(fit):
    world = draw_world("gaussian", 800, 3.0, seed=0)
    table = world.table()
    table[list(world.roles.proxies)] = np.random.default_rng(0).normal(size=(800, 5))
    model = fit(world, table)
    assert model.verdict_ == "not identified"
    assert "relevance" in topics(model)


@pytest.fixture(scope="module")
def two_humps(fit):
    world = draw_world("gaussian", 800, 0.0, seed=0)
    humps = np.random.default_rng(1).random(800) < 0.4
    return fit(replace(world, y=world.y_true + 4.0 * world.residual_sd * humps))


def test_two_humps_that_nobody_drives_are_not_claimed(two_humps):
    assert two_humps.verdict_ != "bias found"
    assert {"comparison", "gate"} <= topics(two_humps)


def test_two_humps_that_nobody_drives_are_not_identified(two_humps):
    assert two_humps.verdict_ == "not identified"
    assert any("two modes" in one.reading for one in two_humps.findings_)


# --- a size that varies -------------------------------------------------------------------------------------


def test_a_size_that_differs_by_level_is_found_and_said_level_by_level(drawn):
    world, model = drawn("alpha by level", 1000, 1.5, 0)
    assert model.verdict_ == "bias found"
    table = model.summary()
    assert "by:level" in table.loc["exact", "note"]
    for k, name in enumerate("abcd"):
        row = table.loc[f"exact, level={name}"]
        alpha = world.alpha[world.level == k][0]
        assert abs(row["alpha"] - alpha) < 4.0 * row["se"]
        assert row["low"] < row["alpha"] < row["high"]
    mean = world.alpha[world.a == 1.0].mean()
    assert abs(model.alpha_ - mean) < 4.0 * model.alpha_se_ + 0.05 * mean
    constancy = next(one for one in model.findings_ if one.topic == "constancy")
    assert constancy.value < 1e-6
    assert "differs" in constancy.reading
    out = model.calibrate(world.table())
    for k in range(4):
        here = world.level == k
        assert rmse(out["y_cal"][here], world.y_true[here]) < rmse(world.y[here], world.y_true[here])


def test_asking_for_the_levels_gives_what_the_comparison_found(fit, drawn):
    world, model = drawn("alpha by level", 1000, 1.5, 0)
    asked = fit(world, effect="by:level")
    pd.testing.assert_frame_equal(asked.summary(), model.summary(), rtol=1e-5)


def test_a_size_linear_in_the_environment(fit):
    world = draw_world("gaussian", 800, 3.0, seed=2)
    alpha = world.residual_sd * (4.0 + 1.2 * world.E[:, 0])
    table = replace(world, y=world.y_true + alpha * world.a).table()
    model = fit(world, table, effect="linear")
    assert model.verdict_ == "bias found"
    assert "linear" in model.summary().loc["exact", "note"]
    wanted = alpha[world.a == 1.0].mean()
    assert abs(model.alpha_ - wanted) < 4.0 * model.alpha_se_ + 0.03 * wanted
    out = model.calibrate(table)
    sure = (out["p_biased"] > 0.99) & (world.a == 1.0)
    slope, height = np.polyfit(world.E[sure, 0], out["shift"][sure] / world.residual_sd, 1)
    assert slope == pytest.approx(1.2, abs=0.25)
    assert height == pytest.approx(4.0, abs=0.25)


def test_levels_of_a_numeric_column_are_refused_with_a_way_out(fit):
    world = draw_world("alpha by level", 100, 1.0, seed=0)
    with pytest.raises(SettingsError, match=r"'e_1' is not a categorical.*'by:level'"):
        fit(world, effect="by:e_1")


# --- clusters -----------------------------------------------------------------------------------------------


def test_what_a_cluster_shares_is_not_a_bias(fit):
    for seed in (0, 1):
        assert fit(draw_world("clusters", 500, 0.0, seed)).verdict_ != "bias found"


def test_a_bias_in_clusters_is_still_found(drawn):
    world, model = drawn("clusters", 800, 3.0, 0)
    assert model.verdict_ == "bias found"
    assert abs(model.alpha_ - world.alpha[0]) < 4.0 * model.alpha_se_


def test_a_row_of_an_unknown_cluster_is_less_sure(drawn):
    world, model = drawn("clusters", 800, 3.0, 0)
    assert model.result_.method_fit.cluster_sd > 0.0
    fit = model.result_.method_fit
    data = data_of(model.result_.encoder.transform(world.table()), 1.0)
    unsure, sure = (answer_rows(fit.spec, data, sd).p_biased for sd in (fit.cluster_sd, 0.0))
    assert np.mean(unsure * (1.0 - unsure)) > np.mean(sure * (1.0 - sure))
    rows = fit.spec.frame.rows(data)
    expected = posterior(fit.spec.params, rows, fit.spec.shape).p_biased[0]
    np.testing.assert_allclose(sure, expected, atol=1e-12)


def test_noise_with_a_peak_and_two_tails_gets_three_components():
    # One more component does not pay in these weights, two do: a search that stops before the first takes
    # the tails for a second size, and its interval is seven kilograms wide.
    sim = biased_weights(seed=0)
    model = ProxyCalibrator(sim.roles, direction="under", random_state=0).fit(sim.table)
    evidence = model.result_.method_fit.evidence
    assert evidence.shape.startswith("J=3")
    assert evidence.exact.high - evidence.exact.low < 2.5
    assert evidence.exact.low < 20.0 < evidence.exact.high


# --- many environment columns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d_z", "alpha", "noise"),
    [
        # The environment is the better part of any content index: it must not be the weight of a null.
        (1, 10.0, "poisson"),
        # A gate of ten columns finds something in five hundred rows: that is no second size.
        (5, 1.0, "gaussian"),
    ],
)
def test_ten_environment_columns_in_five_hundred_rows(d_z, alpha, noise):
    sim = simulate(n=500, d_z=d_z, d_e=10, alpha=alpha, noise=noise, random_state=50000)
    model = ProxyCalibrator(sim.roles, direction="over").fit(sim.table)
    assert model.verdict_ == "bias found"
    assert model.result_.method_fit.evidence.law == ""
    known = np.column_stack([sim.table[[*sim.roles.proxies, *sim.roles.environment]], sim.truth["a"]])
    told = np.column_stack([np.ones(500), known])
    oracle = np.linalg.lstsq(told, sim.table[sim.roles.outcome], rcond=None)[0][-1]
    assert model.alpha_ == pytest.approx(oracle, rel=0.03)


# --- validated rows -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checked(fit):
    """A world, its table with the truth of twenty rows in a column, and the fit that is told."""
    world = draw_world("gaussian", 500, 3.0, seed=1)
    rng = np.random.default_rng(0)
    table = world.table()
    table["checked"] = np.where(
        np.isin(np.arange(500), rng.choice(500, 20, replace=False)), world.y_true, np.nan
    )
    return world, table, fit(world, table, replace(world.roles, truth="checked"))


def told_by(model):
    (finding,) = (finding for finding in model.findings_ if finding.topic == "truths")
    return finding


def test_a_few_validated_rows_judge_the_answer_and_do_not_make_it(checked, fit):
    world, table, told = checked
    alone = fit(world, table)
    assert (told.alpha_, told.alpha_se_, told.verdict_) == (alone.alpha_, alone.alpha_se_, alone.verdict_)
    assert told.verdict_ == "bias found"
    assert told_by(told).ok
    assert "of 20 validated rows are biased, and the fit expects" in told_by(told).reading
    assert not any(finding.topic == "truths" for finding in alone.findings_)


def test_validated_rows_that_contradict_a_bias_withdraw_it(checked, fit):
    world, table, _ = checked
    honest = table.assign(checked=table["y"].where(table["checked"].notna()))
    told = fit(world, honest, replace(world.roles, truth="checked"))
    assert told.verdict_ == "not identified"
    assert told_by(told).reading.startswith("0 of 20 validated rows are biased, and the fit expects")
    assert told_by(told).remedy.startswith("Validate 10 more rows")
    assert (told.calibrate(honest)["shift"] == 0.0).all()


def test_one_validated_row_overturns_nothing(checked, fit):
    world, table, told = checked
    biased = int(np.flatnonzero(told.calibrate(table)["p_biased"] > 0.999)[0])
    one = table.assign(checked=table["y"].where(np.arange(500) == biased))
    alone = fit(world, one, replace(world.roles, truth="checked"))
    assert alone.verdict_ == "bias found"
    assert told_by(alone).reading.startswith("The one validated row is not biased; the fit gives it a chance")


def test_validated_rows_that_show_an_error_forbid_no_bias_found(fit):
    world = draw_world("gaussian", 500, 0.0, seed=1)
    rng = np.random.default_rng(2)
    some = rng.choice(500, 15, replace=False)
    table = world.table()
    roles = replace(world.roles, truth="checked")
    right = table.assign(checked=np.where(np.isin(np.arange(500), some), world.y_true, np.nan))
    assert fit(world, right, roles).verdict_ == "no bias found"
    assert told_by(fit(world, right, roles)).reading == "15 validated rows: no systematic error."
    wrong = fit(world, right.assign(checked=right["checked"] - 2.0), roles)
    assert wrong.verdict_ == "not identified"
    assert "off by 2 on average, in the stated direction" in told_by(wrong).reading
    assert any("validated rows are reported wrongly" in finding.reading for finding in wrong.findings_)


def test_what_validated_rows_say_survives_saving(checked, tmp_path):
    _, _, told = checked
    told.save(tmp_path / "run")
    assert load(tmp_path / "run").findings_ == told.findings_


def test_a_column_of_truths_that_is_not_declared_is_not_read(checked, fit):
    world, table, _ = checked
    shuffled = table.assign(checked=np.random.default_rng(1).permutation(table["checked"]))
    one, other, without = (fit(world, t) for t in (table, shuffled, table.drop(columns="checked")))
    for made in (other, without):
        pd.testing.assert_frame_equal(made.summary(), one.summary(), check_exact=True)
        pd.testing.assert_frame_equal(made.calibrate(table), one.calibrate(table), check_exact=True)


def test_truth_is_read_by_fit_alone(checked):
    _, table, told = checked
    known = table["checked"].notna().to_numpy()
    without, out = told.calibrate(table.drop(columns="checked")), told.calibrate(table)
    pd.testing.assert_frame_equal(without[~known], out[~known], check_exact=True)
    # A validated row needs no estimate.
    np.testing.assert_array_equal(out["y_cal"][known], table["checked"][known])
    arrays = told.result_.encoder.transform(table)
    assert arrays.truth is not None
    with_truth, without = (told.result_.method_fit.predict(a) for a in (arrays, replace(arrays, truth=None)))
    np.testing.assert_array_equal(with_truth.p_biased, without.p_biased)


@pytest.mark.parametrize("name", ["match_likely", "fit_moments"])
def test_an_estimate_beside_the_answer_that_cannot_be_computed_leaves_the_answer_alone(monkeypatch, name):
    def fails(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    world = draw_world("gaussian", 300, 3.0, seed=1)
    whole = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    monkeypatch.setattr(f"proxycal.methods.exact.fit.{name}", fails)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    assert (model.verdict_, model.alpha_) == (whole.verdict_, whole.alpha_)
    row = model.summary().loc[{"match_likely": "match", "fit_moments": "moments"}[name]]
    assert np.isnan(row["alpha"])
    assert "Singular matrix" in row["note"]
