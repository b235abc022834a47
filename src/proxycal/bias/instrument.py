"""The instrument h(E) = E[u|E], each row's from the other rows only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Leave-cluster-out is done exactly up to this many clusters; more of them are left out in this many blocks.
MAX_BLOCKS = 50
# A squared term must be paid for by this many rows per column.
ROWS_PER_COLUMN = 20


@dataclass(frozen=True, slots=True)
class Basis:
    """Centred columns with Q'WQ = I: `linear` (n, r) spans E, `rich` (n, r2) also the squares of numbers."""

    linear: np.ndarray
    rich: np.ndarray | None


def environment_basis(E: np.ndarray, w: np.ndarray) -> Basis:
    """The basis of E (n, q) under weights w (n,)."""
    centred = E - w @ E / w.sum()
    linear = _orthonormal(centred, w)
    # The square of a two-valued column says nothing new.
    numeric = [j for j in range(E.shape[1]) if np.any((E[:, j] > E[:, j].min()) & (E[:, j] < E[:, j].max()))]
    if not numeric or w.sum() < ROWS_PER_COLUMN * (E.shape[1] + len(numeric)):
        return Basis(linear, None)
    squares = centred[:, numeric] ** 2
    return Basis(linear, _orthonormal(np.column_stack([centred, squares - w @ squares / w.sum()]), w))


def _orthonormal(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Columns spanning those of X, orthonormal under w; directions without variance are dropped."""
    scale = np.sqrt(w @ X**2 / w.sum())
    X = X[:, scale > 0] / scale[scale > 0]
    values, vectors = np.linalg.eigh(X.T @ (w[:, None] * X))
    keep = values > 1e-10 * max(values.max(initial=0.0), 1e-300)
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
    # A row that alone decides its own fitted value cannot be predicted from the others.
    return np.where(room > 1e-8, (fitted - leverage * u) / np.where(room > 1e-8, room, 1.0), 0.0)


def _leave_blocks_out(u: np.ndarray, Q: np.ndarray, w: np.ndarray, groups: np.ndarray) -> np.ndarray:
    block = groups % min(int(groups.max()) + 1, MAX_BLOCKS)
    moment, h = Q.T @ (w * u), np.zeros_like(u)
    for label in range(int(block.max()) + 1):
        out = block == label
        Q_out, w_out = Q[out], w[out]
        gram = np.eye(Q.shape[1]) - Q_out.T @ (w_out[:, None] * Q_out)
        h[out] = Q_out @ np.linalg.lstsq(gram, moment - Q_out.T @ (w_out * u[out]), rcond=1e-10)[0]
    return h
