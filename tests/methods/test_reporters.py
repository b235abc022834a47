"""Several reports of one truth, on worlds whose truth is known."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import proxycal as pc
from proxycal.engine.families.reports import Truths
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.methods.reporters.answer import quantile
from proxycal.methods.reporters.claims import Bias, Evidence, Reporter, detectable, verdict_of
from proxycal.methods.reporters.fit import step_of
from proxycal.methods.reporters.thresholds import LEAD, LEAD_APART
from proxycal.testing import SeveralReports

DATA = next(
    (
        place / "shared" / "data"
        for place in Path(__file__).resolve().parents
        if (place / "shared" / "data").is_dir()
    ),
    Path("shared/data"),
)


def fitted(world, seed, n=500, **asked):
    drawn = world.draw(seed, n)
    model = pc.ProxyCalibrator(drawn.roles, **({"direction": "under"} | asked)).fit(drawn.table)
    return drawn, model


def rmse(values, truth):
    return float(np.sqrt(np.nanmean((np.asarray(values) - truth) ** 2)))


def reading(model, topic):
    return next(finding.reading for finding in model.findings_ if finding.topic == topic)


@pytest.fixture(scope="module")
def two():
    return fitted(SeveralReports(gaps=0.2), 1)


def test_a_bias_of_one_of_two_reporters_is_found_with_its_size_and_its_rows(two):
    drawn, model = two
    assert model.verdict_ == "bias found"
    assert model.alpha_interval_[0] < 2.0 < model.alpha_interval_[1]
    rows = model.calibrate(drawn.table)
    biased = drawn.biased[:, 0]
    assert rows["p_biased"][biased].mean() > 2.0 * rows["p_biased"][~biased].mean()
    assert model.share_biased_ == pytest.approx(biased.mean(), abs=0.08)
    mean = drawn.table[["own", "register"]].mean(axis=1)
    assert rmse(rows["y_cal"], drawn.truth) < 0.85 * rmse(mean, drawn.truth)
    held = (rows["y_cal_low"] <= drawn.truth) & (drawn.truth <= rows["y_cal_high"])
    # 500 rows at 95% have a standard error of one point.
    assert held.mean() == pytest.approx(0.95, abs=0.03)
    assert list(model.summary().index) == ["reporters", "own", "register"]


def test_what_both_get_wrong_alike_is_said_not_to_be_seen(two):
    _, model = two
    assert "get wrong alike is not seen" in model.result_.method_fit.details.claim
    assert "get wrong alike is not seen" in reading(model, "alike")
    assert "'own'" in reading(model, "comparison")


def test_a_report_that_was_not_made_is_no_gap(two):
    drawn, model = two
    assert drawn.table["register"].isna().any()
    assert model.result_.n == len(drawn.table)
    columns = model.latents(drawn.table)
    assert list(columns) == ["p_biased_own", "p_biased_register"]
    np.testing.assert_array_equal(columns["p_biased_register"].isna(), drawn.table["register"].isna())
    assert "missing" not in {finding.topic for finding in model.findings_ if not finding.ok}


@pytest.mark.filterwarnings("ignore::proxycal.errors.ProxycalWarning")
def test_a_row_whose_first_report_is_missing_is_answered_in_its_level():
    drawn, model = fitted(SeveralReports(errors="level"), 3)
    table = drawn.table.copy()
    table.loc[table.index[:50], "own"] = np.nan
    rows = model.calibrate(table)[:50]
    # The register lies 1 above; its errors have an sd of 0.7.
    assert np.mean(rows["y_cal"] - drawn.truth[:50]) == pytest.approx(0.0, abs=0.35)
    shift = table["register"][:50] - rows["y_cal"]
    np.testing.assert_allclose(rows["shift"], shift)


def test_saved_and_loaded_it_answers_the_same(two, tmp_path):
    drawn, model = two
    model.save(str(tmp_path / "run"))
    again = pc.load(str(tmp_path / "run"))
    pd.testing.assert_frame_equal(again.calibrate(drawn.table), model.calibrate(drawn.table))
    assert again.roles == model.roles
    assert again.result_.method_fit.reporters == model.result_.method_fit.reporters


def test_totals_and_draws_of_the_truth_are_those_of_the_rows(two):
    drawn, model = two
    total = model.totals(drawn.table).iloc[0]
    rows = model.calibrate(drawn.table)
    assert total.calibrated == pytest.approx(rows["y_cal"].sum())
    assert total.low < drawn.truth.sum() < total.high
    tables = model.impute(drawn.table, m=40, random_state=0)
    means = [table["own"].mean() for table in tables]
    assert np.mean(means) == pytest.approx(rows["y_cal"].mean(), abs=4.0 * np.std(means) / np.sqrt(40))
    # The draws of a row spread as its interval is wide.
    spread = np.std([table["own"] for table in tables], axis=0)
    wide = (rows["y_cal_high"] - rows["y_cal_low"]) / (2.0 * norm.ppf(0.975))
    assert spread.mean() == pytest.approx(wide.mean(), rel=0.1)


@pytest.mark.parametrize("errors", ["normal", "tails", "one side", "spread by E"])
def test_an_unseen_cause_and_odd_errors_make_no_bias(errors):
    drawn, model = fitted(SeveralReports(0.0, errors=errors), 5)
    assert model.verdict_ == "no bias found"
    with pytest.warns(ProxycalWarning, match="left as reported"):
        rows = model.calibrate(drawn.table)
    np.testing.assert_array_equal(rows["y_cal"], drawn.table["own"])


def test_errors_that_follow_the_environment_gradually_are_not_identified():
    _, model = fitted(SeveralReports(0.0, errors="slope by E"), 2)
    assert model.verdict_ == "not identified"
    assert "gradually" in reading(model, "comparison")


def test_proxies_make_the_truth_better_and_the_verdict_no_other():
    world = SeveralReports(proxies=True)
    drawn, model = fitted(world, 1)
    roles = pc.Roles(drawn.roles.report_names, environment=drawn.roles.environment)
    alone = pc.ProxyCalibrator(roles, direction="under").fit(drawn.table)
    assert model.verdict_ == alone.verdict_ == "bias found"
    assert "proxies" in reading(model, "truth-of-rows")
    with_proxies, without = (rmse(one.calibrate(drawn.table)["y_cal"], drawn.truth) for one in (model, alone))
    assert with_proxies < 0.95 * without


def test_rows_in_which_all_agree_exactly_are_taken_as_true():
    drawn, model = fitted(SeveralReports(agree=0.3), 1)
    same = drawn.table["own"] == drawn.table["register"]
    rows = model.calibrate(drawn.table)
    np.testing.assert_allclose(rows["y_cal"][same], drawn.truth[same], atol=1e-4)
    assert (rows["p_biased"][same] < 1e-3).all()
    assert f"agree exactly in {same.mean():.0%}" in reading(model, "exact-agreement")


def test_agreement_on_a_grid_is_no_state_of_tiny_errors():
    rng = np.random.default_rng(0)
    truth = np.round(rng.normal(12.0, 2.5, 300))
    same = rng.random(300) < 0.6
    y = np.where(same, truth, np.round(truth + 2.0 * rng.normal(size=(2, 300))))
    table = pd.DataFrame({"own": y[0], "twin": y[1]})
    model = pc.ProxyCalibrator(pc.Roles(["own", "twin"]), direction="over").fit(table)
    assert model.verdict_ == "no bias found"
    fit = model.result_.method_fit
    assert fit.evidence.exact
    # A rival whose second state shrank to the rows that agree would be ahead by hundreds.
    assert fit.reporters[0].bias is None or fit.reporters[0].bias.alone > -20.0


def test_three_readers_of_whole_years_are_better_than_the_best_of_them():
    rng = np.random.default_rng(4)
    n = 600
    length = rng.normal(size=n)
    age = np.clip(np.round(5.0 + 1.5 * length + rng.normal(size=n)), 1, None)
    old = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - 1.5 * length))
    errors = np.column_stack([sd * rng.normal(size=n) for sd in (0.5, 0.6, 0.9)])
    readers = np.round(age[:, None] + errors + np.column_stack([1.6 * old, 0 * old, 0 * old]))
    table = pd.DataFrame(readers, columns=["a", "b", "c"]).assign(length=length)
    model = pc.ProxyCalibrator(pc.Roles(["a", "b", "c"], environment=["length"]), direction="over").fit(table)
    assert model.verdict_ == "bias found"
    error = rmse(model.calibrate(table)["y_cal"], age)
    assert error < min(rmse(table[name], age) for name in "abc")
    assert error < rmse(readers.mean(axis=1), age)


def test_reports_far_apart_are_found_without_an_environment(tmp_path):
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    y = truth + 0.3 * rng.normal(size=(2, 300))
    y[0, :25] += 4.0 + rng.normal(size=25)
    table = pd.DataFrame({"own": y[0], "register": y[1]})
    model = pc.ProxyCalibrator(pc.Roles(["own", "register"]), direction="over").fit(table)
    assert model.verdict_ == "bias found"
    assert "far apart" in reading(model, "comparison")
    rows = model.calibrate(table)
    assert (rows["p_biased"][:25] > 0.9).mean() > 0.9
    model.save(str(tmp_path / "run"))
    again = pc.load(str(tmp_path / "run"))
    assert again.result_.method_fit.reporters == model.result_.method_fit.reporters


def test_clusters_that_repeat_rows_add_no_evidence():
    drawn = SeveralReports(1.5).draw(0, 400)
    twice = pd.concat([drawn.table, drawn.table]).assign(unit=np.r_[np.arange(400), np.arange(400)])
    roles = pc.Roles(drawn.roles.report_names, environment=drawn.roles.environment, cluster="unit")
    fits = [
        pc.ProxyCalibrator(one, direction="under").fit(table).result_.method_fit
        for one, table in ((drawn.roles, drawn.table), (roles, twice))
    ]
    assert fits[1].evidence.effect == pytest.approx(2.0)
    assert fits[1].reporters[0].bias.driven == pytest.approx(fits[0].reporters[0].bias.driven, abs=0.5)
    assert fits[1].estimate.se == pytest.approx(fits[0].estimate.se, rel=0.05)


def test_quantiles_of_a_mixture_are_those_of_its_distribution():
    known = Truths(
        np.array([[0.3], [0.7]]),
        np.array([[0.0], [3.0]]),
        np.array([[1.0], [0.25]]),
        np.zeros((0, 1)),
        np.ones(1),
    )
    at = quantile(0.4, known, np.array([0.5]))
    sd = np.sqrt([1.25, 0.5])
    assert 0.3 * norm.cdf(at / sd[0]) + 0.7 * norm.cdf((at - 3.0) / sd[1]) == pytest.approx(0.4)


def test_the_step_is_that_of_the_grid_on_which_reports_differ():
    rng = np.random.default_rng(0)
    years = np.round(rng.normal(10.0, 2.0, (400, 2)))
    assert step_of(years) == 1.0
    assert step_of(rng.normal(size=(50, 2))) == 0.0


def bias(**changes):
    values = {"share": 0.3, "size": 2.0, "se": 0.1, "low": 1.8, "high": 2.2, "separation": 2.0, "by": 0.3}
    return Bias(**values | {"driven": LEAD + 1.0, "alone": LEAD_APART + 1.0} | changes)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "bias found"),
        ({"driven": LEAD - 1.0, "alone": 2.0}, "no bias found"),
        # The environment does not tell it, and it does not stand far apart.
        ({"driven": -np.inf}, "not identified"),
        ({"driven": -np.inf, "separation": 4.0}, "bias found"),
        ({"driven": -np.inf, "separation": 4.0, "share": 0.03}, "not identified"),
        ({"separation": 0.9}, "not identified"),
        ({"by": 0.95}, "not identified"),
        ({"share": 0.001}, "not identified"),
    ],
)
def test_a_claim_needs_a_lead_a_size_a_share_and_rows_that_are_mixed(changes, verdict):
    found = bias(**changes).claimable
    one = Reporter(name="own", n=100, error=1.0, above=0.0, above_se=0.1, bias=bias(**changes), found=found)
    evidence = Evidence(
        graded=-3.0, level=False, agreed=0.0, exact=False, known=False, effect=1.0, rows=500.0
    )
    assert verdict_of((one,), evidence) == verdict


def test_the_size_that_would_have_been_found_falls_with_the_rows():
    one = Reporter(name="own", n=100, error=1.0, above=0.0, above_se=0.1, bias=bias())
    sizes = []
    for rows in (500.0, 2_000.0, 1e6):
        evidence = Evidence(
            graded=0.0, level=False, agreed=0.0, exact=False, known=False, effect=1.0, rows=rows
        )
        sizes.append(detectable((one,), evidence))
    # The noise is a size of 2 over a separation of 2.
    np.testing.assert_allclose(sizes, [2.0, 1.516, 1.15], atol=1e-3)


def test_what_a_report_is_expected_to_be_is_what_the_others_say(two):
    drawn, model = two
    rows, table = model.calibrate(drawn.table), drawn.table
    both = table["register"].notna()
    np.testing.assert_allclose(rows["mu"][both], table["register"][both])
    np.testing.assert_allclose(rows["mu"][~both], rows["y_cal"][~both])


@pytest.mark.parametrize(
    "asked",
    [
        {"scale": "log"},
        {"effect": "linear"},
        {"method": "gradual"},
        {"family": "counts"},
        {"exclusion": True},
    ],
)
def test_what_goes_with_a_single_outcome_is_refused(asked):
    drawn = SeveralReports().draw(0, 100)
    with pytest.raises(SettingsError, match="for a single outcome"):
        pc.ProxyCalibrator(drawn.roles, direction="under", **asked).fit(drawn.table)


def test_reports_that_cannot_be_compared_are_refused():
    drawn = SeveralReports().draw(0, 100)
    apart = drawn.table.copy()
    apart.loc[:44, "own"] = np.nan
    apart.loc[55:, "register"] = np.nan
    with pytest.raises(TableError, match="two reports or more"):
        pc.ProxyCalibrator(drawn.roles, direction="under").fit(apart)
    same = drawn.table.assign(register=drawn.table["own"])
    with pytest.raises(TableError, match="agree in every row"):
        pc.ProxyCalibrator(drawn.roles, direction="under").fit(same)


def test_questions_that_belong_to_proxies_are_not_asked(two):
    drawn, model = two
    with pytest.raises(SettingsError, match="compared with each other"):
        model.refute("placebo")
    assert {finding.topic for finding in model.check()} >= {"comparison", "multiplicity"}
    with pytest.raises(TableError, match="local effects"):
        model.effects(drawn.table)
    assert model.drift(drawn.table) is not None


def test_the_machine_that_reads_blood_pressure_too_high():
    file = DATA / "blood_pressure_two_observers_machine.csv"
    if not file.exists():
        pytest.skip("the table of blood pressures is not here")
    table = pd.read_csv(file)
    roles = pc.Roles(["machine_S", "observer_J", "observer_R"], cluster="item")
    model = pc.ProxyCalibrator(roles, direction="over").fit(table)
    machine = model.result_.method_fit.reporters[0]
    assert model.verdict_ == "bias found"
    assert abs(machine.above - 15.6) < 1.96 * machine.above_se
    above = table["machine_S"] - table[["observer_J", "observer_R"]].mean(axis=1)
    far = above.groupby(table["item"]).transform("mean") > 40.0
    p = model.calibrate(table)["p_biased"].groupby(table["item"]).max()
    assert (p[table["item"][far].unique()] > 0.9).all()


def test_a_claim_stands_as_the_differences_have_it():
    first, last = (
        Reporter(name="own", n=9, error=1.0, above=0.0, above_se=0.1, bias=bias(**changes), found=found)
        for changes, found in (({}, True), ({"separation": 0.5, "size": 1.9}, False))
    )
    kept = first.answered(last)
    assert kept.found
    assert kept.bias.size == 1.9
    assert kept.bias.separation == first.bias.separation
