"""The size of a bias that these rows would show in most cases: said beside "no bias found".

A bias of a usual kind is put into the rows as the best null describes them, and the two sides are compared
at the maximum of each, from where they must be: a few fits instead of the hundreds of a simulation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.designs import spaced
from proxycal.mixture.wide.fit import fit, plain_start, replaced
from proxycal.mixture.wide.grow import grown
from proxycal.mixture.wide.law import Law, layout
from proxycal.mixture.wide.put_in import ENOUGH_ROWS, put_in, smallest
from proxycal.mixture.wide.search import extend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.wide.fit import Fitted
    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]

STEPS, PRECISION = 40, 1e-5


def detectable(null: Fitted, problem: Problem, seed: int = 0) -> float:
    """The smallest size, in sds around content, found in about nine such tables of ten; inf if none is.

    null : the best model without a bias, of components alone. problem : the rows as models with a bias see
    them.
    """
    q = problem.E.shape[1]
    if q == 0:
        return float("inf")
    part = spaced(len(problem.y), ENOUGH_ROWS)
    times, sd = problem.n / float(problem.weights[part].sum()), _sd(null)
    weights, put = problem.weights[part], put_in(problem.E[part], seed)
    problem = _both(problem, part[put.rows], put.share)
    null = replace(null, problem=_both(null.problem, part[put.rows], put.share))

    law = replace(null.law, states=1, gate="E")
    at, truth = layout(law, problem.X.shape[1], q), grown(null, law, problem)
    truth[at.gamma] = put.gate
    rivals: list[Fitted] = []

    def leads(with_bias: Fitted, rival: Fitted) -> bool:
        lead = with_bias.likelihood.seen(with_bias.theta).loglik - rival.likelihood.seen(rival.theta).loglik
        price = (with_bias.size - rival.size) * float(np.log(problem.n * times))
        return put.leads(lead, price, weights, times)

    def found(size: float) -> bool:
        moved = replace(problem, y=problem.y + size * sd * put.biased, low=None, high=None)
        truth[at.alpha] = size * sd
        # Models of one size start those of the next.
        with_bias = fit(moved, law, truth, STEPS, precision=PRECISION)
        truth[:] = with_bias.theta
        if not rivals:
            rivals[:] = _rivals(null, moved)
            return all(leads(with_bias, rival) for rival in rivals)
        for i, rival in enumerate(rivals):
            rivals[i] = replaced(rival, moved, STEPS, PRECISION)
            if not leads(with_bias, rivals[i]):
                # It goes first at the next size, where it is most likely to be the one again.
                rivals.insert(0, rivals.pop(i))
                return False
        return True

    return smallest(found)


def _both(problem: Problem, rows: NDArray[np.intp], share: Array) -> Problem:
    """The rows, in parts of a row each."""
    taken = problem.take(rows)
    return replace(taken, weights=taken.weights * share)


def _sd(null: Fitted) -> float:
    """The sd of the outcome around its content."""
    seen = null.likelihood.seen(null.theta)
    left = (seen.r * seen.cells.left).sum(axis=(0, 1))
    within = (seen.r * (seen.cells.variance + (seen.cells.left - left) ** 2)).sum(axis=(0, 1))
    return float(np.sqrt(np.average(within, weights=null.problem.weights)))


def _rivals(null: Fitted, moved: Problem) -> list[Fitted]:
    """Models without a bias: the null, and shapes that mimic two groups."""
    plain = fit(moved, Law(), plain_start(moved, Law()), STEPS, precision=PRECISION)
    two = extend(plain, Law(components=2), STEPS)
    rivals = [
        extend(plain, Law(scale="E"), STEPS),
        two,
        extend(two, replace(two.law, weights_by_content=True), STEPS),
    ]
    if null.law.components > 1:
        rivals.append(fit(moved, null.law, grown(null, null.law, moved), STEPS, precision=PRECISION))
    return rivals
