"""How many rows of the same kind would settle what these leave open, by power.

The difference of the log likelihoods grows with the rows, with a standard deviation of the root of twice
itself; the price of the parameters grows with their logarithm. The rows at which the difference less 1.28
standard deviations exceeds price and threshold settle it in nine tables of ten.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proxycal.methods.one_model.evidence import hides_bias, reasons_for_doubt
from proxycal.methods.one_model.thresholds import RULES
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from proxycal.methods.one_model.evidence import Evidence

NINE_OF_TEN = 1.2816
# Doubts that more rows of the same kind resolve; the others need other columns.
_BY_ROWS = {"rare", "vague"}
MOST = 1_000_000


def rows_needed(evidence: Evidence) -> float:
    """Rows in all at which a bias of the estimated size would be found; NaN where rows would not help."""
    n = evidence.n
    if math.isnan(evidence.lead) or n < 2:
        return math.nan
    hidden = "" if evidence.leads else hides_bias(evidence)
    if hidden == "power":
        # The size that is found falls with the root of the rows.
        times = (evidence.detectable / THRESHOLDS.detectable) ** 2
        return float(n * times) if math.isfinite(times) and n * times <= MOST else math.nan
    doubt = set(reasons_for_doubt(evidence))
    if hidden or doubt - _BY_ROWS:
        return math.nan
    lead = evidence.lead + evidence.price
    if lead <= 0.0:
        return math.nan
    rows = n
    while rows <= MOST:
        now = lead * rows / n
        price = evidence.price * math.log(rows) / math.log(n)
        if now - NINE_OF_TEN * math.sqrt(2.0 * now) - price > RULES.lead:
            return float(rows)
        rows = math.ceil(rows * 1.1)
    return math.nan
