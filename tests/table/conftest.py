from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.table.roles import Roles


@pytest.fixture
def roles() -> Roles:
    return Roles(outcome="loss", proxies=["built", "veg"], environment=["income", "hazard"])


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 60
    return pd.DataFrame(
        {
            "loss": rng.normal(10, 3, n),
            "built": rng.normal(size=n),
            "veg": rng.normal(5, 2, n),
            "income": rng.lognormal(10, 1, n),
            "hazard": rng.choice(["flood", "storm", "fire"], n),
            "weight": rng.integers(1, 4, n).astype(float),
            "county": rng.choice(["a", "b", "c", "d"], n),
            "row": [f"r{i}" for i in range(n)],
            "audited": np.where(rng.random(n) < 0.3, rng.normal(9, 3, n), np.nan),
        }
    )
