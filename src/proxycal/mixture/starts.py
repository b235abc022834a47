"""Where EM begins: splits of the rows into biased and unbiased, and into components.

A start is a guess of who is biased (tau) and which component a row belongs to (r). The first M-step turns
the guess into parameters, so no start needs a guess of alpha, a slope or a width.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.em import Rules, statistics, update
from proxycal.mixture.features import weighted_quantile, weighted_rank
from proxycal.mixture.laws import Params, Posterior, Rows, Shape
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.logistic import fit_logistic
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHARES = (0.15, 0.35, 0.5, 0.65, 0.85)


def atoms(y: Array, weights: Array, most: int = 4) -> Array:
    """Values of y that many rows hold, the heaviest first."""
    values, inverse = np.unique(np.round(y, 10), return_inverse=True)
    mass = np.bincount(inverse, weights=weights)
    heavy = np.flatnonzero(mass >= THRESHOLDS.modelled_spike * weights.sum())
    return values[heavy[np.argsort(-mass[heavy], kind="stable")][:most]]


def has_spike(y: Array, weights: Array) -> bool:
    """Whether the outcome has an atom, or a spot so dense that noise may have smeared one."""
    if len(atoms(y, weights, most=1)):
        return True
    # Lengths of the intervals that hold a twentieth of the rows each, from every hundredth on.
    ends = weighted_quantile(y, weights, np.linspace(0.0, 1.0, 101))
    spans = ends[5:] - ends[:-5]
    return bool(spans.min() < 0.2 * np.quantile(spans, 0.1))


def guesses_of_bias(rows: Rows, proxies_only: Array) -> list[Array]:
    """Who might be biased, (n,) each: the upper part of the residual, for several shares.

    The residual is taken from all of X and from the proxies alone (an environment that drives the bias
    hides it in its own slope otherwise).
    """
    guesses = []
    for features in (rows.X, proxies_only):
        residual = residual_of(features, rows.y, rows.weights)
        rank = weighted_rank(residual, rows.weights)
        guesses += [expit(8.0 * (rank - 1.0 + share)) for share in SHARES]
    return guesses


def guess_from_environment(rows: Rows, proxies_only: Array) -> Array:
    """Who might be biased, (n,): a high residual where E goes with high ones.

    Ranks, not values: heavy tails make the upper part of the residual a few outliers, and a search that
    starts from those alone ends at them (in t noise with a bias of 1.5 sd, at the wrong maximum).
    """
    rank = weighted_rank(residual_of(proxies_only, rows.y, rows.weights), rows.weights) - 0.5
    fitted = rank - residual_of(rows.G, rank, rows.weights)
    centred = fitted - np.average(fitted, weights=rows.weights)
    sd = float(np.sqrt(np.average(centred**2, weights=rows.weights)))
    return np.asarray(expit(2.0 * centred / max(sd, 1e-12) + 8.0 * rank))


def guesses_from_atoms(rows: Rows) -> list[tuple[Array, NDArray[np.bool_]]]:
    """Pairs of atoms (v, v + alpha): rows on them are labelled, a logistic gate extends it to the rest.

    An outcome with an atom shows the bias plainly: the biased atom stands alpha above the other.
    """
    values = np.sort(atoms(rows.y, rows.weights))
    out = []
    for i, low in enumerate(values):
        for high in values[i + 1 :]:
            at_low, at_high = np.isclose(rows.y, low, atol=1e-9), np.isclose(rows.y, high, atol=1e-9)
            on = at_low | at_high
            if (at_low & at_high).any():
                # One atom, split by rounding.
                continue
            tau = _gated(rows, on, at_high)
            tau[at_low], tau[at_high] = 0.0, 1.0
            out.append((tau, on))
    return out


def _gated(rows: Rows, on: NDArray[np.bool_], at_high: NDArray[np.bool_]) -> Array:
    """Chance of the upper atom, (n,), by a logistic gate of the rows on either."""
    gate = fit_logistic(rows.G[on, 1:], at_high[on].astype(float), rows.weights[on], ridge=1.0)
    return np.asarray(expit(rows.G @ gate))


def residual_of(X: Array, y: Array, weights: Array) -> Array:
    """Residual of weighted least squares, (n,), or (k,n) for several outcomes.

    Features are orthonormal on their training rows, so the normal equations lose nothing here; a column that
    a part of the rows leaves empty gets no slope.
    """
    weighted = X * weights[:, None]
    slopes = least_squares(weighted.T @ X, weighted.T @ y.T, rcond=1e-12)
    return np.asarray(y - (X @ slopes).T)


def split_components(
    residual: Array, rows: Rows, J: int, how: str, on_atom: NDArray[np.bool_] | None
) -> Array:
    """First guess of the components, (J,n): by place or width of the residual, or one of them an atom."""
    if J == 1:
        return np.ones((1, len(residual)))
    if how == "atom":
        rest = split_components(residual, rows, J - 1, "place", None)
        on = (on_atom if on_atom is not None else _densest(rows.y, rows.weights)).astype(float)
        return np.vstack([rest * (1.0 - 0.98 * on), 0.02 / J + 0.98 * on[None]])
    middle = weighted_quantile(residual, rows.weights, np.array([0.5]))
    rank = weighted_rank(residual if how == "place" else np.abs(residual - middle), rows.weights)
    group = np.minimum((rank * J).astype(int), J - 1)
    return np.asarray(np.where(group == np.arange(J)[:, None], 0.8, 0.2 / (J - 1)))


def _densest(y: Array, weights: Array) -> NDArray[np.bool_]:
    """Rows in the densest tenth of y: where an atom that noise has smeared would be."""
    ends = weighted_quantile(y, weights, np.linspace(0.0, 1.0, 101))
    first = int(np.argmin(ends[10:] - ends[:-10]))
    return np.asarray((y >= ends[first]) & (y <= ends[first + 10]))


def begin(shapes: Sequence[Shape], rows: Rows, r: Array, tau: Array | None, width: float) -> Params:
    """Parameters of B models of one J from one M-step on guesses: r (B,J,n), tau (B,n) or None."""
    (B, J, n), p, q, L = r.shape, rows.X.shape[1], rows.G.shape[1], rows.D.shape[1]
    r = r / r.sum(axis=1, keepdims=True)
    params = Params(np.zeros((B, J, p)), np.zeros((B, J)), np.zeros((B, J, p)), np.zeros((B, q)))
    log_w, none = np.log(r.mean(axis=2))[:, :, None], np.zeros((B, n))
    post = Posterior(none, r, None, None, None, None, r, None, log_w)
    if tau is not None:
        share = np.clip(tau @ rows.weights / rows.weights.sum(), 0.02, 0.98)
        gamma = np.zeros((B, q))
        gamma[:, 0] = np.log(share / (1.0 - share))
        params = replace(params, a=np.zeros((B, L)), gamma=gamma)
        pi, biased = np.broadcast_to(share[:, None], (B, n)), r * tau[:, None]
        post = Posterior(none, r - biased, biased, pi, tau, None, r, pi, log_w)
    plain = [Shape(J, shape.means, "constant", "constant", shape.shift) for shape in shapes]
    return update(params, statistics(params, rows, plain[0], post), Rules.of(plain, p, width))
