"""The exact estimator: a binary bias is marginalised, not sampled.

    y, P, E -> features -> race of shapes, with and without a gated shift -> polish -> alpha, P(A=1|data)

The race runs on a sample of the rows; the best of each side are fitted to all of them and compared there.
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
from proxycal.mixture.inference import HOPELESS, conclude
from proxycal.mixture.laws import posterior
from proxycal.mixture.maximise import carry, to_maximum, ungated, valued
from proxycal.mixture.select import (
    FLOOR,
    FLOOR_PART,
    MAX_J,
    Entrant,
    choose_features,
    floor_of,
    one_component,
    race,
    race_by_level,
)
from proxycal.mixture.starts import has_spike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Rows of the race; in a larger table a bias that does not lead races again on SECOND_LOOK times as many.
# A weak one shows only in numbers, and a start that is mostly noise leads to a wrong maximum of all rows.
RACE_ROWS, SECOND_LOOK = 1500, 4
MAX_LEVELS = 8
# A model this far (in BIC) behind the best of its side will not catch up any more; one that is FAR behind
# that, or behind hopeless, after a few steps is left at once, since later steps bring a third of it.
BEHIND, FAR = 5.0, 30.0
JUDGE_ROWS = 20_000
# BIC by which a curve in content has to win to run alone.
PLAIN_CURVE = 50.0


def fit_exact(
    data: Data,
    effect: str = "constant",
    max_j: int = MAX_J,
    race_rows: int = RACE_ROWS,
    seed: int = 0,
) -> ExactBias:
    """Race, polish and compare; `data.y` is already turned so that the bias is upward."""
    order = canonical_order(data)
    data = data.take(order)
    n = len(data.y)
    index = _sample(n, race_rows, seed)
    runners, floor = _run_race(data, index, effect, max_j)
    if n > SECOND_LOOK * race_rows and not runners[0].entrant.shape.claims_bias:
        index = _sample(n, SECOND_LOOK * race_rows, seed)
        runners, floor = _run_race(data, index, effect, max_j)
    bias, null = _final(runners, data, floor, whole=len(index) == n)
    gain = null.bic - bias.bic
    if gain > 0.0:
        bias = _finer_noise(bias, runners, data, floor)
    offset = np.empty(n)
    offset[order] = bias.side.offset
    codes = None if data.cluster is None else [data.cluster[part] for part in pieces(n)]
    chunks = bias.frame.chunks(bias.side.of(data))
    found = conclude(chunks, codes, bias, null, tuple(runners), len(index), floor)
    return replace(found, gain=gain, offset=offset)


def _sample(n: int, rows: int, seed: int) -> NDArray[np.intp]:
    """Some of n rows, in their order; a larger sample holds the smaller ones."""
    return np.arange(n) if n <= rows else np.sort(np.random.default_rng(seed).permutation(n)[:rows])


def _run_race(data: Data, index: NDArray[np.intp], effect: str, max_j: int) -> tuple[list[Runner], float]:
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
    for name in _choose_features(made, scout, null_side, bias_side, data):
        frame = made[name][0]
        rows = frame.rows(bias_sample)
        first = scouts if name == "linear" else one_component(True, rows, proxies)
        without = frame.rows(null_sample)
        # Whatever explains the table without a bias gets its full chance, however far ahead a bias seems.
        entrants = race(without, one_component(False, without, proxies), floor, np.inf, max_j)
        runners += [Runner(frame, e, null_side) for e in entrants]
        rival = entrants[0].bic - 2.0 * (null_side.cost - bias_side.cost)
        entrants = race(rows, first, floor, rival, max_j)
        runners += [Runner(frame, e, bias_side) for e in entrants]
        for column, codes in (data.levels or {}).items():
            n_levels = int(codes.max()) + 1
            if effect == "constant" and 2 <= n_levels <= MAX_LEVELS:
                by = replace(frame, effect=f"by:{column}", n_levels=n_levels)
                found = race_by_level(by.rows(bias_sample), rows, proxies, entrants, floor)
                runners += [Runner(by, e, bias_side) for e in found]
    return sorted(runners, key=lambda r: r.bic), floor


def _choose_features(
    made: dict[str, tuple[Frame, Array]], scout: Entrant, null_side: Side, bias_side: Side, data: Data
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
    chosen, gain = choose_features(features, outcomes, linear.weights)
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


def _final(runners: list[Runner], data: Data, floor: float, whole: bool) -> tuple[Runner, Runner]:
    """The best model of each side after fitting the leaders to all rows.

    A bias that leads must also beat itself without its gate: "two humps, but E does not say who is on which".
    On a very large table the leaders meet on a part of the rows first, and the last ones on all of them.
    """
    n = len(data.y)
    part = spaced(n, JUDGE_ROWS) if n > 2 * JUDGE_ROWS else np.arange(n)
    null = _best(_leaders(runners, False, whole), data, part, floor)
    bias = _best(_leaders(runners, True, whole), data, part, floor, null.bic)
    if bias.bic < null.bic:
        null = min(null, _polish(_ungated(bias), data, part, floor), key=lambda r: r.bic)
    if len(part) == n:
        return bias, null
    null = _carried(null, data, floor)
    return _carried(bias, data, floor, null.bic + HOPELESS), null


def _carried(runner: Runner, data: Data, floor: float, bar: float = np.inf) -> Runner:
    """A model of a part of the rows, fitted to all of them; `bar` as the runner's BIC counts."""
    seen, e = runner.side.of(data), runner.entrant
    chunks, n = runner.frame.chunks(seen), float(seen.weights.sum())
    at = valued(e.shape, e.params, chunks, n)
    return replace(runner, entrant=carry(at, chunks, floor, n, bar + 2.0 * runner.side.cost))


