"""A minimum inside a box by BFGS: models here have tens of parameters, and cheap steps matter most.

A general optimiser spends as long around each evaluation as the likelihood of a thousand rows does inside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

    Function = Callable[[Array], tuple[float, Array]]

# A step must gain this part of what its slope promises, and leave at most this part of the slope (Wolfe).
GAIN, SLOPE = 1e-4, 0.9
# Tries to find such a step.
MOST_TRIES = 20
# Part of a value that is lost to rounding: near the minimum gains are smaller than that, and slopes tell.
ROUNDING = 1e-14


def minimise(
    function: Function,
    start: Array,
    lower: Array,
    upper: Array,
    curvature: Array,
    steps: int,
    precision: float,
    gradient: float,
    begun: tuple[float, Array] | None = None,
    trial: tuple[int, float] | None = None,
) -> tuple[Array, float]:
    """The place and value of a minimum of function(x) -> value, slopes, between lower and upper.

    start : within them. curvature (k,) or (k,k) : guess of the second derivatives there. steps : the most
    there are. precision : relative gain of a step, gradient : largest slope, at or below which it is reached.
    begun : value and slopes at the start, where they are known. trial : steps after which it ends unless the
    value is below this one.
    """
    x = start
    value, slopes = function(x) if begun is None else begun
    inverse = np.asarray(np.diag(1.0 / curvature) if curvature.ndim == 1 else np.linalg.inv(curvature))
    for taken in range(steps):
        if trial is not None and taken == trial[0] and value > trial[1]:
            break
        held = ((x <= lower) & (slopes > 0.0)) | ((x >= upper) & (slopes < 0.0))
        free = np.where(held, 0.0, slopes) if held.any() else slopes
        if max(free.max(), -free.min()) <= gradient:
            break
        way = -(inverse @ free)
        way[held] = 0.0
        found = _along(function, x, value, slopes, way, lower, upper)
        if found is None:
            break
        new, new_value, new_slopes = found
        _update(inverse, new - x, new_slopes - slopes)
        gained = value - new_value
        x, value, slopes = new, new_value, new_slopes
        if gained <= precision * max(abs(value), 1.0):
            break
    return x, value


def _along(
    function: Function, x: Array, value: float, slopes: Array, way: Array, lower: Array, upper: Array
) -> tuple[Array, float, Array] | None:
    """A step along a way, bent at the bounds, that satisfies Wolfe's conditions; None where there is none.

    Steps that are too long and too short close in on it.
    """
    promised = float(slopes @ way)
    longest, shortest, length = np.inf, 0.0, 1.0
    best = None
    for _ in range(MOST_TRIES):
        new = within(x + length * way, lower, upper)
        new_value, new_slopes = function(new)
        slope = float(new_slopes @ (new - x)) / length
        slack = ROUNDING * abs(value) if abs(slope) <= -SLOPE * promised else 0.0
        if not new_value <= value + GAIN * length * promised + slack:
            longest = length
            curved = 2.0 * (new_value - value - length * promised)
            guess = -promised * length * length / curved if np.isfinite(curved) and curved > 0.0 else 0.0
            if shortest > 0.0:
                length = 0.5 * (shortest + longest)
            else:
                length = min(max(guess, 0.1 * length), 0.5 * length)
        elif slope < SLOPE * promised:
            best = new, new_value, new_slopes
            shortest = length
            length = 2.0 * length if longest == np.inf else 0.5 * (shortest + longest)
        else:
            return new, new_value, new_slopes
    return best


def _update(inverse: Array, step: Array, turn: Array) -> None:
    """The inverse curvature after a step that turned the slopes, in place."""
    bend = float(step @ turn)
    if bend <= 1e-12 * float(np.sqrt((step @ step) * (turn @ turn))):
        return
    pull = inverse @ turn
    # Both parts of BFGS at once: step step' (1 + turn'pull / bend) / bend - (pull step' + step pull') / bend.
    half = step * ((0.5 + 0.5 * float(turn @ pull) / bend) / bend) - pull / bend
    change = half[:, None] * step
    inverse += change
    inverse += change.T


def within(x: Array, lower: Array, upper: Array) -> Array:
    """The nearest place between the bounds. (numpy's own spends longer on its checks.)."""
    return np.asarray(np.minimum(np.maximum(x, lower), upper))
