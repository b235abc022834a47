"""How the exact method reads an outcome that is no plain number: ranges of rounded values, spikes apart.

A rounded value, a rating or a value at a cap stands for a range, and gets the probability of that range. A
spike such as zero that the bias does not move is set apart: the other rows tell the size, and the rows on
it stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.methods.checks.zeros import zero_test
from proxycal.methods.parts import outcome_of
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.table.outcome_type import OutcomeType, intervals, outcome_type

if TYPE_CHECKING:
    from proxycal.table.encode import Arrays

# A step below this part of the outcome's sd changes no likelihood: such values are taken as they are.
FINE = 0.05


@dataclass(frozen=True, slots=True)
class Outcome:
    """The type of an outcome, and what follows for the fit.

    kind : in the outcome's own units. ranged : values stand for ranges. spike : rows at this value are set
    apart; NaN where there is none.
    """

    kind: OutcomeType = field(default_factory=OutcomeType)
    ranged: bool = False
    spike: float = math.nan

    def on_spike(self, y: np.ndarray) -> np.ndarray:
        """Which of the reported outcomes (n,) are at the spike; none where there is none."""
        if math.isnan(self.spike):
            return np.zeros(len(y), dtype=bool)
        return np.isclose(y, self.spike, rtol=0.0, atol=1e-9 * max(abs(self.spike), 1.0))

    def ranges(self, y: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Low and high (n,) of what reports y (n,) stand for, turned by the sign; None where exact."""
        if not self.ranged:
            return None
        low, high = intervals(y, self.kind)
        return (low, high) if sign > 0.0 else (-high, -low)

    @property
    def round_to(self) -> float:
        """The coarsest step that some rows are rounded to and others are not; 0 where there is none."""
        return self.kind.heaps[-1] if self.kind.heaps else 0.0

    def state(self) -> dict[str, Any]:
        """What JSON keeps of it."""
        kind = {name: getattr(self.kind, name) for name in OutcomeType.__slots__}
        ends = {
            name: float(kind[name]) if math.isfinite(kind[name]) else None
            for name in ("low", "high", "spike")
        }
        spike = None if math.isnan(self.spike) else self.spike
        return {"kind": kind | ends, "ranged": self.ranged, "spike": spike}

    @classmethod
    def from_state(cls, values: dict[str, Any]) -> Outcome:
        """The inverse of `state`."""
        kept = dict(values["kind"])
        missing = {"low": -math.inf, "high": math.inf, "spike": math.nan}
        kept |= {name: other for name, other in missing.items() if kept[name] is None}
        kept["heaps"] = tuple(kept["heaps"])
        spike = math.nan if values["spike"] is None else float(values["spike"])
        return cls(OutcomeType(**kept), bool(values["ranged"]), spike)


def read_outcome(y: np.ndarray) -> Outcome:
    """How to take the reports y (n,), in their own units."""
    kind = outcome_type(y)
    spike = kind.spike if _alone(y) and math.isfinite(kind.spike) else math.nan
    outcome = Outcome(kind, False, spike)
    rest = y[~outcome.on_spike(y)] if math.isfinite(spike) else y
    coarsest = max(kind.step, *kind.heaps, 0.0)
    cut = math.isfinite(kind.low) or math.isfinite(kind.high)
    if cut and kind.step == 0.0 and _inside(y, kind):
        # What was cut off at an end has no copy inside; zeros that some reports have shifted do.
        cut = False
    return replace(outcome, ranged=bool(cut or coarsest > FINE * float(rest.std())))


def _alone(y: np.ndarray) -> bool:
    """Whether one value alone is held by many rows: two of them may be one that a bias has moved."""
    return len(_held(y)) == 1


def _inside(y: np.ndarray, kind: OutcomeType) -> bool:
    """Whether many rows hold a value between the ends of the outcome."""
    held = _held(y)
    near = FINE * float(y.std())
    return bool(np.any((held > kind.low + near) & (held < kind.high - near)))


def _held(y: np.ndarray) -> np.ndarray:
    """The values that many rows hold."""
    unit = max(float(y.std()), 1e-300)
    values, counts = np.unique(np.round(y / unit, 10), return_counts=True)
    return np.asarray(unit * values[counts >= THRESHOLDS.modelled_spike * len(y)])


def off_spike(arrays: Arrays, outcome: Outcome) -> Arrays:
    """The rows that are not on the spike, clusters numbered anew."""
    if math.isnan(outcome.spike):
        return arrays
    kept = arrays.take(np.flatnonzero(~outcome.on_spike(outcome_of(arrays))))
    if kept.cluster is None:
        return kept
    return replace(kept, cluster=np.unique(kept.cluster, return_inverse=True)[1].astype(np.int64))


def told_by_environment(arrays: Arrays, outcome: Outcome) -> tuple[float, float]:
    """The p of "given the proxies, the environment says nothing": of who is on the spike, and who rounds.

    NaN where there is no spike, and where nobody rounds.
    """
    y = outcome_of(arrays)

    def p_of(on: np.ndarray) -> float:
        return zero_test(on, arrays.P, arrays.E, arrays.weights, arrays.cluster).p

    spike_p = p_of(outcome.on_spike(y)) if math.isfinite(outcome.spike) else math.nan
    if not outcome.round_to:
        return spike_p, math.nan
    at = y / outcome.round_to
    return spike_p, p_of(np.abs(at - np.rint(at)) < 1e-6)
