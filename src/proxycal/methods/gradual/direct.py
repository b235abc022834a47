"""Which proxy does the environment reach directly, and by which column? A robust score test for each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from proxycal.tails import f_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Basis
    from proxycal.methods.gradual.mimic import MimicFit
    from proxycal.methods.gradual.moments import Reduced

    Array = NDArray[np.float64]

# A direct effect of which less than this share is left once content has adapted to it cannot be tested.
TESTABLE = 0.02


@dataclass(frozen=True, slots=True)
class DirectEffect:
    """The most suspect pair: index of the proxy, environment column, p-value corrected for all pairs."""

    proxy: int
    column: str
    p: float


def strongest_direct_effect(fit: MimicFit, reduced: Reduced, basis: Basis, units: int) -> DirectEffect | None:
    """Score test of a direct effect of each environment column on each proxy; None where none can be tested.

    The over-identification test spreads over all restrictions at once; a proxy that one column reaches along
    a straight line is seen in far fewer rows by asking for just that.
    """
    tests = _tests(fit, reduced, basis, units)
    if not tests:
        return None
    proxy, column, p = min(tests, key=lambda test: test[2])
    return DirectEffect(proxy, column, min(p * len(tests), 1.0))


def _tests(fit: MimicFit, reduced: Reduced, basis: Basis, units: int) -> list[tuple[int, str, float]]:
    k1, width = reduced.slopes.shape
    owners, straight = np.array(basis.owners), ~basis.bent
    directions = np.linalg.inv(reduced.whiten)[:, straight]
    # d slopes / d effect has the columns' directions in the rows of one proxy, zeros elsewhere.
    starts = fit.contents.curvature.of_slopes.diagonal()[:-1, None, None] * (directions.T @ directions)
    lefts, spreads = (directions.T @ blocks @ directions for blocks in (fit.left, fit.left_cov))
    weighted = fit.contents.curvature.times(fit.misfit[:, None])[: (k1 - 1) * width, 0]
    scores = weighted.reshape(k1 - 1, width) @ directions
    pairs, statistics, ranks = [], [], []
    for name in dict.fromkeys(basis.owners):
        columns = np.flatnonzero(owners[straight] == name)
        block = (slice(None), columns[:, None], columns)
        of_proxies = zip(lefts[block], starts[block], spreads[block], scores[:, columns], strict=True)
        for proxy, given in enumerate(of_proxies):
            statistic, rank = score_statistic(*given)
            if 0 < rank < units:
                pairs.append((proxy, str(name)))
                statistics.append(statistic)
                ranks.append(rank)
    df = np.array(ranks, dtype=float)
    f = np.array(statistics) * (units - df) / ((units - 1) * df)
    chances = f_sf(f, df, units - df)
    return [(proxy, name, float(p)) for (proxy, name), p in zip(pairs, chances, strict=True)]


def score_statistic(left: Array, start: Array, spread: Array, score: Array) -> tuple[float, int]:
    """The score statistic of some columns, and in how many directions they can be tested."""
    if len(score) == 1:  # most columns: no need of an eigenvector
        if not left[0, 0] > TESTABLE * start[0, 0]:
            return 0.0, 0
        return float(score[0] ** 2 / spread[0, 0]), 1
    shares, vectors = linalg.eigh(left, start)
    tested = vectors[:, shares > TESTABLE]
    moved = score @ tested
    return float(moved @ np.linalg.solve(tested.T @ spread @ tested, moved)), tested.shape[1]
