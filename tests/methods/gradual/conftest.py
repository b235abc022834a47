"""A small table for sums over rows."""

import numpy as np
import pytest


@pytest.fixture
def rows():
    """Basis (400, 3), proxies (400, 2), outcome and weights (400,)."""
    rng = np.random.default_rng(3)
    n = 400
    basis = rng.normal(size=(n, 3))
    proxies = basis @ rng.normal(size=(3, 2)) + rng.normal(size=(n, 2))
    outcome = basis @ rng.normal(size=3) + rng.normal(size=n)
    return basis, proxies, outcome, rng.uniform(0.5, 3.0, size=n)
