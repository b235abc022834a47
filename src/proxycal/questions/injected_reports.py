"""Known biases put into the first of several reports of one truth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.reports import first_made

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.questions.refits import KeptFit, Trial
    from proxycal.table.encode import Arrays


def report_trials(
    kept: KeptFit, sizes: list[float], repetitions: int, draw_biased: Callable[..., np.ndarray]
) -> tuple[dict[float, list[Trial]], list[float]]:
    """Tables with a bias of each size in the first report, and the sd of the bias-free outcome of each.

    Where a bias was found, each report loses it first, with its probability of having one. draw_biased :
    draws who is biased, from the environment (n, q) and a generator.
    """
    arrays, sign = kept.arrays, kept.settings.sign
    claimed = kept.fit.verdict == "bias found"
    drawn = []
    for rng in kept.streams(repetitions):
        free = _without_bias(kept, arrays, rng) if claimed else _reports(arrays)
        y = first_made(free)
        mean = np.average(y, weights=arrays.weights)
        sd = float(np.sqrt(np.average((y - mean) ** 2, weights=arrays.weights)))
        drawn.append((free, sd, draw_biased(arrays.E, rng)))
    trials = {
        size: [
            kept.trial(f"{size:g} sd, {i + 1}", _with(arrays, free, sign * size * sd * biased), size)
            for i, (free, sd, biased) in enumerate(drawn if size or claimed else drawn[:1])
        ]
        for size in sizes
    }
    return trials, [sd for _, sd, _ in drawn]


def _reports(arrays: Arrays) -> np.ndarray:
    assert arrays.reports is not None
    return arrays.reports


def _without_bias(kept: KeptFit, arrays: Arrays, rng: np.random.Generator) -> np.ndarray:
    """The reports (n, R) as they may have been, each without its whole bias where it is drawn as biased."""
    biased = np.nan_to_num(kept.fit.predict(arrays).z)
    sizes = np.array([np.nan_to_num(row.alpha) for row in kept.fit.estimates[1:]])
    return _reports(arrays) - kept.settings.sign * sizes * (rng.random(biased.shape) < biased)


def _with(arrays: Arrays, free: np.ndarray, bias: np.ndarray) -> Arrays:
    reports = free.copy()
    reports[:, 0] += bias
    return replace(arrays, reports=reports, y=first_made(reports))
