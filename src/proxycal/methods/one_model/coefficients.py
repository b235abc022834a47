"""The coefficients of an exact fit by encoded column: the straight lines nearest to its predictors.

A predictor is a sum of lines, curves, levels and products; its table shows the line that comes nearest to it
over the fitted rows, which is the predictor itself where it is straight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.coefficients import CONTENT, INTERCEPT, SIZE, WHO, Coefficients
from proxycal.engine.inference import mean_size
from proxycal.methods.one_model.law import moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.methods.exact.outcome import Outcome
    from proxycal.methods.one_model.law import Law
    from proxycal.table.encode import Arrays

# The smallest weight of a row: a level in which nobody is biased has a size too.
LEAST = 1e-9


def nearest_line(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What takes values (n,) of rows to the coefficients (m,) of the line nearest to them, (m, n).

    >>> B = nearest_line(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.ones(3))
    >>> (B @ np.array([5.0, 7.0, 9.0])).round(9).tolist()
    [5.0, 2.0]
    """
    weighted = columns.T * weights
    return np.asarray(np.linalg.pinv(weighted @ columns, hermitian=True) @ weighted)


def who_lines(law: Law, arrays: Arrays) -> Coefficients:
    """Who is biased: log odds by encoded environment column."""
    rows = law.covariates(arrays)
    place, part = law.family.names.index("who"), law.model.at("who")
    B = nearest_line(_with_ones(arrays.E), arrays.weights)
    to_line = B @ law.model.predictors[place].columns(rows)
    names = (INTERCEPT, *arrays.environment_names)
    cov = to_line @ law.covariance[part, part] @ to_line.T
    return Coefficients(names, (WHO,) * len(names), to_line @ law.theta[part], cov)


def size_lines(law: Law, arrays: Arrays, p_biased: np.ndarray, effect: str) -> Coefficients:
    """The size among the biased: one mean, or by level or along the environment where that was asked for."""
    names, columns = size_columns(arrays, effect)
    B = nearest_line(columns, arrays.weights * p_biased + LEAST)
    designs = law.model.designs(law.covariates(arrays))
    return _lines(law, designs, names, lambda eta: law.unit * (B @ mean_size(law.family, eta)))


def size_columns(arrays: Arrays, effect: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Terms of the size, and their columns (n, m)."""
    if effect == "constant":
        return ("alpha",), np.ones((arrays.n, 1))
    if effect == "linear":
        return (INTERCEPT, *arrays.environment_names), _with_ones(arrays.E)
    column = effect.removeprefix("by:")
    names = arrays.level_names[column]
    held = (arrays.levels[column][:, None] == np.arange(len(names))).astype(float)
    return tuple(f"{column}={name}" for name in names), held


def one_model_coefficients(
    law: Law, outcome: Outcome, arrays: Arrays, p_biased: np.ndarray, sign: float, effect: str
) -> Coefficients:
    """Who misreports, by how much, and the content, with their joint error; arrays : the fitted rows."""
    own, place = sign * law.unit, law.family.names.index("who")
    of_who = nearest_line(_with_ones(arrays.E), arrays.weights)
    sizes, columns = size_columns(arrays, effect)
    of_size = nearest_line(columns, arrays.weights * p_biased + LEAST)
    of_content = nearest_line(_with_ones(np.hstack([arrays.P, arrays.E])), arrays.weights)
    middle = sign * law.standard.middle * np.eye(len(of_content))[0]

    def every(eta: np.ndarray) -> np.ndarray:
        size = law.unit * (of_size @ mean_size(law.family, eta))
        content = own * (of_content @ law.family.unbiased_mean(eta)) + middle
        return np.concatenate([of_who @ eta[place], size, content])

    who = (INTERCEPT, *arrays.environment_names)
    content = (INTERCEPT, *arrays.proxy_names, *arrays.environment_names)
    designs = law.model.designs(law.covariates(arrays))
    log = law.family.log_density(law.reports(arrays, outcome), law.predictors(designs))
    return replace(
        _lines(law, designs, (*who, *sizes, *content), every),
        components=(*(WHO,) * len(who), *(SIZE,) * len(sizes), *(CONTENT,) * len(content)),
        log_lik=float(arrays.weights @ (log - np.log(law.unit))),
        parameters=round(law.parameters),
    )


def _lines(
    law: Law, designs: list[np.ndarray], names: tuple[str, ...], value: Callable[[np.ndarray], np.ndarray]
) -> Coefficients:
    slope = moved(law, designs, value)
    cov = slope @ law.covariance @ slope.T
    return Coefficients(names, (SIZE,) * len(names), value(law.predictors(designs)), cov)


def _with_ones(columns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(columns)), columns])
