"""The terms of a normal outcome's predictors, and the rows as the engine takes them.

y is turned so that the bias is upward and put in units of what proxies and environment leave of it; content
m is the standardised index of a first regression, fixed from there on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.model import Model, Predictor, side_by_side
from proxycal.engine.terms import (
    Levels,
    Numbers,
    Term,
    Wanted,
    constant,
    curves,
    environment_terms,
    plain,
    spread_of,
)

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates
    from proxycal.engine.families.normal import Normal


@dataclass(frozen=True, slots=True)
class Standard:
    """How an outcome was put in the units of the engine: y = (sign * outcome - middle) / unit.

    index : (k,) coefficients of the content index in [1, P, E, levels]; index_middle, index_unit : what
    standardises it. numeric : which encoded environment columns are numbers.
    """

    sign: float
    middle: float
    unit: float
    index: np.ndarray
    index_middle: float
    index_unit: float
    numeric: tuple[int, ...] = ()

    def outcome(self, y: np.ndarray) -> np.ndarray:
        """Reports in the units of the engine."""
        return (self.sign * y - self.middle) / self.unit

    def in_own_units(self, y: np.ndarray) -> np.ndarray:
        """The reverse of `outcome`."""
        return self.sign * (y * self.unit + self.middle)

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
    total = weights.sum()
    unit = float(np.sqrt(weights @ (turned - X @ index) ** 2 / total)) or 1.0
    index = of_content(index, X, turned, root, rows.P.shape[1])
    fitted = X @ index
    middle, index_middle = float(weights @ turned / total), float(weights @ fitted / total)
    index_unit = float(np.sqrt(weights @ (fitted - index_middle) ** 2 / total)) or 1.0
    return Standard(sign, middle, unit, index, index_middle, index_unit, rows.numeric)


def of_content(index: np.ndarray, X: np.ndarray, y: np.ndarray, root: np.ndarray, proxies: int) -> np.ndarray:
    """The part of a regression's index (k,) that is content: what proxies say, and the environment of them.

    With noisy proxies the environment tells of content too, as far as it goes with what the proxies say. The
    rest of what it does to the outcome may be the bias, which is no content.
    """
    shown = np.zeros_like(index)
    shown[1 : 1 + proxies] = index[1 : 1 + proxies]
    others = np.r_[0, 1 + proxies : len(index)]
    expected = np.zeros_like(index)
    expected[others] = np.linalg.lstsq(X[:, others] * root, X @ shown * root[:, 0], rcond=1e-9)[0]
    both = np.column_stack([np.ones(len(X)), X @ shown, X @ expected]) * root
    part = np.linalg.lstsq(both, y * root[:, 0], rcond=1e-9)[0][1:]
    return np.asarray(part[0] * shown + part[1] * expected)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of each predictor of a normal outcome, whatever its family's size.

    by_name : terms of mean, scale, skew, who and size; of "content", which places and weights of components
    follow; of "who by content"; and of "constant". in_units : predictors in which every unit (a cluster) has
    an effect of its own.
    """

    by_name: dict[str, tuple[Term, ...]]
    in_units: tuple[str, ...] = ()

    @classmethod
    def learn(cls, rows: Covariates, in_units: tuple[str, ...] = ()) -> Terms:
        """The terms for these rows."""
        proxies = plain("proxies", Numbers("P", tuple(range(rows.P.shape[1]))), rows, penalised=False)
        m = plain("content", Numbers("m", (0,)), rows)
        simple = environment_terms(rows, Wanted(curves=False, products=False))
        of_proxies = [*curves("P", rows), *curves("m", rows)]
        by_name: dict[str, tuple[Term, ...]] = {
            "mean": (constant(), proxies, *of_proxies, *environment_terms(rows, Wanted(by_content=True))),
            "scale": (constant(), m, *simple),
            "skew": tuple(simple) or (m,),
            "who": (constant(), *environment_terms(rows, Wanted()), m),
            "size": (constant(), m, *simple),
            "who by content": (constant(), m),
            "content": (constant(), replace(m, penalised=False)),
            "constant": (constant(),),
        }
        return cls(by_name, in_units)

    def columns(self, rows: Covariates) -> dict[str, np.ndarray]:
        """The columns (n, k) of each list of terms."""
        return {name: side_by_side(terms, rows) for name, terms in self.by_name.items()}

    def model(self, family: Normal, who: str = "who") -> Model:
        """The model of a family with these terms; who : the list of terms that say who is biased."""
        predictors = []
        for name in family.names:
            prior, first, least = _PRIORS[stem(name)]
            terms, units = self.by_name[who if name == "who" else terms_of(name)], name in self.in_units
            predictors.append(Predictor(name, terms, prior, first, least, units))
        return Model(family, tuple(predictors))


def sized(terms: Terms, rows: Covariates, effect: str) -> Terms:
    """The terms with those of the size that were asked for: "constant" leaves them to the data.

    "by:COLUMN" : its levels alone. "linear" : straight lines and levels of the environment.
    """
    if effect == "constant":
        return terms
    if effect.startswith("by:"):
        column = effect.removeprefix("by:")
        source = Levels(column, int(rows.level_counts[column]))
        asked = [spread_of(f"levels of {column}", source, rows)]
    else:
        asked = list(environment_terms(rows, Wanted(curves=False, products=False)))
    size = (constant(), *(term for term in asked if term is not None))
    return replace(terms, by_name=terms.by_name | {"size": size})


def lines_only(terms: Terms) -> Terms:
    """The terms without curves and products: constants, proxies, straight lines and levels."""
    simple = terms.by_name["scale"][2:]
    plain_terms = {
        "mean": (*terms.by_name["mean"][:2], *simple),
        "scale": (constant(), *simple),
        "who": (constant(), *simple),
        "size": (constant(),),
    }
    return replace(terms, by_name=terms.by_name | plain_terms)


def straight(terms: Terms) -> Terms:
    """The same of an outcome without its content: the environment alone."""
    lines = lines_only(terms)
    mean = tuple(term for term in lines.by_name["mean"] if term.about != "proxies")
    return replace(lines, by_name=lines.by_name | {"mean": mean})


def stem(name: str) -> str:
    """The name of a predictor without the number of its component: "d2" is "d"."""
    return name.rstrip("0123456789")


def terms_of(name: str) -> str:
    """Which list of terms a predictor of a family has."""
    alone = dict.fromkeys(("r", "spread", "more", "second", "through"), "constant")
    followers = dict.fromkeys(("d", "w", "spike"), "content")
    return (followers | alone).get(stem(name), name)


# Weak priors in units of the residual sd: sd of coefficients outside penalised terms, where the first is
# centred, and the smallest ridge precision of the terms.
_PRIORS = {
    "mean": (30.0, 0.0, 1e-3),
    "scale": (1.5, 0.0, 0.5),
    "skew": (1.0, 0.0, 1.0),
    "who": (2.5, 0.0, 0.05),
    "size": (1.5, 0.7, 1.0),
    "through": (1.0, 0.0, 1e-2),
    "spread": (1.0, -1.0, 1e-2),
    "more": (1.0, 0.0, 1e-2),
    "second": (1.5, 0.0, 1e-2),
    "d": (3.0, 0.0, 1e-2),
    "r": (1.0, 0.0, 1e-2),
    "w": (2.0, 0.0, 1e-2),
    "spike": (2.0, 0.0, 1e-2),
}
