"""What size of bias these rows could show: known biases are injected into them, and fitted."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from proxycal.errors import SettingsError
from proxycal.methods.parts import outcome_of
from proxycal.methods.registry import METHODS
from proxycal.questions.injected_counts import count_trials
from proxycal.questions.injected_reports import report_trials
from proxycal.questions.refits import TOO_FEW, require_repetitions, run_trials
from proxycal.result import number, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.random import Generator
    from numpy.typing import NDArray

    from proxycal.questions.refits import KeptFit, Progress, Trial

    Array = NDArray[np.float64]

# sd of w'E, which decides who is biased: as in the semi-synthetic study.
GATE_SCALE = 2.0
# A bias found in this share of the tables counts as detectable.
TARGET = 0.9
# Tables of each size between two looks, and the chance that further ones change the answer at which a size is
# left: it then differs from the answer of 20 tables in at most 2 of 100 cases, whatever the true chance.
BATCH, DOUBT = 4, 0.025


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """All tables with a bias of one size, in sds of the bias-free outcome.

    Parameters
    ----------
    alpha : float
        The size injected.
    chance, low, high : float
        Share of "bias found", with its 95% interval.
    mean_alpha, error : float
        Mean and root mean square error of the estimate where a bias was found; NaN where never.
    coverage : float
        Share of the intervals, where a bias was found, that hold the size injected.
    repetitions : int
        Number of tables.

    """

    alpha: float
    chance: float
    low: float
    high: float
    mean_alpha: float
    error: float
    coverage: float
    repetitions: int

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PowerPoint:
        """The point that `plain` wrote."""
        names = [item.name for item in fields(cls) if item.name != "repetitions"]
        numbers = {name: number(values[name]) for name in names}
        return cls(**numbers, repetitions=int(values["repetitions"]))


@dataclass(frozen=True, slots=True)
class Power:
    """What size of bias a table could show.

    Parameters
    ----------
    points : tuple of PowerPoint
        One per size tried, no bias at all first.
    detectable : float
        The size found in 90% of the tables, in sds; NaN if none of those tried was.
    sd : float
        Standard deviation of the bias-free outcome, in its own units.
    reading : str
        The same in words.

    Examples
    --------
    >>> import proxycal as pc
    >>> sim = pc.simulate(n=300, alpha=0.0, random_state=0)
    >>> model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    >>> model.power([1.0, 4.0], repetitions=2).table.index.tolist()
    [0.0, 1.0, 4.0]

    """

    points: tuple[PowerPoint, ...]
    detectable: float
    sd: float
    reading: str

    @property
    def table(self) -> pd.DataFrame:
        """By alpha, in sds: size (own units), chance, low, high, mean_alpha, error, coverage, repetitions."""
        import pandas as pd

        table = pd.DataFrame(list(self.points)).set_index("alpha")
        table.insert(0, "size", [point.alpha * self.sd for point in self.points])
        return table

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes None."""
        sizes = [plain(point) | {"size": point.alpha * self.sd} for point in self.points]
        return plain({"detectable": self.detectable, "sd": self.sd, "reading": self.reading}) | {
            "sizes": sizes
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Power:
        """The reverse of `to_dict`."""
        points = tuple(PowerPoint.from_dict(size) for size in values["sizes"])
        return cls(points, number(values["detectable"]), float(values["sd"]), str(values["reading"]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The chance of finding a bias, by its size.

        Parameters
        ----------
        ax : matplotlib Axes, default None
            Where to draw; a new figure if None.

        """
        from proxycal.questions.power_picture import draw_power

        return draw_power(self, ax)

    def __str__(self) -> str:
        return self.reading

    def _repr_html_(self) -> str:
        return f"<div><p>{html.escape(self.reading)}</p>{self.table.to_html()}</div>"


def power(
    kept: KeptFit,
    alphas: Sequence[float],
    repetitions: int,
    progress: Progress | None = None,
    tell: Callable[[PowerPoint], None] | None = None,
) -> Power:
    """Each size (in sds of the bias-free outcome), and none, injected and fitted until its answer is clear.

    repetitions : most tables of a size. tell : told of each size once it is settled.
    """
    sizes = _checked(alphas)
    require_repetitions(repetitions)
    trials, sds = _trials(kept, sizes, repetitions)
    seen: dict[float, list[Injected]] = {size: [] for size in sizes}
    settled: dict[float, PowerPoint] = {}
    done = 0
    while len(settled) < len(sizes):
        hits = {size: sum(found(table) for table in tables) for size, tables in seen.items()}
        batch = [
            trials[size][len(seen[size]) :][:BATCH]
            for size in next_sizes({s: (hits[s], len(seen[s])) for s in sizes if s not in settled})
        ]
        left = sum(len(trials[size]) for size in sizes if size not in settled)
        left -= sum(len(seen[size]) for size in sizes if size not in settled)
        moved = None if progress is None else partial(_moved, progress, done, done + left)
        refits = run_trials([trial for part in batch for trial in part], kept.settings.n_jobs, moved)
        done += len(refits)
        for refit in refits:
            own, sd = seen[refit.share], sds[len(seen[refit.share])]
            own.append(
                Injected(refit.share, refit.alpha / sd, refit.low / sd, refit.high / sd, refit.verdict)
            )
        for size in sizes:
            if size not in settled and is_settled(size, seen[size], len(trials[size]), settled):
                settled[size] = summarise(seen[size])
                if tell is not None:
                    tell(settled[size])
    points = [settled[size] for size in sizes]
    sd = float(np.mean(sds))
    factor = kept.settings.sign if kept.on_logs or kept.settings.factor else None
    return Power(tuple(points), detectable(points), sd, describe(points, sd, factor, repetitions))


def _moved(progress: Progress, before: int, total: int, done: int, of: int) -> None:
    progress(before + done, total)


# --- when a size is settled ---


def next_sizes(open_sizes: dict[float, tuple[int, int]]) -> list[float]:
    """Of the sizes that are not settled, with their hits and tables, those whose tables are fitted next.

    A size found in all its tables waits for the smaller ones: where one of them is found in all of its own,
    it is settled too.

    >>> next_sizes({0.5: (0, 0), 1.0: (0, 0)})
    [0.5, 1.0]
    >>> next_sizes({0.0: (0, 4), 0.5: (3, 4), 1.0: (4, 4), 2.0: (4, 4)})
    [0.0, 0.5]
    """
    moving: list[float] = []
    for size, (hits, n) in sorted(open_sizes.items()):
        if n == 0 or size == 0.0 or hits < n or not any(other > 0.0 for other in moving):
            moving.append(size)
    return moving


def found(table: Injected) -> bool:
    """Whether a bias was found in a table."""
    return table.verdict == "bias found"


def is_settled(size: float, tables: Sequence[Injected], most: int, settled: dict[float, PowerPoint]) -> bool:
    """Whether further tables would hardly change whether the size is detectable, or false alarms are rare.

    A size is at least as easy to find as a smaller one: where that one is detectable and was never missed, a
    first batch without a miss is enough.
    """
    hits, n = sum(found(table) for table in tables), len(tables)
    if size == 0.0:
        hits = n - hits
    elif hits == n and any(0.0 < other < size and at.chance == 1.0 for other, at in settled.items()):
        return True
    chance = chance_of_passing(hits, n, most)
    return min(chance, 1.0 - chance) < DOUBT


def chance_of_passing(hits: int, n: int, most: int, target: float = TARGET) -> float:
    """How likely `most` tables end with a share of hits at the target, after so many of n.

    The chance of a hit is unknown beforehand (Jeffreys' prior).

    >>> chance_of_passing(0, 4, 20)
    0.0
    >>> round(chance_of_passing(12, 12, 20), 2)
    0.98
    """
    # Loaded here, as below: it takes half a second, and every report knows the picture of power.
    from scipy.stats import betabinom

    needed = math.ceil(target * most - 1e-9) - hits
    return float(betabinom.sf(needed - 1, most - n, hits + 0.5, n - hits + 0.5))


# --- the tables ---


def _checked(alphas: Sequence[float]) -> list[float]:
    sizes = sorted({float(alpha) for alpha in alphas} | {0.0})
    if len(sizes) < 2 or sizes[0] < 0.0 or not np.isfinite(sizes).all():
        raise SettingsError(f"alphas={list(alphas)}: give one size above 0 or more, in sds of the outcome")
    return sizes


def _trials(
    kept: KeptFit, sizes: list[float], repetitions: int
) -> tuple[dict[float, list[Trial]], list[float]]:
    """The tables of each size, and the sd of the bias-free outcome of each repetition.

    The repetitions of all sizes share who is biased, so that sizes are compared and not draws. Where no bias
    was found, none is taken out, and there is one table without a bias: the user's own.
    """
    family = METHODS[kept.settings.method].family
    if family == "binary":
        raise SettingsError(
            "power is not available for family='binary': what a table of yes and no could show depends on "
            "the "
            "share that denies in each environment; read the interval of alpha"
        )
    if family == "counts":
        return count_trials(kept, sizes, repetitions, draw_biased)
    if kept.arrays.reports is not None:
        return report_trials(kept, sizes, repetitions, draw_biased)
    arrays = replace(kept.arrays, truth=None)
    y, p_biased = outcome_of(arrays), kept.fit.predict(arrays).p_biased
    # Without a finding, what was reported stands.
    sign = kept.settings.sign
    shift = sign * kept.fit.estimate.alpha if kept.fit.verdict == "bias found" else 0.0
    drawn = []
    for rng in kept.streams(repetitions):
        free = without_bias(y, shift, p_biased, rng)
        mean = np.average(free, weights=arrays.weights)
        sd = float(np.sqrt(np.average((free - mean) ** 2, weights=arrays.weights)))
        drawn.append((free, sd, draw_biased(arrays.E, rng)))
    trials = {
        size: [
            kept.trial(f"{size:g} sd, {i + 1}", replace(arrays, y=free + sign * size * sd * a), size)
            for i, (free, sd, a) in enumerate(drawn if size or shift else drawn[:1])
        ]
        for size in sizes
    }
    return trials, [sd for _, sd, _ in drawn]


def draw_biased(E: Array, rng: Generator, scale: float = GATE_SCALE) -> Array:
    """Who is biased, (n,) zeros and ones: A ~ Bernoulli(logistic(w'E)), w drawn anew."""
    w = rng.normal(0.0, scale / math.sqrt(max(E.shape[1], 1)), E.shape[1])
    return (rng.random(len(E)) < expit((E - E.mean(axis=0)) @ w)).astype(float)


def without_bias(y: Array, shift: float | Array, p_biased: Array, rng: Generator) -> Array:
    """The outcome as it may have been: each row loses the whole bias, with its probability of having one.

    Not y_cal: half a bias taken off a doubtful row would leave a shape that no table has.
    """
    return np.asarray(y - shift * (rng.random(len(y)) < p_biased))


# --- what their fits say ---


@dataclass(frozen=True, slots=True)
class Injected:
    """One table with a known bias: the size injected and its estimate, all in the same units."""

    alpha: float
    estimate: float
    low: float
    high: float
    verdict: str


def summarise(tables: Sequence[Injected]) -> PowerPoint:
    """The tables with a bias of one size."""
    from scipy.stats import binomtest

    n = len(tables)
    hits = [table for table in tables if found(table)]
    interval = binomtest(len(hits), n).proportion_ci(0.95, method="wilson")
    alpha = tables[0].alpha
    estimates = np.array([table.estimate for table in hits])
    inside = [table.low <= alpha <= table.high for table in hits]
    return PowerPoint(
        alpha=alpha,
        chance=len(hits) / n,
        low=float(interval.low),
        high=float(interval.high),
        mean_alpha=float(estimates.mean()) if hits else math.nan,
        error=float(np.sqrt(np.mean((estimates - alpha) ** 2))) if hits else math.nan,
        coverage=float(np.mean(inside)) if hits else math.nan,
        repetitions=n,
    )


def detectable(points: Sequence[PowerPoint], target: float = TARGET) -> float:
    """The smallest size from which on the chance stays at the target, between sizes by straight lines."""
    biased = [point for point in points if point.alpha > 0.0]
    reached = [i for i in range(len(biased)) if all(point.chance >= target for point in biased[i:])]
    if not reached:
        return math.nan
    first = reached[0]
    if first == 0:
        return biased[0].alpha
    below, above = biased[first - 1 : first + 1]
    part = (target - below.chance) / (above.chance - below.chance)
    return below.alpha + (above.alpha - below.alpha) * part


def describe(
    points: Sequence[PowerPoint], sd: float, factor: float | None = None, repetitions: int | None = None
) -> str:
    """What the table could show, in one or two sentences; points in sds, alpha = 0 first where tried.

    factor : the sign of a bias that multiplies the outcome, whose sizes are logarithms; else None.
    repetitions : most tables of a size.
    """
    biased = [point for point in points if point.alpha > 0.0]
    size = detectable(points)
    if repetitions is not None and repetitions < TOO_FEW and math.isfinite(size):
        found = ", ".join(f"{point.alpha:.2g} sd in {point.chance:.0%}" for point in biased)
        return (
            f"{repetitions} tables of each size: too few to tell what you would detect in {TARGET:.0%} of "
            f"cases. Found so far: {found}."
        )
    if not math.isfinite(size):
        top = biased[-1]
        text = (
            f"With your data even a bias of {top.alpha:.2g} sd would be detected in only {top.chance:.0%} of "
            "cases. 'No bias found' says little here: better proxies or more rows are needed."
        )
    else:
        least = "or less " if size == biased[0].alpha else ""
        unit = f"{size * sd:.3g} in the outcome's units"
        if factor is not None:
            unit = f"reports of {math.exp(factor * size * sd):.0%} of the truth"
        found = f"{least}in {TARGET:.0%} of cases"
        text = f"With your data you would detect a bias of {size:.2g} sd ({unit}) {found}."
    free = [point for point in points if point.alpha == 0.0]
    if free and free[0].repetitions == 1:
        text += " In the table as it is, a bias is found." if free[0].chance else ""
    elif free:
        text += f" Without a bias in the table, one was found in {free[0].chance:.0%} of cases."
    return text
