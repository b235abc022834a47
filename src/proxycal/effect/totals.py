"""Totals and means of the true outcome over groups of rows, with an interval for each.

Given the data, the true outcome of row i has a mean m_i(theta) and a variance v_i of its own (is it biased or
not?), while the error of theta, the parameters of the bias, is the same in all rows. So for weights w

    total = sum w_i m_i,   variance = sum w_i^2 v_i + g' Cov(theta) g,   g = sum w_i dm_i/dtheta

Sizes over decades are no case for a normal interval: one large row that may be biased, or not, moves a total
by a jump, and a jump of small probability is missed by any number of standard deviations. So the rows of most
doubt are kept one by one (jump and chance), and the interval is that of their sum, all other rows and theta
being normal around it. The chance is averaged over the error of theta: at the estimate itself it is too sure
(`averaged` in row_truth.py), and an interval made with it misses large rows that are biased after all.

Every sum is over rows, so that the sums of pieces of a table add up. The mean m_i is taken in the outcome's
own units: where the bias is a factor, of y * exp(-size) and not of the logarithm, which would be too low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from proxycal.effect.grouped import AsReported, Totals
from proxycal.effect.row_truth import is_known, row_truth, shared_cov
from proxycal.errors import SettingsError, TableError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from proxycal.effect.row_truth import RowTruth
    from proxycal.methods.registry import MethodFit
    from proxycal.table.encode import Arrays

Statistic = Literal["total", "mean"]
# Groups of one table: enough for the counties of a nation; with more, a table of totals is the table itself.
MOST_GROUPS = 4_000
# Rows answered at a time: slopes are a matrix as wide as there are parameters.
BLOCK = 8_192
OVERALL = "overall"
# Rows of most doubt in a group that are kept one by one, and how often who of them is biased is drawn.
KEPT, DRAWS = 64, 4_000
# The draws are the same for the same table, whoever asks.
SEED = 20_240_229


@dataclass(frozen=True, slots=True)
class TotalSums:
    """Sums over the rows of G groups, of a table or a piece of one; those of pieces add up.

    labels : G values of the grouping column, (None,) without one. rows, weight : (G,) how many rows, and
    their weight. reported, calibrated, middle, variance : (G,) sums of w y, w mean, w middle, w^2 variance.
    slope, extra : (G, k) and (G, m) sums with w. jump, chance : (G, K) w jump and chance of the rows of most
    doubt, zeros where there are fewer.
    """

    labels: tuple[Hashable, ...]
    rows: np.ndarray
    weight: np.ndarray
    reported: np.ndarray
    calibrated: np.ndarray
    middle: np.ndarray
    variance: np.ndarray
    slope: np.ndarray
    extra: np.ndarray
    jump: np.ndarray
    chance: np.ndarray

    def __add__(self, other: TotalSums) -> TotalSums:
        labels = tuple(dict.fromkeys((*self.labels, *other.labels)))
        mine, theirs = self._over(labels), other._over(labels)
        sums = {name: mine[name] + theirs[name] for name in _SUMMED}
        jump, chance = (np.hstack([mine[name], theirs[name]]) for name in _KEPT)
        doubts = _most_doubtful(jump, chance)
        return TotalSums(labels, **sums, **doubts)

    def overall(self) -> TotalSums:
        """All groups as one."""
        sums = {name: getattr(self, name).sum(axis=0, keepdims=True) for name in _SUMMED}
        doubts = _most_doubtful(self.jump.reshape(1, -1), self.chance.reshape(1, -1))
        return TotalSums((OVERALL,), **sums, **doubts)

    def over(self, labels: tuple[Hashable, ...]) -> TotalSums:
        """The same with these labels, zeros where there is none."""
        return TotalSums(labels, **self._over(labels))

    def _over(self, labels: tuple[Hashable, ...]) -> dict[str, np.ndarray]:
        """Every array with a row for each of these labels, zeros where there is none."""
        place = {label: at for at, label in enumerate(labels)}
        whole = {}
        for name in (*_SUMMED, *_KEPT):
            part = getattr(self, name)
            whole[name] = np.zeros((len(labels), *part.shape[1:]), dtype=part.dtype)
            whole[name][[place[label] for label in self.labels]] = part
        return whole


_KEPT = ("jump", "chance")
_SUMMED = tuple(item.name for item in fields(TotalSums) if item.name not in ("labels", *_KEPT))


def _most_doubtful(jump: np.ndarray, chance: np.ndarray) -> dict[str, np.ndarray]:
    """The KEPT columns of most doubt in each row of (G, m) arrays."""
    if jump.shape[1] <= KEPT:
        return {"jump": jump, "chance": chance}
    doubt = np.abs(jump) * np.sqrt(chance * (1.0 - chance))
    top = np.argsort(-doubt, axis=1, kind="stable")[:, :KEPT]
    return {"jump": np.take_along_axis(jump, top, axis=1), "chance": np.take_along_axis(chance, top, axis=1)}


def refuse_groups(count: int, name: str) -> None:
    """Refuse more groups than a table of totals is for."""
    if count > MOST_GROUPS:
        raise TableError(
            f"column {name!r} has {count:,} levels or more, and totals are given for at most "
            f"{MOST_GROUPS:,}: group them first, or choose a coarser column"
        )


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of n rows: codes (n,), positions in `labels`."""

    codes: np.ndarray
    labels: tuple[Hashable, ...]

    @classmethod
    def one(cls, n: int) -> Groups:
        """All rows in one group."""
        return cls(np.zeros(n, dtype=np.intp), (None,))


