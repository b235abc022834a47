"""One component with a bias of one size: a law of the plain comparison and of the wider one.

BFGS brings it to its maximum in fewer and cheaper steps than EM, which creeps along a bias that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.laws import Shape
from proxycal.mixture.minimise import minimise, within
from proxycal.mixture.wide.curvature import curvature
from proxycal.mixture.wide.fit import GRADIENT, widths
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.laws import Params, Rows

    Array = NDArray[np.float64]

SHAPE, LAW = Shape(1, shift=True), Law(states=1)
# The same with a gate that E does not move.
BARE_SHAPE, BARE_LAW = replace(SHAPE, gate="constant"), replace(LAW, gate="")
# Steps at the most, and the relative gain of one below which it is the last.
STEPS, PRECISION = 60, 1e-9


def is_one_size(shape: Shape, rows: Rows) -> bool:
    """Whether a model of these rows can `climb`."""
    return shape in (SHAPE, BARE_SHAPE) and rows.weights.ndim == 1 and rows.D.shape[1] == 1


def to_law(params: Params) -> Array:
    """Parameters of the wider law, from those of one model (B = 1) with one shift."""
    assert params.a is not None
    assert params.gamma is not None
    return np.r_[params.beta[0, 0], params.log_sigma[0], params.a[0], params.gamma[0]]


def from_law(theta: Array, like: Params) -> Params:
    """The reverse of `to_law`; of a gate without E the other slopes are zero."""
    assert like.gamma is not None
    p, gamma = like.beta.shape[2], np.zeros_like(like.gamma)
    beta, log_sigma, a, gate = np.split(theta, [p, p + 1, p + 2])
    gamma[0, : len(gate)] = gate
    return replace(like, beta=beta[None, None], log_sigma=log_sigma[None], a=a[None], gamma=gamma)


def climb(shape: Shape, params: Params, rows: Rows, floor: float) -> tuple[Params, float]:
    """One model (B = 1) at its maximum, and its log likelihood there."""
    trusted = None if rows.trusted is None else rows.trusted.astype(bool)
    problem = Problem(
        rows.y, rows.X, rows.G[:, 1:], np.zeros_like(rows.y), rows.weights, floor, trusted=trusted
    )
    likelihood = Likelihood(problem, LAW if shape == SHAPE else BARE_LAW)
    lower, upper = widths(likelihood)
    start = within(to_law(params)[: len(lower)], lower, upper)
    value, slopes, squares = likelihood.with_squares(start)
    bend = curvature(likelihood, start, squares)
    theta, value = minimise(
        likelihood, start, lower, upper, bend, STEPS, PRECISION, GRADIENT, (value, slopes)
    )
    return from_law(theta, params), likelihood.penalty(theta)[0] - value
