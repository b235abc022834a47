"""The wider comparison: the best model with a bias against the best without, both free where E acts on all.

rows, who is biased by the plain comparison -> nulls, biases, nulls that the bias suggests -> the two best
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.clusters import predict_intercepts
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.wide.answer import Answers, answers, mean_size
from proxycal.mixture.wide.biases import (
    explains_alike,
    first_bias,
    law_of_sizes,
    other_gate,
    other_sizes,
    rejects_one_size,
    search_biases,
)
from proxycal.mixture.wide.clusters import refine
from proxycal.mixture.wide.fit import Fitted, polished
from proxycal.mixture.wide.nulls import nulls_from, search_all_nulls, search_nulls, ungated
from proxycal.mixture.wide.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Components of the outcome are at least this wide, in its sds; of a rounded outcome also this part of a step.
FLOOR, FLOOR_OF_STEP = 0.05, 0.2
# A bias this far (in BIC) behind will not be claimed, whatever the law of its sizes.
FAR_BEHIND = 10.0
# A bias that leads by less than this (in BIC) must also lead nulls whose scores foretold little.
NARROW_LEAD = 40.0
# Nulls that go on to their own intercepts of clusters.
REFINED = 3


@dataclass(frozen=True, slots=True)
class Setup:
    """The rows of a comparison, standardised, the bias upward.

    y (n,); X (n,p), null_X (n,r): content features of models with and without a bias, orthonormal, first
    column 1; P (n,k) proxies; E (n,q) environment, orthonormal; weights (n,); known (n,): P(biased) by the
    plain comparison, or None; start: parameters of a bias of one size near the maximum, or None; low, high
    (n,): intervals that hold the outcome, or None; cluster (n,) codes, or None; trusted (n,): where no bias
    can be, or None.
    """

    y: Array
    X: Array
    null_X: Array
    P: Array
    E: Array
    weights: Array
    known: Array | None = None
    start: Array | None = None
    low: Array | None = None
    high: Array | None = None
    cluster: NDArray[np.intp] | None = None
    trusted: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Wide:
    """The two best models, what each row says under the bias, and the other end where the gate is ambiguous.

    index (p,), index_mean, index_sd : m = (X index - mean) / sd. bias_bic, null_bic : with the price of
    cluster intercepts. other : the bias with a gate by the true outcome, where the best has one by content.
    intercepts (n,), tau : of clusters, under the bias. rejected : BIC of the same bias with one size for all,
    where a test rejects it; inf elsewhere.
    """

    bias: Fitted
    null: Fitted
    answers: Answers
    bias_bic: float
    null_bic: float
    index: Array
    index_mean: float
    index_sd: float
    alike: tuple[Fitted, ...] = ()
    mixture: Fitted | None = None
    intercepts: Array | None = None
    tau: float = 0.0
    rejected: float = np.inf

    @property
    def gain(self) -> float:
        """BIC of the best model without a bias less that of the best with one."""
        return self.null_bic - self.bias_bic


def compare_widely(setup: Setup) -> Wide:
    """Search both sides, each starting from what the other found, and compare."""
    y = setup.y if setup.cluster is None else setup.y - _shared(setup)
    floor = _floor(setup)
    plain = Problem(
        y,
        setup.X,
        setup.E,
        np.zeros_like(y),
        setup.weights,
        floor,
        setup.low,
        setup.high,
        trusted=setup.trusted,
    )
    first = polished(first_bias(plain, setup.known, setup.start))
    index, mean, sd = _index_of(setup.X, first.theta[first.likelihood.at.b], setup.weights)
    problem = replace(plain, m=(setup.X @ index - mean) / sd)
    null_problem = replace(plain, X=setup.null_X, m=_seen_by_proxies(setup, y))
    nulls = search_nulls(null_problem, first.bic)
    best_null = min(nulls, key=lambda one: one.bic)
    mixture = min((one for one in nulls if not one.law.skew), key=lambda one: one.bic)
    search = search_biases(replace(first, problem=problem), best_null)
    biases = search.models
    bias = min(biases, key=lambda one: one.bic)
    if bias.bic < best_null.bic + FAR_BEHIND:
        biases = biases + other_sizes(bias, search)
        bias = min(biases, key=lambda one: one.bic)
    bias = polished(bias)
    found = answers(bias.likelihood, bias.theta)
    expected = found.prior * float(
        np.average(found.size, weights=setup.weights * np.maximum(found.p_biased, 1e-12))
    )
    nulls += nulls_from(bias, best_null, null_problem, expected)
    if 0.0 < min(one.bic for one in nulls) - bias.bic < NARROW_LEAD:
        nulls += search_all_nulls(null_problem)
    nulls = sorted(nulls, key=lambda one: one.bic)[:REFINED]
    # Intercepts of clusters may turn the order of models; without them only the best one answers.
    nulls += ungated(bias, nulls[0].bic if setup.cluster is None else np.inf)
    made = Wide(bias, best_null, found, bias.bic, best_null.bic, index, mean, sd, mixture=mixture)
    if setup.cluster is None:
        return _of_rows(made, biases, nulls)
    return _of_clusters(made, biases, nulls, setup.y, setup.cluster)


def _of_rows(made: Wide, biases: list[Fitted], nulls: list[Fitted]) -> Wide:
    """The answer of rows that share nothing: the law of sizes that a test prefers, with those like it."""
    null = min(nulls, key=lambda one: one.bic)
    sized, alike = _sized(made.bias, biases)
    one_size = rejects_one_size(sized, biases)
    return replace(
        made,
        bias=sized,
        null=null,
        answers=answers(sized.likelihood, sized.theta),
        null_bic=null.bic,
        # Where no bias leads there is no interval for them to widen.
        alike=tuple(polished(one) for one in alike) if sized.bic < null.bic + FAR_BEHIND else (),
        rejected=np.inf if one_size is None else one_size.bic,
    )


def _of_clusters(
    made: Wide, biases: list[Fitted], nulls: list[Fitted], y: Array, cluster: NDArray[np.intp]
) -> Wide:
    """The answer with intercepts of clusters under every model; of those like the best the two ends only."""
    own = refine(made.bias, y, cluster)
    null = min((refine(one, y, cluster) for one in nulls), key=lambda one: one.bic)
    sized, alike = _sized(made.bias, biases)
    ends = _ends(made.bias, [sized, *alike]) if own.bic < null.bic else []
    return replace(
        made,
        bias=own.fitted,
        null=null.fitted,
        answers=answers(own.fitted.likelihood, own.fitted.theta),
        bias_bic=own.bic,
        null_bic=null.bic,
        alike=tuple(refine(one, y, cluster).fitted for one in ends),
        intercepts=own.intercepts[cluster],
        tau=own.tau,
    )


def _sized(bias: Fitted, biases: list[Fitted]) -> tuple[Fitted, list[Fitted]]:
    """The best bias with the law of sizes that a test prefers, and the models that explain as much."""
    sized = law_of_sizes(bias, biases)
    if sized is not bias:
        sized = polished(sized)
    other = other_gate(sized)
    alike = [one for one in biases if one.law != sized.law and explains_alike(one, sized)]
    alike += [] if other is None else [other]
    return sized, alike + ([bias] if sized is not bias else [])


def _ends(bias: Fitted, alike: list[Fitted]) -> list[Fitted]:
    """Of models that explain a table alike, those with a smaller and a larger mean bias than all others."""
    every = [bias, *alike]
    sizes = [mean_size(one.likelihood, one.theta) for one in every]
    ends = {int(np.argmin(sizes)), int(np.argmax(sizes))}
    return [every[end] for end in sorted(ends) if every[end] is not bias]


def _floor(setup: Setup) -> float:
    """The smallest sd of a component: that of rounded values does not fall far below their step."""
    if setup.low is None or setup.high is None:
        return FLOOR
    width = setup.high - setup.low
    width = width[np.isfinite(width) & (width > 0.0)]
    return max(FLOOR, FLOOR_OF_STEP * float(np.median(width))) if len(width) > len(setup.y) / 2 else FLOOR


def _index_of(X: Array, slopes: Array, weights: Array) -> tuple[Array, float, float]:
    """The content index of some slopes, with its mean and sd."""
    content = X @ slopes
    mean = float(np.average(content, weights=weights))
    sd = float(np.sqrt(np.average((content - mean) ** 2, weights=weights)))
    return slopes, mean, max(sd, 1e-12)


def _seen_by_proxies(setup: Setup, y: Array) -> Array:
    """What the proxies say of the content, given E, by least squares, standardised.

    The part of E is left out: where a bias follows E, it is mostly the bias, and components whose weights
    went with it would be a gate by E for the price of one parameter.
    """
    X = np.column_stack([setup.P, np.ones(len(y)), setup.E])
    slopes = least_squares(X, y, setup.weights)[: setup.P.shape[1]]
    slopes, mean, sd = _index_of(setup.P, slopes, setup.weights)
    return np.asarray((setup.P @ slopes - mean) / sd)


def _shared(setup: Setup) -> Array:
    """What rows of a cluster share beyond content, by least squares and analysis of variance: a beginning."""
    assert setup.cluster is not None
    slopes = least_squares(setup.X, setup.y, setup.weights)
    return predict_intercepts(setup.y - setup.X @ slopes, setup.weights, setup.cluster).u[setup.cluster]
