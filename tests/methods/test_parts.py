from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from proxycal.effect.match import match_effect, match_new
from proxycal.errors import TableError
from proxycal.methods.parts import controls_from, controls_tensors, hold_out, outcome_of


def test_hold_out_is_a_ninth_and_splits_the_rows():
    train, validation = hold_out(900, 1 / 9, seed=3)
    assert len(validation) == 100
    assert sorted([*train, *validation]) == list(range(900))
    assert not np.array_equal(validation, hold_out(900, 1 / 9, seed=4)[1])
    assert len(hold_out(20, 1 / 9, seed=0)[1]) == 10


def test_hold_out_keeps_clusters_together():
    cluster = np.repeat(np.arange(30), 10)
    train, validation = hold_out(300, 1 / 9, seed=0, cluster=cluster)
    assert not set(cluster[train]) & set(cluster[validation])
    assert 30 <= len(validation) <= 40
    giant = np.array([0] * 90 + [1] * 10)
    assert set(giant[hold_out(100, 1 / 9, seed=0, cluster=giant)[1]]) == {1}
    assert len(hold_out(100, 1 / 9, seed=0, cluster=np.zeros(100, dtype=int))[1]) == 11


def test_the_rows_that_others_are_matched_to_come_back():
    rng = np.random.default_rng(0)
    y, z, biased = rng.normal(size=80), rng.normal(size=(80, 2)), np.arange(80) < 30
    # Weights, so that the weight of a point is not the number of its rows.
    controls = match_effect(y, z, biased, k=3, weights=rng.uniform(1.0, 3.0, 80)).controls
    tensors = controls_tensors(controls)
    assert all(type(value) is np.ndarray and value.flags.c_contiguous for value in tensors.values())
    again = controls_from(tensors, k=3)
    for name in ("z", "mean_y", "weight", "rows", "position", "slope"):
        np.testing.assert_array_equal(getattr(again, name), getattr(controls, name))
    new = rng.normal(size=(10, 2))
    one, other = (match_new(kept, y[:10], new, biased[:10]) for kept in (controls, again))
    np.testing.assert_array_equal(one.tau, other.tau)
    np.testing.assert_array_equal(one.neighbours, other.neighbours)


def test_a_table_without_its_outcome_is_refused():
    y = np.zeros(3)
    assert outcome_of(SimpleNamespace(y=y)) is y
    with pytest.raises(TableError, match="outcome column is needed"):
        outcome_of(SimpleNamespace(y=None))
