"""Which models of a sample could be the best of all rows.

A sample says how much likelier a row is under one model than under another, on average, with an error that
shrinks with its size (Vuong 1989). What it leaves open, all rows decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.laws import posterior
from proxycal.mixture.select import expected_bic, size_of
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.candidates import Runner
    from proxycal.mixture.designs import Data
    from proxycal.mixture.laws import Rows

    Array = NDArray[np.float64]

# A model is out of reach when it is this many standard errors, and CLOSE in BIC, behind the best of its side:
# errors for what the sample cannot know, CLOSE for what steps that are not yet taken may bring.
ERRORS, CLOSE = 3.0, 6.0
# BICs that differ by less than this part of themselves are equal: rounding is a thousand times smaller.
TIE = 1e-9


def best_of(runners: Sequence[Runner]) -> Runner:
    """The model with the least BIC; of equal ones that with the fewest parameters."""
    least = min(r.bic for r in runners)
    equal = [r for r in runners if r.bic <= least + TIE * abs(least)]
    return min(equal, key=lambda r: (size_of(r.entrant.shape, r.entrant.params), r.entrant.shape.label))


def within_reach(
    runners: Sequence[Runner], data: Data, index: NDArray[np.intp], total: float
) -> list[Runner]:
    """The models of both sides that could be the best of theirs on rows of weight `total`, best first.

    index : rows of the data that the models were fitted to. Of a side that cannot win any more only the best
    goes on: who leads it changes no verdict.
    """
    weights = data.weights[index]
    seen = float(weights.sum())
    rows: dict[tuple[int, int], Rows] = {}
    expected, logliks = [], []
    for r in runners:
        key = id(r.frame), id(r.side)
        if key not in rows:
            rows[key] = r.frame.rows(r.side.of(data, index))
        logliks.append(posterior(r.entrant.params, rows[key], r.entrant.shape).loglik[0])
        expected.append(expected_bic(r.entrant, seen, total) - 2.0 * r.side.cost)
    order = [int(i) for i in np.argsort(expected, kind="stable")]
    claims = [r.entrant.shape.claims_bias for r in runners]
    first = {side: next(i for i in order if claims[i] == side) for side in (False, True)}

    def behind(one: int, other: int) -> float:
        """How far one is behind the other at the least, in BIC of all rows."""
        spread = deviation(logliks[one] - logliks[other], weights) * unseen(seen, total)
        return expected[one] - expected[other] - ERRORS * spread

    kept = []
    for i in order:
        own, rival = first[claims[i]], first[not claims[i]]
        if i == own or (behind(i, own) <= CLOSE and behind(i, rival) <= THRESHOLDS.too_far_behind):
            kept.append(runners[i])
    return kept


def deviation(values: Array, weights: Array) -> float:
    """Weighted standard deviation."""
    centred = values - np.average(values, weights=weights)
    return float(np.sqrt(np.average(centred**2, weights=weights)))


def unseen(seen: float, total: float) -> float:
    """Standard error of a difference of BIC on all rows, foretold by a sample, per sd of a row's difference.

    Twice the root of (total - seen) for the rows to come, times total / seen for the mean they are judged by.

    >>> unseen(100.0, 100.0)
    0.0
    """
    return 2.0 * float(np.sqrt(max(total - seen, 0.0) * total / seen))
