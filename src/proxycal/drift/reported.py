"""Whether new reports behave, given everything else, as the fitted ones did: the bias may have changed.

The report is regressed on all other columns over the fitted rows, and what is left of new rows is compared
with what is left of the fitted ones, each predicted without itself: place, spread, skewness and tails, given
the other columns, so that rows chosen by those do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from proxycal.drift.smooth import (
    effective,
    groups_of,
    independent,
    inflation,
    ks_distance,
    legendre,
    order_for,
    quadratic,
    ranks,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.drift.smooth import Clusters, Pair
    from proxycal.table.decode import Values

    Floats = NDArray[np.float64]

# Rows for each column from which squares of the columns help more than they cost.
ROWS_OF_SQUARE = 20
# A value that more rows than this share is no size but a state, such as "no loss", unless values are few.
SPIKE, FEW_VALUES = 0.05, 20


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of the report, given the rest.

    p : of "as before". distance : the largest difference between the two laws of what is left of it. moved :
    how far the reports lie from where they were, in sds of what is left.
    """

    p: float
    distance: float
    moved: float


def compare_reports(old: Values, new: Values, p_biased: Floats | None = None) -> Reported:
    """Whether the outcome of new rows has the law, given the other columns, that it had in the fitted ones.

    p_biased : (n,) of the fitted rows, as the fit says: where it puts the bias, a change is looked for apart.

    As many new rows as were fitted are compared, evenly spaced: what all of them share is the error of the
    regression, which in more rows is taken for a change (of 30 tables of one law 8 were, with 900 fitted rows
    and 5,100 new ones, and none with 900).
    """
    if new.n > old.n:
        new = new.take(np.linspace(0, new.n - 1, old.n).round().astype(np.intp))
    designs, weights = _design(old, new), (old.weights, new.weights)
    y = old.numbers[old.outcome], new.numbers[new.outcome]
    spike = _spike(y[0], old.weights)
    off = y[0] != spike, y[1] != spike
    if not off[0].any() or not off[1].any():
        return Reported(1.0, 0.0, 0.0)
    known, w_off = y[0][off[0]], old.weights[off[0]]
    targets = [_normal_scores(known, part[at], w_off) for part, at in zip(y, off, strict=True)]
    left = _left(targets, (designs[0][off[0]], designs[1][off[1]]), w_off)
    seen = tuple(part[at] for part, at in zip(weights, off, strict=True))
    rows = Rows(designs, weights, (old.cluster, new.cluster))
    scores = _scores(left, (seen[0], seen[1]), off, rows)
    p = _given_the_rest(scores, np.ones(new.n), rows)
    if p_biased is not None:
        gate = np.clip(designs[1] @ _slopes(designs[0], p_biased, old.weights), 0.0, 1.0)
        place = scores[:, -order_of(rows) :][:, :1]
        p = min(1.0, 2.0 * min(p, _given_the_rest(place, gate, rows)))
    spread = float(np.sqrt(np.average(left[0] ** 2, weights=seen[0])))
    moved = float(np.average(left[1], weights=seen[1]) - np.average(left[0], weights=seen[0]))
    distance = max(
        ks_distance(left[0], left[1], (seen[0], seen[1])),
        abs(float(np.average(off[1], weights=new.weights) - np.average(off[0], weights=old.weights))),
    )
    return Reported(p, distance, moved / spread if spread > 0.0 else 0.0)


@dataclass(frozen=True, slots=True)
class Rows:
    """Old and new rows: their designs (n, k) and (m, k), weights and clusters."""

    designs: Pair
    weights: Pair
    clusters: Clusters


def order_of(rows: Rows) -> int:
    """How many polynomials these rows are enough for."""
    return order_for(min(independent(w, codes) for w, codes in zip(rows.weights, rows.clusters, strict=True)))


def _spike(y: Floats, weights: Floats) -> float:
    """The value, such as zero, that many rows share and that is no size; NaN where there is none."""
    values, place = np.unique(y, return_inverse=True)
    mass = np.bincount(place, weights=weights)
    most = int(mass.argmax())
    return float(values[most]) if mass[most] > SPIKE * mass.sum() and len(values) > FEW_VALUES else np.nan


def _slopes(x: Floats, y: Floats, weights: Floats) -> Floats:
    return np.asarray(_inverse(x, weights) @ (x.T @ (weights * y)))


