"""Baselines against answers known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.datasets import load_jobs
from proxycal.methods.paper.settings import PaperSettings
from proxycal.studies.baselines import environment_only, oracle, proxy_only, regress, tedvae
from proxycal.studies.protocol import Truth, judge, make_folds, truth_of
from proxycal.studies.tedvae import TedvaeSettings
from proxycal.testing.simulation import inject_bias, simulate

TINY = TedvaeSettings(PaperSettings(width=8, epochs=3, min_steps=15), d_latent=2)


@pytest.fixture(scope="module")
def sim():
    return simulate(n=600, d_z=2, d_e=4, n_proxies=3, alpha=10.0, random_state=2)


def test_a_regression_knows_the_fitted_rows_only():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    fitted = np.arange(80)
    moved = y + 50.0 * (np.arange(100) >= 80)
    before, after = regress(y, X, fitted), regress(moved, X, fitted)
    np.testing.assert_array_equal(before.fitted_y, after.fitted_y)
    assert before.rule == after.rule


def test_proxy_only_is_right_where_bias_is_random_and_too_small_where_it_goes_with_content(sim):
    random = simulate(n=600, d_z=2, d_e=4, n_proxies=3, alpha=10.0, random_state=2, w_a_scale=0.0)
    folds, truth = make_folds(random, 3), truth_of(random, 10.0)
    for answer, fold in zip(proxy_only(folds), folds, strict=True):
        scores = judge(answer, fold, truth)
        assert scores["alpha"] == pytest.approx(10.0, abs=0.3)
        assert scores["accuracy"] == 1.0
    assert max(answer.alpha for answer in proxy_only(make_folds(sim, 3))) < 9.5


def test_environment_only_says_what_the_regression_on_e_says(sim):
    """The difference in fitted values between its groups, taken again by hand."""
    fold = make_folds(sim, 3)[0]
    y, rows = fold.arrays.y, fold.fitted
    X = np.column_stack([np.ones(len(y)), fold.arrays.E])
    fitted = X @ np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]
    high = regress(y, fold.arrays.E, rows).biased[rows]
    by_hand = fitted[rows][high].mean() - fitted[rows][~high].mean()
    assert environment_only([fold])[0].alpha == pytest.approx(by_hand)


def test_the_oracle_is_near_the_truth_and_needs_the_true_a(sim):
    folds, truth = make_folds(sim, 3), truth_of(sim, 10.0)
    sizes = [answer.alpha for answer in oracle(folds, truth)]
    assert sizes == pytest.approx([10.0] * 3, abs=0.3)
    swapped = Truth(truth.y_true, 1.0 - truth.a, truth.z, 10.0)
    assert oracle(folds[:1], swapped)[0].alpha == pytest.approx(-10.0, abs=0.5)


def test_tedvae_attenuates_the_bias_where_its_treatment_is_the_trials_own():
    jobs = load_jobs()
    folds = make_folds(inject_bias(jobs.table, jobs.roles, alpha=5.0, random_state=0), 10)[:1]
    short = TedvaeSettings(PaperSettings(width=64, epochs=20, min_steps=150))
    groups = [answer.alpha for answer in tedvae(folds, short, seed=0)]
    trial = [answer.alpha for answer in tedvae(folds, short, seed=0, treatment="treat")]
    # The published figure for a bias of 5 is 1.3.
    assert max(np.abs(trial)) < 1.3
    assert min(groups) > 2.0 * max(np.abs(trial))


def test_tedvae_folds_together_equal_folds_alone(sim):
    folds = make_folds(sim, 3)
    together = [answer.alpha for answer in tedvae(folds, TINY, seed=1)]
    alone = [tedvae([fold], TINY, seed=1)[0].alpha for fold in folds]
    assert together == pytest.approx(alone, rel=1e-6)
    assert len(set(together)) == 3
