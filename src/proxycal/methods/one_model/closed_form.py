"""The answer of an exact fit as arithmetic on the columns of a row, for databases.

Terms become expressions of the encoded columns; a curve is a cubic between its knots. Sizes that vary,
ranges, spikes set apart and whole clusters have no short form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import PPoly

from proxycal.engine.terms import Curve, Levels, Numbers, Ones, Product, Steps, Together
from proxycal.methods.expression import (
    ClosedForm,
    NoClosedForm,
    as_expression,
    choose,
    clipped,
    exp,
    largest,
    linear,
    ln,
    logistic,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.engine.standard import Standard
    from proxycal.engine.terms import Source, Term
    from proxycal.methods.expression import Columns, Expression
    from proxycal.methods.one_model.law import Law
    from proxycal.methods.one_model.record import OneModelFit

_INSTEAD = "use calibrate, or a fit with method='moments', which always has one"


def closed_form(fit: OneModelFit, columns: Columns) -> ClosedForm:
    """What `predict` computes of a row of no known cluster."""
    law = _short(fit)
    rows = _Rows(law.standard, columns)
    family, model = law.family, law.model
    eta = {
        predictor.name: total(
            rows.of_term(term, law.theta[place : place + term.width])
            for term, place in _placed(predictor.terms, int(begin))
        )
        for predictor, begin in zip(model.predictors, model.ends, strict=False)
    }
    y = (law.standard.sign * columns.y - law.standard.middle) / law.standard.unit
    scale = exp(clipped(eta["scale"], -8.0, 6.0))
    if law.unit_variance > 0.0:
        scale = exp(0.5 * ln(scale * scale + law.unit_variance))
    size = exp(clipped(eta["size"], -4.0, 5.0))
    free, biased = [], []
    for j in range(family.components):
        centre, spread, weight = eta["mean"], scale, as_expression(0.0)
        if j:
            skew = exp(clipped(eta["skew"], -3.0, 3.0))
            centre = centre + scale * skew * eta[f"d{j}"]
            spread = scale * exp(clipped(eta[f"r{j}"], -4.0, 4.0))
            weight = eta[f"w{j}"]
        left = (y - centre) / spread
        moved = (y - centre - size) / spread
        # What all cells share drops out of the odds.
        free.append(weight - ln(spread) - 0.5 * (left * left))
        biased.append(weight - ln(spread) - 0.5 * (moved * moved))
    p = logistic(eta["who"] + _log_sum(biased) - _log_sum(free))
    return ClosedForm(p, law.standard.sign * law.standard.unit * size)


def _short(fit: OneModelFit) -> Law:
    """The law of a fit whose answer has a short form."""
    reasons = (
        ("no model could be fitted", fit.law is None),
        (
            "whole clusters are biased or not, so that a row's answer depends on the others",
            fit.means is not None,
        ),
        ("the sizes of its bias vary", fit.law is not None and fit.law.family.varies),
        ("its reports stand for ranges", fit.outcome.ranged),
        ("rows on a spike are answered apart", math.isfinite(fit.outcome.spike)),
    )
    for reason, stands in reasons:
        if stands:
            raise NoClosedForm(f"this fit has no answer in closed form: {reason}; {_INSTEAD}")
    assert fit.law is not None  # the first reason
    return fit.law


def _placed(terms: Sequence[Term], begin: int) -> list[tuple[Term, int]]:
    """Each term with where its coefficients stand."""
    widths = np.cumsum([0, *(term.width for term in terms)])
    return [(term, begin + int(at)) for term, at in zip(terms, widths, strict=False)]


class _Rows:
    """The columns of a row as terms see them."""

    def __init__(self, standard: Standard, columns: Columns) -> None:
        self.columns = columns
        self.E = [columns.E[at] for at in standard.numeric]
        levels = [one for name in columns.levels for one in columns.levels[name][1:]]
        content = linear(float(standard.index[0]), standard.index[1:], [*columns.P, *self.E, *levels])
        self.m = [(content - standard.index_middle) / standard.index_unit]

    def of_term(self, term: Term, theta: np.ndarray) -> Expression:
        """A term with its coefficients."""
        slopes = theta / term.scale
        constant = -float(term.centre @ slopes)
        if isinstance(term.source, Curve):
            return constant + self._curve(term.source, slopes)
        return linear(constant, slopes, self._columns(term.source))

    def _numbers(self, of: str) -> Sequence[Expression]:
        return {"P": self.columns.P, "E": self.E, "m": self.m}[of]

    def _columns(self, source: Source) -> list[Expression]:
        """The raw columns of a source."""
        if isinstance(source, Ones):
            return [as_expression(1.0)]
        if isinstance(source, Numbers):
            return [self._numbers(source.of)[at] for at in source.at]
        if isinstance(source, Steps):
            cuts = zip(source.at, source.cuts, strict=True)
            return [
                choose(as_expression(cut).below(self._numbers(source.of)[at]), 0.5, -0.5) for at, cut in cuts
            ]
        if isinstance(source, Levels):
            return list(self.columns.levels[source.name])
        if isinstance(source, Product):
            left, right = self._columns(source.left), self._columns(source.right)
            return [left[i] * right[j] for i, j in source.pairs]
        if isinstance(source, Together):
            return [column for part in source.parts for column in self._columns(part)]
        raise NoClosedForm(
            f"this fit has no answer in closed form: its terms are of another kind; {_INSTEAD}"
        )

    def _curve(self, source: Curve, slopes: np.ndarray) -> Expression:
        """A cubic between each pair of knots, beyond them its ends, less the straight line in it."""
        x = self._numbers(source.of)[source.at]
        pieces = PPoly.from_spline((source.knots, source.turn @ slopes, 3))
        low, high = float(source.knots[3]), float(source.knots[-4])
        inside = clipped(x, low, high)
        starts = [at for at, knot in enumerate(pieces.x[:-1]) if low <= knot < pieces.x[at + 1] <= high]
        value = _cubic(pieces, starts[-1], inside)
        for at in reversed(starts[:-1]):
            value = choose(inside.below(float(pieces.x[at + 1])), _cubic(pieces, at, inside), value)
        constant, slope = source.line @ slopes
        return value - (float(constant) + float(slope) * x)


def _cubic(pieces: PPoly, at: int, x: Expression) -> Expression:
    step = x - float(pieces.x[at])
    value = as_expression(float(pieces.c[0, at]))
    for coefficient in pieces.c[1:, at]:
        value = value * step + float(coefficient)
    return value


def _log_sum(logs: Sequence[Expression]) -> Expression:
    """Log of the sum of exponentials."""
    if len(logs) == 1:
        return logs[0]
    top = largest(logs)
    return top + ln(total([exp(each - top) for each in logs]))
