"""The error of all parameters together: those of the model, and those of the content that it took as known.

    theta = argmax l(theta; z(tau)) - penalty        z = score of content, tau its parameters
    V = H + S                                        influence_theta = V^-1 (s_i + D influence_tau)
    D = sum_i w_i d s_i / d z_i  d z_i / d tau       what the error of the content does to the equations

The covariance is the outer product of the influences by row or by cluster, and the prior's share S in the
place of what the data say nothing about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.likelihood import Sample, scores

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.engine.maximise import Maximum
    from proxycal.methods.rates.climb import Table

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Independent:
    """Which rows are independent. cluster : (n,) codes or None. counts : (n,) rows that each stands for."""

    cluster: np.ndarray | None = None
    counts: np.ndarray | None = None

    def products(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sum over rows or clusters of the outer products of weighted contributions (n, k)."""
        if self.cluster is not None:
            codes = np.unique(self.cluster, return_inverse=True)[1]
            order = np.argsort(codes, kind="stable")
            begin = np.searchsorted(codes[order], np.arange(codes.max() + 1))
            sums = np.add.reduceat((rows * weights[:, None])[order], begin, axis=0)
            groups = len(begin)
            return np.asarray(sums.T @ sums) * (groups / max(groups - 1, 1))
        # A row that stands for c equal ones, with a sampling weight, adds c times the square of that weight.
        own = weights**2 if self.counts is None else weights**2 / self.counts
        return np.asarray((rows.T * own) @ rows)


def joint_covariance(fit: Maximum, table: Table, content: Content, independent: Independent) -> np.ndarray:
    """Covariance of the model's parameters, then those of the content: (k + t, k + t)."""
    w = table.weights
    own = scores(fit.model, table.sample(fit.model), fit.theta)
    influence = content.influence(table.rows, w)
    through = _cross(fit, table, content)
    k = own.shape[1]
    # What one row alone says of a parameter, as a sum of validation does, does not vary about its maximum:
    # there the curvature says how well it is known.
    summed = "checked" in table.outcome
    both = np.hstack([influence @ through.T + (0.0 if summed else own), influence])
    middle = independent.products(both, w)
    if not summed:
        middle[:k, :k] += np.diag(fit.model.penalty(fit.ridges))
    turn = np.eye(len(middle))
    turn[:k, :k] = fit.covariance
    covariance = np.asarray(turn @ middle @ turn)
    if summed:
        covariance[:k, :k] += fit.covariance
    return covariance


def _cross(fit: Maximum, table: Table, content: Content) -> np.ndarray:
    """D (k, t)."""
    slopes = content.slopes(table.rows)
    total = np.zeros((fit.model.width, slopes.shape[2]))
    for kind in range(content.d):
        move = np.zeros(content.d)
        move[kind] = _STEP
        up, down = (_scores_at(fit, table, table.rows.m + by) for by in (move, -move))
        by_content = (up - down) / (2.0 * _STEP)
        total += by_content.T @ (slopes[:, kind] * table.weights[:, None])
    return total


def _scores_at(fit: Maximum, table: Table, m: np.ndarray) -> np.ndarray:
    sample = Sample.of(fit.model, table.rows.with_content(m), table.outcome, table.weights)
    return scores(fit.model, sample, fit.theta)
