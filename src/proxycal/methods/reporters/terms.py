"""The terms of the predictors of several reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from proxycal.engine.families.reports import Reports
from proxycal.engine.model import Model, Predictor
from proxycal.engine.terms import Numbers, Term, Wanted, constant, curves, environment_terms, plain

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates

# How reporters differ in all rows: not at all, by a level, or as the environment says.
Offset = Literal["none", "level", "environment"]

# Weak priors in sds of the errors: sd of the unpenalised coefficients, where the first is centred, and the
# least ridge precision.
_PRIORS = {
    "mean": (1e3, 0.0, 1e-3),
    "spread": (5.0, 0.0, 0.5),
    "offset": (3.0, 0.0, 1e-2),
    "scale": (1.0, -0.5, 0.5),
    "who": (2.5, 0.0, 0.05),
    "size": (1.5, 0.7, 1.0),
    "more": (0.7, 0.5, 1.0),
    "exact": (2.5, 0.0, 0.3),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """Which model of the reports.

    biased : numbers, from 1, of the reporters who are biased in some rows. wide : of those whose second state
    has errors of another spread. alike : of those whose second state the environment does not drive. exact :
    whether exact agreement is a state of its own. known : whether the truth follows proxies.
    """

    offset: Offset
    biased: tuple[int, ...] = ()
    wide: tuple[int, ...] = ()
    alike: tuple[int, ...] = ()
    exact: bool = False
    known: bool = False

    def with_bias(self, j: int) -> Shape:
        """The same with a bias of reporter j."""
        return replace(self, biased=tuple(sorted({*self.biased, j})))

    def without(self, j: int) -> Shape:
        """The same without a second state of reporter j."""

        def others(numbers: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(k for k in numbers if k != j)

        return replace(self, biased=others(self.biased), wide=others(self.wide), alike=others(self.alike))

    def widened(self, j: int) -> Shape:
        """The same with errors of another spread in the second state of reporter j."""
        return replace(self, wide=tuple(sorted({*self.wide, j})))


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms by what they are for.

    truth : of the mean of the truth. simple : lines and levels of the environment. all : its curves and
    products as well.
    """

    truth: tuple[Term, ...]
    simple: tuple[Term, ...]
    all: tuple[Term, ...]

    @classmethod
    def learn(cls, rows: Covariates) -> Terms:
        """The terms for rows."""
        every = tuple(environment_terms(rows, Wanted()))
        count = rows.P.shape[1]
        proxies = plain("proxies", Numbers("P", tuple(range(count))), rows, penalised=False)
        return cls(
            truth=(constant(), proxies, *curves("P", rows), *every) if count else (),
            simple=tuple(environment_terms(rows, Wanted(curves=False, products=False))),
            all=every,
        )

    def model(self, shape: Shape, reporters: int, step: float) -> Model:
        """The model of a shape. step : by how much reports differ at least where they do not agree."""
        signs = tuple(int(j in shape.biased) for j in range(1, reporters + 1))
        equal = reporters == 2 and not shape.known
        # The sd of a value that is rounded to the step.
        floor = float(np.log(step / np.sqrt(12.0))) if step else -12.0
        family = Reports(signs, shape.known, shape.wide, step if shape.exact else 0.0, equal, floor)
        return Model(family, tuple(self._predictor(name, shape) for name in family.names))

    def _predictor(self, name: str, shape: Shape) -> Predictor:
        stem = name.rstrip("0123456789")
        level = (constant(),)
        if stem == "offset":
            terms = {"none": (), "level": level, "environment": level + self.all}[shape.offset]
        elif stem == "who":
            terms = level if int(name[3:]) in shape.alike else level + self.all
        else:
            terms = {
                "mean": self.truth,
                "spread": level + self.simple,
                "scale": level + self.simple,
                "size": level + self.simple,
                "more": level,
                "exact": level + self.simple,
            }[stem]
        return Predictor(name, terms, *_PRIORS[stem])


def columns_of(
    model: Model, rows: Covariates, made: dict[int, tuple[Term, np.ndarray]]
) -> tuple[np.ndarray, ...]:
    """The columns of each predictor; `made` keeps those of terms, with the term, for the next model."""
    designs = []
    for predictor in model.predictors:
        for term in predictor.terms:
            if id(term) not in made:
                made[id(term)] = term, term.columns(rows)
        blocks = [made[id(term)][1] for term in predictor.terms]
        designs.append(np.column_stack(blocks) if blocks else np.zeros((rows.n, 0)))
    return tuple(designs)
