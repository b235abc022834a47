"""Folds are by unit, frozen on held-out rows, and the same whether trained together or one by one."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from proxycal.effect.match import match_effect
from proxycal.errors import SettingsError
from proxycal.methods.paper.settings import PaperSettings
from proxycal.settings import Settings
from proxycal.studies.protocol import (
    Answer,
    assign,
    exact_answers,
    judge,
    make_folds,
    paper_answers,
    truth_of,
)
from proxycal.testing.simulation import simulate

SMALL = Settings(
    direction="over",
    method="paper",
    sections={"paper": PaperSettings(d_z=2, width=8, epochs=3, min_steps=12, restarts=2)},
)


@pytest.fixture(scope="module")
def sim():
    return simulate(n=203, d_z=2, d_e=3, n_proxies=3, alpha=5.0, random_state=4)


def test_every_row_is_held_out_once_and_never_fitted_then(sim):
    folds = make_folds(sim)
    assert sorted(np.concatenate([fold.held_out for fold in folds]).tolist()) == list(range(203))
    for fold in folds:
        assert not set(fold.fitted) & set(fold.held_out)
        assert len(fold.fitted) + len(fold.held_out) == 203
        assert abs(len(fold.held_out) - 20.3) < 1


def test_clusters_stay_whole():
    cluster = np.random.default_rng(0).integers(0, 37, size=500)
    where = assign(500, 10, 1, cluster)
    assert all(len(np.unique(where[cluster == code])) == 1 for code in np.unique(cluster))
    assert np.ptp(np.bincount(where)) <= np.bincount(cluster).max()


def test_too_few_units_are_refused():
    with pytest.raises(SettingsError, match="10 folds of 4 units"):
        assign(40, 10, 0, np.repeat(np.arange(4), 10))


def test_the_encoder_knows_the_fitted_rows_only(sim):
    fold = make_folds(sim, 5)[2]
    assert np.abs(fold.arrays.P[fold.fitted].mean(axis=0)).max() < 1e-12
    assert np.abs(fold.arrays.P[fold.held_out].mean(axis=0)).max() > 1e-3


def test_held_out_outcomes_change_no_fit(sim):
    """Another outcome in the held-out rows of fold 0 leaves its estimate and its fitted rows as they were."""
    folds = make_folds(sim, 4)[:1]
    y = folds[0].arrays.y.copy()
    y[folds[0].held_out] += 100.0
    other = [replace(folds[0], arrays=replace(folds[0].arrays, y=y))]
    before, after = paper_answers(folds, SMALL)[0], paper_answers(other, SMALL)[0]
    rows = folds[0].fitted
    assert before.alpha == after.alpha
    np.testing.assert_array_equal(before.a[rows], after.a[rows])


def test_alpha_among_the_held_out_rows_is_matched_among_them_alone(sim):
    fold = make_folds(sim, 4)[0]
    usual, answer = (paper_answers([fold], SMALL, among_held_out=among)[0] for among in (False, True))
    out = fold.held_out
    by_hand = match_effect(fold.arrays.y[out], answer.z[out], answer.p_biased[out] > 0.5)
    assert answer.alpha == pytest.approx(by_hand.alpha)
    assert answer.alpha != usual.alpha
    np.testing.assert_array_equal(answer.a, usual.a)


@pytest.mark.parametrize("n", [200, 203])
def test_folds_trained_together_equal_folds_trained_one_by_one(n):
    # 200 rows make folds of one size; those of 203 need padding. A batch adds up in another order than a
    # loop, training in single precision makes more of the last digit, and how much depends on the processor.
    # Rows of another fold, or of the padding, would show in the first digit.
    near = 5e-3
    folds = make_folds(simulate(n=n, d_z=2, d_e=3, n_proxies=3, alpha=5.0, random_state=4), 4)
    together, apart = paper_answers(folds, SMALL), paper_answers(folds, SMALL, batched=False)
    for batched, alone in zip(together, apart, strict=True):
        assert batched.verdict == alone.verdict
        for name in (item.name for item in fields(Answer) if item.name != "verdict"):
            np.testing.assert_allclose(
                getattr(batched, name), getattr(alone, name), rtol=near, atol=near, err_msg=name
            )


def test_the_truth_as_answer_has_no_error(sim):
    truth, fold = truth_of(sim, 5.0), make_folds(sim, 5)[0]
    y = fold.arrays.y
    perfect = Answer(5.0, truth.a, truth.y_true, y, truth.z, truth.a, fold.arrays.P, np.full(203, 5.0))
    scores = judge(perfect, fold, truth)
    zero = ("alpha_error", "brier", "rmse_y_cal", "rmse_y_obs", "rmse_proxies", "z_mae", "a_mae")
    assert [scores[name] for name in zero] == pytest.approx([0.0] * len(zero), abs=1e-9)
    assert scores["accuracy"] == 1.0
    assert [scores["r2_z"], scores["r2_a"], scores["alpha_held_out"]] == pytest.approx([1.0, 1.0, 5.0])
    assert scores["rmse_y_uncalibrated"] > 2.0


def test_the_exact_method_finds_a_large_bias_in_every_fold(sim):
    folds, truth = make_folds(sim, 2), truth_of(sim, 5.0)
    scores = [
        judge(answer, fold, truth)
        for answer, fold in zip(exact_answers(folds, Settings(direction="over")), folds, strict=True)
    ]
    assert max(fold["alpha_error"] for fold in scores) < 0.5
    assert min(fold["accuracy"] for fold in scores) > 0.9
    assert all(fold["rmse_y_cal"] < fold["rmse_y_uncalibrated"] for fold in scores)
