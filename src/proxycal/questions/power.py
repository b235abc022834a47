"""Known biases injected into the user's own rows, and fitted: what `ProxyCalibrator.power` does."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.errors import SettingsError
from proxycal.methods.parts import outcome_of
from proxycal.questions.answers import Power
from proxycal.questions.power_reading import (
    Trialled,
    detectable,
    draw_biased,
    reading,
    summarise,
    without_bias,
)
from proxycal.questions.refute import Fitted, Progress, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.questions.refute import Trial


def power(
    asked: Fitted, alphas: Sequence[float], repetitions: int, progress: Progress | None = None
) -> Power:
    """Each size (in sds of the bias-free outcome), and none, injected and fitted `repetitions` times."""
    sizes = _checked(alphas)
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 2:
        raise SettingsError(f"repetitions={repetitions!r}: use a whole number of 2 or more")
    trials, sds = _trials(asked, sizes, repetitions)
    refits = run(trials, asked.settings.n_jobs, progress)
    points = []
    for size in sizes:
        made = [one for one in refits if one.share == size]
        # Without a bias to take out or to put in, all tables are the one that was fitted.
        pairs = zip(made, sds[: len(made)], strict=True)
        points.append(
            summarise([Trialled(size, r.alpha / sd, r.low / sd, r.high / sd, r.verdict) for r, sd in pairs])
        )
    sd = float(np.mean(sds))
    table = pd.DataFrame([asdict(one) for one in points]).set_index("alpha")
    table.insert(0, "size", [size * sd for size in sizes])
    biased = [one for one in points if one.alpha > 0.0]
    found = detectable([one.alpha for one in biased], [one.chance for one in biased])
    return Power(table, found, sd, reading(points, sd))


def _checked(alphas: Sequence[float]) -> list[float]:
    sizes = sorted({float(one) for one in alphas} | {0.0})
    if len(sizes) < 2 or sizes[0] < 0.0 or not np.isfinite(sizes).all():
        raise SettingsError(f"alphas={list(alphas)}: give one size above 0 or more, in sds of the outcome")
    return sizes


def _trials(asked: Fitted, sizes: list[float], repetitions: int) -> tuple[list[Trial], list[float]]:
    """All tables, by size and then repetition, and the sd of the bias-free outcome of each repetition.

    The repetitions of all sizes share who is biased, so that sizes are compared and not draws. Where no bias
    was found, none is taken out, and there is one table without a bias: the user's own.
    """
    arrays = replace(asked.arrays, truth=None)
    y = outcome_of(arrays)
    sign = asked.settings.sign
    made = asked.fit.predict(arrays)
    # Without a finding, what was reported stands.
    shift = sign * asked.fit.estimate.alpha if asked.fit.verdict == "bias found" else 0.0
    drawn = []
    for i in range(repetitions):
        rng = np.random.default_rng([asked.settings.random_state, i])
        free = without_bias(y, shift, made.p_biased, rng)
        mean = np.average(free, weights=arrays.weights)
        sd = float(np.sqrt(np.average((free - mean) ** 2, weights=arrays.weights)))
        drawn.append((free, sd, draw_biased(arrays.E, rng)))
    trials = [
        asked.trial(f"{size:g} sd, {i + 1}", size, replace(arrays, y=free + sign * size * sd * a))
        for size in sizes
        for i, (free, sd, a) in enumerate(drawn if size or shift else drawn[:1])
    ]
    return trials, [sd for _, sd, _ in drawn]