def sum_rows(
    fitted: MethodFit, arrays: Arrays, groups: Groups, weights: np.ndarray, counts: np.ndarray | None = None
) -> TotalSums:
    """The sums of n rows with weights (n,), each standing for counts (n,) equal ones, or for itself."""
    return sum_rows_by(fitted, arrays, {"": groups}, weights, counts)[""]


def sum_rows_by(
    fitted: MethodFit,
    arrays: Arrays,
    groupings: Mapping[str, Groups],
    weights: np.ndarray,
    counts: np.ndarray | None = None,
) -> dict[str, TotalSums]:
    """The sums of n rows in several ways of grouping them, each row answered once."""
    assert arrays.y is not None
    counts = np.ones(arrays.n) if counts is None else counts
    made: dict[str, TotalSums] = {}
    for rows in np.split(np.arange(arrays.n), range(BLOCK, arrays.n, BLOCK)):
        truth = row_truth(fitted, arrays.take(rows))
        for name, groups in groupings.items():
            inside = Groups(groups.codes[rows], groups.labels)
            part = _sums_of(truth, arrays.y[rows], inside, weights[rows], counts[rows])
            made[name] = made[name] + part if name in made else part
    return made


def _sums_of(truth: RowTruth, y: np.ndarray, groups: Groups, w: np.ndarray, times: np.ndarray) -> TotalSums:
    codes, count = groups.codes, len(groups.labels)
    # The doubts of equal rows are their own: their variances add up, not their standard deviations.
    every = times * w

    def by_group(values: np.ndarray) -> np.ndarray:
        return np.bincount(codes, weights=values, minlength=count)

    def by_columns(values: np.ndarray | None) -> np.ndarray:
        if count == 1 and values is not None:
            return (every @ values)[None]
        columns = [] if values is None else [by_group(every * column) for column in values.T]
        return np.column_stack(columns) if columns else np.zeros((count, 0))

    return TotalSums(
        labels=groups.labels,
        rows=by_group(times).astype(np.int64),
        weight=by_group(every),
        reported=by_group(every * y),
        calibrated=by_group(every * truth.mean),
        middle=by_group(every * (truth.mean if truth.middle is None else truth.middle)),
        variance=by_group(every * w * truth.variance),
        slope=by_columns(truth.slope),
        extra=by_columns(truth.extra),
        **_doubts(truth, codes, count, w, times),
    )


