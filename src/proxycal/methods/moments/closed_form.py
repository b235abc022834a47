"""The answer of the moment method as arithmetic on the columns of a row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proxycal.methods.expression import ClosedForm, as_expression, clipped, linear, ln, logistic

if TYPE_CHECKING:
    from proxycal.methods.expression import Columns
    from proxycal.methods.moments.fit import MomentsMethod


def closed_form(fit: MomentsMethod, columns: Columns, sure: float) -> ClosedForm:
    """What `predict` computes. sure : how near to certainty the gate may come."""
    alpha, sigma = fit.moments.alpha, fit.sigma
    if not (math.isfinite(alpha) and alpha > 0.0 and sigma > 0.0):
        return ClosedForm(as_expression(0.0), as_expression(0.0))
    u = fit.sign * columns.y - linear(fit.centre, fit.b, columns.P)
    share = clipped(linear(fit.gate[0], fit.gate[1:], columns.E) / alpha, 1.0 - sure, sure)
    p = logistic(ln(share / (1.0 - share)) + alpha / sigma**2 * (u - 0.5 * alpha))
    return ClosedForm(p, as_expression(fit.sign * alpha))
