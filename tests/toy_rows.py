"""Small arrays for tests of what is done with a fit."""

from __future__ import annotations

import numpy as np

from proxycal.table.encode import Arrays


def toy_arrays(n: int, seed: int = 0) -> Arrays:
    """n rows: reports around 10, one proxy and one environment column, both standard normal."""
    rng = np.random.default_rng(seed)
    return Arrays(
        y=10.0 + rng.normal(size=n),
        P=rng.normal(size=(n, 1)),
        E=rng.normal(size=(n, 1)),
        weights=np.ones(n),
        cluster=None,
        truth=None,
        kept=np.ones(n, dtype=bool),
        proxy_names=("p",),
        environment_names=("e",),
        levels={},
        level_names={},
        environment_source=("e",),
        categorical=(False,),
        proxy_source=("p",),
        proxy_categorical=(False,),
    )
