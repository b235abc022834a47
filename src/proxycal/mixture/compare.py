"""The exact estimator: a binary bias is marginalised, not sampled.

    y, P, E -> features -> race of shapes, with and without a gated shift -> polish -> alpha, P(A=1|data)

The race runs on a sample of the rows; whatever is within reach of the best of its side is fitted to all of
them and compared there.
Units, the direction of the bias and the order of the rows change nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.candidates import ExactBias, Runner, Side
from proxycal.mixture.clusters import with_bias, without_bias
from proxycal.mixture.designs import BASIS_ROWS, Data, Frame, candidates, canonical_order, pieces, spaced
from proxycal.mixture.em import Rules, run
from proxycal.mixture.features import fit_basis
from proxycal.mixture.inference import conclude
from proxycal.mixture.information import newton
from proxycal.mixture.laws import posterior
from proxycal.mixture.maximise import BEHIND, FAR, carry, to_maximum, valued
from proxycal.mixture.reach import best_of, within_reach
from proxycal.mixture.select import (
    FLOOR,
    FLOOR_PART,
    MAX_J,
    Entrant,
    choose_features,
    floor_of,
    one_component,
    outlook,
    race,
    race_by_level,
)
from proxycal.mixture.settle import settle
from proxycal.mixture.starts import has_spike
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Rows of the race; in a larger table a bias that does not lead races again on SECOND_LOOK times as many.
# A weak one shows only in numbers, and a start that is mostly noise leads to a wrong maximum of all rows.
RACE_ROWS, SECOND_LOOK = 1500, 4
MAX_LEVELS = 8
# Rows on which the models of a very large table meet before they meet on all of it.
JUDGE_ROWS = 20_000
# BIC by which a curve in content has to win to run alone.
PLAIN_CURVE = 50.0


def fit_exact(
    data: Data,
    effect: str = "constant",
    max_j: int = MAX_J,
    race_rows: int = RACE_ROWS,
    seed: int = 0,
    total: float | None = None,
) -> ExactBias:
    """Race, polish and compare; `data.y` is already turned so that the bias is upward.

    total: weight of all rows that these are a sample of, to which the finalists go on; None where these are
    all.
    """
    order = canonical_order(data)
    data = data.take(order)
    n, weight = len(data.y), float(data.weights.sum())
    whole, total = total is None, max(total or 0.0, weight)
    index = _sample(n, race_rows, seed)
    runners, floor = _run_race(data, index, effect, max_j, total)
    if n > SECOND_LOOK * race_rows and not runners[0].entrant.shape.claims_bias:
        index = _sample(n, SECOND_LOOK * race_rows, seed)
        runners, floor = _run_race(data, index, effect, max_j, total)
    close = _contenders(runners, data, floor, index, total, whole)
    null = _best([r for r in close if not r.entrant.shape.claims_bias], data, floor)
    bias = _best([r for r in close if r.entrant.shape.claims_bias], data, floor, null.bic)
    part = spaced(n, JUDGE_ROWS) if n > 2 * JUDGE_ROWS else np.arange(n)
    bias, null, gain = settle(
        bias,
        null,
        few=lambda runner: runner.frame.chunks(runner.side.of(data, part)),
        fit=lambda runner, bar=np.inf: _polish(runner, data, floor, bar),
        floor=floor,
        max_j=max_j,
    )
    offset = np.empty(n)
    offset[order] = bias.side.offset
    codes = None if data.cluster is None else [data.cluster[part] for part in pieces(n)]
    chunks = bias.frame.chunks(bias.side.of(data))
    found = conclude(chunks, codes, bias, null, tuple(runners), len(index), floor)
    return replace(found, gain=gain, offset=offset, finalists=() if whole else tuple(close))


def _sample(n: int, rows: int, seed: int) -> NDArray[np.intp]:
    """Some of n rows, in their order; a larger sample holds the smaller ones."""
    return np.arange(n) if n <= rows else np.sort(np.random.default_rng(seed).permutation(n)[:rows])


def _run_race(
    data: Data, index: NDArray[np.intp], effect: str, max_j: int, total: float
) -> tuple[list[Runner], float]:
    """Every model tried on the sample, best first: with linear content, and with the best other content.

    Also the width floor: a part of the sd that one component with a bias needs.
    """
    made = candidates(data, effect)
    linear = made["linear"][0]
    proxies = fit_basis(data.P, np.zeros(data.P.shape[1], bool), data.weights)(data.P[index])
    null_side, bias_side = _sides(data, linear, proxies, index)
    null_sample, bias_sample = null_side.of(data, index), bias_side.of(data, index)
    scouts = one_component(True, linear.rows(bias_sample), proxies)
    scout = min(scouts[0], key=lambda e: e.bic)
    floor = max(FLOOR, FLOOR_PART * float(np.exp(scout.params.log_sigma[0, 0])))
    runners = []
    for name in _choose_features(made, scout, null_side, bias_side, data, total):
        frame = made[name][0]
        rows = frame.rows(bias_sample)
        first = scouts if name == "linear" else one_component(True, rows, proxies)
        without = frame.rows(null_sample)
        # Whatever explains the table without a bias gets its full chance, however far ahead a bias seems.
        entrants = race(without, one_component(False, without, proxies), floor, np.inf, max_j, total)
        runners += [Runner(frame, e, null_side) for e in entrants]
        best = min(outlook(e, without, total) for e in entrants)
        rival = best - 2.0 * (null_side.cost - bias_side.cost)
        entrants = race(rows, first, floor, rival, max_j, total)
        runners += [Runner(frame, e, bias_side) for e in entrants]
        for column, codes in (data.levels or {}).items():
            n_levels = int(codes.max()) + 1
            if effect == "constant" and 2 <= n_levels <= MAX_LEVELS:
                by = replace(frame, effect=f"by:{column}", n_levels=n_levels)
                found = race_by_level(by.rows(bias_sample), rows, proxies, entrants, floor, total)
                runners += [Runner(by, e, bias_side) for e in found]
    return sorted(runners, key=lambda r: r.bic), floor


def _choose_features(
    made: dict[str, tuple[Frame, Array]],
    scout: Entrant,
    null_side: Side,
    bias_side: Side,
    data: Data,
    total: float,
) -> list[str]:
    """Linear or splined content, judged on many more rows than the race: curves show only in numbers.

    Linear content runs beside a curve unless the curve is plain and no atom could have bent it: the mean of
    an outcome with many zeros is curved although its parts are not.
    """
    index = spaced(len(data.y), BASIS_ROWS)
    frame = made["linear"][0]
    linear = frame.rows(bias_side.of(data, index))
    seen = posterior(scout.params, linear, scout.shape)
    outcomes = np.stack(
        [frame.rows(null_side.of(data, index)).y, linear.y - seen.p_biased[0] * seen.shift[0]]
    )
    features = {name: X for name, (_, X) in made.items()}
    chosen, gain = choose_features(features, outcomes, linear.weights, total)
    if gain > PLAIN_CURVE and not has_spike(linear.y, linear.weights):
        return [chosen]
    return list(dict.fromkeys(["linear", chosen]))


def _sides(data: Data, linear: Frame, proxies: Array, index: NDArray[np.intp]) -> tuple[Side, Side]:
    """The two views of the outcome; they differ only where clusters are declared.

    Clusters are kept whole: intercepts need all rows of a cluster, so they come from all rows.
    """
    if data.cluster is None:
        side = Side(np.zeros(len(data.y)))
        return side, side
    rows = linear.rows(data)
    proxies = fit_basis(data.P, np.zeros(data.P.shape[1], bool), data.weights)(data.P)
    first = without_bias(rows, data.cluster)
    second = with_bias(rows, proxies, data.cluster, first)
    return (
        Side(first.u[data.cluster] * linear.scale, first.tau * linear.scale, first.cost),
        Side(second.u[data.cluster] * linear.scale, second.tau * linear.scale, second.cost),
    )


def _contenders(
    runners: list[Runner], data: Data, floor: float, index: NDArray[np.intp], total: float, whole: bool
) -> list[Runner]:
    """The models that could be the best of rows of weight `total`, fitted to growing parts of the data.

    Each part drops those that are out of reach, so that few are left when a pass is long. Where the data are
    themselves a sample the last part is all of them, and who is left after it goes on to the others.
    """
    n = len(data.y)
    for part in _parts(n, len(index), whole):
        runners = [_nearer(r, data, part, floor) for r in within_reach(runners, data, index, total)]
        index = part
    return within_reach(runners, data, index, total)


def _parts(n: int, seen: int, whole: bool) -> list[NDArray[np.intp]]:
    """Rows on which models meet before they meet on all of n; all of them too where `whole` is False."""
    sizes = [size for size in (SECOND_LOOK * seen, JUDGE_ROWS) if 2 * seen < size < n // 2]
    return [*(spaced(n, size) for size in sizes), *([] if whole else [np.arange(n)])]


def _best(runners: list[Runner], data: Data, floor: float, rival: float = np.inf) -> Runner:
    """The best of a side; whoever is behind the best so far, or the rival, is not carried to its maximum."""
    fitted = [_polish(runners[0], data, floor, rival + THRESHOLDS.too_far_behind)]
    for runner in runners[1:]:
        bar = min(min(r.bic for r in fitted) + BEHIND, rival + THRESHOLDS.too_far_behind)
        fitted.append(_polish(runner, data, floor, bar))
    return best_of(fitted)


def _nearer(runner: Runner, data: Data, part: NDArray[np.intp], floor: float) -> Runner:
    """A model fitted to a part of the rows: some steps of EM, and Newton's if it is near enough for them."""
    seen, e = runner.side.of(data, part), runner.entrant
    chunks, n = runner.frame.chunks(seen), float(seen.weights.sum())
    rules = Rules.of([e.shape], e.params.beta.shape[2], floor_of(e.shape, floor))
    params = run(e.params, chunks, rules, max_steps=45, tol=1e-3).params
    params, converged = newton(params, chunks, rules)
    return replace(runner, entrant=valued(e.shape, params, chunks, n, converged))


def _polish(runner: Runner, data: Data, floor: float, bar: float = np.inf) -> Runner:
    """A model fitted to all rows: EM to the neighbourhood of the maximum, Newton to it.

    A model that is still above `bar` after EM is left there: its size is shown, but claims nothing. In a very
    large table it comes from the maximum of many rows, from where Newton's method needs no EM.
    """
    seen = runner.side.of(data)
    e, chunks = runner.entrant, runner.frame.chunks(seen)
    n, params = float(seen.weights.sum()), e.params
    bar += 2.0 * runner.side.cost
    if len(data.y) > 2 * JUDGE_ROWS:
        at = valued(e.shape, params, chunks, n)
        return replace(runner, entrant=carry(at, chunks, floor, n, bar))
    rules = Rules.of([e.shape], e.params.beta.shape[2], floor_of(e.shape, floor))
    for steps, margin in ((15, FAR), (30, 0.0)):
        params = run(params, chunks, rules, max_steps=steps, tol=1e-3).params
        near = valued(e.shape, params, chunks, n)
        if near.bic > bar + margin:
            return replace(runner, entrant=near)
    params, converged = to_maximum(params, chunks, rules)
    return replace(runner, entrant=valued(e.shape, params, chunks, n, converged))
