"""What a page shows of a fitted mixture: how it spreads around the content, and who it takes to be biased.

Both are read off the saved parameters and the rows kept of the fit; nothing is fitted again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from proxycal.methods.exact.fit import ExactFit, data_of
from proxycal.mixture.clusters import with_bias, without_bias
from proxycal.mixture.designs import candidate_frames, canonical_order, pieces
from proxycal.mixture.em import Rules
from proxycal.mixture.features import fit_basis
from proxycal.mixture.information import Information, information, layout_of, sandwich
from proxycal.mixture.laws import content_mean, posterior

if TYPE_CHECKING:
    from proxycal.methods.registry import FittedMethod
    from proxycal.mixture.designs import Data
    from proxycal.table.encode import Arrays

# A curve is smooth long before this many rows are averaged, on this many places.
CURVE_ROWS, CURVE_POINTS = 2_000, 400
# The slope of the log likelihood in a width, in standard errors of that slope, beyond which it is held.
HELD = 1e-2


@dataclass(frozen=True, slots=True)
class Spread:
    """Outcome minus content under the fitted mixture, as shares of all rows that lie below each place.

    at (m,) : outcome's own units, rising. unbiased, biased (m,) : P(y - mu <= at, A = 0) and with A = 1.
    """

    at: np.ndarray
    unbiased: np.ndarray
    biased: np.ndarray


@dataclass(frozen=True, slots=True)
class GateTerm:
    """How one encoded environment column moves the odds of being biased, the others held.

    odds, low, high : the odds are multiplied by this, for one sd more of a number (reference None), or for a
    level against the `reference` level. The interval is pointwise; NaN where there is none.
    """

    column: str
    level: str | None
    reference: str | None
    odds: float
    low: float
    high: float


def spread_of(fit: FittedMethod, arrays: Arrays, gap: np.ndarray) -> Spread | None:
    """The mixture around its content, over the range of `gap`; None for methods that fit none."""
    if not isinstance(fit, ExactFit):
        return None
    shape, params = fit.spec.shape, fit.spec.params
    chosen = np.arange(0, arrays.n, max(1, arrays.n // CURVE_ROWS))
    rows = fit.spec.frame.rows(replace(data_of(arrays, fit.sign), truth=None, cluster=None).take(chosen))
    post = posterior(params, rows, shape)
    scale = fit.spec.frame.scale
    mean = params.beta[0] @ rows.X.T - content_mean(params, rows, post)
    sd = np.exp(params.log_sigma[0])[:, None] * np.ones(len(chosen))
    if post.precision is not None:
        sd = sd / np.sqrt(post.precision[0])
    # What rows of a cluster share is part of what is seen around the content.
    sd = np.hypot(sd, fit.cluster_sd / scale)
    share = np.exp(post.log_w[0]) * (rows.weights / rows.weights.sum())
    low, high = np.quantile(gap, [0.0, 1.0])
    margin = 0.05 * (high - low) or 1.0
    at = np.linspace(low - margin, high + margin, CURVE_POINTS)
    below = []
    for moved, part in ((0.0, 1.0 - post.pi[0]), (post.shift[0], post.pi[0])):
        # One place at a time: (J, rows) numbers, not (places, J, rows).
        z = [float(np.sum(share * part * ndtr((fit.sign * t / scale - mean - moved) / sd))) for t in at]
        below.append(np.array(z) if fit.sign > 0 else float(np.sum(share * part)) - np.array(z))
    return Spread(at, below[0], below[1])


def gate_of(fit: FittedMethod, arrays: Arrays, n: int, level: float) -> tuple[GateTerm, ...]:
    """The gate by encoded environment column; empty for methods without one. n : rows in the whole fit."""
    if not isinstance(fit, ExactFit) or fit.spec.params.gamma is None:
        return ()
    rotate = fit.spec.frame.gate.rotate
    slope = rotate @ fit.spec.params.gamma[0, 1:]
    cov = gate_covariance(fit, arrays, n)
    reach = float(ndtri(0.5 + level / 2.0)) * np.sqrt(np.diag(rotate @ cov[1:, 1:] @ rotate.T))
    names = zip(arrays.environment_names, arrays.environment_source, arrays.categorical, strict=True)
    terms = []
    for (name, source, categorical), b, r in zip(names, slope, reach, strict=True):
        terms.append(
            GateTerm(
                column=source,
                level=name.removeprefix(f"{source}=") if categorical else None,
                reference=_reference(arrays, source) if categorical else None,
                odds=_exp(b),
                low=_exp(b - r),
                high=_exp(b + r),
            )
        )
    return tuple(terms)


def gate_covariance(fit: ExactFit, arrays: Arrays, n: int) -> np.ndarray:
    """Robust covariance (q, q) of the gate coefficients, from the rows kept of the fit.

    Where they are a part of the n rows of the fit, it is scaled to n; NaN where that part may lack a level
    on which the shift depends.
    """
    spec = fit.spec
    q = len(spec.params.gamma[0])
    if arrays.n < n and spec.frame.n_levels:
        return np.full((q, q), math.nan)
    data = data_of(arrays, fit.sign)
    data = data.take(canonical_order(data))
    chunks = spec.frame.chunks(_without_intercepts(data))
    codes = None if data.cluster is None else [data.cluster[part] for part in pieces(len(data.y))]
    info = information(spec.params, chunks, spec.shape, codes)
    rules = _rules(fit, info, chunks[0].X.shape[1])
    robust = sandwich(spec.params, info, rules, float(data.weights.sum()))
    L = spec.params.a.shape[1]
    return np.asarray(robust.shift_gate_cov[L:, L:]) * (arrays.n / n)


def _rules(fit: ExactFit, info: Information, p: int) -> Rules:
    """Which widths stood at their floor: those in which the likelihood has a slope left at its maximum."""
    spec = fit.spec
    rules = Rules.of([spec.shape], p, floor=1e-300)
    first = layout_of(spec.params, spec.shape).scale.start
    widths = np.arange(first, first + spec.shape.J)
    noise = np.sqrt(np.maximum(np.diag(info.meat)[widths], 1e-300))
    held = -info.score[widths] / noise > HELD
    return replace(rules, floor=np.where(held, np.exp(spec.params.log_sigma), rules.floor))


def _without_intercepts(data: Data) -> Data:
    """The outcome as the model with a bias sees it: what rows of a cluster share is taken off."""
    if data.cluster is None:
        return data
    linear = candidate_frames(data, "constant")["linear"]
    rows = linear.rows(data)
    proxies = fit_basis(data.P, np.zeros(data.P.shape[1], bool), data.weights)(data.P)
    shared = with_bias(rows, proxies, data.cluster, without_bias(rows, data.cluster))
    offset = shared.u[data.cluster] * linear.scale
    return replace(data, y=data.y - offset, truth=None if data.truth is None else data.truth - offset)


def _reference(arrays: Arrays, source: str) -> str | None:
    named = {
        name.removeprefix(f"{source}=")
        for name, of in zip(arrays.environment_names, arrays.environment_source, strict=True)
        if of == source
    }
    left = [level for level in arrays.level_names.get(source, ()) if level not in named]
    return left[0] if len(left) == 1 else None


def _exp(value: float) -> float:
    return math.exp(min(max(float(value), -700.0), 700.0)) if math.isfinite(value) else math.nan
