"""What kind of number an outcome is: a rating, a count, rounded, heaped, capped, with a spike, or plain.

A value that was rounded stands for a range: 50 for (45, 55) where people round to tens. `intervals` gives the
range of every row, open where a scale ends or values were cut off, so that a likelihood can use what the
outcome says and no more. The type is read off the outcome as it was reported, before any transformation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Counts = NDArray[np.int64]

Kind = Literal["continuous", "rating scale", "counts", "rounded", "heaped"]

# Values closer than this, relative to the largest, differ by floating-point error.
SAME = 1e-10
# How far a value may lie from its grid point, in steps: of few values, and of ten and more.
ON_GRID, NEAR_GRID = 1e-3, 0.05
# Ratings have at most so many points (0 to 10), none beyond 11.
MOST_POINTS = 11
# Measured on 800 samples of 100 to 5,000 rows of each law: normal, exponential, t2, lognormal and two-humped
# noise and normal values rounded to 0.1 or 0.125 sd have neither heaps nor piles; rounded to 0.4 sd, 1 has a
# heap and 17 an end; 3 of negative-binomial counts have a spike at zero.
HEAP_SHARE, HEAP_Z = 0.03, 5.0
PILE_SHARE, PILE_ROWS = 0.02, 5
# A pile holds so many times the rows of any value near it.
PILE_RATIO = 3.0
ZEROS_RATIO = 2.0
# Sds of the other values between a pile at an end and its neighbours: farther is a spike of its own.
GAP = 0.25


@dataclass(frozen=True, slots=True)
class OutcomeType:
    """The type of an outcome.

    kind : the finest grid it lies on and how it got there
    step : spacing of that grid; 0 where there is none
    heaps : coarser steps whose multiples hold more rows than their neighbours, ascending
    low, high : values at which the scale ends or values were cut off; -inf and inf where there are none
    spike : a single value apart that many rows share, such as zero; NaN where there is none
    share : share of the rows at the spike
    """

    kind: Kind = "continuous"
    step: float = 0.0
    heaps: tuple[float, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    spike: float = math.nan
    share: float = 0.0

    @property
    def plain(self) -> bool:
        """Whether every value is what it says: no grid, no ends, no spike."""
        ends = math.isfinite(self.low) or math.isfinite(self.high)
        return self.kind == "continuous" and not ends and math.isnan(self.spike)


def outcome_type(y: Array) -> OutcomeType:
    """The type of the finite values of y (n,).

    >>> outcome_type(np.array([1.0, 2.0, 3.0, 4.0, 5.0] * 20)).kind
    'rating scale'
    >>> outcome_type(np.random.default_rng(0).normal(size=100)).plain
    True
    """
    values, counts = _distinct(y[np.isfinite(y)])
    n = int(counts.sum())
    if len(values) < 2:
        return OutcomeType()
    step = grid_step(values) if 2 * len(values) <= n else 0.0
    if step == 0.0:
        return _ungridded(values, counts, n)
    return _gridded(values, counts, n, step)


def intervals(y: Array, kind: OutcomeType) -> tuple[Array, Array]:
    """The range (lo, hi) of underlying values that each row of y stands for; lo = hi where it is exact.

    A row on a multiple of a heap stands for the range of that heap, of the coarsest one that fits. Rows at an
    end of a scale, at a cap or at a floor are open to that side. The spike is a value of its own: lo = hi.

    >>> kind = OutcomeType("rating scale", step=1.0, low=1.0, high=5.0)
    >>> lo, hi = intervals(np.array([1.0, 3.0, 5.0]), kind)
    >>> lo.tolist(), hi.tolist()
    ([-inf, 2.5, 4.5], [1.5, 3.5, inf])
    """
    width = np.full(len(y), kind.step)
    for heap in kind.heaps:
        width[_multiple(y, heap, NEAR_GRID * kind.step)] = heap
    tolerance = SAME * max(float(np.abs(y[np.isfinite(y)]).max(initial=0.0)), 1e-300)
    lo, hi = y - width / 2.0, y + width / 2.0
    lo[y <= kind.low + tolerance] = -np.inf
    hi[y >= kind.high - tolerance] = np.inf
    spike = np.abs(y - kind.spike) <= tolerance
    lo[spike] = hi[spike] = kind.spike
    return lo, hi


def grid_step(values: Array) -> float:
    """The spacing of the grid on which these sorted, distinct values lie; 0 where there is none.

    >>> grid_step(np.array([0.1, 0.3, 0.6, 0.8]))
    0.1
    >>> grid_step(np.array([0.0, 1.0, np.pi]))
    0.0
    """
    gaps = np.diff(values)
    smallest = float(np.mean(gaps[gaps < 1.2 * gaps.min()]))
    for divisor in (1, 2, 3, 5):
        step, off = _grow(values, smallest / divisor)
        # Ten values and more lie that close to a grid by chance in one case of 1e10.
        if off < (ON_GRID if len(values) < 10 else NEAR_GRID):
            return float(f"{step:.10g}")
    return 0.0


def _grow(values: Array, step: float) -> tuple[float, float]:
    """The step that fits all values best, and the largest distance from its grid, in steps.

    Pounds written as kilograms with two decimals lie near a grid only. So the step is fitted to the first
    values, where a small error in it cannot change which grid point is meant, and then to more of them.
    """
    reach, off = 8.0, 0.0
    above = values - values[0]
    while True:
        within = above <= reach * step
        at = np.rint(above[within] / step)
        if within.sum() > 2 and at[-1] > 0.0:
            step = float(np.linalg.lstsq(at[:, None], above[within], rcond=None)[0][0])
        off = float(np.abs(above[within] / step - at).max())
        if off > 3.0 * NEAR_GRID or within.all():
            return step, off
        reach *= 4.0


def _distinct(y: Array) -> tuple[Array, Counts]:
    """Sorted values and how many rows have each; values that differ by floating-point error are one."""
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        return values, counts
    apart = np.diff(values) > SAME * np.abs(values).max()
    group = np.concatenate([[0], np.cumsum(apart)])
    first = np.concatenate([[True], apart])
    return values[first], np.bincount(group, weights=counts).astype(np.int64)


def _ungridded(values: Array, counts: Counts, n: int) -> OutcomeType:
    """No grid for all rows: piles at the ends, a spike, and rows that some people rounded."""
    many = max(PILE_ROWS, PILE_SHARE * n)
    low = high = spike = -1
    # Three values may stand out: two ends and a spike, or a spike and itself shifted by a bias.
    usual = int(np.sort(counts)[-4]) if len(counts) > 3 else 1
    for place in dict.fromkeys((0, len(values) - 1, int(np.argmax(counts)))):
        if counts[place] < max(many, PILE_RATIO * usual):
            continue
        if place not in (0, len(values) - 1) or _apart(values, counts, place):
            spike = place if spike < 0 or counts[place] > counts[spike] else spike
        elif place == 0:
            low = place
        else:
            high = place
    piles = [place for place in (low, high, spike) if place >= 0]
    heaps = _tied_heaps(np.delete(values, piles), np.delete(counts, piles), n)
    return OutcomeType(
        "heaped" if heaps else "continuous",
        0.0,
        heaps,
        float(values[low]) if low >= 0 else -math.inf,
        float(values[high]) if high >= 0 else math.inf,
        float(values[spike]) if spike >= 0 else math.nan,
        float(counts[spike]) / n if spike >= 0 else 0.0,
    )


def _apart(values: Array, counts: Counts, place: int, step: float = 0.0) -> bool:
    """Whether a pile at an end lies apart from all other values: next to it on a grid is not."""
    others, weights = np.delete(values, place), np.delete(counts, place)
    centre = float(np.average(others, weights=weights))
    spread = math.sqrt(float(np.average((others - centre) ** 2, weights=weights)))
    distance = np.abs(others - values[place])
    order = np.argsort(distance)
    reached = np.cumsum(weights[order]) / weights.sum()
    # A few stray values in between do not close the gap.
    return bool(distance[order][np.searchsorted(reached, 0.01)] > max(GAP * spread, 1.5 * step))


def _tied_heaps(values: Array, counts: Counts, n: int) -> tuple[float, ...]:
    """Among values that are mostly unique: the round number whose multiples are the values that tie."""
    tied = counts > 1
    rows = int(counts[tied].sum())
    if tied.sum() < 3 or rows < max(PILE_ROWS, HEAP_SHARE * n):
        return ()
    span = float(values[-1] - values[0])
    for heap in reversed(_round_numbers(span * 1e-6, span)):
        on = _multiple(values, heap)
        if counts[tied & on].sum() >= 0.9 * rows:
            # Where nearly all rows are multiples, ties are chance and no heap.
            return (heap,) if counts[on].sum() < 0.9 * counts.sum() else ()
    return ()


def _gridded(values: Array, counts: Counts, n: int, step: float) -> OutcomeType:
    """All rows on a grid: ratings, counts, or rounded values with their heaps and piles."""
    points = round(float(values[-1] - values[0]) / step) + 1
    centre = float(np.average(values, weights=counts))
    spread = math.sqrt(float(np.average((values - centre) ** 2, weights=counts)))
    whole = step == 1.0 and bool(_multiple(values[:1], 1.0)[0])
    # Few counts, 0 to 8 say, differ from a scale in that they thin out towards the top.
    thin = values[0] == 0.0 and counts[-1] < max(PILE_SHARE * n, PILE_ROWS) and centre < 0.45 * values[-1]
    # Counts begin near zero; zeros apart from the rest are a spike and say nothing of it.
    first = values[1] if values[0] == 0.0 and _apart(values, counts, 0, step) else values[0]
    counted = whole and 0.0 <= first <= min(spread, 5.0) and (points > MOST_POINTS or bool(thin))
    if points <= MOST_POINTS and step <= 1.0 and np.abs(values).max() <= MOST_POINTS and not counted:
        return OutcomeType("rating scale", step, (), float(values[0]), float(values[-1]))
    heaps = () if points <= MOST_POINTS else _heaps(values, counts, n, step, 2.0 * spread)
    low, high, spike = _piles(values, counts, n, heaps[0] if heaps else step, counted)
    return OutcomeType(
        "counts" if counted and not heaps else "heaped" if heaps else "rounded",
        step,
        heaps,
        0.0 if counted else low,
        high,
        spike,
        float(counts[values == spike].sum()) / n,
    )


def _piles(values: Array, counts: Counts, n: int, step: float, counted: bool) -> tuple[float, float, float]:
    """Ends at which rows pile up, and the spike: values that hold far more rows than those beside them.

    step : of the grid or, where there are heaps, of the finest one: a heap is held against other heaps.
    """
    low, high, spike = -math.inf, math.inf, math.nan
    last = len(values) - 1
    many = max(PILE_ROWS, PILE_SHARE * n)
    alike = (
        np.flatnonzero(_multiple(values, step)) if _multiple(values, step).sum() > 3 else np.arange(last + 1)
    )
    for place, inward in ((0, alike[alike > 0][:3]), (last, alike[alike < last][-3:])):
        ratio = ZEROS_RATIO if counted and place == 0 else PILE_RATIO
        if counts[place] < max(many, ratio * counts[inward].max()):
            continue
        if (counted and place == 0) or _apart(values, counts, place, step) or last < 2:
            spike = float(values[place])
        elif place == 0:
            low = float(values[place])
        else:
            high = float(values[place])
    inner = counts[1:-1]
    if math.isnan(spike) and len(inner) > MOST_POINTS:
        top = int(np.argmax(inner))
        others = np.delete(inner, top)
        if inner[top] >= max(many, PILE_RATIO * others.max()):
            spike = float(values[1 + top])
    if len(values) <= 2 * MOST_POINTS:
        # Few values: mass at an end means that the scale ends there, as in 0, 25, 50, 75, 100.
        if counts[0] >= max(0.05 * n, counts[1] / 2.0) and values[0] != spike:
            low = float(values[0])
        if counts[-1] >= max(0.05 * n, counts[-2] / 2.0) and values[-1] != spike:
            high = float(values[-1])
    return low, high, spike


def _heaps(values: Array, counts: Counts, n: int, step: float, widest: float) -> tuple[float, ...]:
    """Round numbers up to `widest` whose multiples hold more rows than the grid points around them.

    A multiple of the finest round number is held against its neighbours on the grid, none of which is round.
    A coarser one counts where its excess, relative to them, is twice that of the finer one.
    """
    if not _multiple(values, step, 2.0 * NEAR_GRID * step).all():
        return ()
    at = np.rint(values / step).astype(np.int64)
    candidates = [heap / step for heap in _round_numbers(step, widest)]
    ratios = [round(ratio) for ratio in candidates if abs(ratio - round(ratio)) < ON_GRID]
    if not ratios:
        # Converted units: pounds in kilograms are round in pounds.
        ratios = [round(ratio) for ratio in _round_numbers(1.0, widest / step)]
    if not ratios:
        return ()
    rounded = (at > at[0]) & (at < at[-1]) & (at % ratios[0] == 0)
    reach = (ratios[0] - 1) // 2 or 1
    offsets = np.array([o for o in range(-reach, reach + 1) if o])
    beside = at[rounded][:, None] + offsets
    place = np.minimum(np.searchsorted(at, beside), len(at) - 1)
    expected = np.where(at[place] == beside, counts[place], 0).mean(axis=1)
    excess = counts[rounded] - expected
    level = np.zeros(int(rounded.sum()), dtype=np.int64)
    for k, ratio in enumerate(ratios):
        level[at[rounded] % ratio == 0] = k
    found: list[float] = []
    relative = 0.0
    for k, ratio in enumerate(ratios):
        mine = level == k
        total, base = float(excess[mine].sum()), float(expected[mine].sum()) + 1.0
        clear = total >= max(HEAP_SHARE * n, HEAP_Z * math.sqrt(base)) and (excess[mine] > 0.0).sum() > 1
        if clear and total / base > 2.0 * relative:
            found.append(float(f"{ratio * step:.10g}"))
            relative = total / base
    return tuple(found)


def _round_numbers(above: float, below: float) -> list[float]:
    """1 and 5 times powers of ten, between two numbers.

    Twos are left out: even numbers are no heap of a scale in ones.
    """
    if not 0.0 < above < below:
        return []
    powers = range(math.floor(math.log10(above)), math.ceil(math.log10(below)) + 1)
    numbers = [float(f"{digit}e{power}") for power in powers for digit in (1, 5)]
    return [number for number in numbers if above * (1.0 + 1e-9) < number <= below]


def _multiple(y: Array, step: float, slack: float = 0.0) -> NDArray[np.bool_]:
    """Whether each value is a whole multiple of a step, but for floating-point error or some slack."""
    with np.errstate(invalid="ignore"):
        at = y / step
        return np.asarray(np.abs(at - np.rint(at)) < np.maximum(1e-9 + slack / step, 1e-12 * np.abs(at)))
