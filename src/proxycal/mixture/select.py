"""Model selection: the best model with a gated shift against the best without one, of any shape.

No bias is claimed unless a shift beats every other explanation of the same data, so both kinds take the
same shapes: one component, its sd free to follow E; several with shared slopes (skew, heavy tails, humps:
the cheap explanations); several with their own slopes; an atom. The criterion is BIC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import Fitted, Rules, penalty, run
from proxycal.mixture.laws import Params, Rows, Shape, posterior
from proxycal.mixture.starts import (
    begin,
    guess_from_environment,
    guesses_from_atoms,
    guesses_of_bias,
    has_spike,
    residual_of,
    split_components,
)
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.tails import chi2_isf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Guess = tuple["Array | None", "NDArray[np.bool_] | None"]

# Smallest sd of a lone component, in sds of the outcome; others keep at least this part of a lone one's.
FLOOR = 0.02
FLOOR_PART = 0.1
# Widths shrink to the floor in stages (width, EM steps): a wide component finds the neighbourhood of an atom,
# a narrow one lands on it.
ANNEAL = ((0.3, 3), (0.1, 3), (0.0, 6))
MAX_J = 4
MAX_OWN_COLUMNS = 30
# How far (in BIC) behind the best model of the other kind a model may be and still be brought to its maximum.
OTHER_MARGIN = 20.0


@dataclass(frozen=True, slots=True)
class Model:
    """One fitted model: shape, params (B = 1), loglik, bic, converged."""

    shape: Shape
    params: Params
    loglik: float
    bic: float
    converged: bool


def shapes(J: int, shift: bool, rows: Rows) -> list[Shape]:
    """All shapes with J components that these rows can support."""
    if J == 1:
        return [Shape(1, shift=shift), Shape(1, scale="environment", shift=shift)]
    shared = [Shape(J, "shared", shift=shift)]
    # Weights that follow all of x follow E too: to a model without a bias they would be a gate, with a free
    # spread and slope, so they are left to the atom, whose place nothing else can take.
    own = [Shape(J, "own", shift=shift)]
    atom = [Shape(J, "atom", "content", shift=shift)] if has_spike(rows.y, rows.weights) else []
    # Splined content has too many columns for slopes of their own to pay.
    return [*shared, *atom] if rows.X.shape[1] > MAX_OWN_COLUMNS else [*shared, *own, *atom]


def select_models(
    rows: Rows,
    first: tuple[list[Model], list[Guess]],
    floor: float,
    best_other: float,
    max_j: int = MAX_J,
    total: float | None = None,
) -> list[Model]:
    """Every model with a bias, or without, best BIC first, from one component on; J grows while it helps.

    first: the one-component models and the guesses that larger ones start from; best_other: the best outlook
    of the other kind so far; total: weight of all rows that these stand for. A model far behind is not
    brought to its maximum here: the best of its kind is, at last.
    """
    total = float(rows.weights.sum()) if total is None else total
    models, guesses = list(first[0]), first[1]
    shift = models[0].shape.shift
    before = np.inf
    for J in range(2, max_j + 1):
        best = min(outlook(model, rows, total) for model in models)
        if best >= before:
            break
        before = best
        for group in _by_batch(shapes(J, shift, rows)):
            bar = min(*(outlook(model, rows, total) for model in models), best_other + OTHER_MARGIN)
            models += fit_shapes(group, rows, guesses, bar, floor, total)
    return sorted(models, key=lambda model: model.bic)


def select_by_level(
    rows: Rows,
    constant_rows: Rows,
    proxies_only: Array,
    models: list[Model],
    floor: float,
    total: float | None = None,
) -> list[Model]:
    """The models with a bias again, with a shift for each level of a category (`rows.D` one-hot).

    One component from scratch; then the best shapes so far, started from who they say is biased.
    """
    total = float(rows.weights.sum()) if total is None else total
    varying, guesses = one_component(True, rows, proxies_only)
    bar = min(outlook(model, rows, total) for model in varying)
    by_outlook = sorted(models, key=lambda model: outlook(model, constant_rows, total))
    tried = {model.shape: model for model in [*models[:2], *by_outlook[:2]]}
    for model in tried.values():
        if model.shape.J > 1:
            mine = posterior(model.params, constant_rows, model.shape).p_biased
            varying += fit_shapes([model.shape], rows, [(mine[0], None), *guesses], bar, floor, total)
    return varying


def choose_features(
    candidates: dict[str, Array], outcomes: Array, weights: Array, total: float | None = None
) -> tuple[str, float]:
    """The content features (n,p) with the best BIC for any of the outcomes (k,n), and its lead over linear.

    total: weight of all rows that these stand for, whose BIC is then to be expected; the lead is per these.
    The outcomes are y as it is and without the linear model's bias: a large bias hides any curve in the
    residual it inflates.
    """
    total = float(weights.sum()) if total is None else total
    linear = _least_squares_bic(candidates["linear"], outcomes, weights, total)
    gain = {
        name: float((linear - _least_squares_bic(X, outcomes, weights, total)).max())
        for name, X in candidates.items()
    }
    best = max(gain, key=lambda name: gain[name])
    return best, gain[best]


def _least_squares_bic(X: Array, outcomes: Array, weights: Array, total: float) -> Array:
    n = float(weights.sum())
    part = n / total
    price = 2.0 * (1.0 - part) + part * np.log(total)
    variance = (residual_of(X, outcomes, weights) ** 2) @ weights / n
    return n * np.log(np.maximum(variance, FLOOR**2)) + X.shape[1] * price


def one_component(shift: bool, rows: Rows, proxies_only: Array) -> tuple[list[Model], list[Guess]]:
    """J = 1 with one sd and with sd by E, and the guesses of who is biased that larger models start from."""
    plain, by_environment = shapes(1, shift, rows)
    if not shift:
        nobody: list[Guess] = [(None, None)]
        models = fit_shapes([plain], rows, nobody, np.inf, FLOOR)
        return [*models, *fit_shapes([by_environment], rows, nobody, models[0].bic, FLOOR)], nobody
    first: list[Guess] = [(tau, None) for tau in guesses_of_bias(rows, proxies_only)]
    models = fit_shapes([plain], rows, first, np.inf, FLOOR)
    guesses = [(_who(models[0], rows), None), *first[1:9:4]]
    models += fit_shapes([by_environment], rows, guesses, models[0].bic, FLOOR)
    best = min(models, key=lambda model: model.bic)
    told = guess_from_environment(rows, proxies_only)
    return models, [(_who(best, rows), None), *first[1:9:4], (told, None), *guesses_from_atoms(rows)]


def floor_of(shape: Shape, floor: float) -> float:
    """A lone component may be as narrow as it likes: there is no other to leave the rest of the rows to."""
    return FLOOR if shape.J == 1 else floor


def _who(model: Model, rows: Rows) -> Array:
    """P(A=1|data) under a model, (n,)."""
    return posterior(model.params, rows, model.shape).p_biased[0]


def fit_shapes(
    group: list[Shape],
    rows: Rows,
    guesses: list[Guess],
    bar: float,
    floor: float,
    total: float | None = None,
) -> list[Model]:
    """Shapes of one batch: many starts, a few steps each, then the best of each shape while it has a chance.

    `bar` is the best outlook of this kind so far. A model is given up when it could not reach it even if it
    gained twice as much again as in its last stage.
    """
    total = float(rows.weights.sum()) if total is None else total
    params, owner = _starts(group, rows, guesses)
    fitted, p = None, rows.X.shape[1]
    for least, steps in ANNEAL if group[0].J > 1 else ANNEAL[-1:]:
        fitted = run(params, [rows], Rules.of(owner, p, floor, least), max_steps=steps, tol=0.0)
        params = fitted.params
    assert fitted is not None
    picked = _best_of_each(owner, fitted.loglik, keep=2)
    remaining = _models([owner[i] for i in picked], _part(fitted, picked), rows)
    finished: list[Model] = []
    for steps in (24, 48, 150):
        tried = [model.shape for model in remaining]
        rules = Rules.of(tried, p, floor)
        fitted = run(
            Params.stack([model.params for model in remaining]), [rows], rules, max_steps=steps, tol=1e-2
        )
        after = _models(tried, fitted, rows)
        hopes = [outlook(model, rows, total) for model in after]
        bar = min(bar, *hopes)
        live: list[Model] = []
        for old, new, hope in zip(remaining, after, hopes, strict=True):
            too_far_behind = hope - 2.0 * (old.bic - new.bic) > bar + 10.0
            (finished if new.converged or too_far_behind else live).append(new)
        remaining = live
        if not live:
            break
    finished += remaining
    return [
        min((model for model in finished if model.shape == s), key=lambda model: model.bic)
        for s in dict.fromkeys(owner)
    ]


def _starts(group: list[Shape], rows: Rows, guesses: list[Guess]) -> tuple[Params, list[Shape]]:
    """First parameters of every shape from every guess of who is biased, and every split into components."""
    starts, owner = [], []
    for (tau, on_atom), residual in zip(guesses, _residuals(rows, guesses), strict=True):
        for shape in group:
            for how in _splits(shape):
                r = split_components(residual, rows, shape.J, how, on_atom)
                starts.append(begin(shape, rows, r, tau, ANNEAL[0][0]))
                owner.append(shape)
    return Params.stack(starts), owner


def _part(fitted: Fitted, index: NDArray[np.intp]) -> Fitted:
    return Fitted(fitted.params.take(index), fitted.loglik[index], fitted.converged[index], fitted.n_steps)


def _residuals(rows: Rows, guesses: list[Guess]) -> list[Array]:
    """What content leaves of the outcome without the shift of each guess: the two groups' gap, given X."""
    told = [tau for tau, _ in guesses if tau is not None]
    y, *biased = residual_of(rows.X, np.stack([rows.y, *told]), rows.weights)
    left = iter(
        [y - tau * (rows.weights * tau @ y / max(rows.weights * tau @ tau, 1e-300)) for tau in biased]
    )
    return [y if tau is None else next(left) for tau, _ in guesses]


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


