"""A bias of a usual kind put into rows without one, and the smallest size at which it would be found.

Each row stands there twice, biased and not, weighed by the chance of either, so that one comparison shows
what all draws of who is biased would show on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# The bias that is put in, as in `proxycal power`: sd of the log odds by environment, and their mean.
GATE_SD, GATE_MEAN = 2.0, 0.0
# Sizes in residual sds of which one is the answer, and the place among them of the most usual one. The one
# that the verdict asks for is among them: rounded up to the next, a smaller one would be too large for it.
SIZES, USUAL = THRESHOLDS.detectable * 1.125 ** np.arange(-11.0, 5.0), 5
# Standard errors by which the expected lead must exceed the threshold to be passed in nine tables of ten.
NINE_OF_TEN = 1.2816
# Rows that are enough for it, each of which counts twice: leads grow with the rows.
ENOUGH_ROWS = 500


@dataclass(frozen=True, slots=True)
class PutIn:
    """Who is biased, for n rows.

    rows (2n,): each row twice; biased (2n,): 0 the first time and 1 the second; share (2n,): the chance of
    that; gate (1+q,): the log odds of a bias, linear in E.
    """

    rows: NDArray[np.intp]
    biased: Array
    share: Array
    gate: Array

    def leads(self, lead: Array, price: float, weights: Array, times: float) -> bool:
        """Whether a model with the bias would lead one without it in nine tables of ten.

        lead (2n,): of the log likelihood of each row; price : in BIC, of its further parameters; weights
        (n,): of the rows; times : the rows of the table, in these.
        """
        weights = np.tile(weights, 2)
        counted = weights * self.share
        mean = float(np.average(lead, weights=counted))
        error = 2.0 * float(np.sqrt(times * np.sum(counted * weights * (lead - mean) ** 2)))
        return 2.0 * times * float(counted @ lead) - price - NINE_OF_TEN * error > THRESHOLDS.narrow_gain


def put_in(E: Array, seed: int) -> PutIn:
    """A bias that E (n,q) drives along a random direction."""
    n, q = E.shape
    direction = np.random.default_rng(seed).normal(size=q)
    score = E @ direction
    slope = GATE_SD / max(float(score.std()), 1e-12)
    gate = np.r_[GATE_MEAN - slope * score.mean(), slope * direction]
    chance = expit(gate[0] + E @ gate[1:])
    return PutIn(
        np.tile(np.arange(n), 2), np.repeat([0.0, 1.0], n), np.concatenate([1.0 - chance, chance]), gate
    )


def smallest(found: Callable[[float], bool]) -> float:
    """The smallest of SIZES that is found, inf if none is; what is found is found at larger sizes too."""
    first = first_true(lambda i: found(float(SIZES[i])), len(SIZES), USUAL)
    return float(SIZES[first]) if first < len(SIZES) else float("inf")


def first_true(holds: Callable[[int], bool], n: int, guess: int) -> int:
    """The first of 0 .. n - 1 where something holds that holds from there on, n if nowhere.

    Steps away from the guess grow until they are past it: few questions where the guess is near.

    >>> [first_true(lambda i: i >= first, 16, 5) for first in (0, 4, 5, 6, 15, 16)]
    [0, 4, 5, 6, 15, 16]
    """
    low, high, at, step = -1, n, guess, 1
    while high - low > 1:
        if holds(at):
            high = at
        else:
            low = at
        if low < 0:
            at = max(high - step, 0)
        elif high == n:
            at = min(low + step, n - 1)
        else:
            at = (low + high) // 2
        step *= 2
    return high
