"""Model selection: the best model with a gated shift against the best without one, of any shape.

No bias is claimed unless a shift beats every other explanation of the same data, so both kinds take the
same shapes: one component, its sd free to follow E; several with shared slopes (skew, heavy tails, humps:
the cheap explanations); several with their own slopes; an atom. The criterion is BIC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.criterion import Model, bic, outlook, worth
from proxycal.mixture.em import Fitted, Rules, penalty, run
from proxycal.mixture.features import left_of
from proxycal.mixture.laws import Params, Rows, Shape, posterior
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.one_size import climb, is_one_size
from proxycal.mixture.score_test import components, score_sums, spread_by_content, spread_by_environment
from proxycal.mixture.starts import (
    begin,
    guess_from_environment,
    guesses_from_atoms,
    guesses_of_bias,
    has_spike,
    residual_of,
    split_components,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.mixture.designs import Way

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
# Parameters of a component of shared slopes: a weight, an intercept and a width.
COMPONENT = 3
# Part of what it must gain that a score test must foretell of a model for it to be tried: of a component of
# shared slopes, of one of own slopes, and of those by the spread that they leave around one slope. In 248
# tables one of 265 models with a further component that paid would be left out, and half of the others.
SHARED, FORETOLD, OF_SLOPES = 0.5, 0.3, 0.5


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
        for group in _by_batch(_may_pay(shapes(J, shift, rows), models, rows, total)):
            bar = min(*(outlook(model, rows, total) for model in models), best_other + OTHER_MARGIN)
            models += fit_shapes(group, rows, guesses, bar, floor, total)
    return sorted(models, key=lambda model: model.bic)


def _may_pay(every: list[Shape], models: list[Model], rows: Rows, total: float) -> list[Shape]:
    """The shapes with one component more that a score test does not rule out."""
    if rows.weights.ndim == 2 or rows.D.shape[1] > 1:
        return every
    J, n, p = every[0].J, float(rows.weights.sum()), rows.X.shape[1]
    smaller = sorted((m for m in models if m.shape.J == J - 1), key=lambda model: model.bic)

    def gain(means: str) -> tuple[Model | None, float]:
        """The best smaller model of one kind, and what a component next to its own would gain."""
        kind = "own" if J == 2 else means
        at = next((m for m in smaller if m.shape.means == kind and m.shape.scale == "constant"), None)
        return at, 0.0 if at is None else score_sums(at.params, [rows], at.shape, components).best()

    price, ruled_out = worth(COMPONENT, n, total), set[str]()
    at, foretold = gain("shared")
    if foretold < SHARED * price:
        ruled_out.add("shared")
    if J > 2:
        foretold = gain("own")[1]
    if foretold < FORETOLD * price:
        # Components that differ in slopes differ in place, or leave a spread that grows with content.
        slopes = OF_SLOPES * FORETOLD * worth(p + 2, n, total)
        if J > 2 or at is None or score_sums(at.params, [rows], at.shape, spread_by_content).best() < slopes:
            ruled_out.add("own")
    return [shape for shape in every if shape.means not in ruled_out]


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
    ways: Mapping[str, Way], outcomes: Array, weights: Array, total: float | None = None
) -> list[tuple[str, float]]:
    """For each outcome (k,n) the content with the best BIC, and its lead over linear content.

    total: weight of all rows that these stand for, whose BIC is then to be expected; the lead is per these.
    """
    n = float(weights.sum())
    total = n if total is None else total
    price = 2.0 * (1.0 - n / total) + n / total * np.log(total)

    def value(variance: Array, taken: int) -> Array:
        return np.asarray(n * np.log(np.maximum(variance, FLOOR**2)) + taken * price)

    linear = value(*left_of(ways["linear"].columns, outcomes, weights))
    leads = {"linear": np.zeros(len(outcomes))}
    # What each way leaves of the outcomes, or less, and whether its columns are all told apart.
    left: dict[str, tuple[Array, bool]] = {}
    # Ways that hold others come after them, and go first here: they leave less than these.
    for name, way in reversed(list(ways.items())):
        if way.inside is not None:
            least, apart = left[way.inside]
            if apart and (value(least, 1 + way.width) >= linear).all():
                left[name], leads[name] = left[way.inside], np.full(len(outcomes), -np.inf)
                continue
        if name != "linear":
            variance, taken = left_of(way.columns, outcomes, weights)
            left[name], leads[name] = (variance, taken == 1 + way.width), linear - value(variance, taken)
    names = [name for name in ways if name in leads]
    each = np.stack([leads[name] for name in names])
    return [(names[i], float(lead[i])) for i, lead in zip(each.argmax(axis=0), each.T, strict=True)]


def one_component(shift: bool, rows: Rows, proxies_only: Array) -> tuple[list[Model], list[Guess]]:
    """J = 1 with one sd and with sd by E, and the guesses of who is biased that larger models start from."""
    plain, by_environment = shapes(1, shift, rows)
    if not shift:
        nobody: list[Guess] = [(None, None)]
        models = [_least_squares(plain, rows)]
        if _spread_may_pay(models[0], rows):
            models += fit_shapes([by_environment], rows, nobody, models[0].bic, FLOOR)
        return models, nobody
    first: list[Guess] = [(tau, None) for tau in guesses_of_bias(rows, proxies_only)]
    models = fit_shapes([plain], rows, first, np.inf, FLOOR)
    if _spread_may_pay(models[0], rows):
        guesses = [(_who(models[0], rows), None), *first[1:9:4]]
        models += fit_shapes([by_environment], rows, guesses, models[0].bic, FLOOR)
    best = min(models, key=lambda model: model.bic)
    told = guess_from_environment(rows, proxies_only)
    return models, [(_who(best, rows), None), *first[1:9:4], (told, None), *guesses_from_atoms(rows)]


def _least_squares(plain: Shape, rows: Rows) -> Model:
    """One component without a bias: its maximum is known."""
    p, q, n = rows.X.shape[1], rows.G.shape[1], float(rows.weights.sum())
    slopes = least_squares(rows.X, rows.y, rows.weights)
    variance = max(float(rows.weights @ (rows.y - rows.X @ slopes) ** 2) / n, FLOOR**2)
    params = Params(
        slopes[None, None], np.full((1, 1), 0.5 * np.log(variance)), np.zeros((1, 1, p)), np.zeros((1, q))
    )
    loglik = float(posterior(params, rows, plain).loglik[0] @ rows.weights)
    return Model(plain, params, loglik, bic(plain, loglik, params, n), True)


def _spread_may_pay(plain: Model, rows: Rows) -> bool:
    """Whether a score test does not rule out a sd that follows the environment."""
    more, n = rows.G.shape[1] - 1, float(rows.weights.sum())
    if rows.weights.ndim == 2 or not more:
        return True
    foretold = score_sums(plain.params, [rows], plain.shape, spread_by_environment).together()
    return foretold - 0.5 * more >= FORETOLD * 0.5 * more * float(np.log(n))


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
    if len(group) == 1 and is_one_size(group[0], rows):
        return [min((_climbed(model, rows, floor) for model in remaining), key=lambda model: model.bic)]
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


def _climbed(model: Model, rows: Rows, floor: float) -> Model:
    """One component with a bias of one size, at its maximum."""
    params, loglik = climb(model.shape, model.params, rows, floor)
    value = bic(model.shape, loglik, params, float(rows.weights.sum()))
    return Model(model.shape, params, loglik, value, converged=True)


def _starts(group: list[Shape], rows: Rows, guesses: list[Guess]) -> tuple[Params, list[Shape]]:
    """First parameters of every shape from every guess of who is biased, and every split into components."""
    split: list[Array] = []
    who: list[Array | None] = []
    owner: list[Shape] = []
    for (tau, on_atom), residual in zip(guesses, _residuals(rows, guesses), strict=True):
        for shape in group:
            for how in _splits(shape):
                split.append(split_components(residual, rows, shape.J, how, on_atom))
                who.append(tau if shape.shift else None)
                owner.append(shape)
    biased = [tau for tau in who if tau is not None]
    return begin(owner, rows, np.stack(split), np.stack(biased) if biased else None, ANNEAL[0][0]), owner


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
