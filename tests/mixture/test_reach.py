"""Which models of a sample go on to all rows."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.compare import fit_exact
from proxycal.mixture.criterion import bic, expected_bic, size_of
from proxycal.mixture.designs import Data
from proxycal.mixture.reach import best_of, unseen, within_reach
from proxycal.testing.worlds import draw_world


@pytest.fixture(scope="module")
def data():
    world = draw_world("t3", 600, 2.0, seed=1)
    return Data(world.y, world.P, world.E, np.ones(600), np.zeros(10, bool))


@pytest.fixture(scope="module")
def candidates(data):
    return list(fit_exact(data, max_j=2).candidates)


def worse(candidate, loglik):
    """The same model with less log likelihood."""
    model = candidate.model
    return replace(
        candidate, model=replace(model, loglik=model.loglik - loglik, bic=model.bic + 2.0 * loglik)
    )


def test_the_bic_to_expect_of_a_sample_that_is_all_rows_is_its_own(candidates):
    for candidate in candidates:
        assert expected_bic(candidate.model, 600.0, 600.0) == pytest.approx(candidate.bic)


def test_more_rows_pay_for_more_parameters(candidates):
    model = candidates[0].model
    k = size_of(model.shape, model.params)
    ten_times = expected_bic(model, 600.0, 6000.0)
    assert ten_times == pytest.approx(bic(model.shape, 10.0 * model.loglik - 9.0 * k, model.params, 6000.0))


def test_the_error_of_a_forecast_is_that_of_simulated_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 500))
    missed = 2.0 * (rows.sum(axis=1) - 5.0 * rows[:, :100].sum(axis=1))
    assert missed.std() == pytest.approx(unseen(100.0, 500.0), rel=0.05)


def test_the_more_rows_are_unseen_the_more_models_are_within_reach(candidates, data):
    index = np.arange(600)
    counts = [len(within_reach(candidates, data, index, total)) for total in (600.0, 1200.0, 60_000.0)]
    assert counts[0] <= counts[1] <= counts[2]
    assert counts[0] < counts[2] < len(candidates)


def test_a_model_that_is_far_behind_is_dropped_and_a_kind_keeps_its_best(candidates, data):
    claims = [candidate for candidate in candidates if candidate.claims_bias]
    others = [worse(candidate, 1000.0) for candidate in candidates if not candidate.claims_bias]
    kept = within_reach([*claims, *others], data, np.arange(600), 600.0)
    best = min(others, key=lambda candidate: candidate.bic)
    assert [candidate for candidate in kept if not candidate.claims_bias] == [best]
    assert kept[0] is min(claims, key=lambda candidate: candidate.bic)


def test_of_equal_models_the_smaller_is_the_best_whatever_rounding_says(candidates):
    small, large = sorted(
        candidates[:2], key=lambda candidate: size_of(candidate.model.shape, candidate.model.params)
    )
    for rounding in (-1e-7, 0.0, 1e-7):
        tied = replace(large, model=replace(large.model, bic=small.bic + rounding))
        assert best_of([tied, small]) is small
        assert best_of([small, tied]) is small
    ahead = replace(large, model=replace(large.model, bic=small.bic - 1e-3))
    assert best_of([small, ahead]) is ahead
