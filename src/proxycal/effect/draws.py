"""Draws of the true outcome of rows: first of the parameters that all rows share, then of each row.

    theta* ~ N(theta, cov)                       drawn once for all rows of a completed table
    A_i ~ Bernoulli(logistic(logit p_i + d(logit p_i)/d(theta) (theta* - theta)))
    truth_i = y_i - A_i size_i(theta*)

Drawing who is biased at the estimate alone would treat the estimate as known, and intervals of what is done
with the completed tables would be too short (Rubin 1987, proper imputation). The row's own draws are a
function of the seed and of its place in the table, so that pieces of a table get what the whole gets. Where
the bias is a factor the same happens to logarithms (`methods.log_scale`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri

from proxycal.effect.outside import biased_given
from proxycal.effect.row_truth import is_known, row_bias, shared_cov

if TYPE_CHECKING:
    from proxycal.effect.row_truth import RowBias
    from proxycal.methods.registry import MethodFit
    from proxycal.table.encode import Arrays

# Rows whose random numbers are drawn together, by their place in the table.
BLOCK = 2048
# Streams of one seed.
_PARAMETERS, _ROWS, _ROUNDS = 0, 1, 2
# Log-odds beyond which a probability is 0 or 1.
SURE = 500.0


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of what all rows share: moved (m, k), how far each is from the estimate. seed : of the rows."""

    moved: np.ndarray
    seed: int

    @property
    def m(self) -> int:
        """How many there are."""
        return len(self.moved)

    @classmethod
    def of(cls, cov: np.ndarray, m: int, seed: int) -> Draws:
        """Draw m from N(0, cov); the first of them are those of a smaller m.

        >>> drawn = Draws.of(np.array([[4.0, 0.0], [0.0, 0.0]]), 2000, 0).moved
        >>> drawn.std(axis=0).round(1).tolist()
        [2.0, 0.0]
        """
        normal = np.random.default_rng([seed, _PARAMETERS]).standard_normal((m, len(cov)))
        # The symmetric root does not depend on the signs that a decomposition gives to its vectors.
        values, vectors = np.linalg.eigh(0.5 * (cov + cov.T)) if len(cov) else (np.zeros(0), cov)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return cls(normal @ root, seed)

    def uniforms(self, places: np.ndarray, turn: int = 0) -> np.ndarray:
        """Two uniform numbers (m, 2, n) for each of the rows at these places (n,), rising, in the table.

        turn : 0 for the draw of a table, 1, 2, ... for further rounds over the same rows.
        """
        blocks = places // BLOCK
        made = np.empty((self.m, 2, len(places)))
        for block in np.unique(blocks):
            inside = blocks == block
            rng = np.random.default_rng([self.seed, _ROWS if turn == 0 else _ROUNDS + turn, int(block)])
            made[:, :, inside] = rng.random((self.m, 2, BLOCK))[:, :, places[inside] % BLOCK]
        return made


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows under m draws of the shared parameters: log_odds and size (m, n) of a bias."""

    log_odds: np.ndarray
    size: np.ndarray


def moved(bias: RowBias, draws: Draws, uniforms: np.ndarray) -> Moved:
    """Who is biased and by how much under each draw; a size that varies by row is drawn with uniforms[:, 1].

    A probability moves on the logit scale: dp = p (1 - p) d(logit p).
    """
    own = bias.p * (1.0 - bias.p)
    slope = np.divide(bias.p_slope, own[:, None], out=np.zeros_like(bias.p_slope), where=own[:, None] > 0.0)
    with np.errstate(divide="ignore"):
        at = np.clip(logit(bias.p), -SURE, SURE)
    size = bias.size + draws.moved @ bias.size_slope.T
    if bias.spread is not None:
        size = size + bias.spread * ndtri(np.clip(uniforms[:, 1], 1e-12, 1.0 - 1e-12))
    return Moved(at + draws.moved @ slope.T, size)


def draw_truth(
    fitted: MethodFit, arrays: Arrays, draws: Draws, places: np.ndarray, outside: np.ndarray | None = None
) -> np.ndarray:
    """The true outcome (m, n) of rows that have their report; a validated row's is its truth.

    Without a finding, what was reported stands. places : (n,) of the rows in their table, rising. outside :
    (n, r) further columns that the draws should hear of, NaN where missing; a bias that clusters share
    does not hear of them.
    """
    assert arrays.y is not None  # imputing asks for it
    if not is_known(fitted):
        return with_truths(np.tile(arrays.y, (draws.m, 1)), arrays)
    own = getattr(fitted, "draw_truth", None)
    if own is not None:
        return with_truths(np.asarray(own(arrays, draws, places, outside)), arrays)
    if outside is not None and fitted.details.unit == "rows":
        return with_truths(_drawn_with(fitted, arrays, draws, places, outside), arrays)
    made = [
        _drawn(fitted, arrays.take(rows), draws, places[rows])
        for rows in np.split(np.arange(arrays.n), _cuts(arrays, places))
    ]
    return with_truths(np.concatenate(made, axis=1), arrays)


def _cuts(arrays: Arrays, places: np.ndarray) -> np.ndarray:
    """Where to cut rows for the memory: a matrix of slopes is as wide as there are parameters.

    Rows of a cluster that share their bias are drawn together.
    """
    if arrays.cluster is not None:
        return np.empty(0, dtype=np.intp)
    return np.asarray(np.unique(places // BLOCK, return_index=True)[1][1:])


def _drawn(fitted: MethodFit, arrays: Arrays, draws: Draws, places: np.ndarray) -> np.ndarray:
    assert arrays.y is not None
    uniforms = draws.uniforms(places)
    bias = row_bias(fitted, arrays)
    now = moved(bias, draws, uniforms)
    biased = who(fitted, arrays, uniforms[:, 0]) < expit(now.log_odds)
    return np.asarray(arrays.y - np.where(biased, now.size, 0.0))


def _drawn_with(
    fitted: MethodFit, arrays: Arrays, draws: Draws, places: np.ndarray, outside: np.ndarray
) -> np.ndarray:
    assert arrays.y is not None
    now = moved(row_bias(fitted, arrays), draws, draws.uniforms(places))
    columns = np.hstack([arrays.P, arrays.E])
    biased = biased_given(now, arrays.y, columns, outside, arrays.truth, draws, places)
    return np.asarray(arrays.y - np.where(biased, now.size, 0.0))


def who(fitted: MethodFit, arrays: Arrays, uniforms: np.ndarray) -> np.ndarray:
    """What decides who is biased, (m, n): a row's own number, or that of its cluster where a cluster is."""
    if fitted.details.unit != "clusters" or arrays.cluster is None:
        return uniforms
    first, codes = np.unique(arrays.cluster, return_index=True, return_inverse=True)[1:]
    return np.asarray(uniforms[:, first[codes]])


def with_truths(drawn: np.ndarray, arrays: Arrays) -> np.ndarray:
    """The draws (m, n), with the truth of validated rows in its place."""
    return drawn if arrays.truth is None else np.where(np.isfinite(arrays.truth), arrays.truth, drawn)


def draws_of(fitted: MethodFit, m: int, seed: int) -> Draws:
    """Draw the parameters of a fit m times."""
    return Draws.of(shared_cov(fitted), m, seed)
