"""Draws of the truth by what validated rows show: a regression of their truth, its error drawn with it.

    truth = value + b0 + b1 value + c' columns + scale e       fitted on the validated rows, out of fold
    b* ~ N(b, cov),  e* an error of a validated row             drawn for each completed table

The combined answer `value` predicts well and is not made for slopes: it is drawn towards the mean, and may
miss what a column says. The regression puts back what the validated rows show of every column that will stand
in an analysis, so that slopes of completed tables are those of the truth; its coefficients are drawn, since
few validated rows know them roughly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.effect.draws import Draws

    Array = NDArray[np.float64]

# Validated rows for each coefficient: columns for which there are fewer are left out. With 10, fits with
# fewer than 90 validated rows had slopes off by 1 to 3%, which are gone with 6 (40 tables of bench after).
ROWS_PER_COLUMN = 6
_STREAM = 2_000_003


def draw_by_validated(
    value: Array,
    scale: Array,
    columns: tuple[Array, ...],
    truth: Array,
    weights: Array,
    draws: Draws,
    places: NDArray[np.intp],
) -> Array:
    """The truth (m, n) of n rows.

    value, scale : (n,) the answers and their spread, out of fold where validated. columns : groups of further
    columns, (n, q) each, the most wanted first; a group is taken if there are rows enough. truth : (n,), NaN
    where not validated. weights : (n,) of the validated rows.
    """
    known = np.flatnonzero(np.isfinite(truth))
    design = [np.ones((len(value), 1)), value[:, None]]
    for group in columns:
        whole = np.where(np.isfinite(group), group, np.nanmean(group, axis=0))
        if len(known) >= ROWS_PER_COLUMN * (sum(part.shape[1] for part in design) + whole.shape[1]):
            design.append(whole)
    x = _independent(np.hstack(design), known)
    # Errors are as wide as the answers are doubtful.
    precision = np.sqrt(weights[known] / weights[known].mean())
    scaled = x[known] / scale[known, None]
    target = (truth - value)[known] / scale[known]
    left = scaled * precision[:, None]
    bread = np.linalg.pinv(left.T @ left)
    beta = bread @ (left.T @ (target * precision))
    rest = target - scaled @ beta
    n, k = scaled.shape
    meat = left * (rest * precision)[:, None]
    cov = bread @ (meat.T @ meat) @ bread * (n / (n - k))
    values, vectors = np.linalg.eigh(0.5 * (cov + cov.T))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    rng = np.random.default_rng([draws.seed, _STREAM])
    drawn = beta + rng.standard_normal((draws.m, k)) @ root
    chance = np.cumsum(weights[known]) / weights[known].sum()
    uniforms = draws.uniforms(places)[:, 0]
    made = np.empty((draws.m, len(value)))
    for i in range(draws.m):
        # Which errors there are is drawn too: the validated rows are a sample of them.
        kept = rest[np.minimum(np.searchsorted(chance, rng.random(n)), n - 1)]
        kept = (kept - kept.mean()) * np.sqrt(n / (n - k))
        error = kept[np.minimum((uniforms[i] * n).astype(np.intp), n - 1)]
        made[i] = value + x @ drawn[i] + scale * error
    return made


def _independent(x: Array, known: NDArray[np.intp]) -> Array:
    """Columns in units of the validated rows, without those that others among them already say."""
    seen = x[known]
    sd = np.where(seen.std(axis=0) > 0.0, seen.std(axis=0), 1.0)
    sd[0] = 1.0
    scaled = x / sd
    kept: list[int] = []
    basis = np.empty((len(known), 0))
    for j in range(x.shape[1]):
        column = scaled[known, j]
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > 1e-6 * np.sqrt(len(known)):
            kept.append(j)
            basis = np.column_stack([basis, rest / length])
    return np.asarray(scaled[:, kept])
