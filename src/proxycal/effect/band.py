"""Totals under an assumption: how many rows are biased, and by how much, stated as a range and never found.

Of the rows that are not known to be right a share s is biased, and a biased row reports a part r of its truth
(r > 1 where reports are too high), or is off by an amount a. Where biased rows are as large as the others,

    reported = truth (1 - s) + truth s r     =>     truth = reported / (1 - s (1 - r)),

and with an amount truth = reported -+ s n a. Nobody knows which rows they are: of reports y the truth is
largest, or smallest, where they are the largest ones,

    truth = reported + (1 / r - 1) * sum of the s n largest (or smallest) y.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a person is willing to say: both ends of each range.

    share : of the rows, 0 to 1. reports : the part of the truth that biased rows report. amount : what they
    are off by, in place of `reports`.
    """

    share: tuple[float, float]
    reports: tuple[float, float] | None = None
    amount: tuple[float, float] | None = None

    def words(self, way: str) -> str:
        """The assumption as a sentence that stands beside its numbers; way : "over" or "under".

        >>> Assumed((0.1, 0.4), reports=(0.6, 0.9)).words("under")
        'An assumption, not a finding: in every group 10% to 40% of the rows report 60% to 90% of the truth.'
        """
        said = f"An assumption, not a finding: in every group {_range(self.share)} of the rows report"
        if self.reports is not None:
            return f"{said} {_range(self.reports)} of the truth."
        assert self.amount is not None
        low, high = self.amount
        off = f"{low:,g}" if low == high else f"{low:,g} to {high:,g}"
        return f"{said} {off} too {'much' if way == 'over' else 'little'}."


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{100.0 * end:.3g}%" for end in ends)
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Band:
    """Totals of G groups under an assumption, (G,) each, in the outcome's units.

    rows, reported : as in the table. low, high : where biased rows are as large as the others. lowest,
    highest : whichever rows they are.
    """

    rows: np.ndarray
    reported: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


def band(
    y: np.ndarray,
    weights: np.ndarray,
    codes: np.ndarray,
    count: int,
    assumed: Assumed,
    sign: float,
    known: np.ndarray,
) -> Band:
    """The band of each of `count` groups of n rows, and of all rows last.

    y, weights : (n,) reports and how much each row counts. codes : (n,) the group of each. sign : +1 where
    biased reports are too high. known : (n,) the truth where it is known, else NaN.

    >>> y, one = np.array([60.0, 100.0]), np.ones(2)
    >>> made = band(y, one, np.zeros(2, int), 1, Assumed((0.5, 0.5), reports=(0.6, 0.6)), -1.0, one * np.nan)
    >>> made.low.round(6).tolist(), made.lowest.round(6).tolist(), made.highest.round(6).tolist()
    ([200.0, 200.0], [200.0, 200.0], [226.666667, 226.666667])
    """
    settled = np.isfinite(known)
    free = ~settled
    rows = _summed(np.ones(len(y)), codes, count)
    reported = _summed(weights * y, codes, count)
    sure = _summed(weights * np.where(settled, known, 0.0), codes, count)
    open_total = _summed(weights * np.where(free, y, 0.0), codes, count)
    if assumed.amount is not None:
        weight = _summed(weights * free, codes, count)
        ends = [open_total - sign * s * a * weight for s, a in product(assumed.share, assumed.amount)]
        low, high = sure + np.min(ends, axis=0), sure + np.max(ends, axis=0)
        return Band(rows, reported, low, high, low, high)
    assert assumed.reports is not None
    corners = list(product(assumed.share, assumed.reports))
    ends = [open_total / (1.0 - s * (1.0 - r)) for s, r in corners]
    low, high = sure + np.min(ends, axis=0), sure + np.max(ends, axis=0)
    moved = [
        (1.0 / r - 1.0) * part
        for s, r in corners
        for part in _extremes((weights * y)[free], y[free], codes[free], count, s)
    ]
    lowest, highest = (
        sure + open_total + _with_all(end(np.array(moved), axis=0)) for end in (np.min, np.max)
    )
    return Band(rows, reported, low, high, lowest, highest)


def _summed(values: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    return _with_all(np.bincount(codes, weights=values, minlength=count))


def _with_all(by_group: np.ndarray) -> np.ndarray:
    """(G + 1,) the groups, and all rows: the assumption is made of every group, so its ends add up."""
    return np.append(by_group, by_group.sum())


def _extremes(
    part: np.ndarray, y: np.ndarray, codes: np.ndarray, count: int, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """(count,) sums of `part` over the share of rows with the smallest, and the largest, y of each group.

    The last row of a group counts in part, so that the sums move smoothly with the share.
    """
    sizes = np.bincount(codes, minlength=count)
    sums = []
    for order in (np.lexsort((y, codes)), np.lexsort((-y, codes))):
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        place = np.arange(len(order)) - starts[codes[order]]
        taken = np.clip(share * sizes[codes[order]] - place, 0.0, 1.0)
        sums.append(np.bincount(codes[order], weights=taken * part[order], minlength=count))
    return sums[0], sums[1]
