"""How the likelihood of a wider model bends in each parameter: what its first steps are measured by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.wide.likelihood import Likelihood

    Array = NDArray[np.float64]

# Part of the curvature of rows whose cells are known that every parameter keeps: squared scores may be tiny.
KEPT = 0.05
# Curvature of a log odds, by row.
OF_ODDS = 0.2


def curvature(likelihood: Likelihood, theta: Array, squares: Array) -> Array:
    """A guess of the second derivatives of minus the log likelihood, (k,), all above zero.

    squares (k,) : sums of squared scores, to which a part of what known cells would give is added. Columns
    are orthonormal, so that parameters hardly share any of it.
    """
    at, n = likelihood.at, likelihood.problem.n
    known = np.full(at.size, OF_ODDS * n)
    place = n * float(np.exp(-2.0 * theta[at.log_sigma].min()))
    for part in (at.b, at.d, at.k, at.alpha, at.delta):
        known[part] = place
    known[at.log_sigma] = known[at.tau] = known[at.log_skew] = 2.0 * n
    return squares + KEPT * known