def _best(
    leaders: list[Runner], data: Data, part: NDArray[np.intp], floor: float, rival: float = np.inf
) -> Runner:
    """The best of a side; whoever is behind the best so far, or the rival, is not carried to its maximum."""
    best = _polish(leaders[0], data, part, floor, rival + HOPELESS)
    for runner in leaders[1:]:
        other = _polish(runner, data, part, floor, min(best.bic + BEHIND, rival + HOPELESS))
        best = min(best, other, key=lambda r: r.bic)
    return best


def _leaders(runners: list[Runner], claims: bool, whole: bool) -> list[Runner]:
    """Who of a side is fitted to all rows.

    Where the race saw all rows: the best, and the next if it is close. Where it saw a sample: the best two,
    and the best with any other features or effect, since more rows can pay for more columns.
    """
    side = [r for r in runners if r.entrant.shape.claims_bias == claims]
    if whole:
        return [side[0], *(r for r in side[1:2] if r.bic < side[0].bic + 6.0)]
    first = {(r.frame.features, r.frame.effect): r for r in reversed(side)}
    return [*side[:2], *(r for r in first.values() if all(r is not s for s in side[:2]))]


def _finer_noise(bias: Runner, runners: list[Runner], data: Data, floor: float) -> Runner:
    """The winner, or itself with one more component of noise where AIC asks for it.

    BIC decides whether there is a bias. Once there is one, the shape of skewed or heavy-tailed noise is a
    nuisance: BIC stops at a shape that is too coarse by an amount that the size of the bias takes up (in
    exponential noise about half a standard error at 2,000 rows), and AIC is what undersmooths it. A component
    as narrow as it may be is no shape but a few rows that happen to agree: it would shrink the interval only.
    """
    shape = bias.entrant.shape
    if shape.J == 1 or shape.means != "shared":
        return bias
    finer = replace(shape, J=shape.J + 1)
    for runner in runners:
        if runner.entrant.shape == finer and runner.frame is bias.frame:
            other = _polish(runner, data, np.arange(len(data.y)), floor)
            smooth = np.exp(other.entrant.params.log_sigma.min()) > 2.0 * floor
            # Each component of shared slopes has a weight, an intercept and a width.
            gained = other.entrant.loglik - bias.entrant.loglik
            return other if smooth and other.entrant.converged and gained > 3.0 else bias
    return bias


def _ungated(runner: Runner) -> Runner:
    shape, params = ungated(runner.entrant.shape, runner.entrant.params)
    return replace(runner, entrant=replace(runner.entrant, shape=shape, params=params))


def _polish(runner: Runner, data: Data, part: NDArray[np.intp], floor: float, bar: float = np.inf) -> Runner:
    """One model fitted to a part of the rows, or all: EM to the neighbourhood of the maximum, Newton to it.

    A model that is still above `bar` after EM is left there: its size is shown, but claims nothing.
    """
    seen = runner.side.of(data, part)
    e, chunks = runner.entrant, runner.frame.chunks(seen)
    rules = Rules.of([e.shape], e.params.beta.shape[2], floor_of(e.shape, floor))
    n, params = float(seen.weights.sum()), e.params
    for steps, margin in ((15, FAR), (30, 0.0)):
        params = run(params, chunks, rules, max_steps=steps, tol=1e-3).params
        near = valued(e.shape, params, chunks, n)
        if near.bic > bar + margin:
            return replace(runner, entrant=near)
    params, converged = to_maximum(params, chunks, rules)
    return replace(runner, entrant=valued(e.shape, params, chunks, n, converged))
