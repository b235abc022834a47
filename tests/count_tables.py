"""Tables of counts without a bias, whose proxies are noisy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.table.roles import Roles

ROLES = Roles("cases", ["p1", "p2", "p3"], ["e1", "e2"])


def poisson_counts(mean, n=600, seed=0):
    """Poisson counts around a lognormal content, seen by three proxies with noise."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.4 * e.sum(axis=1) + rng.normal(size=n)
    p = z[:, None] + 0.6 * rng.normal(size=(n, 3))
    # The mean of exp(z / 2), whose variance is that of z over four.
    content = np.exp(0.5 * z - 0.125 * 1.32)
    table = pd.DataFrame(np.column_stack([p, e]), columns=[*ROLES.proxies, *ROLES.environment])
    return table.assign(cases=rng.poisson(mean * content).astype(float))
