"""Models with a bias: sizes that vary, gates that look at content or at the true outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.designs import spaced
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.fit import Fitted, fit, starts_from_guesses
from proxycal.mixture.wide.grow import grown
from proxycal.mixture.wide.law import Law, layout, n_paid, pairs, with_one_size
from proxycal.mixture.wide.nulls import more_components, scale_by
from proxycal.mixture.wide.score_test import ScoreTest
from proxycal.mixture.wide.search import FAR_FROM_PAYING, TRIAL_STEPS, Search, extend, greedy
from proxycal.tails import chi2_isf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]

    Extensions = dict[str, Callable[[Law], Law | None]]

ONE_SIZE = Law(states=1)
# Quantiles of the residual above which rows are guessed to be biased: a share of 0.9 needs the first of them.
CUTS = (0.15, 0.5, 0.75, 0.92)
MOST_COMPONENTS, MOST_SIZES = 3, 3
# A bias that leads by less than this is also tried on top of the null's own shape.
SECOND_TRACK = 40.0
ROUNDS = 5
JUDGE_ROWS = 1_000
MOST_GATE_PRODUCTS = 15
# Coefficients of variation of the gamma laws of sizes; the others are tried unless the first is far off.
USUAL_CV, OTHER_CVS = 0.7, (0.4, 1.0)
# A model this close in BIC to the best explains the table about as well, and so does a larger one that leads
# by this much in AIC: their sizes are inside the interval.
ALIKE, AIC_LEAD = 4.0, 1.0
# The same where sizes vary: laws of sizes differ in their tails, of which few rows speak.
ALIKE_VARYING = 8.0
# Part of the gain it would take that a score test must foretell of a law for it to be tried. In 130 tables
# with a bias this leaves out two thirds of those that explain them less well, and 25 of 409 others.
MAY_MATTER, GATES_MAY_MATTER = 0.3, 0.5
# Coefficients of variation between which the profile of a law of sizes is taken.
PROFILE, PROFILE_STEPS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.2), 50
HEAVY_PROFILE = (0.4, 0.5, 0.6, 0.7, 0.85, 1.0)


def guesses(problem: Problem) -> list[Array]:
    """Who might be biased: rows with a high residual, and with one where E goes with skewed residuals."""
    slopes = least_squares(problem.X, problem.y, problem.weights)
    residual = problem.y - problem.X @ slopes
    sd = residual.std()
    out = [np.where(residual > np.quantile(residual, cut), 0.85, 0.1) for cut in CUTS]
    gate = np.column_stack([np.ones(len(residual)), problem.E])
    told = gate @ least_squares(gate, residual**3, problem.weights)
    told = (told - told.mean()) / max(float(told.std()), 1e-12)
    return [*out, *(expit(sign * told - 0.7 + 1.5 * residual / sd) for sign in (1.0, -1.0))]


def first_bias(problem: Problem, known: Array | None, start: Array | None = None) -> Fitted:
    """One size, one component: from a start that is near its maximum, or from several guesses.

    known (n,) : who is biased by a guess that is known to be good.
    """
    if start is not None:
        return fit(problem, ONE_SIZE, start)
    every = guesses(problem) if known is None else [known, *guesses(problem)]
    # A guess is judged on part of the rows; the best two go on to all of them.
    part = spaced(len(problem.y), JUDGE_ROWS)
    few = problem.take(part)
    starts = starts_from_guesses(few, ONE_SIZE, [tau[part] for tau in every])
    tried = [fit(few, ONE_SIZE, start, TRIAL_STEPS) for start in starts]
    tried.sort(key=lambda one: one.bic)
    distinct = [one for one in tried[1:] if one.bic > tried[0].bic + 0.1][:1]
    return min((fit(problem, ONE_SIZE, one.theta) for one in tried[:1] + distinct), key=lambda one: one.bic)


def extensions(exact_outcome: bool, q: int) -> Extensions:
    """What a bias may have beyond one size.

    exact_outcome : whether the outcome is known as a number. q : environment columns.
    """

    def spread(law: Law) -> Law | None:
        return None if law.cv or law.gate == "E y" else replace(law, spread=True)

    def content_gate(law: Law) -> Law | None:
        return None if "y" in law.gate or "m" in law.gate else replace(law, gate=f"{law.gate} m")

    def products_gate(law: Law) -> Law | None:
        few = len(pairs(q)) <= MOST_GATE_PRODUCTS
        return replace(law, gate=law.gate.replace("E", "E Q")) if few and law.gate in ("E", "E m") else None

    def truth_gate(law: Law) -> Law | None:
        # The gate by the true outcome does not integrate to one over an interval.
        simple = law.states == 1 and not law.spread and not law.cv
        return replace(law, gate="E y") if simple and exact_outcome and "Q" not in law.gate else None

    def another_size(law: Law) -> Law | None:
        if law.states == MOST_SIZES or law.gates > 1 or law.gate == "E y" or law.cv:
            return None
        return replace(law, states=law.states + 1, shared_gate=True)

    def gate_of_each_size(law: Law) -> Law | None:
        two = law.states == 1 or (law.states == 2 and law.shared_gate)
        simple = law.gate != "E y" and not law.cv
        return replace(law, states=2, shared_gate=False) if two and simple else None

    def gamma_sizes(cv: float) -> Callable[[Law], Law | None]:
        def add(law: Law) -> Law | None:
            return replace(law, cv=cv, spread=False) if law.states == 1 and law.gate != "E y" else None

        return add

    return {
        "components": more_components(MOST_COMPONENTS),
        "scale by E": scale_by("E"),
        "scale by content": scale_by("m"),
        "spread": spread,
        "by content": lambda law: replace(law, by_content=True),
        "gate by content": content_gate,
        "gate by products": products_gate,
        "another size": another_size,
        "gate of each size": gate_of_each_size,
        "gamma sizes": gamma_sizes(USUAL_CV),
        **{f"gamma sizes: cv {cv}": gamma_sizes(cv) for cv in OTHER_CVS},
        "gate by truth": truth_gate,
    }


def search_biases(first: Fitted, null: Fitted) -> Search:
    """Models with a bias, grown from one size while BIC falls, and from the null's shape if it is close."""
    allowed = extensions(first.problem.low is None, first.problem.E.shape[1])
    # A bias that is not far behind is no longer ruled out.
    other = null.bic + THRESHOLDS.hint_part * _price_of_gate(first)
    search = greedy(first, allowed, ROUNDS, other=other)
    search += _two_components_on(search.models, allowed)
    best = min(one.bic for one in search.models)
    if null.law.components > 1 and not null.law.skew and best > null.bic - SECOND_TRACK:
        search += greedy(_on_top_of(null, first.problem), allowed, ROUNDS)
    return search


