"""What a fitted model is worth: BIC on its own rows, and on all that they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.tails import chi2_isf

if TYPE_CHECKING:
    from proxycal.mixture.laws import Params, Rows, Shape


@dataclass(frozen=True, slots=True)
class Model:
    """One fitted model: shape, params (B = 1), loglik, bic, converged."""

    shape: Shape
    params: Params
    loglik: float
    bic: float
    converged: bool


def worth(more: int, seen: float, total: float) -> float:
    """Log likelihood of rows of weight `seen` that pays for so many parameters on all that they stand for.

    >>> round(worth(3, 1000.0, 1000.0), 2), round(worth(3, 1000.0, 1e6), 2)
    (10.36, 3.02)
    """
    return more + (0.5 * more * float(np.log(total)) - more) * seen / total


def size_of(shape: Shape, params: Params) -> int:
    """How many free parameters a model has."""
    levels = 0 if params.a is None else params.a.shape[1]
    return shape.size(params.beta.shape[2], params.scale.shape[1], levels)


def outlook(model: Model, rows: Rows, total: float) -> float:
    """The BIC that a model of these rows is expected to have on all that they stand for, per these rows."""
    seen = float(rows.weights.sum())
    return expected_bic(model, seen, total) * seen / total


def expected_bic(model: Model, seen: float, total: float) -> float:
    """The BIC to expect on rows of weight `total` of a model that was fitted to a sample of weight `seen`.

    A fit of k parameters makes its own rows look likelier than others by k in log likelihood (Akaike); the
    fit of all rows will do the same there. BIC of the sample would charge log(seen) for a parameter whose
    worth grows with the rows, and so give up what all rows can pay for.
    """
    shape, params, k = model.shape, model.params, size_of(model.shape, model.params)
    return bic(shape, (model.loglik - k) * total / seen + k, params, total)


def bic(shape: Shape, loglik: float, params: Params, n: float) -> float:
    """-2 loglik + log(n) per free parameter.

    A shift without a gate is the gated model with its slopes at zero: a regular, nested pair, for which the
    likelihood ratio test is exact enough. So a gate has to pass that test (THRESHOLDS.gate_test_p), not to
    pay log(n) for every environment column, which would deny a plain gate wherever there are many of them.
    """
    q = params.scale.shape[1]
    paid = size_of(shape, params) * float(np.log(n))
    if shape.shift and not shape.claims_bias and q > 1:
        paid += max((q - 1) * float(np.log(n)) - float(chi2_isf(THRESHOLDS.gate_test_p, q - 1)), 0.0)
    return -2.0 * loglik + paid


def undercharged(k: int, n: float) -> float:
    """What BIC charges too little for k parameters of few rows: the small-sample term of Hurvich and Tsai.

    With 100 rows a model of twenty parameters fits noise by ten more in BIC than one of seven; with 1,000 by
    less than one.

    >>> round(undercharged(20, 100.0), 1), round(undercharged(20, 1000.0), 1)
    (10.6, 0.9)
    """
    return 2.0 * k * (k + 1) / max(n - k - 1.0, 1.0)
