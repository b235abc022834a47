"""Whether a column of new rows is in other units than the fitted one: all of its values times one factor.

Rows that are chosen, whatever chose them, are rows of the law that was fitted: a large county is far out in
population, but not beyond what its losses, its area and its income let expect, and one that was chosen for
its population is one that the fit has seen. Other units take a column out of both: of its own range, and of
what the other columns let expect of it. So a column is in other units where a factor c makes it match, given
the others, and no choice of fitted rows could look like it:

    its rows lie beyond every fitted one, given the other columns       whatever their number
    or its whole law is the fitted one times c, and c is large          a choice cuts a law off, and does not
                                                                        move it as it is
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import kolmogorov

from proxycal.drift.smooth import ks_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.decode import Values

    Floats = NDArray[np.float64]

# A smaller factor is growth, prices or another year, and no other unit.
SMALLEST = 1.5
# Factors that are tried, as powers of ten; how many, how many around the best, and by how many rows at first.
FURTHEST, STEPS, FINER, ROUGHLY = 9.0, 121, 25, 100
# Rows that are looked at: a factor needs no more.
MOST = 1_000
# How far beyond the fitted range rows must lie, as a multiple of it: one row, fewer than LAW, more. The
# extremes of a table fifty times as large as the fitted one lie 1.2 times as far. Fewer rows than FEW must
# all lie there, of more half.
FEW, BEYOND = 5, (2.5, 2.0, 1.25)
# New rows from which a law can be told to be moved as it is, and the p below which it is not.
LAW, SAME_LAW = 20, 0.001
# How far it must have moved, in sds of the column given the others; or, where the sign varies, by what
# factor, and how well the others must tell it still (z, and their correlation with it as a part of that in
# the fitted rows): of rows chosen near zero they tell little.
MOVED, STRETCHED, TOLD, KEPT = 3.0, 3.0, 4.0, 0.6
# How near a power of ten a factor must be to be one, and then by how many sds a law must have moved.
NEAR_TEN, MOVED_TEN = 0.04, 1.0
# The tail of the density: Student's t with so many degrees of freedom.
TAIL = 4.0


@dataclass(frozen=True, slots=True)
class UnitChange:
    """A column of which the new values are `factor` times what the fit was made with.

    doubt : standard error of its logarithm. outside : share of the new rows beyond everything that was
    fitted, given the other columns. before, now : the middle value, without a sign.
    """

    column: str
    factor: float
    doubt: float
    outside: float
    before: float
    now: float


@dataclass(frozen=True, slots=True)
class Space:
    """Where a column is compared: logarithms of what is never negative, else numbers, or arsinh of wide ones.

    kind : "log", "linear" or "arsinh". unit : the middle magnitude. centre, spread : of the fitted rows.
    """

    kind: str
    unit: float
    centre: float
    spread: float

    @classmethod
    def of(cls, x: Floats, weights: Floats) -> Space:
        """Learned from the fitted values (n,)."""
        seen = np.isfinite(x) & (x != 0.0)
        values = x[seen]
        if not len(values):
            return cls("linear", 1.0, 0.0, 1.0)
        unit = float(np.median(np.abs(values)))
        kind = "log"
        if (values < 0.0).any():
            middle = float(np.median(x[np.isfinite(x)]))
            off = np.abs(x[np.isfinite(x)] - middle)
            kind = "arsinh" if off.max() > 10.0 * np.median(off) else "linear"
        t = cls(kind, unit, 0.0, 1.0).turned(values)
        w = weights[seen] / weights[seen].sum()
        centre = float(w @ t)
        spread = math.sqrt(float(w @ (t - centre) ** 2))
        # A column of one value, such as 0 and 1: any other is beyond it.
        return cls(kind, unit, centre, max(spread, 0.01))

    def turned(self, x: Floats) -> Floats:
        """The values (n,) there, standardised; 0, the middle, for a gap, and for a zero that has no place."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.kind == "log":
                t = np.log(np.abs(x))
            else:
                t = np.arcsinh(x / self.unit) if self.kind == "arsinh" else x / self.unit
        t = (t - self.centre) / self.spread
        return np.where(self.speaks(x), t, 0.0)

    def speaks(self, x: Floats) -> NDArray[np.bool_]:
        """Which values (n,) say something of the unit: zero is zero in every unit."""
        return np.isfinite(x) & (x != 0.0)

    def log_steep(self, x: Floats) -> Floats:
        """The logarithm of how steeply `turned` rises, times |x|."""
        if self.kind == "log":
            return np.zeros_like(x) - math.log(self.spread)
        size = np.log(np.abs(x) / self.unit)
        return (
            size
            - math.log(self.spread)
            - (0.5 * np.log1p((x / self.unit) ** 2) if self.kind == "arsinh" else 0.0)
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """The fitted rows as units are compared: columns of numbers by name, what others let expect of each.

    spaces : of each of k columns. precision : (k + l, k + l), the inverse covariance of turned numbers and
    l levels, whose means are level_means. ends : (k, 2) smallest and largest turned values. given, own :
    residuals of each column given the others, and its turned values, sorted. sample : values of each and what
    the others let expect of them, turned. reach : how much further out residuals of rows that were not fitted
    lie.
    """

    names: tuple[str, ...]
    spaces: tuple[Space, ...]
    precision: Floats
    ends: Floats
    level_means: Floats
    given: tuple[Floats, ...]
    own: tuple[Floats, ...]
    sample: tuple[tuple[Floats, Floats], ...]
    reach: float


def reference(old: Values) -> Reference:
    """What units are compared with, from the fitted rows."""
    names = tuple(old.numbers)
    spaces = tuple(Space.of(old.numbers[name], old.weights) for name in names)
    turned = _turned(spaces, names, old)
    dummies = _dummies(old)
    w = old.weights / old.weights.sum()
    level_means = w @ dummies
    whole = np.hstack([turned, dummies - level_means])
    k = whole.shape[1]
    cov = (whole * w[:, None]).T @ whole
    # A part of the columns' variance is theirs alone: sums to one, or columns given twice, explain nothing.
    own_part = 0.01 + 0.5 * k / old.n
    precision = np.linalg.inv(cov + own_part * np.diag(np.maximum(np.diag(cov), 1e-6)))
    ends = np.column_stack([turned.min(axis=0), turned.max(axis=0)])
    made = Reference(names, spaces, precision, ends, level_means, (), (), (), 1.0)
    given, own, sample = [], [], []
    for j, name in enumerate(names):
        x = old.numbers[name]
        speaks = spaces[j].speaks(x)
        residual, tightness = _given(made, whole, j)[speaks], math.sqrt(precision[j, j])
        given.append(np.sort(residual))
        own.append(np.sort(turned[speaks, j]))
        some = np.linspace(0, max(len(residual) - 1, 0), min(len(residual), MOST)).astype(np.intp)
        expected = turned[speaks, j][some] - residual[some] / tightness
        sample.append((x[speaks][some], expected))
    # Residuals of rows that were not fitted are longer than those of rows that were.
    reach = math.sqrt((old.n + k) / max(old.n - k, 1.0)) if old.n > k else 3.0
    return replace(made, given=tuple(given), own=tuple(own), sample=tuple(sample), reach=reach)


def unit_changes(ref: Reference, new: Values) -> tuple[UnitChange, ...]:
    """The columns of new rows that are in other units, each found with those before put right."""
    new = _some(new)
    found: list[UnitChange] = []
    numbers = dict(new.numbers)
    for _ in ref.names:
        current = replace(new, numbers=numbers)
        candidates = [
            change for j in range(len(ref.names)) if (change := _change(ref, current, j)) is not None
        ]
        if not candidates:
            break
        # Other units of one column make others look odd, given it: the one at fault leaves the least.
        odd = [
            _oddness(ref, replace(current, numbers=numbers | {c.column: numbers[c.column] / c.factor}))
            for c in candidates
        ]
        best = candidates[int(np.argmin(odd))]
        if any(best.column == change.column for change in found):
            break
        found.append(best)
        numbers[best.column] = numbers[best.column] / best.factor
    return tuple(found)


def _change(ref: Reference, new: Values, j: int) -> UnitChange | None:
    """The change of unit of column j, if there is one."""
    name, space = ref.names[j], ref.spaces[j]
    x = new.numbers[name]
    speaks = space.speaks(x)
    # Rows that share their value, or their cluster, say it once.
    m = len(np.unique(x[speaks]))
    m = m if new.cluster is None else min(m, len(np.unique(new.cluster[speaks])))
    if not m or not len(ref.given[j]):
        return None
    whole = _whole(ref, new)
    residual, own = _given(ref, whole, j)[speaks], whole[speaks, j]
    outside = _outside(ref.given[j], residual, ref.reach)
    if outside == 0.0 and (m < LAW or _same_law(ref.given[j], residual) >= SAME_LAW):
        return None
    tightness = math.sqrt(ref.precision[j, j])
    expected = own - residual / tightness
    # The fitted rows themselves are not at 1 where the density is not theirs.
    factor = _factor(space, x[speaks], expected, 1.0 / tightness)
    if not max(factor, 1.0 / factor) >= 1.0 + 0.5 * (SMALLEST - 1.0):
        return None
    factor /= _factor(space, *ref.sample[j], 1.0 / tightness)
    if not max(factor, 1.0 / factor) >= SMALLEST:
        return None
    put_right = space.turned(x[speaks] / factor)
    residual_right = (put_right - expected) * tightness
    if _is_beyond(ref, j, (residual, residual_right, own), m) or (
        m >= LAW and _is_moved(ref, j, (residual, residual_right, put_right), factor, m)
    ):
        return UnitChange(
            name,
            factor,
            # The error of a median; where signs vary, that of a spread.
            (1.25 * space.spread / tightness if space.kind == "log" else 1.0) / math.sqrt(m),
            outside,
            space.unit,
            float(np.median(np.abs(x[speaks]))),
        )
    return None


def _is_beyond(ref: Reference, j: int, rows: tuple[Floats, Floats, Floats], m: int) -> bool:
    """Whether new rows lie beyond all fitted ones given the others, and no longer once put right."""
    residual, right, own = rows
    margin = BEYOND[(m > 1) + (m >= LAW)]
    share = _outside(ref.given[j], residual, ref.reach * margin)
    needed = 0.5 if m >= FEW else 1.0
    still = _outside(ref.given[j], right, ref.reach)
    # Out of its own law too: else it is another column that is odd.
    usual = np.quantile(ref.own[j], [0.05, 0.95])
    off = float(((own < usual[0]) | (own > usual[1])).mean())
    return share >= needed and still <= 0.1 * share and off >= 0.5


def _is_moved(ref: Reference, j: int, rows: tuple[Floats, Floats, Floats], factor: float, m: int) -> bool:
    """Whether the law of the column is the fitted one times the factor, itself and given the others."""
    residual, right, own_right = rows
    same = min(_same_law(ref.given[j], right), _same_law(ref.own[j], own_right))
    if same < SAME_LAW:
        return False
    tens = math.log10(factor)
    is_ten = abs(tens - round(tens)) < NEAR_TEN and round(tens) != 0
    if ref.spaces[j].kind != "log":
        told = _told(own_right - right / math.sqrt(ref.precision[j, j]), own_right)
        x, expected = ref.sample[j]
        as_told = told >= KEPT * _told(expected, ref.spaces[j].turned(x))
        return max(factor, 1.0 / factor) >= STRETCHED and told * math.sqrt(m) >= TOLD and as_told
    moved = abs(float(np.median(residual) - np.median(ref.given[j])))
    return moved >= (MOVED_TEN if is_ten else MOVED)


def _told(expected: Floats, own: Floats) -> float:
    """The correlation of a column with what the others let expect of it."""
    if np.ptp(expected) == 0.0 or np.ptp(own) == 0.0:
        return 0.0
    return float(np.corrcoef(expected, own)[0, 1])


def _same_law(old: Floats, new: Floats) -> float:
    size = math.sqrt(len(old) * len(new) / (len(old) + len(new)))
    return float(kolmogorov(max(ks_distance(old, new) - 0.05, 0.0) * size))


def _outside(given: Floats, residual: Floats, reach: float) -> float:
    """Share of the residuals (m,) beyond all of the fitted ones, times `reach` around their middle."""
    middle = float(np.median(given))
    low, high = middle - reach * (middle - given[0]), middle + reach * (given[-1] - middle)
    return float(((residual < low) | (residual > high)).mean())


def _factor(space: Space, x: Floats, expected: Floats, sd: float) -> float:
    """The factor that makes values (m,) most likely, given what is expected of them, with long tails."""
    if space.kind == "log":
        return math.exp(space.spread * float(np.median(space.turned(x) - expected)))

    def best(logs: Floats, every: int) -> float:
        values = x[None, ::every] / np.exp(logs)[:, None]
        off = (space.turned(values) - expected[None, ::every]) / sd
        density = space.log_steep(values) - 0.5 * (TAIL + 1.0) * np.log1p(off**2 / TAIL)
        return float(logs[int(np.argmax(density.sum(axis=1)))])

    reach = FURTHEST * math.log(10.0)
    grid = np.linspace(-reach, reach, STEPS)
    step = grid[1] - grid[0]
    # Roughly by some of the rows, then by all of them.
    at = best(grid, max(len(x) // ROUGHLY, 1))
    for _ in range(2):
        at = best(np.linspace(at - 1.5 * step, at + 1.5 * step, FINER), 1)
        step *= 3.0 / (FINER - 1)
    return math.exp(at)


def _oddness(ref: Reference, new: Values) -> float:
    """How odd rows are, column by column, by themselves and given the others."""
    whole = _whole(ref, new)
    total = 0.0
    for j in range(len(ref.names)):
        total += float(np.log1p(_given(ref, whole, j) ** 2).mean() + np.log1p(whole[:, j] ** 2).mean())
    return total


def _given(ref: Reference, whole: Floats, j: int) -> Floats:
    """How far (m,) a column is from what the others let expect, in sds; the others within what was fitted."""
    others = whole.copy()
    k = len(ref.names)
    others[:, :k] = np.clip(others[:, :k], ref.ends[:, 0], ref.ends[:, 1])
    others[:, j] = 0.0
    tight = ref.precision[j, j]
    return np.asarray((whole[:, j] + others @ ref.precision[:, j] / tight) * math.sqrt(tight))


def _whole(ref: Reference, new: Values) -> Floats:
    return np.hstack([_turned(ref.spaces, ref.names, new), _dummies(new) - ref.level_means])


def _turned(spaces: tuple[Space, ...], names: tuple[str, ...], rows: Values) -> Floats:
    return np.column_stack(
        [space.turned(rows.numbers[name]) for name, space in zip(names, spaces, strict=True)]
    )


def _dummies(rows: Values) -> Floats:
    parts = [
        (codes[:, None] == np.arange(1, len(names))[None, :]).astype(np.float64)
        for codes, names in rows.levels.values()
    ]
    return np.hstack(parts) if parts else np.empty((rows.n, 0))


def _some(rows: Values) -> Values:
    """At most MOST of the rows, evenly spaced."""
    if rows.n <= MOST:
        return rows
    at = np.linspace(0, rows.n - 1, MOST).astype(np.intp)
    return replace(
        rows,
        numbers={name: x[at] for name, x in rows.numbers.items()},
        levels={name: (codes[at], names) for name, (codes, names) in rows.levels.items()},
        weights=rows.weights[at],
        cluster=None if rows.cluster is None else rows.cluster[at],
    )
