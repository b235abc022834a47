"""Columns outside the fit: against Bayes' rule with every parameter known, and what they repair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from proxycal.effect.draws import Draws, Moved
from proxycal.effect.outside import biased_given, left_over, shrinkage

SIZE, SD, SLOPE, NOISE = 1.5, 1.0, 0.8, 0.5


@pytest.fixture(scope="module")
def rows():
    """Truth around a proxy, two reports of five biased by 1.5 sd, w that follows the truth."""
    rng = np.random.default_rng(7)
    n = 4000
    x = rng.normal(size=n)
    truth = x + SD * rng.normal(size=n)
    biased = rng.random(n) < 0.4
    w = SLOPE * truth - 0.3 * x + NOISE * rng.normal(size=n)
    return x, truth, biased, truth + SIZE * biased, w


def p_of(x, y, w=None):
    """P(biased | report, proxy[, w]) with everything known."""
    law = [np.log(share) + norm.logpdf(y - size, x, SD) for share, size in ((0.6, 0.0), (0.4, SIZE))]
    if w is not None:
        law = [
            one + norm.logpdf(w, SLOPE * (y - size) - 0.3 * x, NOISE)
            for one, size in zip(law, (0.0, SIZE), strict=True)
        ]
    return 1.0 / (1.0 + np.exp(law[0] - law[1]))


def drawn(rows, m, with_w, seed=0):
    x, _, _, y, w = rows
    p = p_of(x, y)
    odds = np.log(p / (1.0 - p))
    now = Moved(np.tile(odds, (m, 1)), np.full((m, len(y)), SIZE))
    draws = Draws(np.zeros((m, 0)), seed)
    outside = w[:, None] if with_w else np.full((len(y), 1), np.nan)
    return biased_given(now, y, x[:, None], outside, None, draws, np.arange(len(y)))


def test_the_draws_have_heard_of_the_column(rows):
    x, _, _, y, w = rows
    share = drawn(rows, 60, True).mean(axis=0)
    exact = p_of(x, y, w)
    # Grouped by the exact probability, shares agree within four standard errors of 60 draws of 400 rows and
    # what the regression of w, of 4,000 rows, does not know of its slope.
    for group in np.array_split(np.argsort(exact), 10):
        assert abs(share[group].mean() - exact[group].mean()) < 0.02
    assert np.mean((share - exact) ** 2) < 0.1 * np.mean((p_of(x, y) - exact) ** 2)


def test_slopes_shrink_without_it_by_what_is_said(rows):
    x, truth, _, y, w = rows
    design = np.column_stack([np.ones_like(x), x, w])

    def slope(target):
        return np.linalg.lstsq(design, target, rcond=None)[0][2]

    blind = np.mean([slope(y - SIZE * a) for a in drawn(rows, 20, False)])
    heard = np.mean([slope(y - SIZE * a) for a in drawn(rows, 20, True)])
    p = p_of(x, y)
    completed = np.array([y - SIZE * a for a in drawn(rows, 5, False)])
    said = shrinkage(completed, SIZE**2 * p * (1.0 - p), x[:, None])
    assert said > 0.1
    # The slope has a standard error of 0.009, a hundredth of it.
    assert abs(1.0 - blind / slope(truth) - said) < 0.04
    assert abs(heard / slope(truth) - 1.0) < 0.03


def test_rows_without_the_column_are_drawn_as_before(rows):
    x, _, _, y, w = rows
    gone = np.arange(len(y)) % 2 == 0
    now = Moved(np.zeros((2, len(y))), np.full((2, len(y)), SIZE))
    draws = Draws(np.zeros((2, 0)), 0)
    made = biased_given(
        now, y, x[:, None], np.where(gone, np.nan, w)[:, None], None, draws, np.arange(len(y))
    )
    plain = draws.uniforms(np.arange(len(y)))[:, 0] < 0.5
    assert np.array_equal(made[:, gone], plain[:, gone])
    assert not np.array_equal(made[:, ~gone], plain[:, ~gone])


def test_too_few_rows_and_columns_that_say_nothing_new_change_nothing(rows):
    x, _, _, y, w = rows
    few = slice(0, 30)
    now = Moved(np.zeros((2, 30)), np.full((2, 30), SIZE))
    draws = Draws(np.zeros((2, 0)), 0)
    plain = draws.uniforms(np.arange(30))[:, 0] < 0.5
    wide = np.column_stack([w, w**2, w**3])[few]
    assert np.array_equal(biased_given(now, y[few], x[few, None], wide, None, draws, np.arange(30)), plain)
    same = 2.0 * x[few, None] + 1.0
    assert np.array_equal(biased_given(now, y[few], x[few, None], same, None, draws, np.arange(30)), plain)


def test_what_is_left_is_orthogonal_and_of_full_rank(rows):
    x, _, _, _, w = rows
    basis, left = left_over(np.column_stack([x, 2 * x]), np.column_stack([w, w + x, np.ones_like(w), w**2]))
    assert basis.shape[1] == 2
    assert left.shape[1] == 2
    np.testing.assert_allclose(basis.T @ left, 0.0, atol=1e-8)
    np.testing.assert_allclose(left.T @ left / len(x), np.eye(2), atol=1e-8)
