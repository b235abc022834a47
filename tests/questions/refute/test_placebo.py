"""Shuffled proxies: nothing is lost but their tie to the outcome, and no bias may be found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from proxycal.questions.refute.placebo import read, shuffled


def test_shuffled_rows_stay_whole_and_none_is_lost():
    P = np.column_stack([np.arange(50.0), np.arange(50.0) ** 2])
    out = shuffled(P, np.random.default_rng(0))
    np.testing.assert_array_equal(out[:, 1], out[:, 0] ** 2)
    np.testing.assert_array_equal(np.sort(out[:, 0]), P[:, 0])
    assert not np.array_equal(out, P)


def test_the_bias_must_not_be_found_any_more(base, refits):
    gone = read(base, refits(10, verdict="not identified"))
    assert gone.ok
    assert "found in 0% of 10 tables: the verdict depends on the proxies" in gone.reading
    still = read(base, refits(10))
    assert not still.ok
    assert still.value == 1.0
    assert "still found in 100% of 10 tables" in still.reading
    unclaimed = read(replace(base, verdict="no bias found"), refits(10, verdict="no bias found"))
    assert unclaimed.ok
    assert unclaimed.reading.endswith("with shuffled proxies one was found in 0% of 10 tables.")
