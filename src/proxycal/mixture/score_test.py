"""What a larger model would gain, foretold at the maximum of a smaller one: most need not be fitted.

At the maximum of a model, with the scores S (n,m) of its rows, directions T (n,g) that a larger one adds gain

    s' V^-1 s / 2,      s = T'1,      V = T'T - T'S (S'S)^-1 S'T

in log likelihood (Rao's score test): one pass over the rows, where a fit takes a dozen. One more component
has no place of its own yet: its directions are those of a grid of places and widths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import mean_map
from proxycal.mixture.laws import LOG_2PI
from proxycal.mixture.scores import RowScores
from proxycal.mixture.sums import Summed, add_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from proxycal.mixture.laws import Params, Rows, Shape
    from proxycal.mixture.sums import Chunked

    Array = NDArray[np.float64]
    Directions = Callable[[Params, Shape, Rows, RowScores], Array]

# Places and widths, in sds of another component, where one more may be.
PLACES, WIDTHS = (-2.5, -1.4, -0.7, 0.0, 0.7, 1.4, 2.5), (0.4, 0.8, 1.6)
GRID = np.array([(place, width) for width in WIDTHS for place in PLACES])
# Weights that it is tried with: a few rows far from the others have a large score each, and its square, so
# that there a search along the weight says more than the test.
SHARES = np.array([0.02, 0.1, 0.35])
# Part by which the diagonal of S'S grows, so that parameters that the rows do not tell apart have no say.
RIDGE = 1e-9
# Part of the largest size of scores below which others are nothing, and the size below which all are: their
# inverse square is still a number.
NOTHING, LEAST = 1e-60, 1e-140
# Part of its square that a direction keeps beside the scores of the model: less is rounding.
LEFT = 1e-6
# Densities in a component may be this many times larger than under the model, as a logarithm.
MOST = 300.0


@dataclass(frozen=True, slots=True)
class Maximum:
    """Of a model at its maximum: inverse (m,m) of S'S, and how far its ridge holds it back, pull (m,)."""

    inverse: Array
    pull: Array

    @classmethod
    def of(cls, gram: Array, total: Array) -> Maximum:
        """From the sums of the scores: gram (m,m) S'S, total (m,) S'1, which is the slope of the ridge."""
        inverse = inverse_of(gram)
        return cls(inverse, inverse @ total)

    def gain(self, cross: Array, square: Array, slope: Array) -> float:
        """What all directions together gain; cross (m,g) S'T, square (g,g) T'T, slope (g,) T'1."""
        left = square - cross.T @ self.inverse @ cross
        left[np.diag_indices(len(left))] += LEFT * np.diag(square)
        slope = slope - cross.T @ self.pull
        return 0.5 * float(slope @ inverse_of(left) @ slope)

    def gains(self, cross: Array, squares: Array, slope: Array) -> tuple[Array, Array]:
        """What each direction gains alone, in its own sense only, and how far it goes; squares (g,)."""
        left = np.maximum(squares - (cross * (self.inverse @ cross)).sum(axis=0), LEFT * squares + 1e-300)
        slope = np.maximum(slope - cross.T @ self.pull, 0.0)
        return 0.5 * slope * slope / left, slope / left


def inverse_of(gram: Array) -> Array:
    """The inverse of a matrix of products, in which what is nearly the same, or nothing, has no say."""
    scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
    # Next to nothing, beside the largest, is rounding: its inverse would be too large for a number.
    scale[scale <= max(NOTHING * scale.max(initial=0.0), LEAST)] = np.inf
    standard = gram / scale / scale[:, None]
    standard[np.diag_indices(len(gram))] = 1.0 + RIDGE
    return np.asarray(np.linalg.inv(standard) / scale / scale[:, None])


