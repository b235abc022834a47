"""Columns that the fit has not seen, taken into the draws of who is biased.

A regression of the drawn truth on a column w that tells something of the truth beyond proxies and environment
is too flat where p(biased) has not heard of it: a doubtful report is drawn back to what the proxies expect,
whatever w says. The slope shrinks by

    E[size^2 p (1 - p)] / Var(truth | proxies, environment)

since truth and its draw are two independent draws given the report, and Cov(w, draw) / Cov(w, truth) is their
correlation. What is missing is one more factor in Bayes' rule. Given the truth and the columns of the fit C,
w is taken as normal and as not moved by the report itself,

    w = C c + truth b + e,   e ~ N(0, S),
    P(A=1 | y, C, w) : P(A=0 | ..)  =  p f(w | y - size, C) : (1 - p) f(w | y, C),

and its coefficients and who is biased are drawn in turn (data augmentation, Tanner and Wong 1987).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

if TYPE_CHECKING:
    from proxycal.effect.draws import Draws, Moved

# Rounds of the two draws; who is biased is known of most rows, so that few are enough.
ROUNDS = 10
# A column of which the fit's own columns leave less than this share of its variance says nothing new.
LEAST_LEFT = 1e-6
# Rows for each coefficient that these regressions need.
ROWS_PER_COLUMN = 10
_STREAM = 1_000_003


def biased_given(
    now: Moved,
    y: np.ndarray,
    columns: np.ndarray,
    outside: np.ndarray,
    truth: np.ndarray | None,
    draws: Draws,
    places: np.ndarray,
) -> np.ndarray:
    """Who is biased (m, n), drawn with what the outside columns say.

    now : the rows under each draw of the shared parameters. y : (n,) reports. columns : (n, q) of the fit.
    outside : (n, r), NaN in rows that are drawn without them; they are ignored where nothing is left of them
    or there are too few rows. truth : (n,), NaN where it is not known.
    """
    biased = draws.uniforms(places)[:, 0] < expit(now.log_odds)
    asked = np.isfinite(outside).all(axis=1)
    if not enough_rows(int(asked.sum()), columns.shape[1], outside.shape[1]):
        return biased
    basis, left = left_over(columns[asked], outside[asked])
    if left.shape[1] == 0:
        return biased
    rng = np.random.default_rng([draws.seed, _STREAM])
    report, size = y[asked], now.size[:, asked]
    known = np.full(len(left), np.nan) if truth is None else truth[asked]
    log_odds = now.log_odds[:, asked]
    for turn in range(1, ROUNDS + 1):
        uniform = draws.uniforms(places, turn)[:, 0][:, asked]
        for i in range(draws.m):
            at = np.where(biased[i, asked], report - size[i], report)
            at = np.where(np.isfinite(known), known, at)
            said = _log_ratio(rng, report, size[i], at, basis, left)
            biased[i, asked] = uniform[i] < expit(log_odds[i] + said)
    return biased


def enough_rows(n: int, columns: int, outside: int) -> bool:
    """Whether n rows allow for the regression of the outside columns.

    >>> enough_rows(100, 5, 1), enough_rows(50, 5, 1)
    (True, False)
    """
    return n >= ROWS_PER_COLUMN * (columns + outside + 1)


def left_over(columns: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis (n, f) of 1 and the fit's columns, and what it leaves of the outside ones (n, r).

    What is left is of variance one and full rank.

    >>> x = np.arange(6.0)[:, None]
    >>> left_over(x, np.hstack([2.0 * x + 1.0, x**2]))[1].shape
    (6, 1)
    """
    n = len(columns)
    full = np.column_stack([np.ones(n), columns])
    vectors, values, _ = np.linalg.svd(full / np.maximum(np.linalg.norm(full, axis=0), 1e-300), False)
    basis = vectors[:, values > 1e-10 * values[0]]
    sd = outside.std(axis=0)
    scaled = (outside - outside.mean(axis=0)) / np.where(sd > 0.0, sd, 1.0)
    kept: list[np.ndarray] = []
    for column in scaled.T:
        rest = column
        for _ in range(2):  # twice is enough for the digits that once loses
            rest = rest - basis @ (basis.T @ rest)
            for other in kept:
                rest = rest - other * (other @ rest) / n
        variance = float(rest @ rest) / n
        if variance > LEAST_LEFT:
            kept.append(rest / np.sqrt(variance))
    return basis, np.column_stack(kept) if kept else np.empty((n, 0))


def _log_ratio(
    rng: np.random.Generator,
    report: np.ndarray,
    size: np.ndarray,
    truth: np.ndarray,
    basis: np.ndarray,
    left: np.ndarray,
) -> np.ndarray:
    """The logarithm of f(w | report - size) / f(w | report), (n,), by one draw of the regression of w."""
    n, f = basis.shape
    r = left.shape[1]
    along = basis.T @ truth
    rest = truth - basis @ along
    square = max(float(rest @ rest), 1e-300)
    slope = rest @ left / square
    residual = left - np.outer(rest, slope)
    # Residual covariance: inverse Wishart, by Bartlett's triangle; then the coefficients given it.
    degrees = n - f - 1
    triangle = np.tril(rng.standard_normal((r, r)), -1)
    triangle[np.diag_indices(r)] = np.sqrt(rng.chisquare(degrees - np.arange(r)))
    root = np.linalg.cholesky(residual.T @ residual + 1e-12 * n * np.eye(r))
    # S = (L T^-T)(L T^-T)' with L the root of the sum of squares.
    factor = root @ solve_triangular(triangle, np.eye(r), lower=True).T
    slope = slope + factor @ rng.standard_normal(r) / np.sqrt(square)
    fixed = -np.outer(along, slope) + rng.standard_normal((f, r)) @ factor.T
    here = np.linalg.solve(factor, (left - basis @ fixed - np.outer(report, slope)).T)
    there = here + np.outer(np.linalg.solve(factor, slope), size)
    return np.asarray(0.5 * ((here**2).sum(axis=0) - (there**2).sum(axis=0)))


def shrinkage(
    truth: np.ndarray, doubt: np.ndarray, columns: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """By which share slopes of a column that was not taken in are too flat.

    truth : (n,) or (m, n) drawn, on the scale of the fit. doubt : (n,) size^2 p (1 - p). columns : (n, q).
    """
    drawn = np.atleast_2d(truth)
    full = np.column_stack([np.ones(drawn.shape[1]), columns])
    rest = drawn.T - full @ np.linalg.lstsq(full, drawn.T, rcond=None)[0]
    w = np.ones(len(full)) if weights is None else weights
    variance = float(np.average((rest**2).mean(axis=1), weights=w))
    return float(np.clip(np.average(doubt, weights=w) / max(variance, 1e-300), 0.0, 1.0))
