"""The moment estimator: the size of the bias from exclusion alone, without a shape for the noise.

    y_obs = y_true + s*alpha*A + eps,  A in {0, 1} driven by E,  proxies P_k = c_k*y_true + eps_k blind to A

1. b by instrumental variables between the proxies (proxies.py): u = s*(y_obs - sum_k b_k P_k) has lost the
   content, u = c + alpha*A + noise that is free of E.
2. h(E) = E[u|E], leave-one-out (instrument.py), is the instrument.
3. alpha, sigma and the share of A follow from three moments of u (here).

Weights are frequencies: a row of weight 2 counts as that row twice, in the estimate and in its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from proxycal.errors import SettingsError, TableError
from proxycal.methods.checks.wald import meat, wald_p
from proxycal.methods.moments.instrument import environment_basis, leave_out, standardised
from proxycal.methods.moments.proxies import remove_content
from proxycal.mixture.thresholds import THRESHOLDS

# Rows, or clusters, that must be left after one for each column of E.
LEAST_SPARE = 10


@dataclass(frozen=True, slots=True)
class MomentsFit:
    """What three moments say about the bias.

    alpha, se, low, high : size of the bias >= 0, its standard error and interval; NaN when `note` says why
    sigma : standard deviation of the noise of u
    share : mean of P(A=1), in the stated direction
    first_stage_f : does E move u? F of the leave-one-out h(E), classical
    first_stage_f_robust : the same, robust to unequal variances and to the error of b
    first_stage_f_cluster : the same by cluster; None without clusters
    drives_p : p-value of "E does not move u", by cluster where there are clusters: does the environment
        drive a reporting bias at all?
    two_valued_p : p-value of "a bias of one size explains how E moves u"; NaN where alpha is
    b : (p,) weights of the proxies in u, sum_k b_k P_k estimates the content
    proxy_f : (p,) first-stage F of each proxy on the others; NaN with a single proxy
    n : sum of the weights
    note : empty, or what stood in the way and what would help
    """

    alpha: float
    se: float
    low: float
    high: float
    sigma: float
    share: float
    first_stage_f: float
    first_stage_f_robust: float
    first_stage_f_cluster: float | None
    drives_p: float
    two_valued_p: float
    b: np.ndarray
    proxy_f: np.ndarray
    n: float
    note: str


def fit_moments(
    y: np.ndarray,
    P: np.ndarray,
    E: np.ndarray,
    weights: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
    level: float = 0.95,
) -> MomentsFit:
    """Size of the bias from the first three moments of u given E.

    y (n,) with the bias upward, P (n, p), E (n, q), weights (n,) frequencies, cluster (n,) integer codes.

    >>> rng = np.random.default_rng(0)
    >>> e = rng.normal(size=(4000, 1))
    >>> truth = e[:, 0] + rng.normal(size=4000)
    >>> a = (e[:, 0] + rng.normal(size=4000) > 0).astype(float)
    >>> P = truth[:, None] + 0.3 * rng.normal(size=(4000, 3))
    >>> fit = fit_moments(truth + 2.0 * a, P, e)
    >>> print(round(fit.alpha, 1), round(fit.share, 1))
    2.0 0.5
    """
    y, P, E, w, groups = _checked(y, P, E, weights, cluster, level)
    y, unit = standardised(y, w)
    P, unit_p = standardised(P, w)
    E, _ = standardised(E, w)
    basis = environment_basis(E, w)
    content = remove_content(y, P, basis, w)
    u = y - P @ content.b
    h = leave_out(u, basis, w, groups)
    Q = basis.linear if basis.rich is None else basis.rich
    sample = Sample(u, h - w @ h / w.sum(), Q, P, content.psi, w, groups)

    f_plain, f_robust, f_cluster = _first_stage(sample)
    found = _found(sample, f_robust if f_cluster is None else f_cluster, content.usable)
    alpha, se = float(unit * found.alpha), float(unit * found.se)
    reach = float(ndtri(0.5 + level / 2)) * se
    return MomentsFit(
        alpha=alpha,
        se=se,
        low=float(np.maximum(alpha - reach, 0.0)),
        high=alpha + reach,
        sigma=float(unit * found.sigma),
        share=found.share,
        first_stage_f=f_plain,
        first_stage_f_robust=f_robust,
        first_stage_f_cluster=f_cluster,
        drives_p=_drives_p(sample),
        two_valued_p=found.two_valued_p,
        b=unit * content.b / unit_p,
        proxy_f=content.f,
        n=float(w.sum()),
        note=" ".join(text for text in (content.note, found.note) if text),
    )


def no_moments(proxies: int, n: float, why: str) -> MomentsFit:
    """What is said where the moments could not be computed."""
    nothing = np.full(proxies, np.nan)
    return MomentsFit(
        alpha=np.nan,
        se=np.nan,
        low=np.nan,
        high=np.nan,
        sigma=np.nan,
        share=np.nan,
        first_stage_f=np.nan,
        first_stage_f_robust=np.nan,
        first_stage_f_cluster=None,
        drives_p=np.nan,
        two_valued_p=np.nan,
        b=nothing,
        proxy_f=nothing,
        n=n,
        note=why,
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """u (n,) centred; h (n,) centred; Q (n, r) basis of E; P (n, p) centred; psi_b (n, p); w (n,); groups."""

    u: np.ndarray
    h: np.ndarray
    Q: np.ndarray
    P: np.ndarray
    psi_b: np.ndarray
    w: np.ndarray
    groups: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Size:
    """alpha^2 and the noise variance, with the moments they come from; see `size_of`."""

    alpha2: float
    sigma2: float
    m: float
    s2: float
    s3: float
    i2: float
    i3: float


@dataclass(frozen=True, slots=True)
class _Found:
    alpha: float
    se: float
    sigma: float
    share: float
    two_valued_p: float
    note: str


def _found(sample: Sample, f: float, usable: bool) -> _Found:
    """The size and what goes with it, or why there is none."""
    if not usable:
        return _nothing("Without it, what the environment does to the content would pass for a bias.")
    units = sample.w.sum() if sample.groups is None else sample.groups.max() + 1
    if units < sample.Q.shape[1] + LEAST_SPARE:
        return _nothing(
            f"{units:.0f} {'rows' if sample.groups is None else 'clusters'} are too few for "
            f"{sample.Q.shape[1]} environment columns: at least {LEAST_SPARE} more than columns are needed."
        )
    if f < THRESHOLDS.weak_f:
        return _nothing(
            f"The environment hardly moves the outcome beyond its content (an F statistic of {f:.1f}; "
            f"{THRESHOLDS.weak_f:.0f} or more would do), so moments cannot tell the size of a bias. "
            "Environment columns that drive reporting would help."
        )
    size = size_of(sample)
    if not size.alpha2 > 0:
        return _nothing(
            f"The moments contradict a two-valued bias (alpha came out as the root of {size.alpha2:.2g}): "
            "noise whose spread depends on the environment does that, or a bias too small for this many rows."
        )
    alpha = float(np.sqrt(size.alpha2))
    se = float(np.sqrt(_variance(influence(sample, size), sample.w, sample.groups)) / (2 * alpha))
    # u is centred: the mean of A is (0 - c) / alpha, with c = (s2 - alpha) / 2.
    share = float(np.clip((alpha - size.s2) / (2 * alpha), 0.0, 1.0))
    p_value = _two_valued_p(sample, size)
    note = ""
    if p_value < THRESHOLDS.moments_contradicted_p:
        note = (
            f"One size of bias does not explain how the environment moves the outcome (p = {p_value:.1g}): "
            "the environment may act on the outcome or on its noise directly, or the size may differ between "
            "rows."
        )
    return _Found(alpha, se, float(np.sqrt(max(size.sigma2, 0.0))), share, p_value, note)


def _nothing(why: str) -> _Found:
    return _Found(np.nan, np.nan, np.nan, np.nan, np.nan, why)


def size_of(sample: Sample) -> Size:
    """The squared size of the bias from the slopes of u^2 and u^3 on h(E)."""
    # u = c + alpha*A + eps, eps free of E with mean 0, variance sigma2, third moment kappa; pi = P(A=1|E).
    #   E[u  |E] = c + alpha*pi = h
    #   E[u^2|E] = c^2 + sigma2 + (2c + alpha)(h - c)               -> slope s2 = 2c + alpha,
    #                                                                  intercept i2 = sigma2 - c^2 - c*alpha
    #   E[u^3|E] = const + (3c^2 + 3c*alpha + alpha^2 + 3*sigma2) h -> slope s3
    # kappa only enters the constant. Hence s3 - s2^2 - i2 = 2*sigma2 and s2^2 - 4(sigma2 - i2) = alpha^2.
    # The slopes are taken by IV, cov(h, u^j) / cov(h, u): shifting u by d then changes s2 by exactly 2d and
    # leaves alpha alone, so u may be centred, which makes the intercepts the plain means i2, i3.
    u, h, w = sample.u, sample.h, sample.w
    W, m = w.sum(), w @ (h * u)
    square, cube = u**2, u * u**2  # a power of 3 takes a hundred times as long
    s2, s3 = w @ (h * square) / m, w @ (h * cube) / m
    i2, i3 = w @ square / W, w @ cube / W
    sigma2 = (s3 - s2**2 - i2) / 2
    return Size(s2**2 - 4 * (sigma2 - i2), sigma2, m, s2, s3, i2, i3)


def influence(sample: Sample, size: Size) -> np.ndarray:
    """Influence (n,) of one unit of weight of each row on alpha^2 = 3*s2^2 + 6*i2 - 2*s3.

    Through the slopes (e2, e3 are the residuals of the two IV regressions), the intercept, and b. The choice
    of h and of the mean over proxies do not matter to first order: every valid one gives the same alpha.
    """
    u, h, w, P = sample.u, sample.h, sample.w, sample.P
    W = w.sum()
    e2, e3 = u**2 - size.i2 - size.s2 * u, u * u**2 - size.i3 - size.s3 * u
    direct = 6 * size.s2 * h * e2 / size.m + 6 * e2 / W - 2 * h * e3 / size.m
    s2_by_b = -((w * h * (2 * u - size.s2)) @ P) / size.m
    s3_by_b = -((w * h * (3 * u**2 - size.s3)) @ P) / size.m
    i2_by_b = -2 * ((w * u) @ P) / W
    return direct + sample.psi_b @ (6 * size.s2 * s2_by_b + 6 * i2_by_b - 2 * s3_by_b)


def _first_stage(sample: Sample) -> tuple[float, float, float | None]:
    """F of the regression of u on h(E): classical, robust, by cluster (None without clusters)."""
    u, h, w = sample.u, sample.h, sample.w
    spread = w @ h**2
    slope = w @ (h * u) / spread if spread > 1e-20 * w.sum() else 0.0
    # Held-out predictions that point the wrong way are no instrument at all.
    if slope <= 0:
        return 0.0, 0.0, None if sample.groups is None else 0.0
    e = u - slope * h
    psi = (h * e - sample.psi_b @ ((w * h) @ sample.P)) / spread
    classical = slope**2 * spread / (max(w @ e**2, 1e-300) / max(w.sum() - 2, 1.0))
    clustered = None if sample.groups is None else float(slope**2 / _variance(psi, w, sample.groups))
    return float(classical), float(slope**2 / _variance(psi, w, None)), clustered


def _drives_p(sample: Sample) -> float:
    """p-value of E[u|E] = const: all slopes of u on the basis of E are zero."""
    u, Q, w = sample.u, sample.Q, sample.w
    slopes = Q.T @ (w * u)
    psi = Q * u[:, None] - sample.psi_b @ ((w[:, None] * sample.P).T @ Q)
    return _slopes_p(slopes, psi, sample, Q.shape[1])


def _two_valued_p(sample: Sample, size: Size) -> float:
    """p-value of E[e2|E] = 0, e2 = u^2 - i2 - s2*u = (u - c)(u - c - alpha) - sigma2, for all of E.

    One direction of E, h, was used up to fit s2; with a single column nothing is left to test.
    """
    rank = sample.Q.shape[1] - 1
    return _slopes_p(*curvature(sample, size), sample, rank) if rank > 0 else np.nan


def curvature(sample: Sample, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Sums of Q*e2 (r,), and the influence (n, r) of one unit of weight of each row on them."""
    u, h, Q, w = sample.u, sample.h, sample.Q, sample.w
    e2 = u**2 - size.i2 - size.s2 * u
    by_s2 = -(Q.T @ (w * u))
    by_b = -(Q.T @ ((w * (2 * u - size.s2))[:, None] * sample.P))
    s2_by_b = -((w * h * (2 * u - size.s2)) @ sample.P) / size.m
    psi = Q * e2[:, None] + np.outer(h * e2 / size.m, by_s2)
    return Q.T @ (w * e2), psi + sample.psi_b @ (by_b.T + np.outer(s2_by_b, by_s2))


