from __future__ import annotations

import numpy as np
import pytest

from proxycal.effect.likely import K_MATCH, match_likely
from proxycal.effect.match import match_effect
from proxycal.effect.uncertainty import normal_interval

ONES = np.ones(50)


def drawn() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=50), rng.normal(size=(50, 1))


@pytest.mark.parametrize("n_biased", [0, 1, K_MATCH - 1, 50 - K_MATCH + 1, 49, 50])
def test_a_group_smaller_than_a_match_is_no_group(n_biased):
    y, z = drawn()
    controls, estimate = match_likely(y, z, np.where(np.arange(50) < n_biased, 0.9, 0.1), ONES, None, 0.95)
    assert controls is None
    assert np.isnan(estimate.alpha)
    assert "no match" in estimate.note


def test_rows_more_likely_biased_than_not_are_matched_with_the_others():
    y, z = drawn()
    p_biased = np.random.default_rng(1).random(50)
    p_biased[0] = 0.5  # as likely as not: a control
    controls, estimate = match_likely(y, z, p_biased, ONES, None, 0.9)
    known = match_effect(y, z, p_biased > 0.5, K_MATCH, ONES, None)
    assert (estimate.alpha, estimate.se) == (known.alpha, known.se)
    assert (estimate.low, estimate.high) == normal_interval(known.alpha, known.se, 0.9)
    assert controls.rows.sum() == (p_biased <= 0.5).sum()
