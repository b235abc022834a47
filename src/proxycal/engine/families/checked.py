"""Validation as sums: of so many events (or answers) checked, the report had so many.

confirmed ~ Binomial(checked, r)        r = expit(share) of the row that carries them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_expit

if TYPE_CHECKING:
    from proxycal.engine.families.cells import Derivatives


def log_checked(outcome: dict[str, np.ndarray], share: np.ndarray) -> np.ndarray | float:
    """Log probability (n,) of what was confirmed, up to a constant; share : (n,) the predictor."""
    if "checked" not in outcome:
        return 0.0
    v, m = outcome["confirmed"], outcome["checked"]
    return np.asarray(v * log_expit(share) + (m - v) * log_expit(-share))


def add_checked(rows: Derivatives, outcome: dict[str, np.ndarray], share: np.ndarray, place: int) -> None:
    """Add it, and what it says of the predictor at this place, to the derivatives of rows."""
    if "checked" not in outcome:
        return
    v, m, r = outcome["confirmed"], outcome["checked"], expit(share)
    rows.log[:] += log_checked(outcome, share)
    rows.first[place] += v - m * r
    rows.second[place, place] -= m * r * (1.0 - r)
