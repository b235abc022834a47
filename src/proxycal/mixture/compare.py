"""The exact estimator: a binary bias is marginalised, not sampled.

    y, P, E -> features -> shapes with and without a gated shift -> fit of all rows -> alpha, P(A=1|data)

A sample of the rows selects the models; each that could be the best with a bias, or the best without, is
fitted to all rows and compared there.
Units, the direction of the bias and the order of the rows change nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.candidates import Candidate, CandidateRows, ExactBias, View
from proxycal.mixture.clusters import with_bias, without_bias
from proxycal.mixture.criterion import Model, outlook
from proxycal.mixture.designs import (
    BASIS_ROWS,
    Data,
    Frame,
    Way,
    canonical_order,
    pieces,
    spaced,
    ways_of_content,
)
from proxycal.mixture.em import Rules, run
from proxycal.mixture.features import fit_basis
from proxycal.mixture.inference import conclude
from proxycal.mixture.information import newton
from proxycal.mixture.laws import decided_by_gate, posterior
from proxycal.mixture.maximise import BEHIND, FAR, maximise, newton_then_em, out_of_reach, valued
from proxycal.mixture.one_size import climb, is_one_size
from proxycal.mixture.reach import best_of, within_reach
from proxycal.mixture.select import (
    FLOOR,
    FLOOR_PART,
    MAX_J,
    choose_features,
    floor_of,
    one_component,
    select_by_level,
    select_models,
)
from proxycal.mixture.settle import settle
from proxycal.mixture.starts import has_spike
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.laws import Posterior

    Array = NDArray[np.float64]

# Rows that select the models; in a larger table a bias that does not lead is tried again on SECOND_LOOK times
# as many.
# A weak one shows only in numbers, and a start that is mostly noise leads to a wrong maximum of all rows.
COMPARE_ROWS, SECOND_LOOK = 1500, 4
MAX_LEVELS = 8
# Rows on which the models of a very large table meet before they meet on all of it.
JUDGE_ROWS = 20_000
# BIC by which a curve in content has to lead for linear content not to be tried.
PLAIN_CURVE = 50.0


def fit_exact(
    data: Data,
    effect: str = "constant",
    max_j: int = MAX_J,
    compare_rows: int = COMPARE_ROWS,
    seed: int = 0,
    total: float | None = None,
    judges: Data | None = None,
) -> ExactBias:
    """Select, maximise and compare; `data.y` is already turned so that the bias is upward.

    total: weight of all rows that these are a sample of, to which the undecided go on; None where these are
    all. judges: rows that make the features and judge between them, without clusters; None: these do.
    """
    order = canonical_order(data)
    data = data.take(order)
    n, weight = len(data.y), float(data.weights.sum())
    whole, total = total is None, max(total or 0.0, weight)
    index = _sample(n, compare_rows, seed)
    judges = None if judges is None else judges.take(canonical_order(judges))
    ways = ways_of_content(data if judges is None else judges, effect)
    candidates, floor = _select(data, ways, index, effect, max_j, total, judges)
    if n > SECOND_LOOK * compare_rows and not candidates[0].claims_bias:
        index = _sample(n, SECOND_LOOK * compare_rows, seed)
        candidates, floor = _select(data, ways, index, effect, max_j, total, judges)
    del ways  # with the columns of many rows
    close = _undecided(candidates, data, floor, index, total, whole)
    seen = CandidateRows(data)
    if whole:
        bias, null, gain = _compared(close, seen, data, floor, max_j)
    else:
        # All rows decide; until then the leaders of the sample stand for them.
        null, bias = (next(c for c in close if c.claims_bias == claim) for claim in (False, True))
        gain = null.bic - bias.bic
    offset = np.empty(n)
    offset[order] = bias.view.offset
    codes = None if data.cluster is None else [data.cluster[part] for part in pieces(n)]
    answer = conclude(seen.of(bias), codes, bias, null, tuple(candidates), len(index), floor)
    return replace(answer, gain=gain, offset=offset, undecided=() if whole else tuple(close))


def _compared(
    close: list[Candidate], seen: CandidateRows, data: Data, floor: float, max_j: int
) -> tuple[Candidate, Candidate, float]:
    """The best model with a bias, and without, at the maximum of all rows; and the lead of the first."""
    n = len(data.y)
    nulls = [candidate for candidate in close if not candidate.claims_bias]
    biases = [candidate for candidate in close if candidate.claims_bias]
    # The kind that leads goes first, for the other to be measured by.
    if close[0].claims_bias:
        bias = _best(biases, seen, floor)
        null = _best(nulls, seen, floor, bias.bic + THRESHOLDS.exact_lead)
    else:
        null = _best(nulls, seen, floor)
        bias = _best(biases, seen, floor, null.bic + THRESHOLDS.too_far_behind)
    every = seen.of
    return settle(
        bias,
        null,
        few=CandidateRows(data, spaced(n, JUDGE_ROWS)).of if n > 2 * JUDGE_ROWS else every,
        every=every,
        maximise=lambda candidate, bar=np.inf: _fit_all_rows(candidate, seen, floor, bar),
        floor=floor,
        max_j=max_j,
    )


def _sample(n: int, rows: int, seed: int) -> NDArray[np.intp]:
    """Some of n rows, in their order; a larger sample holds the smaller ones."""
    return np.arange(n) if n <= rows else np.sort(np.random.default_rng(seed).permutation(n)[:rows])


def _select(
    data: Data,
    ways: dict[str, Way],
    index: NDArray[np.intp],
    effect: str,
    max_j: int,
    total: float,
    judges: Data | None,
) -> tuple[list[Candidate], float]:
    """Every model tried on the sample, best first, each kind with the content that explains it best.

    Also the width floor: a part of the sd that one component with a bias needs.
    """
    linear = ways["linear"].frame
    proxies = fit_basis(data.P, np.zeros(data.P.shape[1], bool), data.weights)(data.P[index])
    null_view, bias_view = _views(data, linear, proxies, index)
    bias_sample = bias_view.of(data, index)
    # Views differ with clusters only; what is formed of one sample is formed once.
    null_sample = bias_sample if null_view is bias_view else null_view.of(data, index)
    pilots = one_component(True, linear.rows(bias_sample), proxies)
    pilot = min(pilots[0], key=lambda model: model.bic)
    floor = max(FLOOR, FLOOR_PART * float(np.exp(pilot.params.log_sigma[0, 0])))
    many = spaced(len(data.y if judges is None else judges.y), BASIS_ROWS)
    if judges is None:
        judged = null_view.of(data, many), bias_view.of(data, many)
    else:
        judged = judges.take(many), judges.take(many)
    without, with_bias = _choose_features(ways, pilot, judged, total)
    candidates, best_null = [], np.inf
    for name in without:
        frame = ways[name].frame
        rows = frame.rows(null_sample)
        # Whatever explains the table without a bias gets its full chance, however far ahead a bias seems.
        models = select_models(rows, one_component(False, rows, proxies), floor, np.inf, max_j, total)
        candidates += [Candidate(frame, model, null_view) for model in models]
        best_null = min(best_null, *(outlook(model, rows, total) for model in models))
    best_null -= 2.0 * (null_view.cost - bias_view.cost)
    for name in with_bias:
        frame = ways[name].frame
        rows = frame.rows(bias_sample)
        first = pilots if name == "linear" else one_component(True, rows, proxies)
        models = select_models(rows, first, floor, best_null, max_j, total)
        candidates += [Candidate(frame, model, bias_view) for model in models]
        for column, codes in (data.levels or {}).items():
            n_levels = int(codes.max()) + 1
            if effect == "constant" and 2 <= n_levels <= MAX_LEVELS:
                by = replace(frame, effect=f"by:{column}", n_levels=n_levels)
                by_level = select_by_level(by.rows(bias_sample), rows, proxies, models, floor, total)
                candidates += [Candidate(by, model, bias_view) for model in by_level]
    return sorted(candidates, key=lambda candidate: candidate.bic), floor


def _choose_features(
    ways: dict[str, Way],
    pilot: Model,
    judged: tuple[Data, Data],
    total: float,
) -> tuple[list[str], list[str]]:
    """Linear or splined content of models without a bias, and of models with one.

    judged : many more rows than the shapes are selected on, since curves show only in numbers, as models
    without a bias see them and as models with one do.

    A curve may show in the outcome as it is, or only once the first bias is off, whose size hides it. A bias
    also curves along E itself, by who is biased. Where it plainly shows in the rows that curve is its own:
    content with it would pay for it a second time.
    """
    frame = ways["linear"].frame
    linear = frame.rows(judged[1])
    seen = posterior(pilot.params, linear, pilot.shape)
    outcomes = np.stack([frame.rows(judged[0]).y, linear.y - seen.p_biased[0] * seen.shift[0]])
    choices = choose_features(ways, outcomes, linear.weights, total)
    spiked = has_spike(linear.y, linear.weights)

    def tried(choice: tuple[str, float]) -> list[str]:
        # Linear content is tried beside a curve unless the curve is plain and no spike could have bent it:
        # the mean of an outcome with many zeros is curved although its parts are not.
        name, lead = choice
        return [name] if lead > PLAIN_CURVE and not spiked else list(dict.fromkeys(["linear", name]))

    best = tried(max(choices, key=lambda choice: choice[1]))
    return best, tried(choices[1]) if _shows_in_rows(pilot, seen, linear.weights) else best


def _shows_in_rows(pilot: Model, seen: Posterior, weights: Array) -> bool:
    """Whether biased rows stand apart from the others, and E does not decide alone who they are."""
    size = float(np.abs(np.average(seen.shift[0], weights=weights)))
    apart = size > THRESHOLDS.apart * float(np.exp(pilot.params.log_sigma[0, 0]))
    return apart and decided_by_gate(seen.pi[0], weights) < THRESHOLDS.gate_alone


def _views(data: Data, linear: Frame, proxies: Array, index: NDArray[np.intp]) -> tuple[View, View]:
    """The two views of the outcome; they differ only where clusters are declared.

    Clusters are kept whole: intercepts need all rows of a cluster, so they come from all rows.
    """
    if data.cluster is None:
        view = View(np.zeros(len(data.y)))
        return view, view
    rows = linear.rows(data)
    proxies = fit_basis(data.P, np.zeros(data.P.shape[1], bool), data.weights)(data.P)
    first = without_bias(rows, data.cluster)
    second = with_bias(rows, proxies, data.cluster, first)
    return (
        View(first.u[data.cluster] * linear.scale, first.tau * linear.scale, first.cost),
        View(second.u[data.cluster] * linear.scale, second.tau * linear.scale, second.cost),
    )


def _undecided(
    candidates: list[Candidate], data: Data, floor: float, index: NDArray[np.intp], total: float, whole: bool
) -> list[Candidate]:
    """The models that could be the best of rows of weight `total`, fitted to growing parts of the data.

    Each part drops those that are out of reach, so that few are left when a pass is long. Where the data are
    themselves a sample the last part is all of them, and who is left after it goes on to the others.
    """
    n = len(data.y)
    for part in _parts(n, len(index), whole):
        seen, fitted = CandidateRows(data, part), list[Candidate]()
        for candidate in within_reach(candidates, data, index, total):
            others = [other.bic for other in fitted if other.claims_bias != candidate.claims_bias]
            fitted.append(_nearer(candidate, seen, floor, min(others, default=np.inf)))
        candidates, index = fitted, part
    return within_reach(candidates, data, index, total)


def _parts(n: int, seen: int, whole: bool) -> list[NDArray[np.intp]]:
    """Rows on which models meet before they meet on all of n; all of them too where `whole` is False."""
    sizes = [size for size in (SECOND_LOOK * seen, JUDGE_ROWS) if 2 * seen < size < n // 2]
    return [*(spaced(n, size) for size in sizes), *([] if whole else [np.arange(n)])]


def _best(candidates: list[Candidate], seen: CandidateRows, floor: float, most: float = np.inf) -> Candidate:
    """The best of those with a bias, or without; one behind the best so far, or a BIC of `most`, is left."""
    fitted: list[Candidate] = []
    for candidate in candidates:
        bar = min([most, *(other.bic + BEHIND for other in fitted)])
        fitted.append(_fit_all_rows(candidate, seen, floor, bar))
    return best_of(fitted)


def _nearer(candidate: Candidate, seen: CandidateRows, floor: float, best_other: float) -> Candidate:
    """A model fitted to a part of the rows: Newton's steps, and some of EM where these do not converge.

    best_other : the least BIC of the other kind there, of which a model may be so far behind that it is left.
    """
    model, chunks = candidate.model, seen.of(candidate)
    rules = Rules.of([model.shape], model.params.beta.shape[2], floor_of(model.shape, floor))
    bar = best_other + THRESHOLDS.exact_lead + 2.0 * candidate.view.cost
    left = out_of_reach(model, chunks, rules, chunks.weight, bar) if np.isfinite(bar) else None
    if left is not None:
        return replace(candidate, model=left)
    params, converged = newton(model.params, chunks, rules, past_saddles=True)
    if not converged:
        params = run(params, chunks, rules, max_steps=15, tol=1e-3).params
        params, converged = newton(params, chunks, rules)
    return replace(candidate, model=valued(model.shape, params, chunks, chunks.weight, converged))


def _fit_all_rows(candidate: Candidate, seen: CandidateRows, floor: float, bar: float = np.inf) -> Candidate:
    """A model fitted to all rows: EM to the neighbourhood of the maximum, Newton to it.

    A model that is still above `bar` after EM is left there: its size is shown, but claims nothing. In a very
    large table it comes from the maximum of many rows, from where Newton's method needs no EM.
    """
    model, chunks = candidate.model, seen.of(candidate)
    n, params = chunks.weight, model.params
    bar += 2.0 * candidate.view.cost
    if len(candidate.view.offset) > 2 * JUDGE_ROWS:
        return replace(candidate, model=maximise(model, chunks, floor, n, bar))
    rules = Rules.of([model.shape], model.params.beta.shape[2], floor_of(model.shape, floor))
    if model.converged:
        params, converged = newton(params, chunks, rules)
        if converged:
            return replace(candidate, model=valued(model.shape, params, chunks, n, converged))
    if len(chunks) == 1 and is_one_size(model.shape, chunks[0]):
        params, _ = climb(model.shape, params, chunks[0], floor_of(model.shape, floor))
    for steps, margin in ((3, 10.0 * FAR), (15, FAR), (30, 0.0)):
        params = run(params, chunks, rules, max_steps=steps, tol=1e-3).params
        near = valued(model.shape, params, chunks, n)
        if near.bic > bar + margin:
            return replace(candidate, model=near)
    params, converged = newton_then_em(params, chunks, rules)
    return replace(candidate, model=valued(model.shape, params, chunks, n, converged))
