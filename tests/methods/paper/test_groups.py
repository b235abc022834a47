"""Cuts of the score against known groups, scikit-learn's mixture and brute force."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from proxycal.errors import SettingsError, TableError
from proxycal.methods.paper import groups
from proxycal.methods.paper.groups import Split, content_residual, fit_two_components, split

CUTS = ("mixture", "median", "otsu")


@pytest.fixture
def two_humps():
    rng = np.random.default_rng(0)
    a = rng.random(2000) < 0.35
    return np.where(a, 4.0, 0.0) + rng.normal(size=2000) * np.where(a, 1.0, 0.5), a


@pytest.mark.parametrize("cut", ["mixture", "otsu"])
@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize(("direction", "effect"), [("over", 5.0), ("under", -5.0)])
def test_finds_the_biased_rows_whatever_the_orientation_of_the_score(two_humps, cut, flip, direction, effect):
    score, a = two_humps
    rule = split(flip * score, effect * a, cut=cut, direction=direction)
    assert np.mean(rule.biased(flip * score) == a) > 0.97
    assert rule.sign == flip
    assert rule.two_groups


@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize(("direction", "effect"), [("over", 5.0), ("under", -5.0)])
def test_a_quantile_leaves_its_share_of_the_rows_unbiased(two_humps, flip, direction, effect):
    score, a = two_humps
    rule = split(flip * score, effect * a, "quantile", direction, quantile=0.8)
    assert np.mean(rule.biased(flip * score)) == pytest.approx(0.2, abs=0.001)
    # Those are all truly biased: 0.2 of the rows against 0.35.
    assert a[rule.biased(flip * score)].mean() > 0.98


def test_the_stated_direction_decides_which_side_is_biased(two_humps):
    score, a = two_humps
    over, under = (split(score, 5.0 * a, direction=d) for d in ("over", "under"))
    np.testing.assert_array_equal(over.biased(score), ~under.biased(score))


def test_mixture_agrees_with_scikit_learn(two_humps):
    score, _ = two_humps
    mine = fit_two_components(score, np.ones(len(score)))
    single, two = (
        GaussianMixture(k, tol=1e-9, max_iter=2000, reg_covar=0.0, random_state=0).fit(score[:, None])
        for k in (1, 2)
    )
    order = np.argsort(two.means_[:, 0])
    np.testing.assert_allclose(mine.mean, two.means_[order, 0], rtol=1e-3)
    np.testing.assert_allclose(mine.share, two.weights_[order], rtol=1e-3)
    np.testing.assert_allclose(mine.sd, np.sqrt(two.covariances_[order, 0, 0]), rtol=1e-3)
    rule = split(score, score)
    # The threshold is where scikit-learn's own posterior changes sides.
    grid = np.linspace(mine.mean[0], mine.mean[1], 20_001)
    sides = two.predict_proba(grid[:, None])[:, order[1]] > 0.5
    assert rule.threshold == pytest.approx(grid[np.argmax(sides)], abs=1e-2)
    assert rule.bic_gain == pytest.approx(single.bic(score[:, None]) - two.bic(score[:, None]), rel=1e-4)


def test_one_hump_is_not_two_groups():
    gains = [split(s, s).bic_gain for s in np.random.default_rng(1).normal(size=(20, 400))]
    assert np.mean(np.array(gains) > 0) <= 0.1


def test_close_humps_are_told_by_their_separation(two_humps):
    score, a = two_humps
    assert split(score, a).separation == pytest.approx(4.0 / np.sqrt((1.0 + 0.25) / 2), rel=0.1)


def test_otsu_is_the_best_of_all_cuts():
    rng = np.random.default_rng(2)
    a, w = np.append(rng.normal(size=40), rng.normal(3, 1, 25)), rng.uniform(0.5, 2.0, 65)

    def between(cut):
        high = a > cut
        means = np.average(a[high], weights=w[high]), np.average(a[~high], weights=w[~high])
        return w[high].sum() * w[~high].sum() * (means[0] - means[1]) ** 2

    values = np.sort(a)
    best = max(between(cut) for cut in (values[1:] + values[:-1]) / 2)
    assert between(split(a, a, cut="otsu", weights=w).threshold) == pytest.approx(best, rel=1e-12)


def test_median_halves_the_weight():
    a = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert split(a, a, cut="median").biased(a).sum() == 3
    heavy = split(a, a, cut="median", weights=np.array([10.0, 1, 1, 1, 1, 1]))
    assert heavy.threshold == 1.0


def test_median_leaves_no_side_empty():
    a = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    biased = split(a, a, cut="median").biased(a)
    assert biased.tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("cut", CUTS)
def test_weights_equal_repeated_rows_and_order_does_not_matter(two_humps, cut):
    score, a = two_humps
    score, y = score[:300], 5.0 * a[:300]
    times = np.random.default_rng(3).integers(1, 4, 300)
    weighted = split(score, y, cut=cut, weights=times.astype(float))
    repeated = split(np.repeat(score, times)[::-1], np.repeat(y, times)[::-1], cut=cut)
    assert weighted.threshold == pytest.approx(repeated.threshold, rel=1e-8)
    assert weighted.bic_gain == pytest.approx(repeated.bic_gain, rel=1e-8)


@pytest.mark.parametrize("cut", CUTS)
def test_the_scale_of_the_score_does_not_matter(two_humps, cut):
    score, a = two_humps
    plain, scaled = split(score, 5.0 * a, cut=cut), split(1e6 * score + 3.0, 5.0 * a, cut=cut)
    np.testing.assert_array_equal(plain.biased(score), scaled.biased(1e6 * score + 3.0))
    assert plain.bic_gain == pytest.approx(scaled.bic_gain, rel=1e-6)


def test_many_rows_are_merged_without_moving_the_cut():
    rng = np.random.default_rng(4)
    score = np.where(rng.random(30_000) < 0.4, 3.0, 0.0) + rng.normal(size=30_000)
    limit = groups.MAX_POINTS
    merged = split(score, score).threshold
    groups.MAX_POINTS = 100_000
    try:
        assert merged == pytest.approx(split(score, score).threshold, abs=1e-3)
    finally:
        groups.MAX_POINTS = limit


def test_a_component_inside_the_other_still_gives_two_sides():
    rng = np.random.default_rng(5)
    score = np.append(rng.normal(0, 5, 500), rng.normal(0.2, 0.1, 500))
    biased = split(score, score).biased(score)
    assert 0 < biased.sum() < 1000


def test_two_values_are_two_groups():
    score = np.repeat([0.0, 1.0], 50)
    rule = split(score, score)
    assert rule.biased(score).tolist() == [False] * 50 + [True] * 50
    assert rule.two_groups


def test_content_residual_removes_what_content_explains():
    rng = np.random.default_rng(6)
    z, w = rng.normal(size=(200, 3)), rng.uniform(1, 2, 200)
    y = 2.0 + z @ [1.0, -2.0, 0.5] + rng.normal(size=200)
    left = content_residual(y, z, w)
    np.testing.assert_allclose((w * left) @ np.column_stack([np.ones(200), z]), 0.0, atol=1e-9)


def test_bad_input():
    a = np.array([0.0, 1.0, 2.0])
    with pytest.raises(SettingsError, match="'mixture', 'median', 'otsu' or 'quantile'"):
        split(a, a, cut="mean")
    with pytest.raises(SettingsError, match="'over' or 'under'"):
        split(a, a, direction="up")
    with pytest.raises(TableError, match="same for every row"):
        split(np.ones(3), a)
    with pytest.raises(TableError, match="not finite"):
        split(np.array([0.0, np.nan, 1.0]), a)
    with pytest.raises(TableError, match="shapes"):
        split(a, a[:2])


def test_a_split_is_a_rule_for_new_rows():
    rule = Split(threshold=1.0, sign=1.0, two_groups=True, bic_gain=5.0, separation=2.0)
    assert rule.biased(np.array([0.5, 1.0, 1.5])).tolist() == [False, False, True]