def _price_of_gate(first: Fitted) -> float:
    """What size and gate of a bias cost in BIC."""
    return (first.problem.E.shape[1] + 2) * float(np.log(first.problem.n))


def _two_components_on(models: list[Fitted], allowed: Extensions) -> Search:
    """Models grown from the best with two more components, where one more nearly paid and two do.

    Noise with a peak and two tails needs three: a greedy search stops before the first of the two.
    """
    best = min(models, key=lambda one: one.bic)
    one_more = replace(best.law, components=best.law.components + 1)
    near = min((one for one in models if one.law == one_more), key=lambda one: one.bic, default=None)
    if near is None or one_more.components >= MOST_COMPONENTS:
        return Search([], [])
    two_more = extend(near, replace(one_more, components=one_more.components + 1))
    return greedy(two_more, allowed, ROUNDS) if two_more.bic < best.bic else Search([], [])


def _on_top_of(null: Fitted, problem: Problem) -> Fitted:
    """A bias of one size beside the components of the null model."""
    law = Law(states=1, components=min(null.law.components, MOST_COMPONENTS), scale=null.law.scale)
    p, q = problem.X.shape[1], problem.E.shape[1]
    at, simple = layout(law, p, q), layout(ONE_SIZE, p, q)
    base = grown(null, law, problem)
    content = problem.X @ base[at.b]
    residual = problem.y - content
    wide = 4.0 * 1.48 * float(np.median(np.abs(residual - np.median(residual))))
    tried = []
    for guess in starts_from_guesses(problem, ONE_SIZE, guesses(problem)[:5]):
        theta, size = base.copy(), min(float(guess[simple.alpha][0]), wide)
        gate = guess[simple.gamma]
        prior = expit(gate[0] + problem.E @ gate[1:])
        theta[at.alpha], theta[at.gamma] = size, gate
        theta[at.b] = least_squares(problem.X, content - size * prior)
        theta[at.log_sigma] -= 0.3
        tried.append(fit(problem, law, theta, 20))
    best = min(tried, key=lambda one: one.bic)
    return fit(problem, law, best.theta)


