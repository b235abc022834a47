"""Single numbers of the evidence against closed forms."""

import math

import numpy as np
import pytest

from proxycal.methods.exact.measures import overlap_of, relevance_of
from proxycal.mixture.designs import Data


def test_relevance_is_the_partial_r2_of_the_proxies():
    rng = np.random.default_rng(1)
    n = 4000
    E, P = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    data = Data(np.zeros(n), P, E, np.ones(n), np.zeros(5, bool))
    # Variance 4 from E, which does not count; 1 from P; 3 of noise.
    y = 2.0 * E[:, 0] + P[:, 0] + np.sqrt(3.0) * rng.normal(size=n)
    assert relevance_of(y, data) == pytest.approx(0.25, abs=0.03)
    assert relevance_of(rng.normal(size=n), data) < 0.01


def test_relevance_of_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(2)
    E, P, y = rng.normal(size=(50, 1)), rng.normal(size=(50, 2)), rng.normal(size=50)
    y = y + P[:, 0]
    times = rng.integers(1, 4, 50)
    again = np.repeat(np.arange(50), times)
    weighted = Data(y, P, E, times.astype(float), np.zeros(3, bool))
    repeated = Data(y[again], P[again], E[again], np.ones(len(again)), np.zeros(3, bool))
    assert relevance_of(y, weighted) == pytest.approx(relevance_of(y[again], repeated), rel=1e-9)


def test_overlap_is_the_share_of_biased_rows_among_the_unbiased():
    content = np.r_[np.linspace(0.0, 1.0, 101), [0.5, 0.2, 3.0, 4.0]]
    p = np.r_[np.zeros(101), np.ones(4)]
    assert overlap_of(content, p) == 0.5
    assert math.isnan(overlap_of(content, np.zeros(105)))
