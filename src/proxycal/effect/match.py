"""Matched effects: each row against the unbiased rows of nearest content.

    tau_i = y_i - mean y of the K nearest unbiased rows in content,  alpha = mean of tau over biased rows

Distances are Mahalanobis in z_hat, the only metric in which an affine change of z_hat changes nothing. Rows
of exactly equal content are one point, and K counts points: ties then need no arbitrary order, and a row
of weight 2 equals that row twice (weights are frequencies, in the error as well).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from proxycal.effect.match_error import abadie_imbens, by_cluster, control_variance
from proxycal.effect.nearest import ExactSearch, GraphSearch, Index, is_approximate, share_found
from proxycal.errors import SettingsError, TableError

# Rows per query: bounds the memory of the (rows, k, d) differences, whatever n is.
CHUNK = 20_000
# Rows, evenly spaced, whose exact matches an approximate search is compared with.
RECALL_ROWS = 500


@dataclass(frozen=True, slots=True)
class Whitening:
    """The map after which distances are Mahalanobis: (z - mean) @ transform.

    mean : (d,)
    transform : (d, r), r <= d directions that vary
    """

    mean: np.ndarray
    transform: np.ndarray

    def apply(self, z: np.ndarray) -> np.ndarray:
        """Whitened content (n, r)."""
        return (np.asarray(z, dtype=float) - self.mean) @ self.transform


@dataclass(frozen=True, slots=True)
class Controls:
    """The unbiased rows as the points that others are matched to; all that new rows need.

    z : (m, d) distinct contents, sorted
    mean_y, weight, rows : (m,) weighted mean outcome, weight and number of rows at each point
    position : (m,) the first row at each point, in the table that was matched
    slope : (d,) of the outcome on content among matched controls, for the bias adjustment (0 without)
    whitening : made from all rows
    k : points per match
    index : the search among the points, made when it is first needed
    """

    z: np.ndarray
    mean_y: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    position: np.ndarray
    slope: np.ndarray
    whitening: Whitening
    k: int
    index: Index = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.index is None:
            made = Index(self.z, self.whitening.mean, self.whitening.transform)
            object.__setattr__(self, "index", made)


@dataclass(frozen=True, slots=True)
class Matches:
    """Every row of a table and its matches.

    tau : (n,) signed difference of each row to its matches; an unbiased row is not matched to its own point.
        NaN, with n_matched 0, for unbiased rows when there is no other point
    n_matched : (n,) number of unbiased rows behind the difference
    neighbours : (n, k) position of each matched point (its first row), nearest first; -1 where fewer exist
    distances : (n, k) their Mahalanobis distances; NaN where fewer exist
    """

    tau: np.ndarray
    n_matched: np.ndarray
    neighbours: np.ndarray
    distances: np.ndarray


@dataclass(frozen=True, slots=True)
class MatchFit:
    """The matched estimate, and the matches of all n rows as in `Matches`.

    alpha : mean of tau over the biased rows, signed
    se : its standard error (Abadie-Imbens, or by cluster)
    tau, n_matched : (n,)
    neighbours, distances : (n, k)
    controls : what new rows are matched to
    n_biased, n_unbiased : numbers of rows
    note : empty, or what the reader should know
    recall : share of the exact matches that were found, 1 where the search is exact (see `nearest.py`); on a
        sample of the rows
    """

    alpha: float
    se: float
    tau: np.ndarray
    n_matched: np.ndarray
    neighbours: np.ndarray
    distances: np.ndarray
    controls: Controls
    n_biased: int
    n_unbiased: int
    note: str
    recall: float = 1.0


def whiten(z: np.ndarray, weights: np.ndarray | None = None) -> Whitening:
    """The whitening of z (n, d); directions without variance are dropped.

    >>> z = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 10.0], [2.0, 10.0]])
    >>> whiten(z).apply(z).std(axis=0).round(6).tolist()
    [1.0, 1.0]
    """
    z = np.asarray(z, dtype=float)
    w = np.ones(len(z)) if weights is None else np.asarray(weights, dtype=float)
    # Summed over sorted points, the last bits do not depend on the order of the rows; otherwise they would
    # decide between points that are equally near.
    z, where, _ = _distinct(z)
    w = np.bincount(where, weights=w)
    mean = w @ z / w.sum()
    centred = z - mean
    sd = np.sqrt(w @ centred**2 / w.sum())
    varies = np.where(sd > 1e-12 * np.maximum(np.abs(mean), 1e-300), sd, np.inf)
    scaled = centred / varies
    values, vectors = np.linalg.eigh(scaled.T @ (w[:, None] * scaled) / w.sum())
    keep = values > 1e-10
    if not keep.any():
        raise TableError("the content is the same for every row: there is nothing to match on.")
    return Whitening(mean, (vectors[:, keep] / np.sqrt(values[keep])) / varies[:, None])


def match_effect(
    y: np.ndarray,
    z_hat: np.ndarray,
    biased: np.ndarray,
    k: int = 5,
    weights: np.ndarray | None = None,
    cluster: np.ndarray | None = None,
    adjust: bool = True,
) -> MatchFit:
    """The effect on the biased rows by matching on content.

    y (n,), z_hat (n, d), biased (n,) mask, weights (n,) frequencies, cluster (n,) integer codes. `adjust`
    takes out what is left of content between a row and its matches (Abadie and Imbens 2011).

    >>> z = np.array([[0.0], [1.0], [0.1], [1.1]])
    >>> y, biased = np.array([0.0, 1.0, 5.0, 6.0]), np.array([False, False, True, True])
    >>> fit = match_effect(y, z, biased, k=1, adjust=False)
    >>> fit.alpha, fit.neighbours[2:, 0].tolist()
    (5.0, [0, 1])
    """
    y, z, biased, w, groups = _checked(y, z_hat, biased, weights, cluster, k)
    treated, control = np.flatnonzero(biased), np.flatnonzero(~biased)
    controls, where = _points(y, z, w, control, whiten(z, w), k)
    near, distances = _nearest(controls, z, ~biased, controls.index.search)
    use, square = _usage(controls, near[treated], w[treated])
    notes = []
    if adjust:
        gap = w[treated] @ z[treated] - (use * controls.weight) @ controls.z
        slope, use, note = _adjustment(controls, use, gap)
        controls = replace(controls, slope=slope)
        notes.append(note)
    if k > len(controls.z):
        notes.append(f"The unbiased rows have only {len(controls.z)} distinct contents, fewer than k = {k}.")
    recall = _recall(controls, z, ~biased, near)
    notes.append(_search_note(controls, recall))
    matches = _matches(controls, y, z, near, distances)
    alpha = float(np.average(matches.tau[treated], weights=w[treated]))
    if groups is None:
        sigma2 = control_variance(
            y[control], w[control], where, controls.weight, near[control], matches.tau[control]
        )
        extra = w[control] * np.maximum(use**2 - square, 0.0)[where]
        variance = abadie_imbens(matches.tau[treated] - alpha, w[treated], sigma2, extra)
    else:
        variance = by_cluster(y, z, w, biased, alpha, controls.slope, use[where], groups)
    return MatchFit(
        alpha=alpha,
        se=float(np.sqrt(variance)),
        tau=matches.tau,
        n_matched=matches.n_matched,
        neighbours=matches.neighbours,
        distances=matches.distances,
        controls=controls,
        n_biased=treated.size,
        n_unbiased=control.size,
        note=" ".join(note for note in notes if note),
        recall=recall,
    )


def match_new(controls: Controls, y: np.ndarray, z_hat: np.ndarray, biased: np.ndarray) -> Matches:
    """Match new rows, y (n,), z_hat (n, d), biased (n,), to the stored controls of a fit.

    Rows that are not biased are not matched to a control of exactly their own content, which may be
    themselves; so a table that was fitted gets the same answer again.

    >>> z = np.array([[0.0], [1.0], [0.1], [1.1]])
    >>> y, biased = np.array([0.0, 1.0, 5.0, 6.0]), np.array([False, False, True, True])
    >>> fit = match_effect(y, z, biased, k=1, adjust=False)
    >>> match_new(fit.controls, np.array([9.0]), np.array([[0.8]]), np.array([True])).tau.tolist()
    [8.0]
    """
    y, z, biased = np.asarray(y, dtype=float), np.asarray(z_hat, dtype=float), np.asarray(biased, dtype=bool)
    if z.ndim != 2 or z.shape[1] != controls.z.shape[1] or not len(y) == len(z) == len(biased):
        raise TableError(
            f"shapes do not fit: y {y.shape}, z_hat {z.shape}, biased {biased.shape}, "
            f"controls of {controls.z.shape[1]} content columns."
        )
    near, distances = _nearest(controls, z, ~biased, controls.index.search)
    return _matches(controls, y, z, near, distances)


def _points(
    y: np.ndarray, z: np.ndarray, w: np.ndarray, who: np.ndarray, whitening: Whitening, k: int
) -> tuple[Controls, np.ndarray]:
    """The rows `who` (m,) gathered into points of equal content, and the point (m,) of each of them."""
    points, where, first = _distinct(z[who])
    weight = np.bincount(where, weights=w[who])
    mean_y = np.bincount(where, weights=w[who] * y[who]) / weight
    none = np.zeros(z.shape[1])
    return Controls(points, mean_y, weight, np.bincount(where), who[first], none, whitening, k), where


def _distinct(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows (m, d) of z (n, d), sorted; which of them each row is (n,); each one's first row (m,)."""
    order = np.lexsort(z.T[::-1])
    ordered = z[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    where = np.empty(len(z), dtype=int)
    where[order] = np.cumsum(new) - 1
    # lexsort is stable, so the first in order is the first in the table.
    return ordered[new], where, order[new]


def _nearest(
    controls: Controls, z: np.ndarray, not_own: np.ndarray, search: ExactSearch | GraphSearch
) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, k) nearest to z (n, d), -1 where there are fewer, and distances (n, k), NaN there.

    Rows with `not_own` skip a point of exactly their own content.
    """
    k = controls.k
    ask = min(k + 1, len(controls.z))
    near, far = np.full((len(z), k), -1), np.full((len(z), k), np.nan)
    for start in range(0, len(z), CHUNK):
        rows = slice(start, start + CHUNK)
        found = search.nearest(controls.whitening.apply(z[rows]), ask)
        # Points are sorted by content, so equal distances are settled by content and not by row order; the
        # distances are taken anew because products of matrices lose the exact zero of a row's own point.
        found = np.sort(found, axis=1)
        distance = np.linalg.norm(
            (z[rows][:, None, :] - controls.z[found]) @ controls.whitening.transform, axis=2
        )
        own = not_own[rows, None] & (controls.z[found] == z[rows][:, None, :]).all(axis=2)
        distance = np.where(own | (found < 0), np.inf, distance)
        order = np.argsort(distance, axis=1, kind="stable")[:, :k]
        distance = np.take_along_axis(distance, order, axis=1)
        there = np.isfinite(distance)
        width = order.shape[1]
        near[rows, :width] = np.where(there, np.take_along_axis(found, order, axis=1), -1)
        far[rows, :width] = np.where(there, distance, np.nan)
    return near, far


def _recall(controls: Controls, z: np.ndarray, not_own: np.ndarray, near: np.ndarray) -> float:
    """Share of the exact matches of a sample of rows that are among the matches found, near (n, k)."""
    if isinstance(controls.index.search, ExactSearch):
        return 1.0
    sample = np.linspace(0, len(z) - 1, min(RECALL_ROWS, len(z))).astype(int)
    exact, _ = _nearest(controls, z[sample], not_own[sample], controls.index.exact)
    return share_found(near[sample], exact)


def _search_note(controls: Controls, recall: float) -> str:
    points, dimensions = len(controls.z), controls.whitening.transform.shape[1]
    if not is_approximate(points, dimensions):
        return ""
    if isinstance(controls.index.search, ExactSearch):
        return (
            f"Matches among {points:,} points in {dimensions} dimensions were searched exactly, which takes "
            "long: pip install 'proxycal[scale]' for an index."
        )
    return f"Matches were searched by an approximate index that finds {recall:.1%} of the nearest."


def _matches(
    controls: Controls, y: np.ndarray, z: np.ndarray, near: np.ndarray, distances: np.ndarray
) -> Matches:
    """Each row less the weighted mean of mean_y + slope'(z - z_point) over its points."""
    there = near >= 0
    weight = np.where(there, controls.weight[near], 0.0)
    total = weight.sum(axis=1)
    level = controls.mean_y - controls.z @ controls.slope
    imputed = np.where(there, level[near], 0.0)
    imputed = np.sum(weight * imputed, axis=1) / np.where(total > 0, total, np.nan) + z @ controls.slope
    return Matches(
        tau=y - imputed,
        n_matched=np.where(there, controls.rows[near], 0).sum(axis=1),
        neighbours=np.where(there, controls.position[near], -1),
        distances=distances,
    )