def other_sizes(bias: Fitted, search: Search) -> list[Fitted]:
    """The same bias with other laws of its sizes: how far its mean depends on which of them is taken.

    search : the one that found it, and has tried most of them.
    """
    law = bias.law
    if law.states > 1:
        return [extend(bias, replace(law, states=law.states + 1))] if law.states < MOST_SIZES else []
    simple = replace(law, spread=False, cv=0.0, heavy=False)
    if law.gate == "E y":
        others = [replace(law, by_content=True)]
    elif law.spread or law.cv:
        others = [replace(simple, cv=cv) for cv in PROFILE] + [replace(simple, spread=True)]
        others += [replace(simple, cv=cv, heavy=True) for cv in HEAVY_PROFILE]
    else:
        others = [replace(law, spread=True), replace(law, by_content=True)]
        others += [replace(law, states=2, shared_gate=shared) for shared in (True, False)]
        others += [replace(law, cv=cv) for cv in (USUAL_CV, *OTHER_CVS)]
    known = {one.law: one for model, one in search.tried if model is bias}
    test, tried = ScoreTest(bias), []
    for other in others:
        if other in known:
            one = known[other]
            tried.append(fit(one.problem, one.law, one.theta, PROFILE_STEPS) if _near(one, bias) else one)
        elif other != law and (law.varies or _may_matter(test, other)):
            # The first steps show which are out of reach of the interval.
            tried.append(extend(bias, other, PROFILE_STEPS, test=test, bar=bias.bic + FAR_FROM_PAYING))
    return [one for one in tried if _near(one, bias)]


def _may_matter(test: ScoreTest, larger: Law) -> bool:
    """Whether a score test foretells that a larger law might explain a table about as well as the best."""
    best, problem = test.model, test.model.problem
    more = n_paid(larger, problem.X.shape[1], problem.E.shape[1]) - best.size
    needed = min(0.5 * (more * float(np.log(problem.n)) - ALIKE), more + 0.5 * AIC_LEAD)
    part = GATES_MAY_MATTER if larger.gates > best.law.gates else MAY_MATTER
    return test.foretold(larger) >= part * needed


def _near(one: Fitted, best: Fitted) -> bool:
    return one.bic < best.bic + FAR_FROM_PAYING or one.loglik > best.loglik


def explains_alike(one: Fitted, best: Fitted) -> bool:
    """Whether a model explains the table about as well as the best: by BIC nearly, or by AIC better.

    BIC decides whether there is a bias. Once there is one, its law of sizes is a nuisance: BIC stops at one
    that is too coarse, and AIC is what undersmooths it. Where there are several sizes, one more that is near
    the noise can neither be shown nor excluded: what it would make of the mean is inside the interval.
    """
    if one.law.states > best.law.states > 1:
        return True
    aic = 2.0 * (one.loglik - best.loglik) - 2.0 * (one.size - best.size)
    near = ALIKE_VARYING if best.law.varies else ALIKE
    return one.bic < best.bic + near or (one.size > best.size and aic > AIC_LEAD)


def rejects_one_size(one: Fitted, every: list[Fitted]) -> Fitted | None:
    """The same model with one size, where a likelihood ratio test rejects it for this one; else None.

    every : the models of a search.
    """
    plain = with_one_size(one.law)
    alike = [other for other in every if other.law == plain and one.law != plain]
    best = min(alike, key=lambda other: other.bic, default=None)
    return best if best is not None and _test_margin(one, best) > 0.0 else None


def law_of_sizes(bias: Fitted, every: list[Fitted]) -> Fitted:
    """The model that answers: the best by BIC, or one whose sizes vary more if a test prefers it.

    BIC charges log(n) for a parameter, which denies a second size that a hundred rows show. Whether there is
    a bias is BIC's to say; of what sizes, a test's at THRESHOLDS.sizes_test_p, which a dozen laws share.
    """
    plain = with_one_size(bias.law)
    wider = [one for one in every if with_one_size(one.law) == plain and one.size > bias.size]
    best = max(wider, key=lambda one: _test_margin(one, bias), default=bias)
    return best if best is not bias and _test_margin(best, bias) > 0.0 else bias


def _test_margin(larger: Fitted, smaller: Fitted) -> float:
    """By how much a model is preferred to a smaller one: by a test, or by BIC if each size has its own gate.

    A gate that is not there has no direction, and one of ten columns finds something in five hundred rows:
    of tables of one size a test preferred two, each with a gate, in one of eight.
    """
    if larger.law.states > 1 and not larger.law.shared_gate:
        return smaller.bic - larger.bic
    return ratio_margin(larger.loglik - smaller.loglik, larger.size - smaller.size)


def ratio_margin(gain: float, more: int) -> float:
    """By how much twice a gain in log likelihood passes the critical value of so many more parameters."""
    return 2.0 * gain - float(chi2_isf(THRESHOLDS.sizes_test_p, max(more, 1)))


def other_gate(bias: Fitted) -> Fitted | None:
    """The same bias with a gate by the true outcome where it has one by content, and the reverse.

    The data leave the size between the two. None where there is no such model.
    """
    law = bias.law
    if law.states != 1 or bias.problem.low is not None or not ("m" in law.gate or "y" in law.gate):
        return None
    gate = "E m" if "y" in law.gate else "E y"
    return extend(bias, replace(law, gate=gate, spread=False, cv=0.0, heavy=False))
