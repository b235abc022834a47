"""Weights that are not above 0 or let a few rows decide, and counts that are no numbers of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.table.audit import audit
from proxycal.table.roles import Roles

N = 60


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N, 4))
    return pd.DataFrame(numbers, columns=["y", "p", "q", "e"]).assign(w=rng.uniform(1, 2, N), c=2)


def found(table, **roles):
    findings = audit(table, Roles("y", ["p", "q"], ["e"], **roles))
    return {finding.topic: finding for finding in findings if finding.topic in roles}


def test_weights_and_counts_in_order(table):
    both = found(table, weights="w", counts="c")
    assert both["weights"].ok
    assert both["counts"].ok


def test_a_weight_of_nothing_is_named(table):
    table.loc[3, "w"] = 0.0
    assert "not above 0" in found(table, weights="w")["weights"].reading


@pytest.mark.parametrize("count", [0, 1.5, -2])
def test_a_count_is_a_whole_number_of_rows(table, count):
    table["c"] = table["c"].astype(float)
    table.loc[3, "c"] = count
    finding = found(table, counts="c")["counts"]
    assert not finding.ok
    assert "cannot be a number of rows" in finding.reading
