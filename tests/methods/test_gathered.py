"""Validated rows from the pieces of a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from proxycal import simulate
from proxycal.errors import TableError
from proxycal.methods import gathered
from proxycal.methods.gathered import validated_rows
from proxycal.table.encode import Encoder


@pytest.fixture(scope="module")
def arrays():
    sim = simulate(n=60, d_z=2, alpha=3.0, random_state=0)
    known = sim.truth["y_true"].where(np.arange(60) % 4 == 0)
    table = sim.table.assign(known=known)
    return Encoder.fit(table, replace(sim.roles, truth="known")).transform(table)


def test_the_validated_rows_of_pieces_are_those_of_the_whole(arrays):
    pieces = [arrays.take(np.arange(start, start + 20)) for start in (0, 20, 40)]
    first, second, third = map(validated_rows, pieces)
    joined, whole = (first + second + third).joined(), validated_rows(arrays).joined()
    assert joined.n == 15
    for name in ("y", "P", "E", "weights", "truth"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert np.isfinite(joined.truth).all()


def test_more_than_memory_should_hold_are_refused(arrays, monkeypatch):
    monkeypatch.setattr(gathered, "MOST_KNOWN", 20)
    with pytest.raises(TableError, match="more than 20 validated rows of a table that is read in pieces"):
        validated_rows(arrays) + validated_rows(arrays)
