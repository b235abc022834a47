from __future__ import annotations

import numpy as np

from proxycal.methods.parts import hold_out


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
