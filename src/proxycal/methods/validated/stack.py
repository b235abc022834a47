"""Which candidates to follow: weights from answers out of fold, with a simple base to return to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Pull of the weights towards the best single candidate, and how hard their sum is held at one.
PULL, SUM_TO_ONE = 0.02, 30.0
# The base is returned to where the paired gain of the stack, out of fold, is below this many standard
# errors. The simple candidates are parts of the stack, so it needs no proof that it is better. Asking for a
# gain of one standard error before leaving the base was measured against never returning to it: errors were
# 1 to 3% larger in all nine cells of NHANES (5, 10 and 20% of the rows, ten draws), and from 1% smaller to
# 8% larger in worlds and NHANES with 30 to 100 validated rows.
WORSE_THAN_BASE = -2.0


@dataclass(frozen=True, slots=True)
class Stack:
    """The chosen combination of k candidates, judged on n validated rows out of fold.

    weights : (k,) not negative, sum one. chosen : (n,) its answers out of fold.
    rmse : (k,) of each candidate, out of fold; own : that of the combination. base : position of the base;
    left_base : whether the combination is more than the base.
    """

    weights: Array
    chosen: Array
    rmse: Array
    own: float
    base: int
    left_base: bool


def combine(values: Array, truth: Array, fold: NDArray[np.int64], simple: Sequence[int], w: Array) -> Stack:
    """Combine answers out of fold, values (n, k), for validated rows; w : (n,) design weights.

    simple : positions of the candidates that may be the base.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> poor, good = truth + rng.normal(size=200), truth + 0.1 * rng.normal(size=200)
    >>> stack = combine(np.column_stack([poor, good]), truth, np.arange(200) % 5, [0], np.ones(200))
    >>> stack.left_base, stack.weights.round(1).tolist()
    (True, [0.0, 1.0])
    """
    loss = (values - truth[:, None]) ** 2
    mean_loss = np.average(loss, axis=0, weights=w)
    base = min(simple, key=lambda j: float(mean_loss[j]))
    # The weights of a fold come from the others: the combination is judged like its parts.
    stacked = np.empty(len(truth))
    for k in np.unique(fold):
        inside = fold == k
        stacked[inside] = values[inside] @ stack_weights(values[~inside], truth[~inside], w[~inside])
    gain = loss[:, base] - (stacked - truth) ** 2
    mean = float(np.average(gain, weights=w))
    se = float(np.sqrt(np.sum(w**2 * (gain - mean) ** 2))) / float(w.sum())
    left = mean > WORSE_THAN_BASE * se or mean >= 0.0
    weights = stack_weights(values, truth, w) if left else np.eye(values.shape[1])[base]
    chosen = stacked if left else values[:, base]
    own = float(np.average((chosen - truth) ** 2, weights=w)) ** 0.5
    return Stack(weights, chosen, np.sqrt(mean_loss), own, base, left)


def stack_weights(values: Array, truth: Array, w: Array) -> Array:
    """Weights (k,) that are not negative and sum to one, of least squared error, drawn a little to the best.

    >>> values = np.array([[1.0, 3.0], [2.0, 4.0], [4.0, 6.0]])
    >>> stack_weights(values, np.array([2.0, 3.0, 5.0]), np.ones(3)).round(2).tolist()
    [0.5, 0.5]
    """
    share = np.sqrt(w / w.sum())[:, None]
    error = values - truth[:, None]
    loss = np.sum((share * error) ** 2, axis=0)
    best, k = int(np.argmin(loss)), values.shape[1]
    scale = float(np.sqrt(loss[best])) or float(np.sqrt(loss.max())) or 1.0
    to_best = np.zeros(k)
    to_best[best] = np.sqrt(PULL)
    design = np.vstack([share * error / scale, np.full((1, k), SUM_TO_ONE), np.sqrt(PULL) * np.eye(k)])
    weights, _ = nnls(design, np.concatenate([np.zeros(len(truth)), [SUM_TO_ONE], to_best]))
    return np.asarray(weights / weights.sum())
