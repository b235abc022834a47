"""Content scored without the outcome: what proxies and environment say of it.

    Z | E ~ N(g'b(E), I_d)      P_k = w_k'Z + u_k,  u_k ~ N(0, psi_k)      b(E) = E, squares, products, levels

The score is E[Z | P, E]. Because Z | P, E is normal with a constant variance, a log-linear mean of Z is
log-linear in the score, and a probit of Z a probit of it: where the environment acts on the truth through
content alone, it acts on it through the score alone, however noisy the proxies are. The fit needs sums over
rows only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtrc

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates

# Most kinds of content; most environment columns whose products are in b(E); rows that each column of b
# needs.
MOST_KINDS, MOST_IN_PRODUCTS, ROWS_PER_COLUMN = 2, 8, 20
# Smallest share of a proxy's variance that is noise: a proxy without any would be the content itself.
LEAST_NOISE = 1e-3


@dataclass(frozen=True, slots=True)
class Basis:
    """b(E): what centres and scales its columns. products : whether squares and products are among them."""

    products: bool
    centre: np.ndarray
    scale: np.ndarray

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, q)."""
        return (_raw(rows, self.products) - self.centre) / self.scale

    @classmethod
    def learn(cls, rows: Covariates, weights: np.ndarray) -> Basis:
        """The columns that so many rows bear; a column that does not vary is left at 0."""
        width = rows.E.shape[1]
        products = width <= MOST_IN_PRODUCTS and ROWS_PER_COLUMN * width * (width + 3) / 2 <= rows.n
        raw = _raw(rows, products)
        centre = weights @ raw / weights.sum()
        sd = np.sqrt(weights @ (raw - centre) ** 2 / weights.sum())
        return cls(products, centre, np.where(sd > 1e-9, sd, np.inf))


def _raw(rows: Covariates, products: bool) -> np.ndarray:
    columns = [rows.E[:, at] for at in range(rows.E.shape[1])]
    if products:
        columns += [
            columns[i] * columns[j] for i, j in combinations_with_replacement(range(rows.E.shape[1]), 2)
        ]
    levels = [
        (rows.levels[name][:, None] == np.arange(1, count)).astype(float)
        for name, count in rows.level_counts.items()
    ]
    return np.column_stack([np.zeros((rows.n, 0)), *columns, *levels])


@dataclass(frozen=True)
class Content:
    """The fitted factor model, with d kinds of content.

    centre, scale : (p,) of the proxies. loadings : w (p, d). paths : g (d, q). noise : psi (p,).
    p_beyond : of the test whether the environment reaches a proxy other than through content; NaN where the
    proxies are too few to tell content from their noise: one proxy is then taken as the content itself.
    """

    basis: Basis
    centre: np.ndarray
    scale: np.ndarray
    loadings: np.ndarray
    paths: np.ndarray
    noise: np.ndarray
    p_beyond: float

    @property
    def d(self) -> int:
        """Number of kinds of content."""
        return self.loadings.shape[1]

    @property
    def told_apart(self) -> bool:
        """Whether content is told from the noise of the proxies."""
        return not np.isnan(self.p_beyond)

    @property
    def unknown(self) -> np.ndarray:
        """Var[Z | P, E] (d, d), the same for all rows."""
        return np.linalg.inv(np.eye(self.d) + (self.loadings.T / self.noise) @ self.loadings)

    @property
    def theta(self) -> np.ndarray:
        """All parameters, of which `slopes` and `influence` have a column each."""
        return np.concatenate([self.loadings.ravel(), self.paths.ravel(), np.log(self.noise)])

    def score(self, rows: Covariates) -> np.ndarray:
        """E[Z | P, E] (n, d)."""
        return self._scored(self.theta, self._proxies(rows), self.basis.columns(rows))

    def slopes(self, rows: Covariates, step: float = 1e-5) -> np.ndarray:
        """How the score moves with the parameters, (n, d, k)."""
        p, b = self._proxies(rows), self.basis.columns(rows)
        made = []
        for at in range(len(self.theta)):
            move = np.zeros(len(self.theta))
            move[at] = step
            up, down = (self._scored(self.theta + by, p, b) for by in (move, -move))
            made.append((up - down) / (2.0 * step))
        return np.stack(made, axis=2)

    def influence(self, rows: Covariates, weights: np.ndarray) -> np.ndarray:
        """What each of the fitted rows did to the parameters (n, k): their error is its weighted sum."""
        if not self.told_apart:
            return np.zeros((rows.n, len(self.theta)))
        p, b = self._proxies(rows), self.basis.columns(rows)
        sums = _Sums.of(p, b, weights)
        d, moves = self.d, 1e-5 * np.eye(len(self.theta))
        curvature = np.array([
            (sums.deviance(self.theta + move, d)[1] - sums.deviance(self.theta - move, d)[1]) / 2e-5
            for move in moves
        ])  # fmt: skip
        curvature = 0.5 * (curvature + curvature.T) * weights.sum()
        # Two kinds of content can be turned into each other a little: no row says how.
        return _row_scores(self.theta, d, p, b) @ np.linalg.pinv(curvature, rcond=1e-7, hermitian=True)

    def _proxies(self, rows: Covariates) -> np.ndarray:
        return (rows.P - self.centre) / self.scale

    def _scored(self, theta: np.ndarray, p: np.ndarray, b: np.ndarray) -> np.ndarray:
        w, g, psi = _parts(theta, self.d, p.shape[1])
        weighted = w.T / psi
        gain = np.linalg.solve(np.eye(self.d) + weighted @ w, weighted)
        before = b @ g.T
        return before + (p - before @ w.T) @ gain.T


