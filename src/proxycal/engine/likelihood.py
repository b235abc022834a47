"""The log likelihood of a model, its gradient and curvature: sums over rows, so over chunks and pieces.

A family gives derivatives by predictor for each row; one weighted cross product of columns for each pair of
predictors turns them into derivatives by coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.engine.curvature import Bordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxycal.engine.covariates import Covariates
    from proxycal.engine.model import Model

# Rows worked on at once: what a chunk needs fits the cache.
CHUNK = 4_096
# Rows of a piece whose columns are made at once.
PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows ready for a model.

    outcome : what the family reads of each row, arrays with rows first. designs : (n, k_q) for each
    predictor. weights : (n,) how many rows each stands for. units : (n,) codes below `unit_count`; rows need
    no order.
    """

    outcome: dict[str, np.ndarray]
    designs: tuple[np.ndarray, ...]
    weights: np.ndarray
    units: np.ndarray | None = None
    unit_count: int = 0

    @classmethod
    def of(
        cls,
        model: Model,
        rows: Covariates,
        outcome: dict[str, np.ndarray],
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> Sample:
        """The rows with the columns of a model."""
        w = np.ones(rows.n) if weights is None else weights
        count = 0 if units is None else int(units.max()) + 1
        return cls(outcome, tuple(model.designs(rows)), w, units, count)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    def only(self, kept: list[np.ndarray]) -> Sample:
        """The rows with some columns of each predictor."""
        designs = zip(self.designs, kept, strict=True)
        return replace(self, designs=tuple(X if some.all() else X.T[some].T for X, some in designs))

    def chunks(self) -> Iterator[Sample]:
        """The rows, a few at a time."""
        if self.n <= CHUNK:
            yield self
            return
        for begin in range(0, self.n, CHUNK):
            part = slice(begin, begin + CHUNK)
            yield replace(
                self,
                outcome={name: values[part] for name, values in self.outcome.items()},
                designs=tuple(X[part] for X in self.designs),
                weights=self.weights[part],
                units=None if self.units is None else self.units[part],
            )


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Rows that are elsewhere, such as pieces of a file: sums over them are asked for, never the rows.

    add_up : the sum of what a function makes of each piece's rows, outcome and weights.
    """

    add_up: Callable[[Callable[[Covariates, dict[str, np.ndarray], np.ndarray], Any]], Any]
    unit_count: int = 0

    def only(self, kept: list[np.ndarray]) -> Elsewhere:
        """The same: columns are made for the model that asks."""
        return self


@dataclass(frozen=True, slots=True)
class Theta:
    """Coefficients: dense (k,), and units (U, r) for the predictors in which units have an effect."""

    dense: np.ndarray
    units: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def moved(self, dense: np.ndarray, units: np.ndarray, by: float = 1.0) -> Theta:
        """A step further."""
        return Theta(self.dense + by * dense, self.units + by * units)


@dataclass(frozen=True, slots=True)
class Sums:
    """Log likelihood, gradient and curvature (minus the second derivatives) over all rows."""

    loglik: float
    dense: np.ndarray
    units: np.ndarray
    curvature: Bordered

    def __add__(self, other: Sums) -> Sums:
        mine, theirs = self.curvature, other.curvature
        return Sums(
            self.loglik + other.loglik,
            self.dense + other.dense,
            self.units + other.units,
            Bordered(mine.A + theirs.A, mine.B + theirs.B, mine.D + theirs.D),
        )


def predictors(model: Model, part: Sample, theta: Theta) -> np.ndarray:
    """The values (q, n) of the linear predictors."""
    eta = np.empty((len(model.predictors), part.n))
    for at, X in enumerate(part.designs):
        eta[at] = X @ theta.dense[model.ends[at] : model.ends[at + 1]]
    if part.units is not None:
        for place, at in enumerate(model.with_units):
            eta[at] += theta.units[part.units, place]
    return eta


def log_likelihood(model: Model, sample: Sample, theta: Theta) -> float:
    """The log likelihood of all rows."""
    total = 0.0
    for part in sample.chunks():
        eta = predictors(model, part, theta)
        total += float(part.weights @ model.family.log_density(part.outcome, eta))
    return total


def sums(model: Model, sample: Sample | Elsewhere, theta: Theta) -> Sums:
    """Log likelihood, gradient and curvature over all rows."""
    if isinstance(sample, Elsewhere):
        return sample.add_up(partial(_sums_of_piece, model, theta))
    k, r, count = model.width, len(model.with_units), sample.unit_count
    total = 0.0
    gradient, units = np.zeros(k), np.zeros((count, r))
    A, B, D = np.zeros((k, k)), np.zeros((k, count, r)), np.zeros((count, r, r))
    for part in sample.chunks():
        rows = model.family.derivatives(part.outcome, predictors(model, part, theta))
        w = part.weights
        total += float(w @ rows.log)
        first, second = rows.first, rows.second
        first *= w
        second *= w
        _add_dense(model, part, first, second, gradient, A)
        if r:
            _add_units(model, part, first, second, (units, B, D))
    below = np.tril_indices(k, -1)
    A[below] = A.T[below]
    return Sums(total, gradient, units, Bordered(A, B, D))


def _sums_of_piece(
    model: Model,
    theta: Theta,
    rows: Covariates,
    outcome: dict[str, np.ndarray],
    weights: np.ndarray,
) -> Sums:
    """The sums of a piece whose columns are made here, a few rows at a time."""
    total = None
    for begin in range(0, rows.n, PIECE):
        few = np.arange(begin, min(begin + PIECE, rows.n))
        part = {name: values[few] for name, values in outcome.items()}
        found = sums(model, Sample.of(model, rows.take(few), part, weights[few]), theta)
        total = found if total is None else total + found
    assert total is not None  # a piece has rows
    return total


def _add_dense(
    model: Model, part: Sample, first: np.ndarray, second: np.ndarray, gradient: np.ndarray, A: np.ndarray
) -> None:
    """Add a chunk's gradient, and its curvature above the diagonal.

    The columns of all predictors from a on, times the derivatives by a and each of theirs, meet those of a in
    one product.
    """
    ends = model.ends
    work = np.empty((model.width, part.n))
    for a, X in enumerate(part.designs):
        begin, end = ends[a], ends[a + 1]
        if begin == end:
            continue
        gradient[begin:end] += first[a] @ X
        for b in range(a, len(part.designs)):
            np.multiply(part.designs[b].T, second[a, b], out=work[ends[b] : ends[b + 1]])
        A[begin:end, begin:] -= X.T @ work[begin:].T


def _add_units(
    model: Model, part: Sample, first: np.ndarray, second: np.ndarray, into: tuple[np.ndarray, ...]
) -> None:
    """Add a chunk's gradient and curvature of the effects of units."""
    units, B, D = into
    assert part.units is not None
    order = np.argsort(part.units, kind="stable")
    codes, begin = np.unique(part.units[order], return_index=True)

    def by_unit(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.add.reduceat(values[order], begin, axis=0))

    for i, a in enumerate(model.with_units):
        units[codes, i] += by_unit(first[a])
        for j, b in enumerate(model.with_units):
            D[codes, i, j] -= by_unit(second[min(a, b), max(a, b)])
        for b, X in enumerate(part.designs):
            at = slice(model.ends[b], model.ends[b + 1])
            B[at, codes, i] -= by_unit(X * second[min(a, b), max(a, b)][:, None]).T


def scores(model: Model, sample: Sample, theta: Theta) -> np.ndarray:
    """The gradient (n, k) of each row by the dense coefficients, without weights."""
    made = []
    for part in sample.chunks():
        first = model.family.derivatives(part.outcome, predictors(model, part, theta)).first
        made.append(np.column_stack([X * first[a][:, None] for a, X in enumerate(part.designs)]))
    return np.concatenate(made)


def evaluated(model: Model, sample: Sample, theta: Theta, what: Any) -> np.ndarray:
    """What a function of (outcome, predictors) says of each row, chunk by chunk."""
    parts = [what(part.outcome, predictors(model, part, theta)) for part in sample.chunks()]
    return np.concatenate(parts, axis=-1)
