"""One slope given controls: its robust test, and what each row adds to it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.checks.wald import count_clusters, meat, solve, wald_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def slope_test(
    target: Array, regressor: Array, controls: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> tuple[float, float]:
    """Slope of the target on the regressor given the controls, and its t by a (cluster-)robust error."""
    scores, slope, _ = _scores(target, regressor, controls, weights)
    error = _error(scores, cluster)
    return slope, slope / error if error > 0.0 else 0.0


def row_influence(
    y: Array, X: Array, p_biased: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> tuple[Array, float]:
    """What each row adds to the slope of y on p_biased given X, (n,), and the slope's robust error.

    Leaving a row out moves the slope by its score / (1 - h), h its leverage in what X leaves of p_biased.
    """
    scores, _, h = _scores(y, p_biased, X, weights)
    return scores / (1.0 - np.minimum(h, 0.999)), _error(scores, cluster)


def _scores(target: Array, regressor: Array, controls: Array, weights: Array) -> tuple[Array, float, Array]:
    """Scores (n,) of a slope, the slope, and the leverage of each row; zeros where nothing varies.

    Frisch-Waugh: slope = sum w x y / sum w x^2 with y, x what the controls leave of target and regressor.
    """
    root = np.sqrt(weights)[:, None]
    both = np.column_stack([target, regressor])
    y, x = (both - controls @ solve(controls * root, both * root)).T
    scale = float(weights @ x**2)
    if not scale > 1e-10 * float(weights.sum()):
        return np.zeros(len(x)), 0.0, np.zeros(len(x))
    slope = float((weights * x) @ y) / scale
    return weights * x * (y - slope * x) / scale, slope, weights * x**2 / scale


def _error(scores: Array, cluster: NDArray[np.int64] | None) -> float:
    return math.sqrt(float(meat(scores[:, None], cluster)[0, 0]))


def size_of_noise_p(
    square: Array, E: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> float:
    """The p-value of "the noise is equally large in every environment": its size on E, a robust Wald test.

    square : (n,) expected squared noise; its root is tested (Glejser), as large squares blind a test.
    """
    root = np.sqrt(weights)[:, None]
    # The intercept first, so that what is left are the slopes.
    centred = E - np.average(E, axis=0, weights=weights)
    size = np.sqrt(square)
    target = size - float(np.average(size, weights=weights))
    slopes = solve(centred * root, target * root[:, 0])
    bread = np.linalg.pinv(centred.T @ (centred * weights[:, None]), hermitian=True)
    middle = meat(centred * (weights * (target - centred @ slopes))[:, None], cluster)
    return wald_p(slopes, bread @ middle @ bread, count_clusters(cluster))
