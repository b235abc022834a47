"""Learning from validated rows: its parts against known answers, and the method as users call it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.datasets import nhanes
from proxycal.effect.calibrate import predict
from proxycal.effect.draws import Draws
from proxycal.errors import ProxycalWarning, TableError
from proxycal.methods.registry import METHODS
from proxycal.methods.validated.candidates import fit_candidates
from proxycal.methods.validated.conformal import conformal_quantile
from proxycal.methods.validated.draws import draw_by_validated
from proxycal.methods.validated.error_mixture import fit_all_rows, fit_validated_rows
from proxycal.methods.validated.fit import conclude
from proxycal.methods.validated.gaps import read_gaps
from proxycal.methods.validated.learn import row_key
from proxycal.methods.validated.record import Reader
from proxycal.methods.validated.rows import Rows, heap_unit, on_grid
from proxycal.methods.validated.stack import combine, stack_weights
from proxycal.methods.validated.taught import Taught, blocks_of
from proxycal.methods.validated.totals import design_mean, group_mean
from proxycal.methods.validated.trees import grow
from proxycal.report.plots import draw
from proxycal.settings import Settings
from proxycal.studies.validated import regression_calibration
from proxycal.table.encode import Encoder

ROLES = pc.Roles("y", ["p1", "p2"], ["e"], truth="truth")
N, KNOWN = 500, 60


def rmse(error):
    return float(np.sqrt(np.mean(np.square(error))))


def table(n=N, known=KNOWN, seed=0, spread=0.6):
    """Two proxies, one environment column; a third of the rows is biased by sizes that vary around 4."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=n)
    z = 0.5 * e + rng.normal(size=n)
    true = 1.5 * z + 0.6 * rng.normal(size=n)
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(0.8 - 1.2 * e))
    y = true + biased * rng.gamma(spread**-2.0, 4.0 * spread**2.0, n) + 0.2 * rng.normal(size=n)
    proxies = z[:, None] + 0.6 * rng.normal(size=(n, 2))
    frame = pd.DataFrame({"y": y, "p1": proxies[:, 0], "p2": proxies[:, 1], "e": e, "true": true})
    chosen = rng.choice(n, known, replace=False)
    frame["truth"] = np.nan
    frame.loc[chosen, "truth"] = true[chosen]
    return frame


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def model(rows):
    return pc.ProxyCalibrator(ROLES, direction="over").fit(rows)


# --- parts ---


