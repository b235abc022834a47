"""Encoded rows come back as the table has them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.table.decode import decoded, joined
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles

ROLES = Roles("y", ["area", "kind"], ["income", "gap"], cluster="county", counts="times")


def table(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "area": np.where(rng.random(n) < 0.2, 0.0, np.exp(rng.normal(size=n))),
            "kind": rng.choice(["a", "b", "c"], n),
            "income": 5e4 + 1e4 * rng.normal(size=n),
            "gap": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "county": rng.integers(0, 9, n),
            "times": rng.integers(1, 4, n),
        }
    )


def test_numbers_levels_gaps_and_zeros_come_back():
    frame = table()
    encoder = Encoder.fit(frame, ROLES, "impute", log_proxies=["area"])
    found = decoded(encoder, encoder.transform(frame))
    for name in ("y", "area", "income", "gap"):
        # Standardised and back: a few units in the last place.
        assert np.allclose(found.numbers[name], frame[name], rtol=1e-12, atol=1e-12, equal_nan=True)
    codes, names = found.levels["kind"]
    assert [names[code] for code in codes] == frame["kind"].tolist()
    assert found.weights.tolist() == frame["times"].tolist()
    assert found.n == 60


def test_parts_are_joined_and_their_clusters_kept_apart():
    frame = table()
    encoder = Encoder.fit(frame, ROLES, "impute", log_proxies=["area"])
    parts = [decoded(encoder, encoder.transform(part)) for part in (frame[:20], frame[20:])]
    both = joined(parts, parts[0])
    assert np.allclose(both.numbers["y"], frame["y"])
    assert not set(both.cluster[:20]) & set(both.cluster[20:])
    assert joined([], parts[0]).n == 0
