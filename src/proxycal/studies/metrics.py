"""What is measured on rows whose truth is known: pure functions of arrays.

Latents are known up to order, sign and scale only. They are aligned on the fitted rows, and judged on rows
that neither the fit nor the alignment has seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which recovered latent stands for which true one, and on what scale.

    pairs : (d,) recovered column for each true one, -1 where there are fewer recovered columns
    slope, intercept : (d,) of the true latent on its recovered one
    """

    pairs: np.ndarray
    slope: np.ndarray
    intercept: np.ndarray

    def apply(self, recovered: np.ndarray) -> np.ndarray:
        """Recovered latents (n, k) on the scale of the true ones (n, d); without a partner, their mean."""
        return self.intercept + self.slope * _chosen(recovered, self.pairs)

    def turned(self, recovered: np.ndarray) -> np.ndarray:
        """Recovered latents (n, k) in the order and with the signs of the true ones, on their own scale."""
        return np.where(self.slope < 0, -1.0, 1.0) * _chosen(recovered, self.pairs)


def align(true: np.ndarray, recovered: np.ndarray) -> Alignment:
    """Pair true (n, d) with recovered (n, k) columns, so that the sum of squared correlations is largest.

    >>> z = np.random.default_rng(0).normal(size=(50, 2))
    >>> align(z, np.column_stack([-3.0 * z[:, 1], 2.0 * z[:, 0]])).pairs.tolist()
    [1, 0]
    """
    t, f = true - true.mean(axis=0), recovered - recovered.mean(axis=0)
    covariance = t.T @ f
    spread = (f**2).sum(axis=0)
    squared = covariance**2 / np.maximum(np.outer((t**2).sum(axis=0), spread), 1e-300)
    rows, columns = linear_sum_assignment(squared, maximize=True)
    pairs = np.full(true.shape[1], -1)
    pairs[rows] = columns
    slope = np.zeros(true.shape[1])
    slope[rows] = covariance[rows, columns] / np.maximum(spread[columns], 1e-300)
    intercept = true.mean(axis=0) - slope * _chosen(recovered, pairs).mean(axis=0)
    return Alignment(pairs, slope, intercept)


def _chosen(recovered: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return np.where(pairs >= 0, recovered[:, np.maximum(pairs, 0)], 0.0)


def r2(true: np.ndarray, guess: np.ndarray, centre: np.ndarray) -> float:
    """Share of the variance around `centre` (of the fitted rows) that is explained; mean over columns.

    >>> r2(np.array([[0.0], [2.0]]), np.array([[0.0], [2.0]]), np.array([1.0]))
    1.0
    """
    total = ((true - centre) ** 2).sum(axis=0)
    return float(np.mean(1.0 - ((true - guess) ** 2).sum(axis=0) / np.maximum(total, 1e-300)))


def rmse(a: np.ndarray, b: np.ndarray) -> float:
    """Root of the mean squared difference."""
    return float(np.sqrt(np.mean((a - b) ** 2)))


def mae(a: np.ndarray, b: np.ndarray) -> float:
    """Mean absolute difference."""
    return float(np.mean(np.abs(a - b)))


def of_who(a: np.ndarray, p_biased: np.ndarray) -> dict[str, float]:
    """How well P(A=1|data) (n,) tells who is biased, a (n,) in {0, 1}: accuracy and Brier score."""
    return {"accuracy": float(np.mean((p_biased > 0.5) == (a == 1.0))), "brier": rmse(p_biased, a) ** 2}


def of_latents(
    name: str, true: np.ndarray, recovered: np.ndarray, fitted: np.ndarray, held_out: np.ndarray
) -> dict[str, float]:
    """Permuted R2 and mean absolute errors of latents true (n, d), recovered (n, k) on held-out rows.

    NAME_mae is on the scale of the recovered latents, turned only, as the paper has it; NAME_mae_aligned
    on the true one.
    """
    how = align(true[fitted], recovered[fitted])
    t, f = true[held_out], recovered[held_out]
    return {
        f"r2_{name}": r2(t, how.apply(f), true[fitted].mean(axis=0)),
        f"{name}_mae": mae(t, how.turned(f)),
        f"{name}_mae_aligned": mae(t, how.apply(f)),
    }