def known_rows(n=400, known=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    true = x @ [1.0, -0.5] + rng.normal(size=n)
    y = true + np.where(rng.random(n) < 0.3, 5.0, 0.0) + 0.1 * rng.normal(size=n)
    return Rows(y, x, np.where(np.arange(n) < known, true, np.nan), np.zeros(n, dtype=bool)), true


def test_a_mixture_of_errors_finds_the_two_kinds():
    rows, true = known_rows()
    fit = fit_all_rows(rows, 2, follows=False)
    other = 1 - fit.unbiased
    assert fit.error[fit.unbiased, 0] == pytest.approx(0.0, abs=0.05)
    assert fit.error[other, 0] == pytest.approx(5.0, abs=0.15)
    posterior = fit.posterior(rows)
    assert np.mean((posterior.p > 0.5) == (rows.y - true > 2.5)) > 0.97
    assert rmse(posterior.mean - true) < 0.5 * rmse(rows.y - true)


def test_of_a_single_kind_of_error_the_posterior_is_the_textbook_one():
    """One kind, slope one: mean = (content / tau2 + (y - error) / s2) / (1 / tau2 + 1 / s2)."""
    rows, _ = known_rows()
    fit = fit_all_rows(rows, 1, follows=False)
    x = np.column_stack([np.ones(len(rows.y)), rows.x])
    tau2, s2 = fit.tau2[0], fit.variance[0]
    by_hand = ((x @ fit.content) / tau2 + (rows.y - fit.error[0, 0]) / s2) / (1 / tau2 + 1 / s2)
    assert fit.posterior(rows).mean == pytest.approx(by_hand)
    assert fit.posterior(rows).sd == pytest.approx(np.full(len(x), (1 / tau2 + 1 / s2) ** -0.5))


def test_the_mixture_of_validated_rows_follows_a_slope():
    """Reports that are 0.8 of the truth plus noise: truth = y / 0.8, before content is used."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 1))
    true = 10.0 + 3.0 * rng.normal(size=600)
    y = 0.8 * true + 0.1 * rng.normal(size=600)
    rows = Rows(y, x, np.where(np.arange(600) < 200, true, np.nan), np.zeros(600, dtype=bool))
    fit = fit_validated_rows(rows)
    assert fit.slope[0] == pytest.approx(0.8, abs=0.01)
    assert rmse(fit.posterior(rows).mean - true) < 0.2


def test_round_numbers_tell_who_rounds():
    rng = np.random.default_rng(2)
    true = np.round(50.0 + 15.0 * rng.normal(size=1000))
    y = np.where(rng.random(1000) < 0.4, 10.0 * np.floor(true / 10.0), true)
    assert heap_unit(y) == 10.0
    rows = Rows(
        y, rng.normal(size=(1000, 1)), np.where(np.arange(1000) < 150, true, np.nan), on_grid(y, 10.0)
    )
    p = fit_all_rows(rows, 2, follows=False).posterior(rows).p
    assert p[~rows.heap].max() < 0.05
    assert p[rows.heap].mean() > 0.6


def test_trees_kept_as_arrays_are_those_of_scikit_learn():
    from sklearn.ensemble import GradientBoostingRegressor

    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 4))
    target = np.sin(2.0 * x[:, 0]) + x[:, 1] * (x[:, 2] > 0)
    ours = grow(x, target, seed=0)
    theirs = GradientBoostingRegressor(
        n_estimators=60, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=10, random_state=0
    ).fit(x, target)
    fresh = rng.normal(size=(500, 4))
    assert ours.predict(fresh) == pytest.approx(theirs.predict(fresh))


def test_candidates_out_of_fold_do_not_see_the_truth():
    rows, true = known_rows()
    given = rows.y[:, None]
    hidden = rows.hiding(np.arange(60))
    first = fit_candidates(hidden, given, ("exact",), 0)
    wrong = Rows(rows.y, rows.x, np.where(np.arange(400) < 60, 1e3, rows.truth), rows.heap).hiding(
        np.arange(60)
    )
    second = fit_candidates(wrong, given, ("exact",), 0)
    assert first.predict(rows, given).values == pytest.approx(second.predict(rows, given).values)
    assert first.names.index("linear") == 2
    known = hidden.known
    # Least squares of the error, with further rows that say of each standardised column: nothing, once.
    columns = np.column_stack([rows.y, rows.x])
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    columns -= columns[known].mean(axis=0)
    prior = np.column_stack([np.zeros(3), np.eye(3)])
    design = np.vstack([np.column_stack([np.ones(400), columns])[known], prior])
    error = np.r_[(true - rows.y)[known], np.zeros(3)]
    slopes = np.linalg.lstsq(design, error, rcond=None)[0]
    by_hand = rows.y + slopes[0] + columns @ slopes[1:]
    assert first.predict(rows, given).values[:, 2] == pytest.approx(by_hand)


def test_weights_of_the_stack_are_a_mean_and_the_base_is_returned_to():
    rng = np.random.default_rng(4)
    truth = rng.normal(size=300)
    values = truth[:, None] + rng.normal(size=(300, 3)) * [0.5, 0.5, 3.0]
    weights = stack_weights(values, truth, np.ones(300))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[:2] == pytest.approx([0.5, 0.5], abs=0.1)
    assert weights[2] < 1e-6
    # What is known beforehand decides where the rows do not: twice the weight, in the ratio of the first two.
    preferred = stack_weights(values, truth, np.ones(300), np.array([2.0, 1.0, 100.0]))
    assert preferred[0] / preferred[1] == pytest.approx(2.0 * weights[0] / weights[1])
    assert preferred[2] < 1e-4
    # Weights that the other folds suggest fail in every fold: there is nothing to learn but the base.
    fold = np.arange(300) % 2
    good = truth + 0.1 * rng.normal(size=300)
    fickle = np.where(fold == 0, truth, truth + 50.0)
    stack = combine(np.column_stack([good, fickle]), truth, fold, [0], np.ones(300))
    assert not stack.left_base
    assert stack.weights.tolist() == [1.0, 0.0]


def test_a_conformal_quantile_counts_the_new_row():
    scores = np.arange(1.0, 20.0)
    assert conformal_quantile(scores, np.ones(19), 0.9) == 18.0
    heavy = np.where(scores == 19.0, 19.0, 1.0)
    assert conformal_quantile(scores, heavy, 0.5) == 19.0
    assert conformal_quantile(scores, np.ones(19), 0.999) == 19.0


@pytest.mark.parametrize(
    ("gap", "shape"),
    [
        (lambda rng, n: np.where(rng.random(n) < 0.3, 4.0, 0.0) + 0.2 * rng.normal(size=n), "one size"),
        (
            lambda rng, n: (rng.random(n) < 0.3) * rng.gamma(1.5, 3.0, n) + 0.05 * rng.normal(size=n),
            "sizes that vary",
        ),
        (lambda rng, n: 1.0 + rng.normal(size=n), "continuous"),
        (lambda rng, n: rng.normal(size=n), "none"),
    ],
)
def test_gaps_are_read(gap, shape):
    rng = np.random.default_rng(6)
    reading = read_gaps(gap(rng, 400), rng.normal(size=400), np.ones(400))
    assert reading.shape == shape
    assert not reading.grows


def test_sizes_that_grow_with_the_value_are_seen():
    rng = np.random.default_rng(7)
    truth = rng.normal(size=400)
    gap = np.where(rng.random(400) < 0.4, 5.0 + truth, 0.0) + 0.1 * rng.normal(size=400)
    reading = read_gaps(gap, truth, np.ones(400))
    assert reading.grows
    assert reading.slope == pytest.approx(1.0, abs=0.1)
    assert reading.alpha == pytest.approx(5.0, abs=0.2)


def test_the_key_of_a_row_does_not_depend_on_its_place():
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 50))
    order = rng.permutation(50)
    assert (row_key(a, b)[order] == row_key(a[order], b[order])).all()
    assert len(np.unique(row_key(a, b))) == 50
    assert abs(row_key(*rng.normal(size=(2, 4000))).mean() - 0.5) < 0.03


# --- means ---


def test_a_mean_is_the_difference_estimator_and_its_error_that_of_a_random_sample():
    rng = np.random.default_rng(9)
    truth, n = rng.normal(5.0, 2.0, size=1000), 100
    predicted = truth + rng.normal(size=1000)
    shown = np.where(np.arange(1000) < n, truth, np.nan)
    one = design_mean(shown, predicted, lam=1.0)
    left = (truth - predicted)[:n]
    assert one.mean == pytest.approx(predicted.mean() + left.mean())
    assert one.se == pytest.approx(left.std(ddof=1) * np.sqrt((1.0 - n / 1000) / n))
    zero = design_mean(shown, predicted, lam=0.0)
    assert zero.mean == pytest.approx(truth[:n].mean())
    tuned = design_mean(shown, predicted)
    slope = np.cov(truth[:n], predicted[:n])
    assert tuned.lam == pytest.approx(slope[0, 1] / slope[1, 1])
    assert tuned.se <= min(one.se, zero.se)


def test_design_weights_make_an_uneven_audit_valid():
    rng = np.random.default_rng(10)
    held, naive = 0, 0
    for _ in range(200):
        truth = np.r_[rng.normal(0.0, 1.0, 900), rng.normal(8.0, 3.0, 100)]
        chosen = np.r_[rng.choice(900, 45, replace=False), 900 + rng.choice(100, 50, replace=False)]
        shown, pi = np.full(1000, np.nan), np.full(1000, np.nan)
        shown[chosen] = truth[chosen]
        pi[chosen] = np.where(chosen < 900, 0.05, 0.5)
        nothing = np.zeros(1000)
        own = design_mean(shown, nothing, inclusion=pi)
        held += own.low <= truth.mean() <= own.high
        other = design_mean(shown, nothing)
        naive += other.low <= truth.mean() <= other.high
    assert held / 200 > 0.9
    assert naive / 200 < 0.1


def test_a_small_group_says_so():
    truth = np.where(np.arange(300) < 60, 1.0, np.nan)
    inside = np.arange(300) >= 55
    few = group_mean(truth, np.zeros(300), inside)
    assert few.n == 5
    assert np.isnan(few.low)
    assert "too few validated rows" in few.note
    assert few.mean == pytest.approx(1.0)
    with pytest.raises(TableError, match="needs at least 2 of them, and there are 0 here"):
        design_mean(np.full(10, np.nan), np.zeros(10))


# --- the method ---


def test_it_is_better_than_regression_and_its_intervals_hold(rows, model):
    answer, rest = model.calibrate(rows), rows["truth"].isna()
    design = np.column_stack([np.ones(N), rows[["y", "p1", "p2", "e"]]])
    known = ~rest.to_numpy()
    beta = np.linalg.lstsq(design[known], rows["true"][known], rcond=None)[0]
    assert model.result_.settings.method == "validated"
    assert rmse((answer["y_cal"] - rows["true"])[rest]) < rmse((design @ beta - rows["true"])[rest])
    held = (answer["y_cal_low"] <= rows["true"]) & (rows["true"] <= answer["y_cal_high"])
    assert 0.88 < held[rest].mean() < 0.995
    assert (answer["y_cal"] - (rows["y"] - answer["shift"])).abs().max() < 1e-9


def test_a_validated_row_has_its_truth_and_no_width(rows, model):
    answer, known = model.calibrate(rows), rows["truth"].notna()
    for name in ("y_cal", "y_cal_low", "y_cal_high"):
        assert (answer[name][known] == rows["truth"][known]).all()


def test_the_verdict_and_alpha_are_those_of_the_validated_rows(rows, model):
    gap = (rows["y"] - rows["truth"]).dropna()
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(gap[gap > 1.5].mean(), rel=0.2)
    topics = {finding.topic: finding.reading for finding in model.findings_}
    assert "Validated rows show the bias" in topics["validated"]
    assert "Among validated rows" in topics["error-shape"]
    assert "root mean square" in topics["answer"]
    assert draw("gaps", model.result_).get_xlabel()


def test_the_wrong_direction_is_named(rows):
    model = pc.ProxyCalibrator(ROLES, direction="under").fit(rows)
    assert model.verdict_ == "not identified"
    assert any("against the stated direction" in finding.reading for finding in model.findings_)


def test_totals_hold_the_truth_and_name_small_groups(rows, model):
    with_groups = rows.assign(group=np.where(np.arange(N) < 30, "few", "many"))
    with pytest.warns(ProxycalWarning, match="rest on fewer than 10 validated rows"):
        means = model.totals(with_groups, by="group", statistic="mean").set_index("group")
    overall = means.loc["overall"]
    assert overall["low"] < rows["true"].mean() < overall["high"] < overall["reported"]
    assert np.isnan(means.loc["few", "low"])
    assert means.loc["many", "low"] < means.loc["many", "high"]


@pytest.mark.parametrize("by", ["half", "quarter"])
def test_groups_add_up_to_the_whole(rows, model, by):
    """Also where some groups have too few validated rows for a correction of their own."""
    place = np.arange(N)
    groups = rows.assign(half=place % 2, quarter=np.where(place < 20, "few", (place % 3).astype(str)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        totals = model.totals(groups, by=by)
        alone = model.totals(groups)
    assert totals["calibrated"].iloc[:-1].sum() == pytest.approx(totals["calibrated"].iloc[-1])
    assert totals["calibrated"].iloc[-1] == pytest.approx(alone["calibrated"].iloc[0])


def test_a_fit_does_not_warn_of_groups_that_nobody_asked_for(rows):
    roles = replace(ROLES, environment=[*ROLES.environment, "group"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProxycalWarning)
        model = pc.ProxyCalibrator(roles, direction="over").fit(
            rows.assign(group=np.where(np.arange(N) < 30, "few", "many"))
        )
    by_group = model.result_.totals[1]
    assert by_group.by == "group"
    assert np.isnan(by_group.low).tolist() == [True, False, False]


def test_a_table_without_truths_is_answered_too(rows, model):
    fresh = table(seed=5).drop(columns="truth")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer, mean = model.calibrate(fresh), model.totals(fresh, statistic="mean").iloc[0]
    assert rmse(answer["y_cal"] - fresh["true"]) < 0.6 * rmse(fresh["y"] - fresh["true"])
    assert mean["low"] < mean["calibrated"] < mean["high"]


def test_a_run_folder_gives_the_same_answers(rows, model, tmp_path):
    model.save(tmp_path / "run")
    again = pc.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(rows), model.calibrate(rows))
    pd.testing.assert_frame_equal(again.totals(rows), model.totals(rows))
    assert again.alpha_ == model.alpha_


def test_rows_are_answered_alike_wherever_they_stand(rows, model):
    order = np.random.default_rng(0).permutation(N)
    first, second = model.calibrate(rows).iloc[order], model.calibrate(rows.iloc[order])
    assert np.abs(first.to_numpy() - second.to_numpy()).max() < 1e-9
    one, other = model.totals(rows), model.totals(rows.iloc[order])
    assert one["calibrated"].iloc[0] == pytest.approx(other["calibrated"].iloc[0])


@pytest.mark.parametrize("known", [29, 1, 0])
def test_too_few_validated_rows_are_one_clear_line(known):
    with pytest.raises(
        TableError, match=f"needs at least 30 validated rows .* there are {known}: validate more"
    ):
        pc.ProxyCalibrator(ROLES, direction="over", method="validated").fit(table(known=known))


def test_a_truth_column_without_a_truth_is_as_good_as_none():
    unknown = table(known=0)
    empty = pc.ProxyCalibrator(ROLES, direction="over").fit(unknown)
    without = pc.ProxyCalibrator(replace(ROLES, truth=None), direction="over").fit(unknown)
    assert (empty.verdict_, empty.alpha_) == (without.verdict_, without.alpha_)
    assert empty.result_.settings.method == "exact"


def test_every_row_validated_leaves_nothing_to_calibrate():
    whole = table(n=120, known=120)
    model = pc.ProxyCalibrator(ROLES, direction="over").fit(whole)
    assert "gradual" not in model.summary().index
    assert (model.calibrate(whole)["y_cal"] == whole["true"]).all()
    assert any(finding.topic == "all-validated" for finding in model.findings_)
    total = model.totals(whole).iloc[0]
    assert total["calibrated"] == pytest.approx(whole["true"].sum())
    assert total["low"] == pytest.approx(total["high"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda truth: 1000.0 * truth, "times column 'y' in validated rows, as if it were in other units"),
        (lambda truth: truth.map("about {:.0f}".format), r"column 'truth' \(truth\)"),
    ],
)
def test_a_truth_that_cannot_be_one_is_named(rows, change, message):
    with pytest.raises(TableError, match=message):
        pc.ProxyCalibrator(ROLES, direction="over").fit(rows.assign(truth=change(rows["truth"])))


# --- levels and directions that no validated row has ---


def with_offices(rare, seed=0):
    """Reports near 80 of a truth that is lower by 2 on average; two rows of a rare office, none validated."""
    rng = np.random.default_rng(seed)
    rows = table(n=400, known=80, seed=seed)
    office = rng.choice(["a", "b", "c"], 400).astype(object)
    other = np.flatnonzero(rows["truth"].isna())[:2]
    office[office == rare] = next(name for name in "abc" if name != rare)
    office[other] = rare
    return rows.assign(y=80.0 + rows["y"], truth=80.0 + rows["truth"], office=office), other


@pytest.fixture(scope="module", params=["a", "zz"])
def rare(request):
    rows, other = with_offices(request.param)
    roles = pc.Roles("y", ["p1", "p2"], ["e", "office"], truth="truth")
    return pc.ProxyCalibrator(roles, direction="over", method="validated").fit(rows), rows, other


def test_a_level_without_a_validated_row_is_answered_as_the_average(rare):
    """Whether the level has a 0/1 column of its own or is the first one, which has none."""
    model, rows, other = rare
    done = model.calibrate(rows)
    moved = np.abs(done["shift"])
    # Its rows differ from the others by nothing that was learned, so they move by no more than those do.
    assert moved.iloc[other].max() <= moved.drop(index=other).max()


@pytest.fixture(scope="module")
def people():
    """NHANES with its rare levels: two people do not know their education."""

    def made(outcome):
        raw = pd.read_csv(files("proxycal.datasets") / "data" / "nhanes_2017_2018.csv.gz")
        rows, _ = nhanes.complete(raw, outcome, list(nhanes.PROXIES), no_answer=())
        reported, measured = nhanes.OUTCOMES[outcome]
        roles = pc.Roles(reported, list(nhanes.PROXIES), list(nhanes.ENVIRONMENT))
        arrays = Encoder.fit_transform(rows, roles)[1]
        return arrays, rows[measured].to_numpy(), (rows["education"] == "Don't Know").to_numpy()

    return made


def draw_of(arrays, truth, share, seed):
    chosen = np.random.default_rng(seed).choice(arrays.n, round(share * arrays.n), replace=False)
    shown = np.full(arrays.n, np.nan)
    shown[chosen] = truth[chosen]
    return replace(arrays, truth=shown)


def test_two_people_of_a_rare_level_keep_a_human_weight(people):
    """Their answer was 5e17 kg: the coefficient of a level that no validated row has can be any number."""
    arrays, truth, rare = people("weight")
    known = draw_of(arrays, truth, 0.1, seed=4)
    columns = np.hstack([arrays.P, arrays.E])
    reader = Reader(np.stack([columns.mean(axis=0), columns.std(axis=0)]), 0.0, None, None)
    rows, none = reader.rows(known), np.zeros((arrays.n, 0))
    values = fit_candidates(rows, none, (), seed=0).predict(rows, none).values
    assert rare.sum() == 2
    assert np.abs(values - arrays.y[:, None])[rare].max() < 10.0


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["weight", "height"])
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_nhanes_with_its_rare_levels(people, outcome, share):
    """Ten draws: no worse than the regression on the validated rows, and no row moved out of this world."""
    arrays, truth, _ = people(outcome)
    settings = Settings(method="validated", direction=nhanes.DIRECTIONS[outcome])
    exact = METHODS["exact"].fit(arrays, settings)
    ratios, held, moved = [], [], []
    for seed in range(10):
        known = draw_of(arrays, truth, share, seed)
        done = predict(conclude(known, exact, settings, arrays.n), known)
        rest = np.isnan(known.truth)
        columns = np.column_stack([arrays.y, arrays.P, arrays.E])
        # Levels that the validated rows do not have are left out, as a careful analyst would.
        columns = columns[:, columns[~rest].std(axis=0) > 0.0]
        plain = regression_calibration(known.truth, columns)
        ratios.append(rmse((done.y_cal - truth)[rest]) / rmse((plain - truth)[rest]))
        held.append(np.mean(((done.y_cal_low <= truth) & (truth <= done.y_cal_high))[rest]))
        moved.append(np.abs(done.shift)[rest].max())
    assert np.mean(ratios) <= 1.005
    assert 0.93 <= np.mean(held) <= 0.97
    assert max(moved) <= (40.0 if outcome == "weight" else 30.0)


def test_a_level_without_a_validated_row_is_named(rare):
    model, _, other = rare
    finding = {f.topic: f for f in model.findings_}["level-not-validated"]
    assert "office" in finding.reading
    assert finding.value == len(other)
    assert not finding.ok


def test_where_every_level_was_validated_nothing_is_said(model):
    assert "level-not-validated" not in {finding.topic for finding in model.findings_}


def test_rows_of_an_unknown_level_have_the_means_of_their_category():
    block = blocks_of(("age", "race", "race", "sex"), (False, True, True, True))
    teach = np.array([[0.5, 1.0, -1.0, 1.0], [-0.5, -1.0, -1.0, -1.0]])
    taught = Taught.by(teach, block)
    new = np.array([[9.0, -1.0, 1.0, -1.0], [9.0, 1.0, -1.0, 1.0]])
    assert taught.pooled(new).tolist() == [[9.0, 0.0, -1.0, -1.0], [9.0, 1.0, -1.0, 1.0]]
    # Nobody taught the first level of sex either.
    only = Taught.by(teach[:1], block)
    assert only.pooled(new)[0].tolist() == [9.0, 1.0, -1.0, 1.0]
    assert only.gaps(new, ("age", "race=b", "race=c", "sex=m"), ("age", "race", "race", "sex")) == {
        "race=c": 1,
        "sex (its first level)": 1,
    }


def test_a_direction_that_no_validated_row_has_changes_nothing():
    """All validated rows agree in the second feature, up to rounding: what it does is unknown."""
    rows, true = known_rows()
    x = rows.x.copy()
    x[:120, 1] = 3.0 + 1e-14 * np.random.default_rng(0).normal(size=120)
    given = np.zeros((400, 0))
    fitted = fit_candidates(replace(rows, x=x), given, (), seed=0)
    at = fitted.predict(replace(rows, x=x), given).values
    moved = fitted.predict(replace(rows, x=x + np.array([0.0, 10.0])), given).values
    place = fitted.names.index("linear")
    assert moved[:, place] == pytest.approx(at[:, place], abs=1e-6)
    assert np.abs(at - true[:, None]).max() < 20.0


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_nothing_is_learned_from_the_last_digits_of_an_answer_that_is_the_report(unit):
    """The answer for a row was another beside other rows, as sums in another order round otherwise."""
    rng, (rows, _) = np.random.default_rng(3), known_rows()
    rows = replace(rows, y=unit * rows.y, truth=unit * rows.truth)
    noise = 1e-14 * unit * rng.normal(size=(2, len(rows.y), 1))
    fitted = fit_candidates(rows, rows.y[:, None] + noise[0], ("exact",), 0)
    assert fitted.trees is not None
    first, second = (fitted.predict(rows, rows.y[:, None] + part).values for part in noise)
    assert np.abs(first - second).max() < 1e-9 * np.abs(rows.y).max()


def test_a_row_that_is_no_round_number_is_answered_alike_where_no_row_is_one():
    """Rows that are not on the heap were given no evidence by that, unless another of the table was on it."""
    rows, _ = known_rows()
    biased = rows.y - np.nan_to_num(rows.truth, nan=0.0) > 2.5
    fitted = fit_all_rows(replace(rows, heap=biased), 2, follows=False)
    assert fitted.heap[0] != fitted.heap[1]
    both = fitted.posterior(replace(rows, heap=np.arange(len(rows.y)) == 0))
    none = fitted.posterior(replace(rows, heap=np.zeros(len(rows.y), dtype=bool)))
    assert both.p[1:] == pytest.approx(none.p[1:], abs=1e-12)


def test_seventy_validated_rows_are_enough_for_slopes_of_six_columns():
    """The answer is drawn towards the mean, and misses half of what a column says; the draws put it back."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(3000, 6))
    truth = x @ [1.0, 0.5, 0.0, 0.0, 0.0, 0.0] + 0.3 * rng.normal(size=3000)
    value = x @ [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]
    shown = np.where(np.arange(3000) < 70, truth, np.nan)
    drawn = draw_by_validated(
        value, np.full(3000, 0.3), (x,), shown, np.ones(70), Draws(np.zeros((40, 1)), 3), np.arange(3000)
    )
    slopes = np.linalg.lstsq(x, drawn.T, rcond=None)[0][0]
    assert abs(slopes.mean() - 1.0) < 3.0 * slopes.std()
    assert 0.02 < slopes.std() < 0.08  # 0.3 / sqrt(70 - 8) = 0.04
