"""The shape of the noise and gaps in content: against closed forms and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, jarque_bera

from proxycal.methods.checks.outcome import content_gap, normality


def test_normality_is_that_of_jarque_and_bera_where_all_is_known():
    x = np.random.default_rng(3).exponential(size=50)
    p, skew = normality(x, np.zeros(50), np.zeros(50), np.ones(50))
    reference = jarque_bera(x)
    assert p == pytest.approx(reference.pvalue)
    assert skew == pytest.approx(((x - x.mean()) ** 3).mean() / x.std() ** 3)
    # A row twice is a weight of two; in pairs that are clusters, one row.
    twice = np.repeat(x, 2)
    assert normality(x, np.zeros(50), np.zeros(50), np.full(50, 2.0))[0] == pytest.approx(p)
    pairs = normality(twice, np.zeros(100), np.zeros(100), np.ones(100), np.repeat(np.arange(50), 2))
    assert chi2.isf(pairs[0], 2) == pytest.approx(chi2.isf(p, 2))


def test_the_gap_by_hand_and_only_where_the_environment_tells():
    rng = np.random.default_rng(0)
    side = np.repeat([-1.0, 1.0], 500)
    content = 3.0 * side + rng.normal(size=1000)
    E, w = np.column_stack([side + 0.2 * rng.normal(size=1000), rng.normal(size=1000)]), np.ones(1000)
    gap, told = content_gap(content, E, w)
    # Groups 6 sds apart, each reaching 1.645 towards the other.
    assert gap == pytest.approx(6.0 - 2 * 1.645, abs=0.3)
    assert told == pytest.approx(1 / 1.04, abs=0.02)
    assert content_gap(content, E[:, 1:], w)[1] < 0.1
    assert content_gap(rng.normal(size=5000), rng.normal(size=(5000, 1)), np.ones(5000))[0] < 0.35
    assert content_gap(np.ones(10), np.ones((10, 1)), np.ones(10)) == (0.0, 0.0)
