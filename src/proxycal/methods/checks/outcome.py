"""What a method assumes of the outcome itself: normal noise, and content without a gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.checks.wald import solve
from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def normality(
    noise: Array,
    p_biased: Array,
    bias: Array,
    weights: Array,
    cluster: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """The p-value of normal noise, and its skewness; not knowing who is biased makes it more careful."""
    share = np.column_stack([1.0 - p_biased, p_biased]) * (weights / weights.sum())[:, None]
    r = np.column_stack([noise, noise - bias])
    r = r - float((share * r).sum())
    scale = float(np.sqrt((share * r**2).sum()))
    if not scale > 0.0:
        return 1.0, 0.0
    r = r / scale
    hermite = [(share * h).sum(axis=1) for h in (r**3 - 3.0 * r, r**4 - 6.0 * r**2 + 3.0)]
    statistic = 0.0
    for terms, variance in zip(hermite, (6.0, 24.0), strict=True):
        # What chance makes of the mean: by rows as under normal noise, more where clusters share it.
        spread = variance * float((share.sum(axis=1) ** 2).sum())
        if cluster is not None:
            sums, rows = float((np.bincount(cluster, terms) ** 2).sum()), float((terms**2).sum())
            spread *= max(sums / rows, 1.0) if rows > 0.0 else 1.0
        statistic += float(terms.sum()) ** 2 / spread
    return float(chi2_sf(statistic, 2)), float((share * r**3).sum())


def content_gap(content: Array, E: Array, weights: Array) -> tuple[float, float]:
    """Gap between the two groups of content, in sds within them, and what E explains of who is where.

    The cut is the one of least variance within; the gap lies between the 95% of the lower and the 5% of the
    upper group, so that a few rows between do not fill it. About 0.2 for normal content.
    """
    order = np.argsort(content, kind="stable")
    c, w = content[order], weights[order]
    below, sums, squares = np.cumsum(w), np.cumsum(w * c), np.cumsum(w * c * c)
    # Each group has a hundredth of the rows at least: a lone outlier is no group.
    inside = np.flatnonzero((below > 0.01 * below[-1]) & (below < 0.99 * below[-1]) & (c < c[-1]))
    if not len(inside) or not c[-1] > c[0]:
        return 0.0, 0.0
    n1, n2 = below[inside], below[-1] - below[inside]
    within = squares[-1] - sums[inside] ** 2 / n1 - (sums[-1] - sums[inside]) ** 2 / n2
    at = int(inside[np.argmin(within)])
    upper = content > c[at]
    sd = float(np.sqrt(max(float(within.min()) / below[-1], 1e-300)))
    gap = float(np.quantile(content[upper], 0.05) - np.quantile(content[~upper], 0.95)) / sd
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([np.ones(len(E)), E])
    target = upper.astype(float) - float(np.average(upper, weights=weights))
    left = target - design @ solve(design * root, target * root[:, 0])
    return gap, 1.0 - float(weights @ left**2) / float(weights @ target**2)
