"""What a few validated rows say of an answer that was found without them.

gap_i = s * (report - truth)      of a row that the fit calls biased, by size_i, with probability p_i

Too few to learn a calibration from, they still judge one: the number of rows seen biased is compared with
the sum of independent draws of the p_i, and where no bias is found their mean gap with zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import stdtr

from proxycal.methods.parts import outcome_of
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Finding, number
from proxycal.table.truths import VALIDATED_ROWS
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.effect.row_truth import RowBias
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Truths:
    """n validated rows: how many are biased, how many were expected to be, and whether that can be chance.

    seen, expected : rows with a gap of more than half the size that the fit finds. count_p : two-sided p of
    seen. mean, mean_p : mean gap in the stated direction, outcome's units, and two-sided p of "it is zero".
    """

    n: int = 0
    seen: int = 0
    expected: float = 0.0
    count_p: float = 1.0
    mean: float = 0.0
    mean_p: float = 1.0

    @property
    def contradict(self) -> bool:
        """Whether these rows rule out the bias that is claimed."""
        return self.count_p < THRESHOLDS.truths_p

    @property
    def show_error(self) -> bool:
        """Whether these rows are reported wrongly on average."""
        return self.mean_p < THRESHOLDS.truths_p

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Truths:
        """The record from what JSON keeps of it."""
        named: dict[str, Any] = {name: number(value) for name, value in values.items()}
        return cls(**named | {name: int(values[name]) for name in ("n", "seen")})


class Answering(Protocol):
    """What is asked of a fit that validated rows judge."""

    @property
    def sign(self) -> float:
        """+1 over, -1 under."""

    def row_bias(self, arrays: Arrays) -> RowBias:
        """Who is biased and by how much."""


def read_truths(fit: Answering, arrays: Arrays) -> Truths | None:
    """What the validated rows among `arrays` say of a fit; None where there are none."""
    known = np.flatnonzero(np.isfinite(arrays.truth)) if arrays.truth is not None else np.empty(0, np.intp)
    if not len(known):
        return None
    shown = arrays.take(known)
    bias = fit.row_bias(shown)
    gap = fit.sign * (outcome_of(shown) - shown.truth)
    seen = int(np.sum(gap > 0.5 * np.maximum(fit.sign * bias.size, 0.0)))
    chance = np.clip(bias.p, THRESHOLDS.slips, 1.0 - THRESHOLDS.slips)
    return Truths(
        len(known), seen, float(bias.p.sum()), count_p(chance, seen), float(gap.mean()), mean_p(gap)
    )


def count_p(chance: Array, seen: int) -> float:
    """Two-sided p-value of `seen` among independent events of these chances (n,).

    >>> round(count_p(np.full(10, 0.6), 0), 6)
    0.00021
    """
    law = np.ones(1)
    for p in chance:
        law = np.convolve(law, [1.0 - p, p])
    return float(min(1.0, 2.0 * min(law[: seen + 1].sum(), law[seen:].sum())))


def mean_p(gap: Array) -> float:
    """Two-sided p-value of "the gaps (n,) have mean zero", by Student's t; 1 for a single gap.

    >>> mean_p(np.array([2.0])), mean_p(np.array([2.0, 2.0])), mean_p(np.zeros(9))
    (1.0, 0.0, 1.0)
    """
    n, mean = len(gap), float(gap.mean())
    if n == 1 or mean == 0.0:
        return 1.0
    se = float(gap.std(ddof=1)) / np.sqrt(n)
    return float(2.0 * stdtr(n - 1, -abs(mean) / se)) if se > 0.0 else 0.0


def truths_findings(seen: Truths, claimed: bool) -> list[Finding]:
    """The judgement in words, if there is one; claimed : whether a bias leads."""
    if seen.n == 0:
        return []
    rows = counted(seen.n, "validated row")
    ok = not (seen.contradict if claimed else seen.show_error)
    if claimed:
        reading = f"{seen.seen:,} of {rows} are biased, and the fit expects {seen.expected:.1f}"
        reading += "." if ok else f", which cannot be chance (p = {seen.count_p:.2g})."
        if seen.n == 1:
            reading = (
                f"The one validated row is {'biased' if seen.seen else 'not biased'}; the fit gives it a "
                f"chance of {seen.expected:.0%} to be."
            )
    elif ok:
        reading = f"{rows}: no systematic error.".capitalize()
    else:
        side = "in the stated direction" if seen.mean > 0.0 else "against the stated direction"
        reading = (
            f"The {rows} are off by {abs(seen.mean):.4g} on average, {side} (p = {seen.mean_p:.2g}), though "
            "the reports as a whole show no bias."
        )
    more = max(VALIDATED_ROWS - seen.n, 0)
    remedy = (
        f"Validate {more} more rows: from {VALIDATED_ROWS} on the calibration is learned from them."
        if more
        else "Use method='validated', which learns from these rows."
    )
    return [
        Finding(
            question="Do the validated rows agree?",
            statistic=(
                f"{seen.seen:,} of {rows} biased, {seen.expected:.1f} expected; mean gap {seen.mean:.4g}"
            ),
            reading=reading,
            remedy="Nothing to do." if ok else remedy,
            ok=ok,
            topic="truths",
            value=seen.count_p if claimed else seen.mean_p,
        )
    ]