@dataclass(frozen=True, slots=True)
class ScoreSums(Summed):
    """Sums over rows: gram (m,m) S'S, total (m,) S'1, cross (m,g) S'T, square (g,g) T'T, slope (g,) T'1.

    along (3,g) : what each direction gains as a component of each of SHARES. weight : of the rows.
    """

    gram: Array
    total: Array
    cross: Array
    square: Array
    slope: Array
    along: Array
    weight: float

    def together(self) -> float:
        """What all directions together gain."""
        return Maximum.of(self.gram, self.total).gain(self.cross, self.square, self.slope)

    def best(self) -> float:
        """What the best direction gains, by the test or as a component of some weight."""
        at = Maximum.of(self.gram, self.total)
        gains, _ = at.gains(self.cross, np.diag(self.square), self.slope)
        return float(max(gains.max(initial=0.0), self.along.max(initial=0.0)))


def score_sums(params: Params, chunks: Chunked, shape: Shape, directions: Directions) -> ScoreSums:
    """The sums over all rows for one model (B = 1)."""
    return add_up(chunks, partial(_sums_of, params, shape, directions))


def _sums_of(params: Params, shape: Shape, directions: Directions, rows: Rows) -> ScoreSums:
    scores = RowScores(params, rows, shape)
    S, T, W = scores.averaged((1.0, 1.0)), directions(params, shape, rows, scores), rows.weights
    if shape.J > 1:
        # Slopes that components share move together.
        mean = scores.layout.mean
        S = np.hstack([S[:, mean] @ mean_map(shape, rows.X.shape[1]), S[:, mean.stop :]])
    total, slope = W @ S, W @ T
    along = np.empty((0, T.shape[1]))
    if directions is components:
        along = np.stack([W @ np.log1p(share * T) for share in SHARES])
    # A product with itself takes half as long.
    half = np.sqrt(W)[:, None]
    S, T = S * half, T * half
    return ScoreSums(S.T @ S, total, S.T @ T, T.T @ T, slope, along, float(W.sum()))


def components(params: Params, shape: Shape, rows: Rows, scores: RowScores) -> Array:
    """Density of each row in a further component next to each one, over its density, less 1: (n,J*g)."""
    post = scores.post
    root = 1.0 if post.precision is None else np.sqrt(post.precision[0])
    place, width = GRID.T[:, :, None]
    ratios = []
    for residual, sd in zip(post.residual[0], np.exp(params.log_sigma[0]), strict=True):
        z = residual * root / sd
        log_scale = np.log(root / sd) - 0.5 * LOG_2PI - post.loglik[0]
        ratio = np.exp(np.minimum(_in_component(z, place, width) + log_scale, MOST))
        if post.shift is not None:
            moved = z - post.shift[0] * root / sd
            biased = np.exp(np.minimum(_in_component(moved, place, width) + log_scale, MOST))
            ratio += post.pi[0] * (biased - ratio)
        ratios.append(ratio - 1.0)
    return np.concatenate(ratios).T


def _in_component(z: Array, place: Array, width: Array) -> Array:
    return -0.5 * ((z - place) / width) ** 2 - np.log(width)


def spread_by_environment(params: Params, shape: Shape, rows: Rows, scores: RowScores) -> Array:
    """Slopes of the rows by those of the log sd in the environment, (n,q-1)."""
    return np.asarray(_beyond(params, scores)[:, None] * rows.G[:, 1:])


def spread_by_content(params: Params, shape: Shape, rows: Rows, scores: RowScores) -> Array:
    """Slopes by a variance that grows along the content, (n,p): what two slopes would leave around one."""
    beyond = _beyond(params, scores)
    ways = np.linalg.eigh(rows.X.T @ (rows.X * (beyond * rows.weights)[:, None]))[1]
    return np.asarray(beyond[:, None] * (rows.X @ ways) ** 2)


def _beyond(params: Params, scores: RowScores) -> Array:
    """By how much the squared residual of each row exceeds its variance, in variances, (n,)."""
    return np.asarray(sum(c.r * (c.kappa - 1.0) for c in scores.classes()))