def _doubts(
    truth: RowTruth, codes: np.ndarray, count: int, w: np.ndarray, times: np.ndarray
) -> dict[str, Any]:
    """Jump and chance of the KEPT rows of most doubt in each group, (count, KEPT) each."""
    jump, chance = np.zeros((count, KEPT)), np.zeros((count, KEPT))
    if truth.jump is None or truth.chance is None:
        return {"jump": jump, "chance": chance}
    copies = np.repeat(np.arange(len(w)), np.minimum(times, KEPT).astype(int))
    codes, jumps, chances = codes[copies], (w * truth.jump)[copies], truth.chance[copies]
    doubt = np.abs(jumps) * np.sqrt(chances * (1.0 - chances))
    order = np.lexsort((-doubt, codes))
    # The place of each row among those of its group, the most doubtful first.
    starts = np.searchsorted(codes[order], np.arange(count))
    place = np.arange(len(order)) - starts[codes[order]]
    kept = (place < KEPT) & (doubt[order] > 0.0)
    at = codes[order][kept], place[kept]
    jump[at], chance[at] = jumps[order][kept], chances[order][kept]
    return {"jump": jump, "chance": chance}


def conclude(
    fitted: MethodFit,
    sums: TotalSums,
    level: float,
    statistic: Statistic = "total",
    by: str | None = None,
    left: AsReported | None = None,
) -> Totals:
    """Totals, or means, and their intervals from the sums over all rows; by : the column of the groups.

    left : rows without an answer. They enter as reported, and no interval accounts for their bias.
    """
    if statistic not in ("total", "mean"):
        raise SettingsError(f"statistic={statistic!r} is not known: use 'total' or 'mean'")
    sums = with_labels(sums, left)
    named = in_order(sums)
    others = left_over(left, named.labels)
    calibrated, variance = finish(fitted, named)
    middle = calibrated + (named.middle - named.calibrated)
    low, high = intervals(middle, variance, named.jump, named.chance, level)
    low, high = np.minimum(low, calibrated), np.maximum(high, calibrated)
    unknown = (named.rows == 0) | (not is_known(fitted))
    low, high = (np.where(unknown, np.nan, end + others.reported) for end in (low, high))
    calibrated, reported = calibrated + others.reported, named.reported + others.reported
    weight = named.weight + others.weight
    unit = np.where(weight > 0.0, weight, np.nan) if statistic == "mean" else 1.0
    change = np.full_like(calibrated, np.nan)
    np.divide(calibrated - reported, np.abs(reported), out=change, where=reported != 0.0)
    return Totals(
        by=by,
        statistic=statistic,
        labels=tuple(map(str, named.labels)),
        rows=named.rows + others.rows,
        reported=reported / unit,
        calibrated=calibrated / unit,
        low=low / unit,
        high=high / unit,
        change_pct=100.0 * change,
        as_reported_rows=others.rows,
        as_reported=others.reported,
    )


def with_labels(sums: TotalSums, left: AsReported | None) -> TotalSums:
    """The sums with the labels of rows without an answer beside their own."""
    return sums if left is None else sums.over(tuple(dict.fromkeys((*sums.labels, *left.labels))))


def left_over(left: AsReported | None, labels: tuple[Hashable, ...]) -> AsReported:
    """The rows without an answer by group, in the order of the labels, all of them last."""
    if left is None:
        none = np.zeros(len(labels))
        return AsReported(labels, none.astype(np.int64), none, none, 0)
    by_group = left.over(labels)
    for part, whole in ((by_group.rows, left.rows), (by_group.weight, left.weight)):
        part[-1] = whole.sum()
    by_group.reported[-1] = left.reported.sum()
    return by_group


def in_order(sums: TotalSums) -> TotalSums:
    """The groups in the order of their labels, and all rows last."""
    overall = sums.overall()
    if sums.labels == (None,):
        return overall
    order = _sorted(sums.labels)
    labels = tuple(sums.labels[at] for at in order)
    last = OVERALL if OVERALL not in labels else f"{OVERALL} (all rows)"
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(sums, name)[order], getattr(overall, name)])
        for name in (*_SUMMED, *_KEPT)
    }
    return TotalSums((*labels, last), **arrays)


