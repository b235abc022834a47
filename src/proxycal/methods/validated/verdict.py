"""The verdict of validated rows: a bias is found where they show one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.validated.thresholds import AGREED_T, CONTRADICTED_PART, SHOWN_T

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.methods.validated.gaps import GapReading
    from proxycal.result import Verdict
    from proxycal.table.encode import Arrays


def judge(reading: GapReading, exact: MethodFit, shown: Arrays) -> Verdict:
    """What may be said, from the gaps of the validated rows `shown` and the exact fit made without them."""
    found = exact.verdict == "bias found"
    if reading.t >= SHOWN_T or (found and reading.t >= AGREED_T):
        return "bias found"
    if reading.t <= -SHOWN_T:
        # The errors go the other way: the stated direction is wrong, and alpha has no meaning.
        return "not identified"
    if found and not contradicts(reading, exact, shown):
        return "not identified"
    return "no bias found"


def contradicts(reading: GapReading, exact: MethodFit, shown: Arrays) -> bool:
    """Whether the validated rows rule out the bias that the exact fit would take off them."""
    claimed = float(np.mean(np.abs(exact.predict(shown).shift)))
    return reading.mean + SHOWN_T * reading.mean_se < CONTRADICTED_PART * claimed
