"""The matched estimate where who is biased is known as a probability only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.effect.match import match_effect
from proxycal.effect.uncertainty import normal_interval
from proxycal.result import Estimate

if TYPE_CHECKING:
    import numpy as np

    from proxycal.effect.match import Controls

K_MATCH = 5


def match_likely(
    y: np.ndarray,
    z: np.ndarray,
    p_biased: np.ndarray,
    weights: np.ndarray,
    cluster: np.ndarray | None,
    level: float,
) -> tuple[Controls | None, Estimate]:
    """Rows more likely biased than not, matched with the others; no controls without two groups."""
    biased = p_biased > 0.5
    if min(biased.sum(), (~biased).sum()) < K_MATCH:
        note = "nearly no row, or nearly every row, is more likely biased than not: no match"
        return None, Estimate.missing("match", note)
    matched = match_effect(y, z, biased, K_MATCH, weights, cluster)
    low, high = normal_interval(matched.alpha, matched.se, level)
    return matched.controls, Estimate("match", matched.alpha, matched.se, low, high, matched.note)