def _models(owner: list[Shape], fitted: Fitted, rows: Rows) -> list[Model]:
    """Each model of a batch with its BIC."""
    n = float(rows.weights.sum())
    loglik = fitted.loglik + penalty(fitted.params)
    out = []
    for i, shape in enumerate(owner):
        params = fitted.params.take(np.array([i]))
        value = bic(shape, float(loglik[i]), params, n)
        out.append(Model(shape, params, float(loglik[i]), value, bool(fitted.converged[i])))
    return out


def size_of(shape: Shape, params: Params) -> int:
    """How many free parameters a model has."""
    levels = 0 if params.a is None else params.a.shape[1]
    return shape.size(params.beta.shape[2], params.scale.shape[1], levels)


def outlook(model: Model, rows: Rows, total: float) -> float:
    """The BIC that a model of these rows is expected to have on all that they stand for, per these rows."""
    seen = float(rows.weights.sum())
    return expected_bic(model, seen, total) * seen / total


def expected_bic(model: Model, seen: float, total: float) -> float:
    """The BIC to expect on rows of weight `total` of a model that was fitted to a sample of weight `seen`.

    A fit of k parameters makes its own rows look likelier than others by k in log likelihood (Akaike); the
    fit of all rows will do the same there. BIC of the sample would charge log(seen) for a parameter whose
    worth grows with the rows, and so give up what all rows can pay for.
    """
    shape, params, k = model.shape, model.params, size_of(model.shape, model.params)
    return bic(shape, (model.loglik - k) * total / seen + k, params, total)


def bic(shape: Shape, loglik: float, params: Params, n: float) -> float:
    """-2 loglik + log(n) per free parameter.

    A shift without a gate is the gated model with its slopes at zero: a regular, nested pair, for which the
    likelihood ratio test is exact enough. So a gate has to pass that test (THRESHOLDS.gate_test_p), not to
    pay log(n) for every environment column, which would deny a plain gate wherever there are many of them.
    """
    q = params.scale.shape[1]
    paid = size_of(shape, params) * float(np.log(n))
    if shape.shift and not shape.claims_bias and q > 1:
        paid += max((q - 1) * float(np.log(n)) - float(chi2_isf(THRESHOLDS.gate_test_p, q - 1)), 0.0)
    return -2.0 * loglik + paid


def undercharged(k: int, n: float) -> float:
    """What BIC charges too little for k parameters of few rows: the small-sample term of Hurvich and Tsai.

    With 100 rows a model of twenty parameters fits noise by ten more in BIC than one of seven; with 1,000 by
    less than one.

    >>> round(undercharged(20, 100.0), 1), round(undercharged(20, 1000.0), 1)
    (10.6, 0.9)
    """
    return 2.0 * k * (k + 1) / max(n - k - 1.0, 1.0)
