"""The terms of a normal outcome's predictors, and the rows as the engine takes them.

y is turned so that the bias is upward and put in units of what proxies and environment leave of it; content
m is the standardised index of a first regression, fixed from there on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.model import Model, Predictor
from proxycal.engine.terms import Numbers, Term, Wanted, constant, curves, environment_terms, plain

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates
    from proxycal.engine.families.normal import Normal

_SCALARS = {"spread": (1.0, -1.0), "more": (1.0, 0.0), "second": (1.5, 0.0)}
_OF_COMPONENT = {"d": 3.0, "r": 1.0, "w": 2.0}


@dataclass(frozen=True, slots=True)
class Standard:
    """How an outcome was put in the units of the engine: y = (sign * outcome - middle) / unit.

    index : (k,) coefficients of the content index in [1, P, E, levels]; index_middle, index_unit : what
    standardises it.
    """

    sign: float
    middle: float
    unit: float
    index: np.ndarray
    index_middle: float
    index_unit: float

    def outcome(self, y: np.ndarray) -> np.ndarray:
        """Reports in the units of the engine."""
        return (self.sign * y - self.middle) / self.unit

    def content(self, rows: Covariates) -> np.ndarray:
        """The content index (n, 1) of rows."""
        return (((all_columns(rows) @ self.index) - self.index_middle) / self.index_unit)[:, None]


def all_columns(rows: Covariates) -> np.ndarray:
    """The constant, proxies, numeric environment and levels but the first."""
    levels = [
        (rows.levels[name][:, None] == np.arange(1, count)).astype(float)
        for name, count in rows.level_counts.items()
    ]
    return np.column_stack([np.ones(rows.n), rows.P, rows.E, *levels])


def standardise(y: np.ndarray, rows: Covariates, weights: np.ndarray, sign: float) -> Standard:
    """Learn the units of an outcome y (n,) and the content index."""
    X, turned = all_columns(rows), sign * y
    root = np.sqrt(weights)[:, None]
    index = np.linalg.lstsq(X * root, turned * root[:, 0], rcond=1e-9)[0]
    fitted = X @ index
    total = weights.sum()
    unit = float(np.sqrt(weights @ (turned - fitted) ** 2 / total)) or 1.0
    middle, index_middle = float(weights @ turned / total), float(weights @ fitted / total)
    index_unit = float(np.sqrt(weights @ (fitted - index_middle) ** 2 / total)) or 1.0
    return Standard(sign, middle, unit, index, index_middle, index_unit)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that each predictor of a normal outcome has, whatever its family's size."""

    mean: tuple[Term, ...]
    scale: tuple[Term, ...]
    skew: tuple[Term, ...]
    who: tuple[Term, ...]
    size: tuple[Term, ...]
    content: tuple[Term, ...]

    @classmethod
    def learn(cls, rows: Covariates) -> Terms:
        """The terms for these rows."""
        proxies = plain("proxies", Numbers("P", tuple(range(rows.P.shape[1]))), rows, penalised=False)
        m = plain("content", Numbers("m", (0,)), rows)
        simple = environment_terms(rows, Wanted(curves=False, products=False))
        return cls(
            mean=(
                constant(),
                proxies,
                *curves("P", rows),
                *curves("m", rows),
                *environment_terms(rows, Wanted(by_content=True)),
            ),
            scale=(constant(), m, *simple),
            skew=tuple(simple) or (m,),
            who=(constant(), *environment_terms(rows, Wanted()), m),
            size=(constant(), m, *simple),
            content=(constant(), plain("content", Numbers("m", (0,)), rows, penalised=False)),
        )

    def model(self, family: Normal) -> Model:
        """The model of a family with these terms."""
        predictors = []
        for name in family.names:
            if name in _SCALARS:
                prior, start = _SCALARS[name]
                predictors.append(Predictor(name, (constant(),), prior, start))
            elif name[0] in _OF_COMPONENT and name[1:].isdigit():
                terms = self.content if name[0] != "r" else (constant(),)
                predictors.append(Predictor(name, terms, _OF_COMPONENT[name[0]]))
            else:
                prior, start, least = _PRIORS[name]
                predictors.append(Predictor(name, getattr(self, name), prior, start, least))
        return Model(family, tuple(predictors))


# Weak priors in units of the residual sd: sd of unpenalised coefficients, where the first is centred, and
# the smallest ridge precision of the terms.
_PRIORS = {
    "mean": (30.0, 0.0, 1e-3),
    "scale": (1.5, 0.0, 0.5),
    "skew": (1.0, 0.0, 1.0),
    "who": (2.5, 0.0, 0.05),
    "size": (1.5, 0.7, 1.0),
}
