"""Tables of losses in dollars whose bias is a factor, with zeros."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.table.roles import Roles

ROLES = Roles("loss", ["p1", "p2", "p3"], ["e1", "e2"])
KEPT = 0.3


def losses(n=1500, zeros=0.25, seed=0, direction="under"):
    """Reports of 30% of the truth, or of 1/0.3 of it, by a third of the rows."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.4 * e[:, 0] + rng.normal(size=n)
    p = z[:, None] + 0.3 * rng.normal(size=(n, 3))
    true = np.exp(10.0 + 1.5 * z + 0.3 * rng.normal(size=n))
    true[rng.random(n) < zeros] = 0.0
    a = rng.random(n) < 1.0 / (1.0 + np.exp(0.8 - 1.5 * e[:, 0] - e[:, 1]))
    factor = KEPT if direction == "under" else 1.0 / KEPT
    table = pd.DataFrame(np.column_stack([p, e]), columns=[*ROLES.proxies, *ROLES.environment])
    return table.assign(loss=true * np.where(a, factor, 1.0)), true, a
