"""The search for the best law: extensions of a model are foretold, tried, and taken while they pay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.fit import MOST_STEPS, TRIAL_STEPS, Fitted, fit
from proxycal.mixture.wide.grow import SIZE_STEPS, add_component, grown, split_sizes
from proxycal.mixture.wide.law import n_paid
from proxycal.mixture.wide.score_test import ScoreTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.mixture.wide.law import Law
    from proxycal.mixture.wide.problem import Problem

# BIC, after the trial steps, behind the model it extends: above the first an extension is not tried again,
# below the second it is finished, since the last steps may make it pay; and what it must gain to be taken.
FAR_FROM_PAYING, NEARLY_PAYS, LEAST_GAIN = 25.0, 6.0, 0.5
# Part of its price that must be foretold of an extension for it to be tried; of a gate for each size, whose
# directions no grid holds, half of it is enough. Of 9,800 extensions tried in 270 tables, this leaves out 64%
# of those that do not pay, and 43 of the 2,100 that do, 35 of them in tables without a bias.
FORETOLD, OF_GATES = 0.2, 0.7
# What all later rounds of a search may gain, in gains of the last one. FAR_LATER is enough of a model without
# a bias where one with leads by more than is told exactly. Not the reverse: a bias of one size, where sizes
# vary, is behind by more the more rows there are, and the law of its sizes makes up for all of it.
LATER, FAR_LATER = 10.0, 2.0


def extend(
    old: Fitted,
    law: Law,
    steps: int = MOST_STEPS,
    problem: Problem | None = None,
    test: ScoreTest | None = None,
    bar: float = np.inf,
) -> Fitted:
    """A larger law from the maximum of a smaller one; one more component or size begins in several ways.

    test : the score test of the smaller one, where it is made already. bar : BIC that the first steps must
    reach for others to follow.
    """
    problem = old.problem if problem is None else problem
    theta = grown(old, law, problem)
    if law.components > old.law.components:
        places = (test or ScoreTest(old)).component[1]
        starts, trial = [add_component(theta, law, problem, place) for place in places], TRIAL_STEPS
    elif law.states > old.law.states:
        starts, trial = split_sizes(theta, law, problem), SIZE_STEPS
    else:
        return fit(problem, law, theta, steps, bar=bar)
    if len(starts) == 1:
        return fit(problem, law, starts[0], max(steps, trial), bar=bar, trial=trial)
    best = min((fit(problem, law, start, trial) for start in starts), key=lambda one: one.bic)
    return best if steps <= trial or best.bic > bar else fit(problem, law, best.theta, steps)


@dataclass(frozen=True, slots=True)
class Search:
    """What a search saw: models on the way, the last one the best; (model, extension that was tried)."""

    models: list[Fitted]
    tried: list[tuple[Fitted, Fitted]]

    def __add__(self, other: Search) -> Search:
        """Two searches as one."""
        return Search(self.models + other.models, self.tried + other.tried)


def greedy(
    first: Fitted,
    extensions: dict[str, Callable[[Law], Law | None]],
    rounds: int,
    part: float = FORETOLD,
    other: float = np.inf,
) -> Search:
    """Add the extension that lowers BIC most until none does.

    part : of its price that a score test must foretell of an extension for it to be tried. other : BIC of a
    model of the other kind, which a search that is far from it need not go on to. One that is far from paying
    for itself is not tried again.
    """
    best, seen, dead = first, [first], set[str]()
    every: list[tuple[Fitted, Fitted]] = []
    for _ in range(rounds):
        tried: list[Fitted] = []
        test = ScoreTest(best)
        for name, extension in extensions.items():
            # "gamma sizes: cv 0.4" is one way to be "gamma sizes": where those are far off, it is too.
            law = None if name in dead or name.partition(":")[0] in dead else extension(best.law)
            if law is None or law == best.law or not may_pay(test, law, part, other):
                continue
            one = extend(best, law, test=test, bar=best.bic + NEARLY_PAYS)
            if one.bic > best.bic + FAR_FROM_PAYING:
                dead.add(name)
            tried.append(one)
        every += [(best, one) for one in tried]
        finished = [one for one in tried if one.bic < best.bic + NEARLY_PAYS]
        seen += finished
        gained = best.bic - min((one.bic for one in finished), default=np.inf)
        if gained <= LEAST_GAIN:
            break
        best = min(finished, key=lambda one: one.bic)
        if out_of_reach(best, gained, other):
            break
    return Search([*seen, best], every)


def out_of_reach(best: Fitted, gained: float, other: float) -> bool:
    """Whether a search that has come to a model, and last gained so much, will not come to another BIC."""
    far = best.law.states == 0 and best.bic - other > THRESHOLDS.exact_lead
    return best.bic - (FAR_LATER if far else LATER) * gained > other


def may_pay(test: ScoreTest, law: Law, part: float, other: float = np.inf) -> bool:
    """Whether a score test foretells at least this part of the price of a larger law.

    other : BIC of a model of the other kind, which the larger law must be able to reach.
    """
    if part <= 0.0:
        return True
    problem, old = test.model.problem, test.model
    price = 0.5 * (n_paid(law, problem.X.shape[1], problem.E.shape[1]) - old.size) * float(np.log(problem.n))
    foretold = test.foretold(law)
    needed = price * (part * OF_GATES if law.gates > old.law.gates else part)
    return foretold >= needed and not out_of_reach(old, 2.0 * foretold, other)
