"""A model: a family, and for each of its predictors the terms and where their coefficients stand.

    eta_q = sum of terms of predictor q (+ an effect of the row's unit)        theta = all coefficients

Coefficients of a term have the prior N(0, 1/lambda), with lambda one of the groups' ridge precisions, which
the data choose; those outside a term have a weak prior of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxycal.engine.covariates import Covariates
    from proxycal.engine.families.cells import Family
    from proxycal.engine.terms import Term


def side_by_side(terms: Iterable[Term], rows: Covariates) -> np.ndarray:
    """The columns (n, k) of terms; each in one piece, as cross products read them."""
    return np.vstack([np.zeros((0, rows.n)), *(term.columns(rows).T for term in terms)]).T


@dataclass(frozen=True, slots=True)
class Predictor:
    """One linear predictor of a family.

    prior : sd of the coefficients outside a penalised term, around `start` for the first of them and 0 for
    the others. least : smallest ridge precision of its terms. units : whether every unit (a reporter, a
    cluster) has an effect of its own.
    """

    name: str
    terms: tuple[Term, ...]
    prior: float
    start: float = 0.0
    least: float = 1e-2
    units: bool = False

    def columns(self, rows: Covariates) -> np.ndarray:
        """The columns (n, k) of all its terms."""
        return side_by_side(self.terms, rows)

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(term.width for term in self.terms)


@dataclass(frozen=True, slots=True)
class Group:
    """Coefficients at[0] to at[1] that share a ridge precision: a term of a predictor."""

    predictor: str
    about: str
    at: tuple[int, int]
    least: float

    @property
    def part(self) -> slice:
        """Where they stand in theta."""
        return slice(*self.at)


@dataclass(frozen=True)
class Model:
    """A family with the terms of its predictors, in the family's order."""

    family: Family
    predictors: tuple[Predictor, ...] = field(default_factory=tuple)

    @cached_property
    def ends(self) -> np.ndarray:
        """Where each predictor's coefficients begin; the last is their number."""
        return np.cumsum([0, *(predictor.width for predictor in self.predictors)])

    @property
    def width(self) -> int:
        """Number of coefficients beside those of units."""
        return int(self.ends[-1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        return tuple(predictor.name for predictor in self.predictors)

    @cached_property
    def places(self) -> dict[tuple[str, str], slice]:
        """Where the coefficients of each term stand, by predictor and what the term is about."""
        found = {}
        for predictor, begin in zip(self.predictors, self.ends, strict=False):
            at = int(begin)
            for term in predictor.terms:
                found[predictor.name, term.about] = slice(at, at + term.width)
                at += term.width
        return found

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Penalised terms, in the order of their coefficients."""
        found = []
        for predictor, begin in zip(self.predictors, self.ends, strict=False):
            at = int(begin)
            for term in predictor.terms:
                if term.penalised:
                    found.append(Group(predictor.name, term.about, (at, at + term.width), predictor.least))
                at += term.width
        return tuple(found)

    @cached_property
    def prior(self) -> np.ndarray:
        """Precision (k,) of the coefficients outside penalised terms; 0 inside them."""
        precision = np.zeros(self.width)
        for predictor, begin in zip(self.predictors, self.ends, strict=False):
            at = int(begin)
            for term in predictor.terms:
                if not term.penalised:
                    precision[at : at + term.width] = predictor.prior**-2
                at += term.width
        return precision

    @cached_property
    def centre(self) -> np.ndarray:
        """Prior mean (k,)."""
        centre = np.zeros(self.width)
        for predictor, begin in zip(self.predictors, self.ends, strict=False):
            if predictor.terms and not predictor.terms[0].penalised:
                centre[begin] = predictor.start
        return centre

    @cached_property
    def with_units(self) -> tuple[int, ...]:
        """Positions of the predictors in which units have an effect."""
        return tuple(at for at, predictor in enumerate(self.predictors) if predictor.units)

    def at(self, name: str) -> slice:
        """Where the coefficients of a predictor stand in theta."""
        position = self.names.index(name)
        return slice(int(self.ends[position]), int(self.ends[position + 1]))

    def designs(self, rows: Covariates) -> list[np.ndarray]:
        """The columns of each predictor."""
        return [predictor.columns(rows) for predictor in self.predictors]

    def only(self, awake: np.ndarray) -> Model:
        """The model with some of its penalised terms only; awake : (groups,)."""
        if awake.all():
            return self
        flags = iter(awake)
        predictors = tuple(
            replace(one, terms=tuple(term for term in one.terms if not term.penalised or next(flags)))
            for one in self.predictors
        )
        return Model(self.family, predictors)

    def penalty(self, ridges: np.ndarray) -> np.ndarray:
        """Prior precision (k,) of all coefficients, given those of the groups."""
        precision = self.prior.copy()
        for group, ridge in zip(self.groups, ridges, strict=False):
            precision[group.part] = ridge
        return precision
