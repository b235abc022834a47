"""Models of one table, each climbed to from another: coefficients go with their terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.likelihood import Sample, Theta
from proxycal.engine.maximise import FIRST, maximise, start
from proxycal.methods.rates.terms import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxycal.engine.covariates import Covariates
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model
    from proxycal.engine.terms import Term
    from proxycal.methods.rates.terms import More, Shape, Terms

# Rounds of a climb that only tells which of several starts leads highest.
LOOK = 10
# Rows that such a look takes.
LOOK_ROWS = 4_000
# Evidence by which zeros of their own accord, or further terms, must pay.
PAYS = 1.0
# Evidence by which a share of some rows must vary: how many report it, and how much, take each other's place.
# Where 1 was enough, totals of two tables in 80 came out 43 and 68% too high; with 4 these are 2 and 14%.
PAYS_SHARE = 4.0

# Changes the coefficients of a model, in place, before a climb.
Begin = Callable[["Model", np.ndarray], None]


@dataclass(frozen=True)
class Table:
    """Rows with their content, the outcome as the family reads it, weights (n,), and their terms."""

    rows: Covariates
    outcome: dict[str, np.ndarray]
    weights: np.ndarray
    terms: Terms
    made: dict[int, tuple[Term, np.ndarray]] = field(default_factory=dict)

    def sample(self, model: Model) -> Sample:
        """The rows with the columns of a model."""
        return Sample(self.outcome, columns_of(model, self.rows, self.made), self.weights)

    def climb(self, model: Model, begins: Iterable[Begin], source: Maximum | None = None) -> Maximum | None:
        """The maximum of a model from that of another, from the start that leads highest."""
        sample = self.sample(model)
        starts = [self._begun(model, begin, source) for begin in begins]
        if len(starts) == 1:
            return maximise(model, sample, *starts[0])
        some = self.some(sample)
        looked = best(maximise(model, some, *begun, rounds=LOOK) for begun in starts)
        return None if looked is None else maximise(model, sample, looked.theta, looked.ridges)

    @cached_property
    def _chosen(self) -> np.ndarray:
        return np.sort(np.random.default_rng(0).choice(self.rows.n, LOOK_ROWS, replace=False))

    def some(self, sample: Sample) -> Sample:
        """A sample, or some of its rows at random that stand for all: enough for a look."""
        if sample.n <= LOOK_ROWS:
            return sample
        rows = self._chosen
        return Sample(
            {name: values[rows] for name, values in sample.outcome.items()},
            tuple(X[rows] for X in sample.designs),
            sample.weights[rows] * (sample.n / LOOK_ROWS),
        )

    @staticmethod
    def _begun(model: Model, begin: Begin, source: Maximum | None) -> tuple[Theta, np.ndarray]:
        theta, ridges = carried(model, source)
        begin(model, theta.dense)
        return theta, ridges


def carried(model: Model, source: Maximum | None) -> tuple[Theta, np.ndarray]:
    """Coefficients and ridges for a model, those of another where it has the same term of a predictor."""
    theta, ridges = start(model), np.full(len(model.groups), FIRST)
    if source is None:
        return theta, ridges
    known = _places(source.model)
    for key, (here, group) in _places(model).items():
        if key not in known:
            continue
        there, other = known[key]
        theta.dense[here] = source.theta.dense[there]
        if group >= 0:
            ridges[group] = source.ridges[other]
    return theta, ridges


def _places(model: Model) -> dict[tuple[str, str, int], tuple[slice, int]]:
    """Where the coefficients of each term of each predictor stand, and the number of its ridge, or -1."""
    found: dict[tuple[str, str, int], tuple[slice, int]] = {}
    at, ridge = 0, 0
    for predictor in model.predictors:
        for term in predictor.terms:
            copies = sum(key[:2] == (predictor.name, term.about) for key in found)
            found[predictor.name, term.about, copies] = (
                slice(at, at + term.width),
                ridge if term.penalised else -1,
            )
            at, ridge = at + term.width, ridge + term.penalised
    return found


def best(fits: Iterable[Maximum | None]) -> Maximum | None:
    """The fit of most evidence."""
    return max((fit for fit in fits if fit is not None), key=lambda fit: fit.evidence, default=None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best without a report and the best with one, under the same assumption on the environment."""

    without: Maximum
    biased: Maximum

    @property
    def lead(self) -> float:
        """Log of how much better a report explains the outcome."""
        return self.biased.evidence - self.without.evidence


def grown(table: Table, fit: Maximum, shape: Shape, wanted: Sequence[More]) -> tuple[Maximum, Shape]:
    """The fit with further terms, as long as they pay."""
    left = set(wanted) - shape.more
    while left:
        tries = {name: replace(shape, more=shape.more | {name}) for name in sorted(left)}
        fits = {
            name: table.climb(table.terms.model(fit.model.family, wider), [as_it_is], fit)
            for name, wider in tries.items()
        }
        known = {
            name: wider
            for name, wider in fits.items()
            if wider is not None
            and wider.evidence >= fit.evidence + (PAYS_SHARE if name == "share" else PAYS)
        }
        name = max(known, key=lambda name: known[name].evidence, default=None)
        if name is None:
            break
        fit, shape = known[name], tries[name]
        left.discard(name)
    return fit, shape


def as_it_is(model: Model, theta: np.ndarray) -> None:
    """No change."""
