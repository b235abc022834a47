"""The rows kept of a fit: to the bit, and without gaps in their codes."""

from __future__ import annotations

import numpy as np
import pandas as pd

import proxycal
from proxycal.table.encode import Encoder
from proxycal.table.training import keep, take, training_from, training_state


def test_kept_rows_come_back_to_the_bit_and_gone_levels_leave_no_gap():
    table = pd.DataFrame({
        "y": np.arange(60.0), "p": np.sin(np.arange(60)), "e": np.cos(np.arange(60)),
        "h": ["a", "b", "c"] * 20, "w": np.arange(60) + 1.0, "g": np.arange(60) // 6,
    })  # fmt: skip
    roles = proxycal.Roles("y", ["p"], ["e", "h"], weights="w", cluster="g")
    arrays = Encoder.fit(table, roles).transform(table)
    values, tensors = training_state(arrays)
    again = training_from(values, tensors)
    for name in ("y", "P", "E", "weights", "cluster"):
        np.testing.assert_array_equal(getattr(again, name), getattr(arrays, name))
    assert again.level_names == arrays.level_names
    np.testing.assert_array_equal(again.levels["h"], arrays.levels["h"])
    part = take(arrays, np.flatnonzero(arrays.levels["h"] != 1)[12:])
    assert part.level_names["h"] == ("a", "c")
    assert set(part.levels["h"].tolist()) == {0, 1}
    assert part.cluster.min() == 0
    small = keep(arrays, seed=0, most=20)
    assert small.n == 20
    assert np.isin(small.y, arrays.y).all()
