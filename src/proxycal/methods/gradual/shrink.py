"""Levels shrunk towards each other, bends of a spline towards none, by amounts that the data choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.minimise import minimise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


# The likeliest spread is itself estimated. One too small costs coverage, one too large a little precision:
# so it is widened. Measured on four shapes of bias: `proxycal bench gradual`.
WIDEN = 1.5
# Logarithms between which a spread is sought, and steps of the search at the most.
LEAST, MOST, STEPS = -6.0, 8.0, 1_000


@dataclass(frozen=True, slots=True)
class Group:
    """Coefficients that share one spread: index (g,), shape (g, g) = their prior covariance over spread^2."""

    index: NDArray[np.int64]
    shape: Array


def levels_group(index: NDArray[np.int64]) -> Group:
    """Contrasts of independent levels with a reference level: spread^2 (I + 11'), whichever the reference."""
    return Group(index, np.eye(len(index)) + 1.0)


def bends_group(index: NDArray[np.int64]) -> Group:
    """Bends of a spline, in columns of unit roughness: the prior of a smoothing spline."""
    return Group(index, np.eye(len(index)))


@dataclass(frozen=True, slots=True)
class Shrunk:
    """coefficients (q,), covariance (q, q) after shrinkage; spreads: sd of each group's coefficients."""

    coefficients: Array
    covariance: Array
    spreads: tuple[float, ...]


def shrink(
    coefficients: Array, covariance: Array, groups: Sequence[Group], smooth: Array | None = None
) -> Shrunk:
    """Empirical Bayes: each group is drawn from N(0, spread^2 shape); other coefficients are free.

    The spreads maximise the likelihood of the estimates, N(0, V + T); the posterior mean is T (V + T)^-1 b,
    and the free coefficients move with those they were estimated with. Over the range of a column the
    intervals hold on average, as those of a smoothing spline do (Nychka 1988).

    smooth : (q, q) the V that decides how much is shrunk (default: covariance), see `smoothed`. The errors of
    what comes out are those of `covariance` either way.
    """
    groups = [group for group in groups if len(group.index)]
    if not groups:
        return Shrunk(coefficients, covariance, ())
    believed = covariance if smooth is None else smooth
    index = np.concatenate([group.index for group in groups])
    estimate, noise = coefficients[index], believed[np.ix_(index, index)]
    units = np.array([np.mean(np.diag(believed)[g.index] / np.diag(g.shape)) for g in groups])
    shapes = _side_by_side([unit * group.shape for unit, group in zip(units, groups, strict=True)])
    spreads = WIDEN * _likeliest(estimate, noise, shapes)
    prior = np.einsum("g,gij->ij", spreads**2, shapes)
    # b + V_.s V_ss^-1 (shrunk - b_s), shrunk = b_s - V_ss (V + T)^-1 b_s: one formula for all coefficients.
    gain = np.linalg.solve(noise + prior, believed[index]).T
    kept = np.eye(len(coefficients))
    kept[:, index] -= gain
    # The variance of the estimates that is kept, and that of the prior that is lost: V - gain V_s. if V is
    # what was believed.
    return Shrunk(
        coefficients - gain @ estimate,
        kept @ covariance @ kept.T + gain @ prior @ gain.T,
        tuple(float(value) for value in spreads * np.sqrt(units)),
    )


def smoothed(covariance: Array, normal: Array, owners: Sequence[str]) -> Array:
    """V with the correlations of normal, independent rows, and its own variances averaged by column.

    A matrix of q x q entries from few clusters has directions whose variance is far too small by chance, and
    shrinkage would believe just those. With 200 clusters and 24 coefficients intervals then held the truth in
    91 to 92% of the rows, with this V in 95 to 96%, and less of the error was left.

    covariance, normal : (q, q); owners : (q,) the environment column that each coefficient belongs to

    >>> uneven = np.diag([1.0, 3.0, 8.0])
    >>> smoothed(uneven, np.eye(3), ["a", "a", "b"]).round(3).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 8.0]]
    """
    names = np.array(owners)
    scale = np.zeros(len(names))
    for name in dict.fromkeys(owners):
        own = np.ix_(names == name, names == name)
        # A trace, so that neither the reference level nor the direction of a column matters.
        ratio = np.trace(np.linalg.solve(normal[own], covariance[own])) / len(normal[own])
        scale[names == name] = np.sqrt(ratio)
    return np.asarray(normal * np.outer(scale, scale))


def _side_by_side(shapes: Sequence[Array]) -> Array:
    """(groups, s, s) each shape in its own block of a matrix of zeros."""
    ends = np.cumsum([len(shape) for shape in shapes])
    blocks = np.zeros((len(shapes), ends[-1], ends[-1]))
    for block, shape, end in zip(blocks, shapes, ends, strict=True):
        block[end - len(shape) : end, end - len(shape) : end] = shape
    return blocks


def _likeliest(estimate: Array, noise: Array, shapes: Array) -> Array:
    """(groups,) spreads that maximise the likelihood of the estimates."""

    def minus_log_likelihood(log_spreads: Array) -> tuple[float, Array]:
        sizes = np.exp(2.0 * log_spreads)
        total = noise + np.tensordot(sizes, shapes, axes=1)
        inverse = np.linalg.inv(total)
        solved = inverse @ estimate
        value = np.linalg.slogdet(total)[1] + estimate @ solved
        slope = shapes.reshape(len(shapes), -1) @ (inverse - np.outer(solved, solved)).ravel()
        return float(value), 2.0 * sizes * slope

    one = np.ones(len(shapes))
    # Near a spread of zero the likelihood is flat: a looser search would end anywhere on it.
    best, _ = minimise(
        minus_log_likelihood, 0.0 * one, LEAST * one, MOST * one, one, STEPS, precision=1e-14, gradient=1e-9
    )
    return np.asarray(np.exp(best))