def fit_content(rows: Covariates, weights: np.ndarray, single: bool = False) -> Content:
    """The factor model of some rows, with as many kinds of content as BIC wants and the proxies bear.

    single : whether all columns are levels of one proxy, which is then content as it stands.
    """
    basis = Basis.learn(rows, weights)
    total = weights.sum()
    centre = weights @ rows.P / total
    sd = np.sqrt(weights @ (rows.P - centre) ** 2 / total)
    scale = np.where(sd > 1e-9, sd, 1.0)
    count = rows.P.shape[1]
    b = basis.columns(rows)
    if count == 1 or single:
        paths = np.zeros((count, b.shape[1]))
        return Content(basis, centre, scale, np.eye(count), paths, np.full(count, 1e-6), np.nan)
    sums = _Sums.of((rows.P - centre) / scale, b, weights)
    most = min(MOST_KINDS, max((count - 1) // 2, 1))
    fits = [(sums.fitted(d), d) for d in range(1, most + 1)]
    theta, d = min(fits, key=lambda fit: sums.bic(*fit))
    w, g, psi = _parts(theta, d, count)
    return Content(basis, centre, scale, w, g, psi, sums.beyond(theta, d))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Second moments of b (q) and proxies (p), and the weight of all rows."""

    bb: np.ndarray
    bp: np.ndarray
    pp: np.ndarray
    n: float

    @classmethod
    def of(cls, p: np.ndarray, b: np.ndarray, weights: np.ndarray) -> _Sums:
        total = weights.sum()
        weighted = b.T * weights / total
        return cls(weighted @ b, weighted @ p, (p.T * weights) @ p / total, float(total))

    def deviance(self, theta: np.ndarray, d: int) -> tuple[float, np.ndarray]:
        """Minus the mean log likelihood, up to a constant, and its gradient."""
        w, g, psi = _parts(theta, d, len(self.pp))
        paths = w @ g
        left = self.pp - paths @ self.bp - self.bp.T @ paths.T + paths @ self.bb @ paths.T
        value, by_s, inverse = _normal(w @ w.T + np.diag(psi), left)
        by_paths = inverse @ (paths @ self.bb - self.bp.T)
        by_w = 2.0 * by_s @ w + by_paths @ g.T
        if d == 2:
            by_w[0, 1] = 0.0
        return value, np.concatenate([by_w.ravel(), (w.T @ by_paths).ravel(), np.diag(by_s) * psi])

    def fitted(self, d: int) -> np.ndarray:
        """The parameters of most likelihood with d kinds of content."""
        paths, left = self._free()
        values, vectors = np.linalg.eigh(left)
        w = vectors[:, -d:] * np.sqrt(np.maximum(0.7 * values[-d:], 1e-3))
        if d == 2:
            # One rotation of many: the first proxy shows the first kind alone.
            turn = np.linalg.qr(w[:1].T, mode="complete")[0]
            w = w @ turn
            w[0, 1] = 0.0
        g = np.linalg.lstsq(w, paths, rcond=None)[0]
        begin = np.concatenate([w.ravel(), g.ravel(), np.log(np.maximum(0.4 * np.diag(left), 1e-2))])
        low = np.full(len(begin), -9.0)
        low[-len(left) :] = np.log(LEAST_NOISE)
        return np.asarray(
            minimize(
                self.deviance,
                begin,
                (d,),
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(low, np.full(len(low), 9.0), strict=True)),
                options={"maxiter": 800, "ftol": 1e-13, "gtol": 1e-7},
            ).x
        )

    def bic(self, theta: np.ndarray, d: int) -> float:
        """Less is better."""
        free = len(theta) - d * (d - 1) // 2
        return 2.0 * self.n * self.deviance(theta, d)[0] + free * float(np.log(self.n))

    def beyond(self, theta: np.ndarray, d: int) -> float:
        """The p-value of the likelihood ratio for an environment that moves proxies as content lets it.

        Against means of any kind, with the same structure of what is left. A test of means, it does not lean
        on the noise being normal.
        """
        left = self._free()[1]
        without = _Sums(np.zeros((0, 0)), np.zeros((0, len(left))), left, self.n)
        count, width = len(left), len(self.bb)
        free = without.deviance(without.fitted(d), d)[0]
        # Two proxies alone do not tell how much of each is content; the environment does.
        degrees = (count - d) * int(np.linalg.matrix_rank(self.bb)) - (1 if count == 2 else 0)
        ratio = 2.0 * self.n * (self.deviance(theta, d)[0] - free)
        return float(chdtrc(degrees, max(ratio, 0.0))) if width and degrees > 0 else 1.0

    def _free(self) -> tuple[np.ndarray, np.ndarray]:
        """Regression of the proxies on b, (p, q), and what it leaves of their moments."""
        paths = np.linalg.lstsq(self.bb, self.bp, rcond=1e-9)[0].T if len(self.bb) else self.bp.T
        left = self.pp - paths @ self.bp
        return paths, 0.5 * (left + left.T) + 1e-6 * np.eye(len(left))


def _parts(theta: np.ndarray, d: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loadings w (p, d), g (d, q), psi (p,)."""
    w = theta[: count * d].reshape(count, d)
    return w, theta[count * d : len(theta) - count].reshape(d, -1), np.exp(theta[len(theta) - count :])


def _normal(S: np.ndarray, left: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(log|S| + tr S^-1 R) / 2, its derivative by S, and S^-1."""
    inverse = np.linalg.inv(S)
    value = 0.5 * (np.linalg.slogdet(S)[1] + float((inverse * left).sum()))
    return value, 0.5 * (inverse - inverse @ left @ inverse), inverse


def _row_scores(theta: np.ndarray, d: int, p: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gradient (n, k) of each row's log likelihood."""
    w, g, psi = _parts(theta, d, p.shape[1])
    inverse = np.linalg.inv(w @ w.T + np.diag(psi))
    before = b @ g.T
    a = (p - before @ w.T) @ inverse
    by_w = a[:, :, None] * (a @ w + before)[:, None, :] - (inverse @ w)[None]
    if d == 2:
        by_w[:, 0, 1] = 0.0
    by_g = (a @ w)[:, :, None] * b[:, None, :]
    by_psi = 0.5 * (a * a - np.diag(inverse)) * psi
    return np.concatenate([by_w.reshape(len(p), -1), by_g.reshape(len(p), -1), by_psi], axis=1)
