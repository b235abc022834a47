"""What a wider model says of rows, and how sure it is of the size of the bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.wide.fit import widths
from proxycal.mixture.wide.likelihood import Likelihood

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from proxycal.mixture.wide.likelihood import Seen
    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]

STEP = 1e-4
# A parameter so near its bound is at it.
AT_BOUND = 1e-6


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model with a bias says, row by row, standardised.

    p_biased; size, spread : mean and sd of the bias of the row if it has one; mu : content; prior : P(biased
    | E, content) before the outcome is seen; against : probability that the row has a bias, and a negative
    one.
    """

    p_biased: Array
    size: Array
    spread: Array
    mu: Array
    prior: Array
    against: Array


def answers(likelihood: Likelihood, theta: Array) -> Answers:
    """The answers of a model with a bias for the rows of its likelihood."""
    seen = likelihood.seen(theta)
    cells = seen.cells
    p, size, square, against = _sizes(seen)
    content = likelihood.problem.y - cells.left[0]
    mu = (np.exp(cells.log_weight) * content).sum(axis=0)
    spread = np.sqrt(np.maximum(square - size**2, 0.0))
    return Answers(p, size, spread, mu, _prior(likelihood, theta, seen, mu), against)


def _sizes(seen: Seen) -> tuple[Array, Array, Array, Array]:
    """P(biased) of each row; mean and mean square of its bias if it has one; P(a bias below zero)."""
    cells, r = seen.cells, seen.r
    shift = np.broadcast_to(cells.shift, (len(r) - 1, r.shape[2]))[:, None]
    extra = cells.variance[1:] - cells.own
    # A size that varies is drawn towards what the outcome says of it.
    part = extra / cells.variance[1:]
    mean = shift + part * cells.left[1:]
    within = part * cells.own
    biased = r[1:]
    p = np.clip(biased.sum(axis=(0, 1)), 0.0, 1.0)
    safe = np.maximum(p, 1e-300)
    size = (biased * mean).sum(axis=(0, 1)) / safe
    square = (biased * (within + mean**2)).sum(axis=(0, 1)) / safe
    against = (biased * (shift < 0.0)).sum(axis=(0, 1))
    return p, size, square, against


def _prior(likelihood: Likelihood, theta: Array, seen: Seen, mu: Array) -> Array:
    """P(biased) of each row by its gate; a gate by the true outcome is taken at its content mu (n,).

    What the environment says of a row does not know that the row is trusted.
    """
    if likelihood.law.gate == "E y" and likelihood.G is not None:
        at = likelihood.at
        return np.asarray(expit(likelihood.G @ theta[at.gamma] + theta[at.gate_y][0] * mu))
    log_gate = seen.cells.log_gate
    if likelihood.problem.trusted is not None:
        blind = Likelihood(replace(likelihood.problem, trusted=None), likelihood.law)
        log_gate = blind.cells(theta).log_gate
    assert log_gate is not None
    return np.asarray(1.0 - np.exp(log_gate[0]))


def mean_size(likelihood: Likelihood, theta: Array) -> float:
    """The mean bias among the biased."""
    return mean_size_of(likelihood.problem, likelihood.seen(theta))


def mean_size_of(problem: Problem, seen: Seen) -> float:
    """The same from what the rows say."""
    p, size, _, _ = _sizes(seen)
    mass = problem.weights * p
    return float(mass @ size / max(mass.sum(), 1e-300))


@dataclass(frozen=True, slots=True)
class Errors:
    """The mean bias with its se; covariance (k,k) of the parameters."""

    size: float
    se: float
    covariance: Array


def errors(
    likelihood: Likelihood,
    theta: Array,
    scores: Array,
    cluster: NDArray[np.intp] | None,
    size: Callable[[Seen], float],
) -> Errors:
    """Sandwich of the parameters, and by the delta method of a function of what the rows say.

    scores (n,k) : of the rows. Differences of the analytic gradient give the curvature: the same evaluations
    serve the size.
    """
    k = len(theta)
    hessian, slope = np.empty((k, k)), np.empty(k)
    for i in range(k):
        step = np.zeros(k)
        step[i] = STEP
        up, down = theta + step, theta - step
        (seen_up, _, slopes_up), (seen_down, _, slopes_down) = map(likelihood.evaluate, (up, down))
        hessian[i] = (slopes_up - slopes_down) / (2.0 * STEP)
        slope[i] = (size(seen_up) - size(seen_down)) / (2.0 * STEP)
    # A width at its bound is no maximum, and has no error of its own.
    lower, upper = widths(likelihood)
    free = np.flatnonzero((theta > lower + AT_BOUND) & (theta < upper - AT_BOUND))
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T)[np.ix_(free, free)])
    inverse = np.zeros((k, k))
    inverse[np.ix_(free, free)] = (vectors / np.maximum(values, 1e-8 * values.max())) @ vectors.T
    weighted = scores * likelihood.problem.weights[:, None]
    # As in the plain comparison a row of weight w counts as w rows.
    spread = scores.T @ weighted
    if cluster is not None:
        by_cluster = np.zeros((int(cluster.max()) + 1, k))
        np.add.at(by_cluster, cluster, weighted)
        spread = by_cluster.T @ by_cluster
    total = likelihood.problem.n
    covariance = inverse @ spread @ inverse * (total / max(total - k, 1.0))
    # Parameters move the mean size; the rows that the mean is over are drawn too, which counts little
    # beside it.
    variance = float(slope @ covariance @ slope)
    return Errors(size(likelihood.seen(theta)), float(np.sqrt(max(variance, 0.0))), covariance)