def _slopes_p(slopes: np.ndarray, psi: np.ndarray, sample: Sample, rank: int) -> float:
    """p-value of slopes (r,) = 0 from the influences psi (n, r); NaN with too few rows or clusters."""
    w = sample.w
    if sample.groups is None:
        V, units = meat(psi * np.sqrt(w)[:, None]), float(w.sum())
    else:
        V, units = meat(psi * w[:, None], sample.groups), float(sample.groups.max() + 1)
    if units <= 2 * rank:
        return np.nan
    # What was used up to fit the size leaves V without its least directions.
    values, vectors = np.linalg.eigh(V)
    top = slice(len(values) - rank, None)
    # Nothing varies: there is nothing to explain.
    if rank == 0 or values[top].min() <= 0:
        return np.nan
    standardised = vectors[:, top].T @ slopes / np.sqrt(values[top])
    # Influences have mean 0 by construction; units - 1 of them are free.
    return wald_p(standardised, np.eye(rank) * (units / (units - 1.0)), units, rank)


def _variance(psi: np.ndarray, w: np.ndarray, groups: np.ndarray | None) -> float:
    """Variance of an estimate from the influence psi (n,) of each unit of weight."""
    if groups is None:
        return float(w @ psi**2)
    sums = np.bincount(groups, weights=w * psi)
    return float(sums @ sums) * sums.size / (sums.size - 1)


def _checked(
    y: np.ndarray,
    P: np.ndarray,
    E: np.ndarray,
    weights: np.ndarray | None,
    cluster: np.ndarray | None,
    level: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    if not 0.0 < level < 1.0:
        raise SettingsError(f"level={level!r}: use a number between 0 and 1, such as 0.95.")
    y, P, E = (np.asarray(v, dtype=float) for v in (y, P, E))
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    if P.ndim != 2 or E.ndim != 2 or not len(y) == len(P) == len(E) == len(w):
        raise TableError(f"shapes do not fit: y {y.shape}, P {P.shape}, E {E.shape}, weights {w.shape}.")
    if not all(np.isfinite(v).all() for v in (y, P, E, w)) or (w < 0).any() or not w.sum() > 0:
        raise TableError("moments need finite y, P and E, and weights of 0 or more that are not all 0.")
    if cluster is None:
        return y, P, E, w, None
    labels, groups = np.unique(np.asarray(cluster), return_inverse=True)
    if labels.size < 2:
        raise TableError("all rows are in one cluster: clustered errors need at least two, better thirty.")
    return y, P, E, w, groups
