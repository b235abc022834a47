"""What a method takes for granted of the outcome itself: no direct road from E, normal noise, no gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

from proxycal.methods.checks.instruments import direct_p
from proxycal.methods.checks.wald import solve
from proxycal.result import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Chance of a false alarm of each test here: with three of them, far under one in a hundred together.
SURPRISING = 1e-3
# Gap between the 95% of one group and the 5% of another, in sds within: normal groups so far apart share a
# twentieth of their content. A single hump, however flat, shows 0.35 at most.
GAP = 0.6
# Share of who is in which group that the environment explains, from which on it tells them apart.
TOLD = 0.5


def direct_environment(
    y_cal: Array,
    P: Array,
    E: Array,
    p_biased: Array,
    bias: float,
    se: float,
    weights: Array,
    modelled: bool,
    cluster: NDArray[np.int64] | None = None,
) -> Finding:
    """Whether E moves the true outcome other than through content: a robust Wald test.

    y_cal : outcome without its bias, each row by its probability. bias, se : alpha and its error, 0 where
    no bias is claimed.
    Noisy proxies leave some content to E, so some of them stand for content with the others as instruments.
    """
    p = direct_p(y_cal, P, E, p_biased, bias, se, weights, cluster)
    tested = np.isfinite(p)
    clean = not tested or p >= SURPRISING
    if not tested:
        reading = "It cannot be asked: that takes more proxies than content has sides, and a clear bias."
        remedy = "Nothing to do."
    elif clean:
        reading, remedy = "Not beyond what goes through content.", "Nothing to do."
    elif not bias:
        reading = "It does: by an effect of its own, or by a bias too small to be seen beside the noise."
        remedy = "Better proxies, or a few validated rows (role truth), would tell these apart."
    elif modelled:
        reading = "It does. The fitted model allows for it; the moments do not, so leave them aside."
        remedy = "Nothing to do."
    else:
        reading = "It does, and this method takes it for a bias that the environment drives."
        remedy = "Use method='exact', which lets the environment move the outcome."
    return Finding(
        question="Does the environment move the outcome itself?",
        statistic=f"Wald test beside instrumented content, p = {p:.2g}" if tested else "not tested",
        reading=reading,
        remedy=remedy,
        ok=clean or modelled,
        topic="direct",
        value=p if tested else None,
    )


def noise_shape(
    noise: Array,
    p_biased: Array,
    bias: Array,
    weights: Array,
    modelled: bool,
    cluster: NDArray[np.int64] | None = None,
) -> Finding:
    """Whether the noise is normal: skewness and kurtosis, over who may be biased (Jarque and Bera).

    noise : of each row if unbiased; bias : what it has less if biased, both in the outcome's units.
    modelled : whether the fitted shape has more than one normal component.
    """
    p, skew = normality(noise, p_biased, bias, weights, cluster)
    normal = p >= SURPRISING
    if normal:
        reading, remedy = "It is.", "Nothing to do."
    elif modelled:
        reading, remedy = "It is not, and the shape of the fitted model allows for it.", "Nothing to do."
    else:
        reading = "It is not: a skew or an outlier may pass for a bias, or hide one."
        remedy = "Try the logarithm of the outcome, or compare with method='exact', which races shapes."
    return Finding(
        question="Is the noise normal?",
        statistic=f"skewness {skew:.2f}; skewness and kurtosis together, p = {p:.2g}",
        reading=reading,
        remedy=remedy,
        ok=normal or modelled,
        topic="shape",
        value=p,
    )


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
    return float(chi2.sf(statistic, 2)), float((share * r**3).sum())


def gap_in_content(content: Array, E: Array, weights: Array) -> Finding:
    """Whether content falls into two groups with nothing between, which the environment tells apart.

    A bias that one of them has is then as well a part of its content, and the reverse.
    """
    apart, told = content_gap(content, E, weights)
    ok = apart < GAP or told < TOLD
    return Finding(
        question="Is there content between the groups that the environment makes?",
        statistic=f"gap of {apart:.2f} sds within groups; E explains {told:.0%} of who is where",
        reading=(
            "No two groups of content stand apart by environment."
            if ok
            else "There is none: a bias of one group cannot be told from its content, so neither a bias nor "
            "the lack of one is shown by these rows."
        ),
        remedy="Nothing to do." if ok else "Fit each group alone, or add rows with content in between.",
        ok=ok,
        topic="gap",
        value=apart,
    )


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
