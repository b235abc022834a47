"""What size of bias a table could show: known biases put into it, and what came of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit
from scipy.stats import binomtest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# sd of the gate w'E: as in the semi-synthetic study.
GATE_SCALE = 2.0
TARGET = 0.9


@dataclass(frozen=True, slots=True)
class Trialled:
    """One table with a known bias: the size put in and what was found, all in the same units."""

    alpha: float
    found: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """All tables with one size of bias, in the units of the trials.

    chance, low, high : of "bias found", with its 95% interval. mean_alpha, error : mean and root mean square
    error of alpha where a bias was found, NaN where never. coverage : of the intervals there.
    """

    alpha: float
    chance: float
    low: float
    high: float
    mean_alpha: float
    error: float
    coverage: float
    repetitions: int


def draw_biased(E: Array, rng: Generator, scale: float = GATE_SCALE) -> Array:
    """Who is biased, (n,) zeros and ones: A ~ Bernoulli(logistic(w'E)), w drawn anew."""
    w = rng.normal(0.0, scale / math.sqrt(E.shape[1]), E.shape[1])
    return (rng.random(len(E)) < expit((E - E.mean(axis=0)) @ w)).astype(float)


def without_bias(y: Array, shift: float | Array, p_biased: Array, rng: Generator) -> Array:
    """The outcome as it may have been: each row loses the whole bias, with its probability of having one.

    Not y_cal: half a bias taken off a doubtful row would leave a shape that no table has.
    """
    return np.asarray(y - shift * (rng.random(len(y)) < p_biased))


def summarise(trials: Sequence[Trialled]) -> PowerPoint:
    """The trials of one size."""
    n = len(trials)
    hits = [one for one in trials if one.verdict == "bias found"]
    interval = binomtest(len(hits), n).proportion_ci(0.95, method="wilson")
    alpha = trials[0].alpha
    found = np.array([one.found for one in hits])
    inside = [one.low <= alpha <= one.high for one in hits]
    return PowerPoint(
        alpha=alpha,
        chance=len(hits) / n,
        low=float(interval.low),
        high=float(interval.high),
        mean_alpha=float(found.mean()) if hits else math.nan,
        error=float(np.sqrt(np.mean((found - alpha) ** 2))) if hits else math.nan,
        coverage=float(np.mean(inside)) if hits else math.nan,
        repetitions=n,
    )


def detectable(alphas: Sequence[float], chances: Sequence[float], target: float = TARGET) -> float:
    """The smallest size from which on the chance stays at the target, between sizes by straight lines.

    >>> detectable([0.5, 1.0, 2.0], [0.0, 0.8, 1.0])
    1.5
    """
    reached = [i for i in range(len(chances)) if all(c >= target for c in chances[i:])]
    if not reached:
        return math.nan
    first = reached[0]
    if first == 0:
        return float(alphas[0])
    (x0, x1), (y0, y1) = alphas[first - 1 : first + 1], chances[first - 1 : first + 1]
    return float(x0 + (x1 - x0) * (target - y0) / (y1 - y0))


def reading(points: Sequence[PowerPoint], sd: float) -> str:
    """What the table could show, in one or two sentences; points in sds, alpha = 0 first where tried."""
    biased = [one for one in points if one.alpha > 0.0]
    size = detectable([one.alpha for one in biased], [one.chance for one in biased])
    if not math.isfinite(size):
        top = biased[-1]
        text = (
            f"With your data even a bias of {top.alpha:.2g} sd would be detected in only {top.chance:.0%} of "
            "cases: better proxies or more rows are needed before no finding means no bias."
        )
    else:
        least = "or less " if size == biased[0].alpha else ""
        text = (
            f"With your data you would detect a bias of {size:.2g} sd ({size * sd:.3g} in the outcome's "
            f"units) {least}in {TARGET:.0%} of cases."
        )
    false = [one for one in points if one.alpha == 0.0]
    if false and false[0].repetitions == 1:
        text += " In the table as it is, a bias is claimed." if false[0].chance else ""
    elif false:
        text += f" Where there is none, a bias was claimed in {false[0].chance:.0%} of cases."
    return text
