"""Which models of a sample could be the best of all rows.

A sample says how much likelier a row is under one model than under another, on average, with an error that
shrinks with its size (Vuong 1989). What it leaves open, all rows decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.criterion import expected_bic, size_of
from proxycal.mixture.laws import posterior
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.candidates import Candidate
    from proxycal.mixture.designs import Data
    from proxycal.mixture.laws import Rows

    Array = NDArray[np.float64]

# A model is out of reach when it is this many standard errors, and CLOSE in BIC, behind the best of its kind:
# errors for what the sample cannot know, CLOSE for what steps that are not yet taken may bring.
ERRORS, CLOSE = 3.0, 6.0
# BICs that differ by less than this part of themselves are equal: rounding is a thousand times smaller.
TIE = 1e-9


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The model with the least BIC; of equal ones that with the fewest parameters."""
    least = min(candidate.bic for candidate in candidates)
    equal = [candidate for candidate in candidates if candidate.bic <= least + TIE * abs(least)]
    return min(
        equal,
        key=lambda candidate: (
            size_of(candidate.model.shape, candidate.model.params),
            candidate.model.shape.label,
        ),
    )


def within_reach(
    candidates: Sequence[Candidate], data: Data, index: NDArray[np.intp], total: float
) -> list[Candidate]:
    """The models that could be the best with, or without, a bias on rows of weight `total`, best first.

    index : rows of the data that the models were fitted to. Of a kind that cannot lead any more only the
    best go on: which they are changes no verdict.
    """
    weights = data.weights[index]
    seen = float(weights.sum())
    rows: dict[tuple[int, int], Rows] = {}
    expected, logliks = [], []
    for candidate in candidates:
        key = id(candidate.frame), id(candidate.view)
        if key not in rows:
            rows[key] = candidate.frame.rows(candidate.view.of(data, index))
        logliks.append(posterior(candidate.model.params, rows[key], candidate.model.shape).loglik[0])
        expected.append(expected_bic(candidate.model, seen, total) - 2.0 * candidate.view.cost)
    order = [int(i) for i in np.argsort(expected, kind="stable")]
    claims = [candidate.claims_bias for candidate in candidates]
    first = {claim: next(i for i in order if claims[i] == claim) for claim in (False, True)}
    # Too many components fit a small sample better than they predict others: its own BIC counts as well.
    ahead = [best_of([c for c in candidates if c.claims_bias == claim]) for claim in first]

    def behind(trailing: int, leading: int) -> float:
        """How far one model is behind another at the least, in BIC of all rows."""
        spread = deviation(logliks[trailing] - logliks[leading], weights) * unseen(seen, total)
        return expected[trailing] - expected[leading] - ERRORS * spread

    kept = []
    for i in order:
        own, best_other = first[claims[i]], first[not claims[i]]
        far = THRESHOLDS.too_far_behind if claims[i] else THRESHOLDS.exact_lead
        near = behind(i, own) <= CLOSE and behind(i, best_other) <= far
        if i == own or near or any(candidates[i] is leader for leader in ahead):
            kept.append(candidates[i])
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
