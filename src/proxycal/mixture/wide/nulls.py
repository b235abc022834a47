"""Explanations without a bias: what E may do to everybody, and shapes that only look like a bias."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.fit import Fitted, fit, plain_start, with_extra
from proxycal.mixture.wide.grow import grown
from proxycal.mixture.wide.law import Law, layout, n_paid, without_environment
from proxycal.mixture.wide.search import LEAST_GAIN, extend, greedy, out_of_reach
from proxycal.tails import chi2_isf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]

    Extensions = dict[str, Callable[[Law], Law | None]]

MOST_COMPONENTS = 4
# Coefficients of variation of the gamma noise that is tried where the residual is skewed beyond this.
SKEWS, SKEWED = (0.7, 1.0, 1.5), 0.2
ROUNDS = 7
# Log likelihood that the ridge of a gate may cost a bias, and no bias without that gate.
RIDGE_OF_GATE = 1.0


def more_components(most: int) -> Callable[[Law], Law | None]:
    """One more component of the content."""
    return lambda law: replace(law, components=law.components + 1) if law.components < most else None


def scale_by(part: str) -> Callable[[Law], Law | None]:
    """A sd that follows E or content."""

    def add(law: Law) -> Law | None:
        return None if part in law.scale else replace(law, scale="".join(sorted(law.scale + part)))

    return add


def _of_components(**flags: bool) -> Callable[[Law], Law | None]:
    return lambda law: replace(law, **flags) if law.components > 1 else None  # type: ignore[arg-type]


def _scale_by_component(law: Law) -> Law | None:
    if law.components == 1:
        return None
    return replace(law, scale=law.scale if "E" in law.scale else "E" + law.scale, scale_by_component=True)


EXTENSIONS: Extensions = {
    "components": more_components(MOST_COMPONENTS),
    "scale by E": scale_by("E"),
    "scale by content": scale_by("m"),
    "weights by content": _of_components(weights_by_content=True),
    "own slopes": _of_components(own_slopes=True),
    "scale by component": _scale_by_component,
}


def search_nulls(problem: Problem, bias: float) -> list[Fitted]:
    """Models without a bias, grown from one component while BIC falls, and skewed noise with a scale by E.

    bias : BIC of a model with one.
    """
    first = fit(problem, Law(), plain_start(problem, Law()))
    models = greedy(first, EXTENSIONS, ROUNDS, other=bias).models
    return models + skewed(problem)


def search_all_nulls(problem: Problem) -> list[Fitted]:
    """The same, with every extension tried, whatever its scores foretell."""
    first = fit(problem, Law(), plain_start(problem, Law()))
    return greedy(first, EXTENSIONS, ROUNDS, part=0.0).models


def skewed(problem: Problem, columns: int = 0) -> list[Fitted]:
    """Normal plus gamma noise whose scale follows E: a gated shift takes it for a group of biased rows."""
    first = plain_start(problem, Law())
    p, q = problem.X.shape[1], problem.E.shape[1]
    residual = problem.y - problem.X @ first[layout(Law(), p, q).b]
    sd = float(np.sqrt(np.average(residual**2, weights=problem.weights)))
    skewness = float(np.average(residual**3, weights=problem.weights)) / sd**3
    if abs(skewness) < SKEWED:
        return []
    side, tried = np.sign(skewness), []
    for cv in SKEWS:
        law = Law(scale="E", skew=float(side * cv), columns=columns)
        at = layout(law, p, q)
        theta = np.zeros(at.size)
        theta[at.b] = first[: at.b.stop]
        theta[at.log_skew] = theta[at.log_sigma] = np.log(0.7 * sd)
        tried.append(fit(problem, law, theta, 20))
    best = min(tried, key=lambda one: one.bic)
    best = fit(problem, best.law, best.theta)
    return [best, extend(best, replace(best.law, scale="Em"))]


def nulls_from(bias: Fitted, best: Fitted, problem: Problem, expected: Array) -> list[Fitted]:
    """What the best bias suggests to the other side: its gate as a curve of E in the mean, paid like a gate.

    best : the best null so far. problem : of the nulls. expected : (n,) bias to expect of a row given E
    alone.
    """
    if float(np.std(expected)) < 1e-9:
        return []
    wider = problem.with_column(expected)
    law = Law(columns=1)
    plain = fit(wider, law, plain_start(wider, law))
    tried = [plain, extend(plain, replace(law, scale="E"))]
    if best.law.columns == 0 and not best.law.skew and not best.law.states:
        tried.append(extend(best, replace(best.law, columns=1), problem=wider))
    shape = bias.law
    if shape.scale or shape.components > 1:
        same = Law(components=shape.components, scale=shape.scale, columns=1)
        tried.append(fit(wider, same, grown(bias, same, wider)))
    winner = min(tried, key=lambda one: one.bic)
    if winner.bic < best.bic and not out_of_reach(winner, best.bic - winner.bic, bias.bic):
        tried += greedy(winner, EXTENSIONS, 3, other=bias.bic).models
    return tried


def ungated(bias: Fitted, bar: float = np.inf) -> list[Fitted]:
    """The same bias with a gate by content alone, charged so that E has to pass a likelihood ratio test.

    None where it cannot come to a BIC below bar: the bias at its maximum contains it and explains as much, or
    a gate by content too would not have paid for itself.
    """
    law, problem = without_environment(bias.law), bias.problem
    slopes, log_n = problem.E.shape[1] * bias.law.gates, float(np.log(problem.n))
    extra = max(slopes * log_n - float(chi2_isf(THRESHOLDS.gate_test_p, slopes)), 0.0)
    paid = n_paid(law, problem.X.shape[1], problem.E.shape[1]) * log_n
    content = 0.0 if "m" in bias.law.gate else 0.5 * (log_n + LEAST_GAIN)
    if paid + extra - 2.0 * (bias.loglik + content + RIDGE_OF_GATE) > bar:
        return []
    return [with_extra(fit(problem, law, grown(bias, law), 100), extra)]
