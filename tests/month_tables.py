"""Rows of known laws for comparisons: sizes in dollars, shares, signed numbers and a category."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.table.decode import decoded
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles

ROLES = Roles("loss", ["area", "wind", "index"], ["income", "share", "slope", "region"])


def rows(n, seed=0, ratio=0.6, mix=(0.5, 0.3, 0.2)):
    """Losses of which a third of the rows report `ratio`."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 3))
    region = rng.choice(3, n, p=mix)
    z = 0.5 * e[:, 0] + 0.4 * (region == 1) + rng.normal(size=n)
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(0.8 - 1.2 * e[:, 0] - 0.8 * e[:, 2]))
    return pd.DataFrame(
        {
            "loss": np.exp(11.0 + z + 0.4 * rng.normal(size=n)) * np.where(biased, ratio, 1.0),
            "area": np.exp(2.0 + 0.8 * z + 0.4 * rng.normal(size=n)),
            "wind": 60.0 + 12.0 * z + 8.0 * rng.normal(size=n),
            "index": z + 0.5 * rng.normal(size=n),
            "income": np.exp(10.8 + 0.25 * e[:, 0]),
            "share": 1.0 / (1.0 + np.exp(1.5 - 0.8 * e[:, 1])),
            "slope": e[:, 2],
            "region": np.array(["north", "south", "west"])[region],
        }
    )


def values(table, fitted=None):
    """The rows as comparisons see them, in the units of the fitted table, and its encoder."""
    encoder = Encoder.fit(table if fitted is None else fitted, ROLES, log_proxies=("area",))
    return decoded(encoder, encoder.transform(table))
