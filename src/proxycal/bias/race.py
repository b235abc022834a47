"""The race: the best model with a gated shift against the best model without one, of any shape.

No bias is claimed unless a shift beats every other explanation of the same data, so both sides run the
same shapes: one component, its sd free to follow E; several with shared slopes (skew, heavy tails, humps:
the cheap explanations); several with their own slopes; an atom. The criterion is BIC.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.bias.em import Fitted, Rules, penalty, run
from proxycal.bias.mixture import Params, Rows, Shape, posterior
from proxycal.bias.starts import begin, guesses_from_atoms, guesses_of_bias, residual_of, split_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Guess = tuple["Array | None", "NDArray[np.bool_] | None"]

FLOOR = 0.02
# Widths shrink to the floor in stages: a wide component finds the neighbourhood of an atom, a narrow one lands.
ANNEAL = (0.3, 0.1, FLOOR)
MAX_J = 4


@dataclass(frozen=True, slots=True)
class Entrant:
    """One model of the race: shape, params (B = 1), loglik, bic, converged."""

    shape: Shape
    params: Params
    loglik: float
    bic: float
    converged: bool


def shapes(J: int, shift: bool) -> list[Shape]:
    """All shapes with J components."""
    if J == 1:
        return [Shape(1, shift=shift), Shape(1, scale="environment", shift=shift)]
    return [
        Shape(J, "shared", shift=shift),
        Shape(J, "own", shift=shift),
        Shape(J, "own", "content", shift=shift),
        Shape(J, "atom", "content", shift=shift),
    ]


def race(rows: Rows, proxies_only: Array, max_j: int = MAX_J) -> list[Entrant]:
    """Every entrant, both sides, best BIC first. J grows on a side only while it helps that side."""
    null = _side(False, rows, proxies_only, max_j)
    bias = sorted(_side(True, rows, proxies_only, max_j), key=lambda e: e.bic)
    return sorted([*null, *bias, *ungated(bias[:2], rows)], key=lambda e: e.bic)


def ungated(winners: list[Entrant], rows: Rows) -> list[Entrant]:
    """The same models with a gate that E does not move: the cheapest way to say "two humps, but no bias"."""
    out = []
    for e in winners:
        gamma = np.zeros_like(e.params.gamma)
        gamma[:, 0] = e.params.gamma[:, 0]  # type: ignore[index]
        start = replace(e.params, gamma=gamma)
        shape = replace(e.shape, gate="constant")
        fitted = run(start, [rows], Rules.of([shape], rows.X.shape[1], FLOOR), max_steps=150, tol=1e-2)
        out += _entrants([shape], fitted, rows)
    return out


def race_by_level(rows: Rows, constant_rows: Rows, proxies_only: Array, entrants: list[Entrant]) -> list[Entrant]:
    """The bias side again with a shift for each level of a category (`rows.D` one-hot).

    One component from scratch; then the best shapes of the race, started from who they say is biased.
    """
    guesses: list[Guess] = [(tau, None) for tau in guesses_of_bias(rows, proxies_only)]
    found = []
    for group in _by_batch(shapes(1, shift=True)):
        found += compete(group, rows, guesses, bar=np.inf)
    leader = min(found, key=lambda e: e.bic)
    tau = posterior(leader.params, rows, leader.shape).p_biased
    guesses = [(tau[0], None), *guesses[1:9:3], *guesses_from_atoms(rows)]  # type: ignore[index]
    best = [e for e in entrants if e.shape.claims_bias][:2]
    for e in best:
        if e.shape.J > 1:
            mine = posterior(e.params, constant_rows, e.shape).p_biased
            taus: list[Guess] = [(mine[0], None), *guesses]  # type: ignore[index]
            found += compete([e.shape], rows, taus, bar=leader.bic)
    leader = min(found, key=lambda e: e.bic)
    return [*found, *ungated([leader], rows)]


def choose_features(candidates: dict[str, Rows], proxies_only: Array) -> str:
    """The content features that serve one component best, with or without a shift, by BIC."""
    best = {}
    for name, rows in candidates.items():
        guesses: list[Guess] = [(tau, None) for tau in guesses_of_bias(rows, proxies_only)[::3]]
        null = compete([Shape(1)], rows, [(None, None)], bar=np.inf)
        bias = compete([Shape(1, shift=True)], rows, guesses, bar=np.inf)
        best[name] = min(null[0].bic, bias[0].bic)
    return min(best, key=lambda name: best[name])


def _side(shift: bool, rows: Rows, proxies_only: Array, max_j: int) -> list[Entrant]:
    """One side of the race."""
    taus: list[Guess] = [(None, None)]
    if shift:
        pairs = guesses_from_atoms(rows)
        guesses = [(tau, None) for tau in guesses_of_bias(rows, proxies_only)]
        taus = [*guesses, *pairs]
    side: list[Entrant] = []
    for J in range(1, max_j + 1):
        before = min((e.bic for e in side), default=np.inf)
        for group in _by_batch(shapes(J, shift)):
            side += compete(group, rows, taus, bar=min((e.bic for e in side), default=np.inf))
        after = min(side, key=lambda e: e.bic)
        if after.bic >= before:
            break
        if shift and J == 1:
            # The one-component answer is the best guess of who is biased for all larger models.
            tau = posterior(after.params, rows, after.shape).p_biased
            taus = [(tau[0], None), *guesses[1:9:3], *pairs]  # type: ignore[index]
    return side


def compete(group: list[Shape], rows: Rows, taus: list[Guess], bar: float) -> list[Entrant]:
    """Shapes of one batch: many starts, a few steps each, then the best of each shape while it has a chance.

    `bar` is the best BIC of this side so far. A model is given up when it could not reach it even if it
    gained twice as much again as in its last stage.
    """
    starts, owner = [], []
    for tau, on_atom in taus:
        residual = residual_of(rows.X, rows.y if tau is None else _unshifted(rows, tau), rows.weights)
        for shape in group:
            for how in _splits(shape):
                r = split_components(residual, rows.y, shape.J, how, on_atom)
                starts.append(begin(shape, rows, r, tau, ANNEAL[0]))
                owner.append(shape)
    params = Params.stack(starts)
    for floor in ANNEAL:
        fitted = run(params, [rows], Rules.of(owner, rows.X.shape[1], floor), max_steps=6, tol=0.0)
        params = fitted.params
    picked = _best_of_each(owner, fitted.loglik, keep=2)
    contenders = _entrants([owner[i] for i in picked], _part(fitted, picked), rows)
    finished: list[Entrant] = []
    for steps in (24, 48, 150):
        shape_list = [e.shape for e in contenders]
        rules = Rules.of(shape_list, rows.X.shape[1], FLOOR)
        fitted = run(Params.stack([e.params for e in contenders]), [rows], rules, max_steps=steps, tol=1e-2)
        after = _entrants(shape_list, fitted, rows)
        bar = min(bar, *(e.bic for e in after))
        live = []
        for old, new in zip(contenders, after, strict=True):
            hopeless = new.bic - 2.0 * (old.bic - new.bic) > bar + 10.0
            (finished if new.converged or hopeless else live).append(new)
        contenders = live
        if not live:
            break
    finished += contenders
    return [min((e for e in finished if e.shape == s), key=lambda e: e.bic) for s in dict.fromkeys(owner)]


def _part(fitted: Fitted, index: NDArray[np.intp]) -> Fitted:
    return Fitted(fitted.params.take(index), fitted.loglik[index], fitted.converged[index], fitted.n_steps)


def _unshifted(rows: Rows, tau: Array) -> Array:
    """y with the shift of a guess removed: the difference of the two sides, given X."""
    both = np.column_stack([rows.X, tau])
    root = np.sqrt(rows.weights)
    coefficient = np.linalg.lstsq(both * root[:, None], rows.y * root, rcond=None)[0]
    return np.asarray(rows.y - tau * coefficient[-1])


def _splits(shape: Shape) -> tuple[str, ...]:
    if shape.J == 1:
        return ("place",)
    return ("atom",) if shape.means == "atom" else ("place", "width")


def _by_batch(every: list[Shape]) -> list[list[Shape]]:
    """Shapes that differ in their means only can share a batch."""
    groups: dict[tuple[str, str], list[Shape]] = {}
    for shape in every:
        groups.setdefault((shape.weights, shape.scale), []).append(shape)
    return list(groups.values())


def _best_of_each(owner: list[Shape], loglik: Array, keep: int) -> NDArray[np.intp]:
    """Positions of the best `keep` distinct starts of every shape."""
    picked: list[int] = []
    for shape in dict.fromkeys(owner):
        mine = [i for i, s in enumerate(owner) if s == shape]
        mine.sort(key=lambda i: -loglik[i])
        distinct: list[int] = []
        for i in mine:
            if all(abs(loglik[i] - loglik[k]) > 1e-3 for k in distinct):
                distinct.append(i)
        picked += distinct[:keep]
    return np.array(picked)


def _entrants(owner: list[Shape], fitted: Fitted, rows: Rows) -> list[Entrant]:
    """Each model of a batch with its BIC."""
    n = float(rows.weights.sum())
    loglik = fitted.loglik + penalty(fitted.params)
    out = []
    for i, shape in enumerate(owner):
        value = bic(shape, float(loglik[i]), rows, n)
        one = fitted.params.take(np.array([i]))
        out.append(Entrant(shape, one, float(loglik[i]), value, bool(fitted.converged[i])))
    return out


def bic(shape: Shape, loglik: float, rows: Rows, n: float) -> float:
    """-2 loglik + log(n) per free parameter."""
    return -2.0 * loglik + shape.size(rows.X.shape[1], rows.G.shape[1], rows.D.shape[1]) * float(np.log(n))
