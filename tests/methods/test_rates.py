"""Counts and yes/no outcomes, on worlds whose truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

import proxycal as pc
from proxycal.engine.content import fit_content
from proxycal.engine.covariates import Covariates
from proxycal.engine.families.counts import Counts
from proxycal.errors import TableError
from proxycal.methods.rates.answer import relative
from proxycal.methods.rates.claims import Evidence, Found
from proxycal.methods.rates.climb import Table
from proxycal.methods.rates.counts_search import compare, noise
from proxycal.methods.rates.fit import fit_counts, sampled
from proxycal.methods.rates.inference import Independent
from proxycal.methods.rates.quantiles import missed_quantile
from proxycal.methods.rates.terms import Terms
from proxycal.methods.rates.validated import Validated
from proxycal.settings import Settings
from proxycal.table.encode import Encoder
from proxycal.testing import ReportedWorld


def fitted(world, seed, n, **asked):
    drawn = world.draw(seed, n)
    model = pc.ProxyCalibrator(drawn.roles, **({"direction": "under"} | asked)).fit(drawn.table)
    return drawn, model


GATE = ReportedWorld(report="some rows", share=0.4)


@pytest.fixture(scope="module")
def gated():
    return fitted(GATE, 1, 2_000)


@pytest.fixture(scope="module")
def graded():
    return fitted(ReportedWorld(report="graded"), 0, 2_000, exclusion=True)


@pytest.fixture(scope="module")
def denied():
    return fitted(ReportedWorld("yes/no", "graded", 0.4), 0, 3_000, exclusion=True)


def topics(model):
    return {finding.topic: finding for finding in model.findings_}


def test_a_share_reported_by_some_rows_is_found_with_its_totals(gated):
    drawn, model = gated
    assert model.verdict_ == "bias found"
    assert model.result_.settings.method == "counts"
    low, high = model.ratio_interval_
    assert low < 0.4 < high
    assert math.exp(-model.alpha_) == pytest.approx(model.ratio_)
    total = model.totals(drawn.table).iloc[0]
    assert total.low < drawn.y_true.sum() < total.high
    assert abs(total.calibrated / drawn.y_true.sum() - 1.0) < 0.15
    # A first-grade claim needs no statement, and says what else would look the same.
    assert "any effect that the environment could have" in topics(model)["comparison"].reading
    assert "would look the same" in topics(model)["instead"].reading


def test_the_calibrated_count_is_never_below_the_report_and_its_interval_holds_the_truth(gated):
    drawn, model = gated
    rows = model.calibrate(drawn.table)
    y = drawn.table["y"]
    assert (rows.y_cal >= y).all()
    assert (rows.y_cal_low >= y).all()
    assert (rows.y_cal_low <= rows.y_cal).all()
    assert (rows.y_cal <= rows.y_cal_high).all()
    np.testing.assert_allclose(rows["shift"], y - rows.y_cal)
    inside = ((rows.y_cal_low <= drawn.y_true) & (drawn.y_true <= rows.y_cal_high)).mean()
    # Whole numbers: an interval holds more than its level.
    assert 0.94 < inside <= 1.0
    assert ((rows.y_cal - drawn.y_true) ** 2).mean() < 0.7 * ((y - drawn.y_true) ** 2).mean()


def test_a_graded_share_is_found_where_exclusion_is_stated_and_said_to_be_relative(graded):
    drawn, model = graded
    assert model.verdict_ == "bias found"
    found = topics(model)
    assert "if the environment acts on the truth only through content" in found["comparison"].reading
    assert found["exclusion"].ok
    assert "best" in found["level"].reading
    best = np.sort(drawn.rate)[-200:].mean()
    total = model.totals(drawn.table).iloc[0]
    assert total.low < best * drawn.y_true.sum() < total.high


def test_without_the_statement_a_graded_share_is_no_claim():
    drawn, model = fitted(ReportedWorld(report="graded"), 0, 2_000)
    assert model.verdict_ == "not identified"
    assert "exclusion=True" in topics(model)["comparison"].remedy
    with pytest.warns(pc.ProxycalWarning, match="left as reported"):
        assert (model.calibrate(drawn.table).y_cal == drawn.table["y"]).all()


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("outcome", ["counts", "yes/no"])
def test_complete_reports_get_no_claim(outcome, stated):
    level = 3.0 if outcome == "counts" else 0.4
    _, model = fitted(ReportedWorld(outcome, level=level), 3, 1_000, exclusion=stated)
    assert model.verdict_ == "no bias found"


@pytest.mark.parametrize("direct", ["line", "curve"])
def test_an_effect_on_the_truth_is_no_first_grade_claim(direct):
    _, model = fitted(ReportedWorld(direct=direct), 0, 1_500)
    assert model.verdict_ == "not identified"


def test_a_proxy_that_the_environment_moves_takes_the_statement_back():
    _, model = fitted(ReportedWorld(report="graded", unusual="leaking proxy"), 0, 1_500, exclusion=True)
    assert model.verdict_ == "not identified"
    assert not topics(model)["exclusion"].ok


def test_denied_answers_give_probabilities_and_prevalences(denied):
    drawn, model = denied
    assert model.verdict_ == "bias found"
    assert model.result_.settings.method == "binary"
    rows = model.calibrate(drawn.table)
    assert rows.y_cal.between(0.0, 1.0).all()
    assert rows.y_cal_low.between(0.0, 1.0).all()
    assert rows.y_cal_high.between(0.0, 1.0).all()
    assert (rows.y_cal[drawn.table["y"] == 1.0] > 0.999).all()
    brier = ((rows.y_cal - drawn.y_true) ** 2).mean()
    assert brier < ((drawn.table["y"] - drawn.y_true) ** 2).mean()
    best = np.sort(drawn.rate)[-300:].mean()
    mean = model.totals(drawn.table, statistic="mean").iloc[0]
    assert mean.low < best * drawn.y_true.mean() < mean.high
    assert 0.0 < model.alpha_ < 1.0


def test_words_booleans_and_numbers_are_the_same_answers(denied):
    drawn, model = denied
    for values in (np.where(drawn.table["y"] > 0.0, "Yes", "No"), drawn.table["y"] > 0.0):
        table = drawn.table.assign(y=values)
        again = pc.ProxyCalibrator(drawn.roles, direction="under", exclusion=True).fit(table)
        assert again.alpha_ == model.alpha_


def test_over_reported_answers_mirror_denied_ones(denied):
    drawn, model = denied
    flipped = drawn.table.assign(y=1.0 - drawn.table["y"])
    over = pc.ProxyCalibrator(drawn.roles, direction="over", exclusion=True).fit(flipped)
    assert over.alpha_ == pytest.approx(model.alpha_, abs=1e-9)
    mine, theirs = model.calibrate(drawn.table), over.calibrate(flipped)
    np.testing.assert_allclose(theirs.y_cal, 1.0 - mine.y_cal, atol=1e-9)


def test_counts_of_what_did_not_happen_are_taken_off():
    drawn = ReportedWorld().draw(2, 2_000)
    rng = np.random.default_rng(0)
    biased = rng.random(2_000) < 1.0 / (1.0 + np.exp(0.8 - 1.5 * drawn.table["e_1"]))
    y = np.where(biased, drawn.table["y"] + rng.poisson(1.5 * drawn.y_true), drawn.table["y"])
    table = drawn.table.assign(y=y)
    model = pc.ProxyCalibrator(drawn.roles, direction="over", family="counts").fit(table)
    assert model.verdict_ == "bias found"
    rows = model.calibrate(table)
    assert (rows.y_cal <= y).all()
    assert (rows.y_cal_low >= 0.0).all()
    assert rows.y_cal.sum() == pytest.approx(drawn.y_true.sum(), rel=0.1)


def test_an_exposure_is_what_a_count_is_in_proportion_to():
    drawn = GATE.draw(1, 1_000)
    years = np.random.default_rng(5).uniform(0.5, 4.0, 1_000)
    y = np.random.default_rng(6).poisson(drawn.table["y"] * years)
    table = drawn.table.assign(y=y.astype(float), years=years)
    roles = replace(drawn.roles, exposure="years")
    model = pc.ProxyCalibrator(roles, direction="under", family="counts").fit(table)
    expected = model.result_.method_fit.predict(model.result_.training).mu
    # Twice the years, twice the count: the rate has nothing of them left.
    assert abs(np.corrcoef(np.log(expected / years), np.log(years))[0, 1]) < 0.07
    assert np.corrcoef(np.log(expected), np.log(years))[0, 1] > 0.3
    with pytest.raises(TableError, match="exposure"):
        model.fit(table.assign(years=0.0))


def test_trusted_rows_anchor_the_level(graded):
    drawn, _ = graded
    rng = np.random.default_rng(1)
    known = rng.random(2_000) < 0.2
    y = np.where(known, drawn.y_true, drawn.table["y"])
    table = drawn.table.assign(y=y, known=known)
    roles = replace(drawn.roles, trusted="known")
    model = pc.ProxyCalibrator(roles, direction="under", exclusion=True).fit(table)
    assert model.verdict_ == "bias found"
    total = model.totals(table).iloc[0]
    # Not relative to anybody: the whole truth.
    assert total.low < drawn.y_true.sum() < total.high
    assert (model.calibrate(table).y_cal[known] == y[known]).all()


def known_in_part(drawn, share, seed=1):
    n = len(drawn.table)
    return np.where(np.random.default_rng(seed).random(n) < share, drawn.y_true, np.nan)


@pytest.fixture(scope="module")
def learned():
    """A direct effect of the environment, which only known truths tell from a report."""
    drawn = ReportedWorld(report="graded", direct="line").draw(100, 1_500)
    table = drawn.table.assign(known=known_in_part(drawn, 0.2))
    roles = replace(drawn.roles, truth="known")
    return drawn, table, pc.ProxyCalibrator(roles, direction="under", family="counts").fit(table)


def test_validated_counts_give_the_whole_level_whatever_the_environment_does(learned):
    drawn, table, model = learned
    assert model.verdict_ == "bias found"
    assert model.result_.settings.method == "counts"
    assert "validated rows differ from their report" in topics(model)["validated"].reading
    assert "as validated reports show" in model.result_.method_fit.claim
    total = model.totals(table).iloc[0]
    assert total.low < drawn.y_true.sum() < total.high
    assert abs(total.calibrated / drawn.y_true.sum() - 1.0) < 0.06
    rows, known = model.calibrate(table), table["known"].notna()
    assert (rows.y_cal[known] == table["known"][known]).all()
    assert (rows.y_cal >= table["y"]).all()


def test_a_validated_fit_is_saved_whole(learned, tmp_path):
    _, table, model = learned
    model.save(tmp_path / "run")
    again = pc.load(tmp_path / "run")
    assert again.result_.method_fit.evidence.validated == model.result_.method_fit.evidence.validated
    assert again.calibrate(table).equals(model.calibrate(table))


def test_validated_answers_are_learned_with_errors_both_ways():
    drawn = ReportedWorld("yes/no", "graded", 0.4).draw(2, 2_000)
    rng = np.random.default_rng(3)
    # One no in twenty is reported as a yes.
    y = np.where(rng.random(2_000) < 0.05, np.maximum(drawn.table["y"], 1.0 - drawn.y_true), drawn.table["y"])
    table = drawn.table.assign(y=y, known=known_in_part(drawn, 0.2))
    roles = replace(drawn.roles, truth="known")
    model = pc.ProxyCalibrator(roles, direction="under", family="binary").fit(table)
    assert model.verdict_ == "bias found"
    mean = model.totals(table, statistic="mean").iloc[0]
    assert mean.low < drawn.y_true.mean() < mean.high
    rows = model.calibrate(table)
    assert rows.y_cal.between(0.0, 1.0).all()
    # Some yes are doubted: they are no more certain than the alarms let them be.
    assert (rows.y_cal[(y == 1.0) & table["known"].isna()] < 0.999).mean() > 0.9


def test_truths_that_no_such_bias_allows_are_refused():
    drawn = ReportedWorld(report="graded").draw(4, 500)
    table = drawn.table.assign(known=np.where(np.arange(500) < 60, drawn.table["y"] - 1.0, np.nan))
    table.loc[table["known"] < 0.0, "known"] = 0.0
    roles = replace(drawn.roles, truth="known")
    with pytest.raises(TableError, match="validated rows report more than is true"):
        pc.ProxyCalibrator(roles, direction="under", family="counts").fit(table)


def test_sums_of_validation_set_the_level_of_each_unit():
    rng = np.random.default_rng(0)
    drawn = ReportedWorld().draw(6, 1_200)
    rates = np.array([0.95, 0.8, 0.6])
    unit = rng.integers(0, 3, 1_200)
    y = rng.binomial(drawn.y_true.astype(int), rates[unit]).astype(float)
    table = drawn.table.assign(y=y, unit=np.array(["a", "b", "c"])[unit], m=np.nan, v=np.nan)
    first = [int(np.argmax(unit == code)) for code in range(3)]
    table.loc[first, "m"], table.loc[first, "v"] = 200.0, (200.0 * rates)
    roles = pc.Roles("y", drawn.roles.proxies, ["unit"], checked="m", confirmed="v")
    model = pc.ProxyCalibrator(roles, direction="under", family="counts").fit(table)
    assert model.verdict_ == "bias found"
    assert "470 of 600 checked events were confirmed" in topics(model)["validated"].statistic
    shares = model.totals(table, by="unit").set_index("unit")
    for code, name in enumerate("abc"):
        row, true = shares.loc[name], drawn.y_true[unit == code].sum()
        assert row.low < true < row.high
        # What 200 checked events leave open, a standard error of 3.5% at 0.6, and chance.
        assert row.reported / row.calibrated == pytest.approx(rates[code], abs=0.05)
    with pytest.raises(TableError, match="counts once"):
        model.fit(table.assign(m=200.0, v=100.0))
    with pytest.raises(pc.ProxycalError, match="belong together"):
        pc.Roles("y", ["p"], ["e"], checked="m")


def test_noise_of_the_proxies_is_part_of_the_law():
    *_, table, _ = table_of(ReportedWorld(level=20.0), n=3_000)
    content = table_of(ReportedWorld(level=20.0), n=3_000)[1]
    # 0.7 per unit of z, of which proxies with noise of 0.6 and these loadings leave a variance of 1 / 8.8.
    assert noise(table, content) == pytest.approx(0.7 / np.sqrt(8.8), rel=0.15)


def test_a_saved_fit_answers_the_same(gated, denied, tmp_path):
    for name, (drawn, model) in {"counts": gated, "binary": denied}.items():
        model.save(tmp_path / name)
        again = pc.load(tmp_path / name)
        assert again.alpha_ == model.alpha_
        assert again.calibrate(drawn.table).equals(model.calibrate(drawn.table))
        assert again.totals(drawn.table).equals(model.totals(drawn.table))


def test_there_are_no_local_effects(gated):
    drawn, model = gated
    with pytest.raises(TableError, match="no local effects"):
        model.effects(drawn.table)


# --- the parts ---


def table_of(world, seed=0, n=1_500):
    drawn = world.draw(seed, n)
    arrays = Encoder.fit_transform(drawn.table, drawn.roles)[1]
    bare, w = Covariates.of(arrays), np.ones(n)
    content = fit_content(bare, w)
    rows = bare.with_content(content.score(bare))
    outcome = {"y": arrays.y, "exposure": np.zeros(n)}
    return drawn, content, Table(rows, outcome, w, Terms.learn(rows)), arrays


def test_a_report_leads_where_there_is_one_and_not_where_there_is_none():
    leads = {
        report: compare(table_of(ReportedWorld(report=report, share=0.4))[2], Counts(), direct=False).lead
        for report in ("some rows", "complete")
    }
    assert leads["some rows"] > 8.0
    assert leads["complete"] < 3.0


def test_slopes_of_the_answer_are_its_differences_by_every_parameter(graded):
    drawn, model = graded
    arrays = Encoder.fit_transform(drawn.table, drawn.roles)[1].take(np.arange(30))
    record = model.result_.method_fit
    whole = record.fitted
    rows = whole.scored(Covariates.of(arrays))
    outcome = record.kind.outcome(arrays)
    slopes = whole.slopes(rows, outcome)
    k = len(whole.theta)
    for at in (0, 1, k - 1):
        moved = []
        for step in (1e-4, -1e-4):
            theta = whole.theta.copy()
            theta[at] += step
            top = whole.top + step * whole.top_slope[at]
            moved.append(replace(whole, theta=theta, top=top).rows(rows, outcome).mean)
        # The level is differentiated with a step of its own, at rows where the best tenth ends.
        np.testing.assert_allclose(slopes[:, at], (moved[0] - moved[1]) / 2e-4, rtol=1e-2, atol=1e-3)
    content = whole.content
    loadings = content.loadings.copy()
    loadings[1, 0] += 1e-4
    other = replace(content, loadings=loadings)
    seen = replace(whole, content=other)
    difference = seen.rows(seen.scored(rows), outcome).mean - whole.rows(rows, outcome).mean
    np.testing.assert_allclose(slopes[:, k + 1], difference / 1e-4, rtol=2e-2, atol=2e-3)


def test_a_relative_share_moves_the_mean_with_it():
    eta = np.array([[1.0, 1.0], [0.0, 0.0], [0.5, 3.0]])
    moved = relative(eta, 2, top=0.8, power=1.0)
    share = 1.0 / (1.0 + np.exp(-eta[2]))
    # What is reported of the truth, r m, stays what it is.
    np.testing.assert_allclose(
        np.exp(moved[0]) / (1.0 + np.exp(-moved[2])), np.exp(eta[0]) * share, rtol=1e-8
    )


def test_clusters_of_equal_rows_are_one_row_each():
    rng = np.random.default_rng(0)
    scores, w = rng.normal(size=(50, 3)), np.ones(50)
    single = Independent().products(scores, w)
    repeated = Independent(np.repeat(np.arange(50), 4)).products(np.repeat(scores, 4, axis=0), np.ones(200))
    np.testing.assert_allclose(repeated, 16.0 * single * 50 / 49)
    counted = Independent(counts=np.full(50, 4.0)).products(scores, np.full(50, 4.0))
    np.testing.assert_allclose(counted, 4.0 * single)


def test_sampled_rows_count_as_one_each_whatever_they_stand_for(gated):
    drawn, _ = gated
    arrays = Encoder.fit_transform(drawn.table, drawn.roles)[1]
    settings = Settings(direction="under")
    heavy = replace(arrays, weights=50.0 * arrays.weights, counts=np.full(arrays.n, 50.0))
    assert fit_counts(sampled(heavy), settings).estimate == fit_counts(arrays, settings).estimate


def test_quantiles_of_the_missed_are_those_of_the_law():
    from scipy.stats import nbinom

    mean, size = 6.0, 3.0
    law = nbinom(size, size / (size + mean))
    levels = np.array([0.025, 0.5, 0.975])
    got = [missed_quantile(q, np.ones(1), np.array([mean]), np.array([law.var()]))[0] for q in levels]
    assert got == law.ppf(levels).tolist()
    # With one row in four that missed anything, the upper tail begins at 1 - 0.025 / 0.25.
    rare = missed_quantile(0.975, np.array([0.25]), np.array([mean]), np.array([law.var()]))[0]
    assert rare == law.ppf(0.9)


def evidence(**parts):
    some = Found(gated=True, share_biased=0.3, reported=0.5, driven=0.4)
    usual = {
        "lead": 0.0,
        "lead_through_content": 20.0,
        "against_content": -5.0,
        "direct_lead": 15.0,
        "beyond_p": 1e-6,
        "proxy_p": 0.5,
        "stated": False,
        "free": some,
        "through_content": some,
    }
    return Evidence(**(usual | parts))


@pytest.mark.parametrize(
    ("parts", "verdict", "grade"),
    [
        ({}, "not identified", "none"),
        ({"lead": 9.0}, "bias found", "first"),
        ({"stated": True}, "bias found", "second"),
        ({"stated": True, "lead": 9.0}, "bias found", "first"),
        ({"stated": True, "proxy_p": 1e-4}, "not identified", "none"),
        ({"stated": True, "proxy_p": math.nan}, "not identified", "none"),
        ({"stated": True, "against_content": 30.0}, "not identified", "none"),
        ({"beyond_p": 0.3}, "not identified", "none"),
        ({"beyond_p": 0.3, "direct_lead": 0.0}, "no bias found", "none"),
        ({"lead": 9.0, "free": Found(True, 0.3, 0.5, 0.99)}, "not identified", "none"),
        ({"lead": 9.0, "free": Found(True, 0.995, 0.5, 0.4)}, "not identified", "none"),
    ],
)
def test_a_claim_needs_what_its_grade_needs(parts, verdict, grade):
    assert (evidence(**parts).verdict, evidence(**parts).grade) == (verdict, grade)


@pytest.mark.parametrize(
    ("validated", "verdict", "grade"),
    [
        (Validated(rows=100, wrong=40), "bias found", "validated"),
        (Validated(rows=100, wrong=2), "no bias found", "none"),
        (Validated(checked=50.0, confirmed=43.0), "bias found", "validated"),
        # Too few to say anything: the comparison does.
        (Validated(rows=20, wrong=9), "not identified", "none"),
    ],
)
def test_validation_decides_where_there_is_enough_of_it(validated, verdict, grade):
    e = evidence(validated=validated)
    assert (e.verdict, e.grade) == (verdict, grade)


def test_content_of_a_single_proxy_is_the_proxy():
    drawn = GATE.draw(0, 600)
    roles = pc.Roles("y", ["p_1"], ["e_1", "e_2"])
    model = pc.ProxyCalibrator(roles, direction="under", exclusion=True).fit(drawn.table)
    assert "single proxy" in topics(model)["exclusion"].reading
