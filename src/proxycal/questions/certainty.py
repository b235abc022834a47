"""How well a total is known, and how well it would be with more rows or with validated ones.

Errors are half intervals of the total of all rows, relative to it. That of an answer falls with the square
root of the rows, its own as well as the one that all rows share. n validated rows of N give the total with

    se = ratio * sqrt(N (N - n) / n * mean(spread^2)),

spread being the doubt about each row (`audit_plan`), ratio what a planned audit saves beside a random one.
Where no bias was established the doubt is that of the size and the rows that the fit would take for biased.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from proxycal.questions.audit_plan import choose_rows, expected_spread

if TYPE_CHECKING:
    from proxycal.result import Fit

# Rows of an audit that is talked of.
AUDITED = 50


@dataclass(frozen=True, slots=True)
class Certainty:
    """Relative half widths of the interval of the total: now, with twice the rows, with 50 rows validated.

    NaN where it is not known, or has no meaning, as of a total near zero. supposed : whether the last rests
    on a bias that was not established.
    """

    now: float
    twice: float
    audited: float
    supposed: bool


def certainty(fit: Fit) -> Certainty:
    """What is known and what could be, of the rows of a fit."""
    if not fit.totals:
        return Certainty(math.nan, math.nan, math.nan, supposed=False)
    whole = fit.totals[0].records()[-1]
    size = abs(whole["calibrated"])
    half = (whole["high"] - whole["low"]) / 2.0
    now = half / size if size > 0.0 else math.nan
    found = fit.verdict == "bias found"
    return Certainty(now, now / math.sqrt(2.0), _audited(fit), supposed=not found)


def _audited(fit: Fit) -> float:
    """The relative error that 50 validated rows would leave; NaN where it cannot be told."""
    arrays = fit.training
    if fit.roles.truth is not None or fit.roles.reports or arrays.y is None or arrays.n < 2 * AUDITED:
        return math.nan
    spread, why_not = expected_spread(fit.method_fit, arrays)
    if why_not:
        spread = _supposed(fit)
    total = abs(float(arrays.y.sum()))
    if not np.isfinite(spread).all() or not spread.any() or total == 0.0:
        return math.nan
    n, rows = AUDITED, arrays.n
    ratio = choose_rows(spread, n, 0, why_not).ratio
    se = ratio * math.sqrt(rows * (rows - n) / n * float(np.mean(spread**2)))
    return float(ndtri(0.5 + fit.settings.level / 2.0)) * se / total


def _supposed(fit: Fit) -> np.ndarray:
    """(n,) doubt about each row if the bias were as estimated; NaN without an estimate."""
    arrays, alpha = fit.training, fit.estimate.alpha
    assert arrays.y is not None
    size = np.full(arrays.n, alpha)
    if fit.settings.factor:
        # Calibration multiplies a biased report by exp(-sign alpha).
        size = np.abs(arrays.y) * abs(math.expm1(-fit.settings.sign * alpha))
    p = np.clip(fit.method_fit.predict(arrays).p_biased, 0.0, 1.0)
    return np.asarray(size * np.sqrt(p * (1.0 - p)))
