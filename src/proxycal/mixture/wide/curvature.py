"""How the likelihood of a wider model bends in each parameter: what its first steps are measured by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.wide.law import Layout
    from proxycal.mixture.wide.likelihood import Likelihood, Seen

    Array = NDArray[np.float64]

# Part of the curvature of rows whose cells are known that every parameter keeps: squared scores may be tiny.
KEPT = 0.05
# Curvature of a log odds, by row.
OF_ODDS = 0.2


def curvature(likelihood: Likelihood, theta: Array, seen: Seen) -> Array:
    """A guess of the second derivatives of minus the log likelihood, (k,), all above zero.

    seen : what the rows say at theta. Sums of squared scores where they are short to write, and elsewhere
    what known cells would give. Columns are orthonormal, so that parameters hardly share any of it.
    """
    at, n = likelihood.at, likelihood.problem.n
    bend = np.full(at.size, OF_ODDS * n)
    place = n * float(np.exp(-2.0 * theta[at.log_sigma].min()))
    for part in (at.b, at.d, at.k, at.alpha, at.delta):
        bend[part] = place
    bend[at.log_sigma] = bend[at.tau] = 2.0 * n
    kept = KEPT * bend
    _put_scores(bend, likelihood, seen, at)
    return bend + kept


def _put_scores(bend: Array, likelihood: Likelihood, seen: Seen, at: Layout) -> None:
    """Put sums of squared scores in place, one block of parameters after the other."""
    law, rows, cells = likelihood.law, likelihood.problem, seen.cells
    r, off, inverse = seen.r * rows.weights, rows.y - cells.mean, 1.0 / cells.variance
    by_mean = r * off * inverse
    by_log_sd = r * (off * off * inverse - 1.0)
    bend[at.b] = by_mean.sum(axis=(0, 1)) ** 2 @ rows.X**2
    own_part = by_log_sd * (cells.own / cells.variance)
    by_own, by_place, m_square = own_part.sum(axis=0), by_mean.sum(axis=0), rows.m**2
    bend[at.log_sigma] = (by_own**2).sum(axis=1)
    if law.skew:
        bend[at.log_skew] = bend[at.log_sigma]
        return
    if law.components > 1:
        scale = cells.scale[1:] if len(cells.scale) > 1 else cells.scale
        bend[at.d] = ((by_place[1:] * scale) ** 2).sum(axis=1)
        left = (r.sum(axis=0)[1:] - np.exp(cells.log_weight[1:]) * rows.weights) ** 2
        bend[at.c] = left.sum(axis=1)
        if law.weights_by_content:
            bend[at.v] = left @ m_square
        if law.own_slopes:
            bend[at.k] = by_place[1:] ** 2 @ m_square
    if likelihood.S is not None:
        by_scale = by_own + by_place * cells.place[:, None] * cells.scale
        if not law.scale_by_component:
            by_scale = by_scale.sum(axis=0, keepdims=True)
        bend[at.tau] = (by_scale**2 @ likelihood.S**2).ravel()
    if not law.states:
        return
    pulled, biased = by_mean[1:].sum(axis=1), r[1:].sum(axis=1)
    bend[at.alpha] = (pulled.sum(axis=0) ** 2).sum() if law.cv else (pulled**2).sum(axis=1)
    if law.by_content:
        bend[at.delta] = pulled.sum(axis=0) ** 2 @ m_square
    if law.gate != "E y" and cells.log_gate is not None and likelihood.G is not None:
        opened = np.exp(cells.log_gate[1:]) * rows.weights
        # One gate may open to several sizes.
        biased = biased if len(biased) == len(opened) else biased.sum(axis=0, keepdims=True)
        bend[at.gamma] = ((biased - opened) ** 2 @ likelihood.G**2).ravel()
    if law.spread:
        bend[at.log_omega] = ((by_log_sd - own_part)[1:].sum(axis=1) ** 2).sum(axis=1)
