"""The instrument h(E) = E[u|E], each row's from the other rows only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxycal.mixture.least_squares import least_squares

# Leave-cluster-out is done exactly up to this many clusters; more of them are left out in this many blocks.
MAX_BLOCKS = 50
# Share of what is known about a direction of E that must remain when a row or a block is left out.
LEAST_ROOM = 0.2
# A squared term must be paid for by this many rows per column.
ROWS_PER_COLUMN = 20


@dataclass(frozen=True, slots=True)
class Basis:
    """Centred columns with Q'WQ = I: `linear` (n, r) spans E, `rich` (n, r2) also the squares of numbers."""

    linear: np.ndarray
    rich: np.ndarray | None


def standardised(v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of v (n,) or (n, m) with mean 0 and sd 1, and their sds; constant ones become 0 with sd 1."""
    # Scaled by the largest value first, so that no unit is too large or too small to be squared.
    largest = np.maximum(np.abs(v).max(axis=0), np.finfo(float).tiny)
    v = v / largest
    v = v - w @ v / w.sum()
    sd = np.sqrt(w @ v**2 / w.sum())
    varies = sd > 1e-10
    return np.where(varies, v / np.where(varies, sd, 1.0), 0.0), np.where(varies, sd * largest, 1.0)


def environment_basis(E: np.ndarray, w: np.ndarray) -> Basis:
    """The basis of E (n, q), standardised, under weights w (n,)."""
    linear = _orthonormal(E, w)
    # The square of a two-valued column says nothing new.
    numeric = [j for j in range(E.shape[1]) if np.any((E[:, j] > E[:, j].min()) & (E[:, j] < E[:, j].max()))]
    if not numeric or w.sum() < ROWS_PER_COLUMN * (E.shape[1] + len(numeric)):
        return Basis(linear, None)
    squares, _ = standardised(E[:, numeric] ** 2, w)
    return Basis(linear, _orthonormal(np.column_stack([E, squares]), w))


def _orthonormal(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Columns spanning those of X, orthonormal under w; directions without variance are dropped."""
    values, vectors = np.linalg.eigh(X.T @ (w[:, None] * X))
    keep = values > 1e-10 * w.sum()
    return X @ (vectors[:, keep] / np.sqrt(values[keep]))


def partial_out(v: np.ndarray, Q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What is left of v (n,) or (n, m) after a constant and the columns of Q (n, r), Q'WQ = I."""
    wv = (w * v.T).T
    return v - wv.sum(axis=0) / w.sum() - Q @ (Q.T @ wv)


def leave_out(u: np.ndarray, basis: Basis, w: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """h(E) for each row from the other rows (with clusters: the other clusters); linear or with squares.

    Fitted to all rows, h would carry the row's own noise and pass for an instrument where E is useless.
    """
    candidates = [Q for Q in (basis.linear, basis.rich) if Q is not None]
    fits = [
        _leave_row_out(u, Q, w) if groups is None else _leave_blocks_out(u, Q, w, groups) for Q in candidates
    ]
    errors = [w @ (u - h) ** 2 for h in fits]
    return fits[int(np.argmin(errors))]


def _leave_row_out(u: np.ndarray, Q: np.ndarray, w: np.ndarray) -> np.ndarray:
    # Sherman-Morrison for taking one unit of weight away: h_-i = (h_i - l_i u_i) / (1 - l_i), l_i = q_i'q_i.
    leverage = np.einsum("ij,ij->i", Q, Q)
    fitted = Q @ (Q.T @ (w * u))
    room = 1.0 - leverage
    # A row that all but alone decides its own fitted value (the only one of its level) cannot be predicted
    # from the others; it stays at the mean. Leverage is a matter of E, so h remains a function of E.
    return np.where(room > LEAST_ROOM, (fitted - leverage * u) / np.maximum(room, LEAST_ROOM), 0.0)


def _leave_blocks_out(u: np.ndarray, Q: np.ndarray, w: np.ndarray, groups: np.ndarray) -> np.ndarray:
    block = groups % min(int(groups.max()) + 1, MAX_BLOCKS)
    moment, h = Q.T @ (w * u), np.zeros_like(u)
    for label in range(int(block.max()) + 1):
        out = block == label
        Q_out, w_out = Q[out], w[out]
        gram = np.eye(Q.shape[1]) - Q_out.T @ (w_out[:, None] * Q_out)
        h[out] = Q_out @ least_squares(gram, moment - Q_out.T @ (w_out * u[out]), rcond=LEAST_ROOM)
    return h
