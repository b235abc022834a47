"""The content leaves the outcome: what each proxy is worth, by instrumental variables.

y = y_true + bias + noise,  P_k = c_k*y_true + eps_k:  y - P_k / c_k holds the bias and noise, no content
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxycal.methods.moments.instrument import Basis, partial_out
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.thresholds import THRESHOLDS


@dataclass(frozen=True, slots=True)
class Content:
    """How the content is taken out of the outcome: u = y - sum_k b_k P_k.

    b : (p,) v_k / c_k, the v_k summing to 1
    psi : (n, p) influence of one unit of weight of each row on each b_k
    f : (p,) first-stage F of each proxy on the others; NaN with a single proxy
    usable : False where the proxies see no content that could be taken out
    note : empty, or what stood in the way
    """

    b: np.ndarray
    psi: np.ndarray
    f: np.ndarray
    usable: bool
    note: str


def remove_content(y: np.ndarray, P: np.ndarray, basis: Basis, w: np.ndarray) -> Content:
    """Find b for y (n,) and P (n, p), standardised, with the environment of `basis` partialled out."""
    n, p = P.shape
    rich = basis.rich if basis.rich is not None else basis.linear
    y_r, P_r = partial_out(y, rich, w), partial_out(P, rich, w)
    if p == 1:
        return _single(y_r, P_r[:, 0], w)

    # P_k = c_k*y_true + eps_k. The other proxies share y_true with P_k and nothing else, so with E partialled
    # out cov(g, y) / cov(g, P_k) = c_g*var / (c_g*c_k*var) = 1/c_k for every combination g of them, where
    # a regression of y on P_k would be pulled to zero by the noise of P_k.
    b, f, psi = np.zeros(p), np.zeros(p), np.zeros((n, p))
    gram = P_r.T @ (w[:, None] * P_r)
    for k in range(p):
        rest = np.delete(np.arange(p), k)
        gamma = least_squares(gram[np.ix_(rest, rest)], gram[rest, k])
        g = P_r[:, rest] @ gamma
        explained, left = w @ (g * P_r[:, k]), w @ (P_r[:, k] - g) ** 2
        # A proxy that is constant, or nothing but E, explains nothing once E is out.
        if explained > 1e-12 * w.sum():
            f[k] = explained / (p - 1) * max(w.sum() - rich.shape[1] - p, 1.0) / max(left, 1e-300)
            b[k], psi[:, k] = _slope((y, P[:, k]), (y_r, P_r[:, k]), g, rich, w)

    # Every y - b_k P_k is free of content where c_k is not zero, so any mean of them is; the mean of least
    # variance is the sharpest. A proxy that the others cannot see (weak F) may have c_k = 0 and is left out.
    strong = np.flatnonzero(f >= THRESHOLDS.weak_f)
    if strong.size == 0:
        note = (
            f"The proxies hardly agree with each other (an F statistic of {f.max():.1f} at best; "
            f"{THRESHOLDS.weak_f:.0f} or more would do), so they see no common content that could be taken "
            "out. Proxies that measure the same thing would help."
        )
        return Content(np.zeros(p), np.zeros((n, p)), f, False, note)
    # That variance is v'Sv plus what all means share, with S from the proxies alone: y, and with it the
    # bias, would let v chase chance correlations between A and the noise of the proxies.
    parts = P_r[:, strong] * b[strong]
    S = parts.T @ (w[:, None] * parts) / w.sum()
    v = least_squares(S, np.ones(strong.size), rcond=1e-12)
    # Without any slope (an outcome that nobody sees) every mean is as good.
    v = v if v.sum() > 0 else np.ones(strong.size)
    used, spread = np.zeros(p), np.zeros((n, p))
    used[strong] = v / v.sum()
    spread[:, strong] = psi[:, strong]
    return Content(used * b, spread * used, f, True, "")


def _single(y_r: np.ndarray, x: np.ndarray, w: np.ndarray) -> Content:
    """One proxy, both with E partialled out: least squares, since there is no instrument."""
    square, none = w @ x**2, np.array([np.nan])
    if square <= 1e-12 * w.sum():
        note = "The only proxy is constant or a function of the environment: it sees no content of its own."
        return Content(np.zeros(1), np.zeros((len(x), 1)), none, False, note)
    b = w @ (x * y_r) / square
    note = (
        "With a single proxy nothing corrects for its noise: the proxy was taken as free of noise, which "
        "leaves content in the comparison where it is not. A second, independent proxy would settle it."
    )
    return Content(np.array([b]), (x * (y_r - b * x) / square)[:, None], none, True, note)


def _slope(
    whole: tuple[np.ndarray, np.ndarray],
    left: tuple[np.ndarray, np.ndarray],
    g: np.ndarray,
    Q: np.ndarray,
    w: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Slope b of y = b*x + u by the instrument g, and the influence (n,) of each row on it.

    whole, left : y and x (n,) each, as they are and with Q partialled out.

    At the true b, g is independent of u given E, so E[g*phi(u)] = 0 for every phi, not only for phi(u) = u.
    A large bias is a large noise in u; the cubic phi of least variance is flat at both of its humps and so
    hardly sees it: phi = sum_j l_j u^j with l = V^-1 d, V = cov(u, u^2, u^3), d = E[1, 2u, 3u^2], the
    projection of the score of u's density on cubics. It is u itself where u is Gaussian. One Newton step from
    plain instrumental variables is enough: more steps moved nothing in simulations.
    """
    (y, x), (y_r, x_r) = whole, left
    plain = w @ (g * y) / (w @ (g * x_r))
    psi_plain = g * (y_r - plain * x_r) / (w @ (g * x_r))
    u = y - plain * x
    u = u - w @ u / w.sum()
    scale = np.sqrt(w @ u**2 / w.sum())
    if not scale > 1e-10:
        return plain, psi_plain
    u = u / scale
    powers = partial_out(np.column_stack([u, u**2, u * u**2]), Q, w)
    slopes = np.column_stack([np.ones_like(u), 2 * u, 3 * u**2])
    score = least_squares(powers.T @ (w[:, None] * powers), w @ slopes, rcond=1e-10)
    change = (w * g * (slopes @ score)) @ x_r / scale
    if change == 0:
        return plain, psi_plain
    psi = g * (powers @ score) / change
    b = plain + w @ psi
    # Where the model holds both are right and differ by chance only; where not, plain IV asks less of it.
    trusted = np.isfinite(b) and (b - plain) ** 2 <= 9 * (w @ psi_plain**2)
    return (b, psi) if trusted else (plain, psi_plain)
