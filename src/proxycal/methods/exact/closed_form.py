"""The answer of an exact fit as arithmetic on the columns of a row: a mixture is one, a wider law is not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proxycal.methods.expression import (
    ClosedForm,
    NoClosedForm,
    as_expression,
    choose,
    exp,
    largest,
    linear,
    ln,
    logistic,
    total,
)
from proxycal.mixture.answers import widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from proxycal.methods.exact.record import ExactFit
    from proxycal.methods.expression import Columns, Expression
    from proxycal.mixture.designs import Frame
    from proxycal.mixture.features import Basis

_INSTEAD = "use calibrate, or a fit with method='moments', which always has one"


def closed_form(fit: ExactFit, columns: Columns) -> ClosedForm:
    """What `predict` computes of a row of no known cluster."""
    for reason, stands in (
        ("whole clusters are biased or not, so that a row's answer depends on the others", fit.means),
        (f"its law is more than a mixture ({fit.details.law or 'sizes that vary'})", fit.law),
        (
            "rows on a spike are answered apart",
            fit.outcome.spike if math.isfinite(fit.outcome.spike) else None,
        ),
        ("its content enters by splines", any(fit.spec.frame.content.knots) or None),
    ):
        if stands is not None:
            raise NoClosedForm(f"this fit has no answer in closed form: {reason}; {_INSTEAD}")
    frame, params = fit.spec.frame, widened(fit.spec, fit.cluster_sd)
    assert params.a is not None  # a fit keeps the model with a bias
    assert params.gamma is not None
    inputs = [*columns.P, *columns.E]
    y = (fit.sign * columns.y - frame.centre) / frame.scale
    shift = _shift(frame, params.a[0], columns)
    gate = _of_basis(frame.gate, params.gamma[0], columns.E)
    spread = (
        _of_basis(frame.gate, params.scale[0], columns.E) if fit.spec.shape.scale == "environment" else None
    )
    free, biased = [], []
    for j, beta in enumerate(params.beta[0]):
        mean = _of_basis(frame.content, beta, inputs)
        weight = as_expression(params.omega[0, j, 0])
        if fit.spec.shape.weights == "content":
            weight = _of_basis(frame.content, params.omega[0, j], inputs)
        root, log_sigma = math.sqrt(0.5) * math.exp(-params.log_sigma[0, j]), params.log_sigma[0, j]
        scaled = as_expression(root) if spread is None else root * exp(0.0 - spread)
        # What all cells share drops out of the odds.
        free.append(weight - log_sigma - _squared((y - mean) * scaled))
        biased.append(weight - log_sigma - _squared((y - mean - shift) * scaled))
    p = logistic(gate + _log_sum(biased) - _log_sum(free))
    return ClosedForm(p, fit.sign * frame.scale * choose(shift.below(0.0), 0.0, shift))


def _squared(value: Expression) -> Expression:
    return value * value


def _log_sum(logs: Sequence[Expression]) -> Expression:
    """Log of the sum of exponentials."""
    if len(logs) == 1:
        return logs[0]
    top = largest(logs)
    return top + ln(total([exp(each - top) for each in logs]))


def _of_basis(basis: Basis, slopes: np.ndarray, columns: Sequence[Expression]) -> Expression:
    """[1, (columns and products - centre) @ rotate] @ slopes, in the columns themselves."""
    per_column = basis.rotate @ slopes[1:]
    constant = float(slopes[0] - basis.centre @ per_column)
    expanded = list(columns)
    if basis.middle is not None:
        off = [each - float(middle) for each, middle in zip(columns, basis.middle, strict=True)]
        expanded += [off[i] * off[j] for i, j in basis.products]
    return linear(constant, per_column, expanded)


def _shift(frame: Frame, a: np.ndarray, columns: Columns) -> Expression:
    """The bias of a row in units of the frame."""
    if frame.effect == "constant":
        return as_expression(float(a[0]))
    if frame.effect == "linear":
        return _of_basis(frame.gate, a, columns.E)
    return linear(0.0, a, columns.levels[frame.effect.removeprefix("by:")][: frame.n_levels])
