from dataclasses import replace

import numpy as np
import pytest

from proxycal.engine.content import fit_content
from proxycal.engine.covariates import Covariates


def rows_of(n=4_000, seed=0, leak=0.0, proxies=4, levels=False):
    """Content that bends with the environment, seen by noisy proxies."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 2))
    group = rng.integers(0, 3, n)
    z = 0.5 * E[:, 0] - 0.3 * E[:, 1] + 0.3 * (E[:, 0] ** 2 - 1.0) + rng.normal(size=n)
    if levels:
        z += 0.5 * (group == 2)
    P = z[:, None] * np.array([1.0, 0.8, 0.6, 0.9])[:proxies] + 0.6 * rng.normal(size=(n, proxies))
    P[:, 0] += leak * E[:, 0]
    codes = {"group": group} if levels else {}
    counts = {"group": 3} if levels else {}
    return Covariates(P, E, np.zeros((n, 0)), codes, counts), z


def test_the_score_is_the_best_guess_of_content_from_proxies_and_environment():
    rows, z = rows_of(levels=True)
    content = fit_content(rows, np.ones(rows.n))
    score = content.score(rows)
    everything = np.column_stack(
        [np.ones(rows.n), rows.P, rows.E, rows.E[:, 0] ** 2, rows.levels["group"] == 2]
    )
    best = everything @ np.linalg.lstsq(everything, z, rcond=None)[0]
    # The regression saw the content itself; without it, the score is as good to two digits.
    assert content.d == 1
    assert abs(np.corrcoef(score[:, 0], best)[0, 1]) > 0.999


def test_given_the_score_the_environment_tells_nothing_more_of_content():
    rows, z = rows_of(20_000)
    score = fit_content(rows, np.ones(rows.n)).score(rows)
    X = np.column_stack([np.ones(rows.n), score, rows.E, rows.E[:, 0] ** 2])
    beta, *_ = np.linalg.lstsq(X, z, rcond=None)
    # Its own error moves the coefficients by 1/sqrt(n).
    assert np.abs(beta[2:]).max() < 4.0 / np.sqrt(rows.n)


@pytest.mark.parametrize(("leak", "seen"), [(0.0, False), (0.3, True)])
def test_a_proxy_that_the_environment_reaches_by_itself_is_noticed(leak, seen):
    rows, _ = rows_of(2_000, seed=1, leak=leak)
    assert (fit_content(rows, np.ones(rows.n)).p_beyond < 0.01) == seen


def test_the_test_keeps_its_level_though_the_noise_is_skewed():
    chances = []
    for seed in range(40):
        rows, _ = rows_of(800, seed)
        skewed = rows.P + 0.6 * (np.random.default_rng(seed + 99).gamma(1.0, size=rows.P.shape) - 1.0)
        chances.append(fit_content(replace(rows, P=skewed), np.ones(rows.n)).p_beyond)
    # Forty draws of a uniform number: P(seven or more below 0.05) is 0.3%.
    assert np.mean(np.array(chances) < 0.05) < 7 / 40


def test_two_kinds_of_content_are_two():
    rng = np.random.default_rng(4)
    E = rng.normal(size=(3_000, 2))
    Z = np.column_stack([E[:, 0], -E[:, 1]]) + rng.normal(size=(3_000, 2))
    P = Z @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(3_000, 6))
    rows = Covariates(P, E, np.zeros((3_000, 0)))
    content = fit_content(rows, np.ones(rows.n))
    score = content.score(rows)
    everything = np.column_stack([P, E])
    left, least = (Z - X @ np.linalg.lstsq(X, Z, rcond=None)[0] for X in (score, everything))
    assert content.d == 2
    # Two scores do what six proxies and the environment can do.
    np.testing.assert_allclose(left.var(axis=0), least.var(axis=0), rtol=0.02)


def test_weights_are_repeated_rows():
    rows, _ = rows_of(300)
    counts = np.random.default_rng(2).integers(1, 4, rows.n)
    weighted = fit_content(rows, counts.astype(float))
    repeated = fit_content(rows.take(np.repeat(np.arange(rows.n), counts)), np.ones(counts.sum()))
    # Both climbs stop where the gradient is below 1e-7.
    np.testing.assert_allclose(weighted.theta, repeated.theta, atol=1e-4)


def test_the_influence_gives_the_spread_of_the_parameters_over_tables():
    fits, errors = [], []
    for seed in range(60):
        rows, _ = rows_of(600, seed)
        weights = np.ones(rows.n)
        content = fit_content(rows, weights)
        influence = content.influence(rows, weights)
        # In the proxies' own units: what scales them is no parameter.
        fits.append(np.abs(content.loadings[:, 0]) * content.scale)
        errors.append(np.sqrt((influence**2).sum(axis=0))[:4] * content.scale)
    # Sixty tables tell a standard deviation to 10%.
    np.testing.assert_allclose(np.std(fits, axis=0), np.mean(errors, axis=0), rtol=0.35)


def test_slopes_are_differences_of_scores_and_one_proxy_is_the_content():
    rows, _ = rows_of(50, proxies=3)
    content = fit_content(rows, np.ones(rows.n))
    loadings = content.loadings.copy()
    loadings[1, 0] += 1e-3
    moved = replace(content, loadings=loadings).score(rows) - content.score(rows)
    np.testing.assert_allclose(content.slopes(rows)[:, :, 1], moved / 1e-3, atol=2e-3)
    one, _ = rows_of(50, proxies=1)
    alone = fit_content(one, np.ones(one.n))
    assert not alone.told_apart
    assert np.corrcoef(alone.score(one)[:, 0], one.P[:, 0])[0, 1] == pytest.approx(1.0)
    assert not alone.influence(one, np.ones(one.n)).any()
