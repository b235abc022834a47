"""Other seeds and parts of the rows: parts are as large as said, and the result must not depend on them."""

from __future__ import annotations

import numpy as np

from proxycal.questions.refute.seed import part_of, read


def test_parts_hold_their_share_and_clusters_stay_whole():
    rng = np.random.default_rng(0)
    assert len(part_of(100, 0.8, None, rng)) == 80
    cluster = np.repeat(np.arange(10), 7)
    rows = part_of(70, 0.5, cluster, rng)
    assert set(np.bincount(cluster[rows], minlength=10).tolist()) == {0, 7}
    assert len(rows) == 35


def test_the_verdict_stays_and_the_size_is_within_its_error(base, refits):
    same = read(base, refits(20, alpha=2.05))
    assert same.ok
    assert same.reading.startswith("100% of 20 refits")
    turned = read(base, refits(17) + refits(3, verdict="no bias found"))
    assert not turned.ok
    assert turned.reading.startswith("Only 85% of 20 refits")
    wild = read(base, refits(19) + refits(1, alpha=2.6))
    assert not wild.ok
    assert "alpha moves by up to 0.6 (standard error 0.1): a few rows" in wild.reading
