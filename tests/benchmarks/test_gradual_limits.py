"""The limits of few clusters: exact without noise, and ordered by what is told."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import gradual
from benchmarks.gradual_limits import LEVEL, LINES, ONLY, SHAPE, limits

WORLD = f"sigmoid{gradual.CLUSTERED}"


def test_without_noise_only_the_wrong_shape_is_left():
    table, _ = gradual.draw(WORLD, 500, 4, seed=5)
    quiet = limits(table.assign(y=table["content"] + table["bias"]), gradual.SHAPES["sigmoid"])
    for told in (SHAPE, LEVEL, ONLY):
        assert quiet[told] == pytest.approx(0.0, abs=1e-9)
    # A sigmoid of this world is off the best straight line by about an eighth of its size.
    assert 0.08 < quiet[LINES] < 0.2


def test_whoever_is_told_more_is_left_with_less():
    tables = [gradual.draw(WORLD, 500, 4, seed)[0] for seed in range(30)]
    left = {told: np.mean([limits(table, gradual.SHAPES["sigmoid"])[told] for table in tables])
            for told in (LINES, SHAPE, LEVEL, ONLY)}  # fmt: skip
    assert left[LINES] > left[SHAPE] > left[LEVEL] > left[ONLY]
    # Six columns from 50 clusters with intercepts of sd 1: sqrt(6 / 43) over a bias of 2.4.
    assert left[LEVEL] == pytest.approx(np.sqrt(6.0 / 43.0) / 2.4, rel=0.15)
