"""Designs where the answer is a textbook formula, and what cannot be a design."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal import ProxycalError
from proxycal.survey.design import replicates_of, stages_of
from proxycal.survey.estimates import estimate

Y = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])


def test_a_simple_sample_without_replacement():
    """N (N - n) s^2 / n."""
    design = stages_of(8, [], [], [np.full(8, 40.0)])
    done = estimate(np.full(8, 5.0), design, Y)
    assert done.estimate == 5.0 * Y.sum()
    assert done.se**2 == pytest.approx(40.0 * 32.0 * Y.var(ddof=1) / 8.0)
    share = stages_of(8, [], [], [np.full(8, 0.2)])
    assert estimate(np.full(8, 5.0), share, Y).se == pytest.approx(done.se)


def test_two_stages_by_hand():
    """Four of ten clusters, two of three rows of each: both stages add."""
    clusters = np.repeat(np.arange(4), 2)
    design = stages_of(8, [], [clusters, np.arange(8)], [np.full(8, 10.0), np.full(8, 3.0)])
    w = np.full(8, 10.0 / 4.0 * 3.0 / 2.0)
    totals = np.add.reduceat(w * Y, np.arange(0, 8, 2))
    first = (1.0 - 0.4) * 4.0 / 3.0 * np.sum((totals - totals.mean()) ** 2)
    pairs = (w * Y).reshape(4, 2)
    second = 0.4 * np.sum((1.0 - 2.0 / 3.0) * 2.0 * ((pairs - pairs.mean(axis=1)[:, None]) ** 2).sum(axis=1))
    assert estimate(w, design, Y).se ** 2 == pytest.approx(first + second)
    assert estimate(w, design, Y).df == 3.0


def test_clusters_of_two_strata_may_share_their_names():
    strata, clusters = np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2)
    same = stages_of(8, [strata], [clusters], [])
    other = stages_of(8, [strata], [clusters + 10 * strata], [])
    assert estimate(np.ones(8), same, Y).se == estimate(np.ones(8), other, Y).se
    assert same.degrees(np.ones(8, dtype=bool)) == 2.0


def test_a_census_has_no_error_and_a_lonely_cluster_is_refused():
    everybody = stages_of(8, [], [], [np.full(8, 8.0)])
    assert estimate(np.ones(8), everybody, Y).se == 0.0
    strata = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    with pytest.raises(ProxycalError, match="one sampled cluster"):
        estimate(np.ones(8), stages_of(8, [strata], [], []), Y)
    certain = stages_of(8, [strata], [], [], "certainty")
    assert estimate(np.ones(8), certain, Y).se ** 2 == pytest.approx(7.0 * Y[:7].var(ddof=1))


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        (np.full(8, 5.0), "below the number of sampled clusters"),
        (np.full(8, -1.0), "above 0"),
        (np.arange(20.0, 28.0), "differ within a stratum"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes, says):
    with pytest.raises(ProxycalError, match=says):
        stages_of(8, [], [], [sizes])


def test_replicates_have_the_factor_of_their_kind():
    weights = np.ones((5, 8))
    scales = [
        replicates_of(weights, kind, None, None, 0.5).scale for kind in ("BRR", "Fay", "JK1", "bootstrap")
    ]
    np.testing.assert_allclose(scales, [0.2, 0.8, 0.8, 0.25])
    assert replicates_of(weights, "BRR", 3.0, None, 0.0).scale == 3.0
    for kind, rscales, says in (
        ("JKn", None, "needs rscales"),
        ("JK2", None, "not known"),
        ("BRR", [1], "1 val"),
    ):
        with pytest.raises(ProxycalError, match=says):
            replicates_of(weights, kind, None, rscales, 0.0)
