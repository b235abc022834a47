from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxycal.mixture.sums import Elsewhere, Summed, add_up


@dataclass(frozen=True, slots=True)
class Total(Summed):
    count: float
    vector: np.ndarray
    extra: np.ndarray | None


def total(chunk, extra=True) -> Total:
    return Total(float(len(chunk)), chunk.sum(axis=0), chunk[0] if extra else None)


CHUNKS = [np.arange(6.0).reshape(3, 2), np.ones((1, 2)), np.full((2, 2), 5.0)]


def test_records_add_field_by_field_and_none_stays_none():
    added = total(CHUNKS[0]) + total(CHUNKS[1])
    assert type(added) is Total
    assert added.count == 4.0
    np.testing.assert_array_equal(added.vector, [7.0, 10.0])
    np.testing.assert_array_equal(added.extra, [1.0, 2.0])
    assert (total(CHUNKS[0], extra=False) + total(CHUNKS[1], extra=False)).extra is None


def test_chunks_add_up_to_the_whole():
    whole = add_up(CHUNKS, total)
    np.testing.assert_array_equal(whole.vector, np.concatenate(CHUNKS).sum(axis=0))
    assert whole.count == 6.0


def test_rows_elsewhere_are_added_where_they_are():
    class Far(Elsewhere):
        def add_up(self, function):
            return function(np.concatenate(CHUNKS))

    assert add_up(Far(), total).count == 6.0
