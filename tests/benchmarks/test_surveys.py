"""Samples drawn again have the weights and sizes of their design, and a page says what they came to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import surveys
from proxycal.errors import TableError


@pytest.mark.parametrize("design", list(surveys.DESIGNS))
def test_weights_stand_for_the_population(design):
    try:
        schools = surveys.population()
    except TableError as error:
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    made = [surveys.redraw(design, rng) for _ in range(300)]
    sums = np.array([table["pw"].sum() for table in made])
    assert abs(sums.mean() - len(schools)) < 4.0 * max(sums.std() / np.sqrt(len(sums)), 1e-9)
    asked = surveys.DESIGNS[design].on(made[0]).total("api00")
    assert asked.se.iloc[0] > 0.0


def test_a_page_tells_samples_with_a_finding_from_all():
    row = {"design": "apistrat", "n": 200, "true": 10.0, "error": None, "fmi": 0.1}
    for how, value in (("calibrated", 10.0), ("truth", 10.0), ("reported", 12.0)):
        row |= {how: value, f"{how}_se": 1.0, f"{how}_low": value - 1.5, f"{how}_high": value + 1.5}
    missed = {"found": "not identified", "calibrated": 12.5, "truth": 10.1, "reported": 12.5}
    trials = pd.DataFrame([row | {"found": "bias found"}, row | missed])
    every, found = surveys.page(trials).parts
    assert [line["coverage"] for line in every.rows] == ["100.0%", "100.0%", "0.0%"]
    assert [line["beside true scores"] for line in every.rows] == ["+11.9%", "+0.0%", "+21.9%"]
    assert [line["samples"] for line in found.rows] == ["1", "1"]