def finish(fitted: MethodFit, sums: TotalSums) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated totals (G,) and their variances (G,); the method's own where it has them."""
    own = getattr(fitted, "finish_totals", None)
    if own is not None:
        calibrated, variance = own(sums)
        return np.asarray(calibrated), np.asarray(variance)
    shared = ((sums.slope @ shared_cov(fitted)) * sums.slope).sum(axis=1)
    return sums.calibrated, sums.variance + shared


def intervals(
    mean: np.ndarray, variance: np.ndarray, jump: np.ndarray, chance: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Ends (G,) of the central intervals of mean + sum_k jump_k (A_k - chance_k) + normal, A_k ~ chance_k.

    variance (G,) is that of all of it; the normal part has what the jumps (G, K) leave.

    >>> none = np.zeros((1, 1))
    >>> [round(float(end[0]), 2) for end in intervals(np.array([5.0]), np.array([1.0]), none, none, 0.95)]
    [3.04, 6.96]
    >>> rare = intervals(np.array([1.0]), np.array([9.0]), np.array([[10.0]]), np.array([[0.1]]), 0.95)
    >>> [round(float(end[0]), 1) for end in rare]
    [0.0, 10.0]
    """
    rng = np.random.default_rng(SEED)
    drawn = rng.random((DRAWS, jump.shape[1]))
    rest = np.sqrt(np.maximum(variance - (jump**2 * chance * (1.0 - chance)).sum(axis=1), 0.0))
    low, high = np.empty_like(mean), np.empty_like(mean)
    for g in range(len(mean)):
        if np.isnan(variance[g]):
            # A method that cannot say how far off a total is leaves its interval missing.
            low[g] = high[g] = np.nan
            continue
        doubtful = chance[g] * (1.0 - chance[g]) * np.abs(jump[g]) > 0.0
        who = drawn[:, doubtful] < chance[g, doubtful]
        centres = (who - chance[g, doubtful]) @ jump[g, doubtful]
        tails = [mixture_quantile(q, centres, float(rest[g])) for q in (0.5 - level / 2, 0.5 + level / 2)]
        low[g], high[g] = mean[g] + tails[0], mean[g] + tails[1]
    # The mean of a skewed sum may lie beyond its quantiles; widening to it only adds coverage.
    return np.minimum(low, mean), np.maximum(high, mean)


def mixture_quantile(q: float, centres: np.ndarray, sd: float) -> float:
    """Quantile q of an even mixture of N(centre, sd^2)."""
    if not sd > 0.0:
        return float(np.quantile(centres, q))
    if float(np.ptp(centres)) <= 1e-9 * sd:
        return float(centres[0]) + sd * float(ndtri(q))
    low, high = (float(end) + sd * float(ndtri(q)) for end in (centres.min(), centres.max()))
    at, moved = 0.5 * (low + high), np.inf
    # Newton's steps, and halves where one leads out of the bracket: scipy's roots take a tenth of a second to
    # import, more than all else that a total needs.
    while abs(moved) > 1e-9 * sd:
        z = (at - centres) / sd
        beyond = float(ndtr(z).mean()) - q
        low, high = (low, at) if beyond > 0.0 else (at, high)
        density = float(np.exp(-0.5 * z**2).mean()) / math.sqrt(2.0 * math.pi)
        moved = -beyond / density * sd if density > 1e-9 else np.inf
        if not low < at + moved < high:
            moved = 0.5 * (low + high) - at
        at += moved
    return at


def _sorted(labels: Sequence[Any]) -> list[int]:
    """Positions of the labels in their order; as text where they are of several kinds."""
    try:
        return sorted(range(len(labels)), key=lambda at: labels[at])
    except TypeError:
        return sorted(range(len(labels)), key=lambda at: str(labels[at]))
