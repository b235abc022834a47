"""Known biases put into counts: of the biased a share exp(-size) is reported, or is true.

under   y = Binomial(y_true, exp(-size))        over   y = y_true + Poisson(y_true (exp(size) - 1))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.parts import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.questions.refits import KeptFit, Trial


def injected_counts(
    free: np.ndarray, size: float, biased: np.ndarray, sign: float, rng: np.random.Generator
) -> np.ndarray:
    """Reports (n,) of true counts (n,), those of the biased with a bias of this size, a logarithm.

    >>> rng = np.random.default_rng(0)
    >>> y = injected_counts(np.full(4_000, 10.0), 0.7, np.ones(4_000, bool), -1.0, rng)
    >>> bool(4.8 < y.mean() < 5.1), bool((y <= 10.0).all())
    (True, True)
    """
    share = np.where(biased, np.exp(-size), 1.0)
    if sign < 0.0:
        return np.asarray(rng.binomial(free.astype(np.int64), share), dtype=float)
    return np.asarray(free + rng.poisson(free * (1.0 / share - 1.0)), dtype=float)


def true_counts(
    y: np.ndarray, y_cal: np.ndarray, p_biased: np.ndarray, found: bool, rng: np.random.Generator
) -> np.ndarray:
    """Counts (n,) as they may have been: each row loses its whole bias, with its chance of having one."""
    if not found:
        return y
    moved = np.where(p_biased > 0.0, (y_cal - y) / np.where(p_biased > 0.0, p_biased, 1.0), 0.0)
    return np.asarray(np.maximum(np.rint(y + moved * (rng.random(len(y)) < p_biased)), 0.0))


def count_trials(
    kept: KeptFit, sizes: list[float], repetitions: int, draw_biased: Callable[..., np.ndarray]
) -> tuple[dict[float, list[Trial]], list[float]]:
    """Tables of counts with a bias of each size, and the unit of sizes: they are logarithms, so it is 1.

    draw_biased : draws who is biased, from the environment (n, q) and a generator.
    """
    arrays, sign = replace(kept.arrays, truth=None), kept.settings.sign
    predicted, claimed = kept.fit.predict(arrays), kept.fit.verdict == "bias found"
    y = outcome_of(arrays)
    drawn = [
        (true_counts(y, predicted.y_cal, predicted.p_biased, claimed, rng), draw_biased(arrays.E, rng), rng)
        for rng in kept.streams(repetitions)
    ]
    trials = {
        size: [
            kept.trial(
                f"log share {size:g}, {i + 1}",
                replace(arrays, y=injected_counts(free, size, biased > 0.0, sign, rng)),
                size,
            )
            for i, (free, biased, rng) in enumerate(drawn if size or claimed else drawn[:1])
        ]
        for size in sizes
    }
    return trials, [1.0] * repetitions
