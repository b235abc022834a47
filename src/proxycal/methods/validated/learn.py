"""Learning from validated rows: candidates fitted in folds, combined, and their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.validated.candidates import SIMPLE, Candidates, fit_candidates
from proxycal.methods.validated.conformal import FLOOR_SHARE, conformal_quantile
from proxycal.methods.validated.stack import Stack, combine
from proxycal.methods.validated.thresholds import FOLDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.validated.rows import Rows

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned from n validated rows.

    full : candidates from all of them. folds : the same without each fold, by which validated rows are
    answered out of fold; cuts : (FOLDS - 1,) of the row keys between folds.
    stack : how they are combined. quantile, floor : of the intervals. sd : (n,) out of fold.
    """

    full: Candidates
    folds: tuple[Candidates, ...]
    cuts: Array
    stack: Stack
    quantile: float
    floor: float
    sd: Array


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """Answers (n,) for rows: value, the scale of its interval, whether biased (p), and content."""

    value: Array
    scale: Array
    p: Array
    content: Array


def answer(candidates: Candidates, weights: Array, floor: float, rows: Rows, given: Array) -> RowAnswers:
    """The combined answer of candidates for rows."""
    own = candidates.predict(rows, given)
    return RowAnswers(own.values @ weights, own.sd + floor, own.p, own.content)


def learn(
    rows: Rows, given: Array, names: tuple[str, ...], key: Array, w: Array, level: float, seed: int
) -> Learned:
    """Fit, compare out of fold and combine.

    rows : validated and other rows; given (n, g) : answers of other methods, by names. key : (n,) a number of
    each row by its values, that decides its fold. w : (n,) design weights, read where validated.
    """
    known = np.flatnonzero(rows.known)
    truth = rows.truth[known]
    # With few candidates' trees in a fold but not in another, their columns would not match.
    full = fit_candidates(rows, given, names, seed)
    cuts = np.quantile(key[known], np.arange(1, FOLDS) / FOLDS)
    fold = fold_of(cuts, key[known])
    values, sd, parts = np.empty((len(known), len(full.names))), np.empty(len(known)), []
    for k in range(FOLDS):
        inside = known[fold == k]
        part = fit_candidates(rows.hiding(inside), given, names, seed, start=full)
        own = part.predict(rows.take(inside), given[inside])
        values[fold == k], sd[fold == k] = own.values, own.sd
        parts.append(part)
    stack = combine(values, truth, fold, range(len(SIMPLE)), w[known], full.prior)
    floor = FLOOR_SHARE * float(np.median(sd))
    scores = np.abs(stack.chosen - truth) / (sd + floor)
    return Learned(
        full=full,
        folds=tuple(parts),
        cuts=cuts,
        stack=stack,
        quantile=conformal_quantile(scores, w[known], level),
        floor=floor,
        sd=sd,
    )


def fold_of(cuts: Array, key: Array) -> NDArray[np.int64]:
    """The fold of each row by its key, (n,)."""
    return np.asarray(np.searchsorted(cuts, key, side="right"), dtype=np.int64)


def row_key(*columns: Array) -> Array:
    """A number in [0, 1) for each row, (n,), that its values alone decide: not its place, nor other rows.

    So a validated row is recognised wherever it stands, and copies of a row share a fold.

    >>> key = row_key(np.array([1.0, 2.0, 1.0]), np.array([5.0, 5.0, 5.0]))
    >>> bool(key[0] == key[2]), bool(key[0] == key[1])
    (True, False)
    """
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        # + 0.0 makes one zero of the two.
        bits = np.ascontiguousarray(column + 0.0).view(np.uint64)
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)