def _usage(controls: Controls, near: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Use of one unit of weight at each point by the biased rows: sums of w_i/W_i and of w_i/W_i^2."""
    there = near >= 0
    total = np.where(there, controls.weight[near], 0.0).sum(axis=1)
    m = len(controls.z)
    points, share = near[there], np.broadcast_to((w / total)[:, None], near.shape)[there]
    square = np.broadcast_to((w / total**2)[:, None], near.shape)[there]
    return np.bincount(points, weights=share, minlength=m), np.bincount(points, weights=square, minlength=m)


def _adjustment(controls: Controls, use: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Slope (d,) of y on content among the matched controls, and the use of each point with it counted.

    `gap` (d,) is the content that matching left between biased rows and their matches, summed. The estimate
    moves by -slope'gap, and the slope is linear in the outcomes of the controls, so that the adjustment is
    one more use of them; without it the standard error would be too small where matches are far.
    """
    weight = use * controls.weight
    flat = controls.whitening.apply(controls.z)
    if np.count_nonzero(weight) < flat.shape[1] + 2:
        note = (
            f"Only {np.count_nonzero(weight)} distinct controls were used, too few to adjust for the content "
            f"that is left in {flat.shape[1]} dimensions: the plain difference is given."
        )
        return np.zeros(controls.z.shape[1]), use, note
    X = np.column_stack([np.ones(len(flat)), flat])
    solve = np.linalg.pinv(X.T @ (weight[:, None] * X), hermitian=True)
    beta = solve @ (X.T @ (weight * controls.mean_y))
    transform = controls.whitening.transform
    direction = solve @ np.append(0.0, gap @ transform)
    return transform @ beta[1:], use * (1 + X @ direction), ""


def _checked(
    y: np.ndarray,
    z_hat: np.ndarray,
    biased: np.ndarray,
    weights: np.ndarray | None,
    cluster: np.ndarray | None,
    k: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise SettingsError(f"k={k!r}: use an integer of 1 or more matches per row.")
    y, z, biased = np.asarray(y, dtype=float), np.asarray(z_hat, dtype=float), np.asarray(biased, dtype=bool)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    if z.ndim != 2 or not len(y) == len(z) == len(biased) == len(w):
        raise TableError(
            f"shapes do not fit: y {y.shape}, z_hat {z.shape}, biased {biased.shape}, weights {w.shape}."
        )
    if not (np.isfinite(y).all() and np.isfinite(z).all() and np.isfinite(w).all() and (w > 0).all()):
        raise TableError(
            "matching needs finite y and z_hat, and weights above 0: drop or repair the other rows."
        )
    if biased.sum() < 2 or (~biased).sum() < 2:
        raise TableError(
            f"{int(biased.sum())} biased and {int((~biased).sum())} unbiased rows: matching needs 2 of each."
        )
    if cluster is None:
        return y, z, biased, w, None
    labels, groups = np.unique(np.asarray(cluster), return_inverse=True)
    if len(groups) != len(y) or labels.size < 2:
        raise TableError(
            f"{labels.size} clusters over {len(groups)} rows: give each row one of at least two."
        )
    return y, z, biased, w, groups