def _inverse(x: Floats, weights: Floats) -> Floats:
    return np.linalg.inv((x * weights[:, None]).T @ x + 1e-6 * weights.sum() * np.eye(x.shape[1]))


def _left(y: list[Floats], x: Pair, weights: Floats) -> Pair:
    """What is left of old and new outcomes once predicted, each old row without itself."""
    inverse = _inverse(x[0], weights)
    slopes = inverse @ (x[0].T @ (weights * y[0]))
    leverage = np.minimum(((x[0] @ inverse) * x[0]).sum(axis=1) * weights, 0.9)
    return (y[0] - x[0] @ slopes) / (1.0 - leverage), y[1] - x[1] @ slopes


def _scores(
    left: Pair, weights: Pair, off: tuple[NDArray[np.bool_], NDArray[np.bool_]], rows: Rows
) -> Floats:
    """Scores (n + m, k) of what is left; where many rows share a value, first whether a row does."""
    is_off = np.concatenate(off)
    u = ranks(np.concatenate(left), np.concatenate(weights))
    scores = np.zeros((len(is_off), order_of(rows)))
    scores[is_off] = legendre(u, scores.shape[1])
    return scores if is_off.all() else np.column_stack([is_off.astype(np.float64), scores])


def _given_the_rest(scores: Floats, is_new: Floats, rows: Rows) -> float:
    """The p of scores that do not depend on being new (m,), or a multiple of it, given the other columns."""
    sizes = [effective(w) for w in rows.weights]
    w = np.concatenate([part / part.sum() * size for part, size in zip(rows.weights, sizes, strict=True)])
    x, n = np.vstack(rows.designs), len(rows.weights[0])
    inverse = _inverse(x, w)

    def rest(part: Floats) -> Floats:
        return np.asarray(part - x @ (inverse @ (x.T @ (w[:, None] * part))))

    alone = rest(np.concatenate([np.zeros(n), is_new])[:, None])[:, 0]
    weight = float((w * alone**2).sum())
    if weight < 1e-6 * sizes[1]:
        return 1.0
    left = rest(scores)
    gap = (w * alone) @ left / weight
    off = left - alone[:, None] * gap
    cov = (off * w[:, None]).T @ off / max(w.sum() - x.shape[1] - 1.0, 1.0)
    grown = inflation(off[:n], rows.weights, rows.clusters)
    parts = [np.outer(g, g) / size for g, size in zip(grown, sizes, strict=True)]
    spread = cov / weight * (parts[0] + parts[1]) / (1.0 / sizes[0] + 1.0 / sizes[1])
    return quadratic(gap, spread, groups_of(rows.clusters))


def _normal_scores(known: Floats, x: Floats, weights: Floats) -> Floats:
    """Values (m,) as normal quantiles of their place among known ones (n,); ties share theirs; gaps are 0."""
    order = np.argsort(known[np.isfinite(known)], kind="stable")
    values = known[np.isfinite(known)][order]
    mass = weights[np.isfinite(known)][order]
    below = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    low, high = np.searchsorted(values, x, side="left"), np.searchsorted(values, x, side="right")
    middle = 0.5 * (below[low] + below[high])
    least = 0.5 / len(values)
    return np.where(np.isfinite(x), ndtri(np.clip(middle, least, 1.0 - least)), 0.0)


def _design(old: Values, new: Values) -> tuple[Floats, Floats]:
    """A one, every other column, and squares of the numbers where rows are many, of both sets of rows."""
    columns: tuple[list[Floats], list[Floats]] = ([np.ones(old.n)], [np.ones(new.n)])
    numbers = [name for name in old.numbers if name != old.outcome]
    width = 1 + len(numbers) + sum(len(names) - 1 for _, names in old.levels.values())
    squares = old.n >= ROWS_OF_SQUARE * (width + len(numbers))
    for name in numbers:
        for place, rows in enumerate((old, new)):
            scores = _normal_scores(old.numbers[name], rows.numbers[name], old.weights)
            columns[place].append(scores)
            if squares:
                columns[place].append(scores**2 - 1.0)
    for name, (_, names) in old.levels.items():
        for level in range(1, len(names)):
            for place, rows in enumerate((old, new)):
                columns[place].append((rows.levels[name][0] == level).astype(np.float64))
    return np.column_stack(columns[0]), np.column_stack(columns[1])
