"""Further assumptions of a finished fit, each one question put to arrays.

A row's bias is known as p_biased = P(A=1|data) only; every test here holds for probabilities as for labels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from scipy.stats import t as t_distribution

from proxycal.methods.checks.instruments import any_moved
from proxycal.methods.checks.wald import meat, wald_p
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Chance of a false alarm of the test of the noise, and of those of all proxies together. The latter is low:
# an outcome that the model does not quite fit lets p_biased go a little with the proxies.
UNEVEN, SEES = 1e-3, 1e-5
# BIC gain from which a proxy, taken as an outcome, has a bias of its own; curved proxies reach a little.
OWN_BIAS = 15.0
# Standard errors by which one row, or cluster, moves alpha. A wild one widens the error too: 1 is the most.
HEAVY_ROW, HEAVY_CLUSTER = 0.7, 0.8
# Models this close in BIC to the best explain the table about as well.
CLOSE = 6.0


def exclusion(
    P: Array,
    names: Sequence[str],
    E: Array,
    p_biased: Array,
    gains: Array,
    moved: Array,
    weights: Array,
    cluster: NDArray[np.int64] | None = None,
) -> Finding:
    """Whether a proxy sees the report; the most suspicious one by name.

    Three looks at each. Given the environment and the other proxies, a clean one does not depend on who is
    biased. Taken as an outcome, with the others as its proxies, it has no bias of its own: gains (p,), the
    BIC gain of one. And the environment moves it through content only: moved (p,), p-values. The last two,
    NaN where not tried, need no p_biased, which a large leak spoils; the last cannot say which proxy it is.
    """
    ones = np.ones((len(P), 1))
    tests = []
    for k in range(P.shape[1]):
        controls = np.hstack([ones, E, E**2, np.delete(P, k, axis=1)])
        tests.append(slope_test(P[:, k], p_biased, controls, weights, cluster)[1])
    t, gain = np.abs(tests), np.nan_to_num(gains, nan=-np.inf)
    beyond = norm.sf(t.max()) if cluster is None else t_distribution.sf(t.max(), len(np.unique(cluster)) - 1)
    sees = min(2.0 * float(beyond) * len(t), 1.0)
    some = any_moved(moved)
    own = gain.max() > OWN_BIAS
    worst = int(np.argmax(gain)) if own else int(np.argmax(t))
    named = own or sees < SEES
    ok = not named and not some < SEES
    reading, remedy = _exclusion_words(names[worst], named, ok)
    return Finding(
        question="Do the proxies see the report?",
        statistic=f"most suspicious: '{names[worst]}', t = {t[worst]:.1f} for who is biased"
        + (f", BIC gain of a bias of its own {gain[worst]:.1f}" if np.isfinite(gain[worst]) else "")
        + (f"; any of them moved by the environment, p = {some:.2g}" if np.isfinite(some) else ""),
        reading=reading,
        remedy=remedy,
        ok=ok,
        topic="exclusion",
        value=float(np.fmin(sees, some)),
    )


def _exclusion_words(name: str, named: bool, ok: bool) -> tuple[str, str]:
    if ok:
        return (
            "No proxy goes with the bias beyond what the environment and the other proxies say.",
            "Nothing to do.",
        )
    wrong = "and alpha, or that no bias was found, is then off."
    if named:
        return (
            f"'{name}' goes with the bias: it may carry a part of it, {wrong}",
            f"Leave '{name}' out and fit again; refute('drop-proxy') compares.",
        )
    return (
        f"The environment moves some proxy beyond content: it may carry a part of the bias, {wrong}",
        "refute('drop-proxy') says without which of them the answer is another.",
    )


def slope_test(
    target: Array, regressor: Array, controls: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> tuple[float, float]:
    """Slope of the target on the regressor given the controls, and its t by a (cluster-)robust error."""
    root = np.sqrt(weights)[:, None]
    both = np.column_stack([target, regressor])
    both = both - controls @ np.linalg.lstsq(controls * root, both * root, rcond=None)[0]
    y, x = both.T
    scale = float(weights @ x**2)
    if not scale > 1e-10 * float(weights.sum()):
        return 0.0, 0.0
    slope = float((weights * x) @ y) / scale
    scores = weights * x * (y - slope * x)
    if cluster is not None:
        scores = np.bincount(cluster, scores)
    error = math.sqrt(float(scores @ scores)) / scale
    return slope, slope / error if error > 0.0 else 0.0


def even_noise(
    square: Array,
    E: Array,
    weights: Array,
    modelled: bool,
    cluster: NDArray[np.int64] | None = None,
) -> Finding:
    """Whether the noise is as large in every environment: its size on E, a robust Wald test.

    square : expected squared noise of each row; its root is tested (Glejser), as large squares blind a test.

    modelled : whether the fitted shape lets the noise differ, by E or by component.
    """
    root = np.sqrt(weights)[:, None]
    # The intercept first, so that what is left are the slopes.
    centred = E - np.average(E, axis=0, weights=weights)
    size = np.sqrt(square)
    target = size - float(np.average(size, weights=weights))
    slopes = np.linalg.lstsq(centred * root, target * root[:, 0], rcond=None)[0]
    bread = np.linalg.pinv(centred.T @ (centred * weights[:, None]), hermitian=True)
    middle = meat(centred * (weights * (target - centred @ slopes))[:, None], cluster)
    p = wald_p(np.asarray(slopes), bread @ middle @ bread, cluster)
    even = p >= UNEVEN
    if even:
        reading, remedy = "It is.", "Nothing to do."
    elif modelled:
        reading, remedy = "It is not, and the shape of the fitted model allows for it.", "Nothing to do."
    else:
        reading = "It is not: where the noise is larger, p_biased is surer than it should be."
        remedy = "Try the logarithm of the outcome, or compare with method='moments'."
    return Finding(
        question="Is the noise as large in every environment?",
        statistic=f"Wald test of the size of the noise on the environment, p = {p:.2g}",
        reading=reading,
        remedy=remedy,
        ok=even or modelled,
        topic="heteroscedasticity",
        value=p,
    )


def leverage(
    y: Array, P: Array, E: Array, p_biased: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> Finding:
    """How far one row, or cluster, moves the difference of biased and unbiased rows of like content."""
    influence, se = row_influence(y, np.column_stack([np.ones(len(y)), P, E]), p_biased, weights, cluster)
    rows = np.abs(influence) / se if se > 0.0 else np.zeros(len(y))
    what, most, heavy = "row", float(rows.max()), HEAVY_ROW
    if cluster is not None:
        sums = np.abs(np.bincount(cluster, influence)) / se if se > 0.0 else np.zeros(1)
        if sums.max() / HEAVY_CLUSTER > most / HEAVY_ROW:
            what, most, heavy = "cluster", float(sums.max()), HEAVY_CLUSTER
    ok = most <= heavy
    return Finding(
        question="Does a single row or cluster carry the answer?",
        statistic=f"the heaviest {what} moves alpha by {most:.2f} standard errors",
        reading="None does." if ok else f"One {what} does: without it alpha would be another.",
        remedy="Nothing to do." if ok else f"Look at that {what}; refute('seed') shows how alpha moves.",
        ok=ok,
        topic="leverage",
        value=most,
    )


def row_influence(
    y: Array, X: Array, p_biased: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> tuple[Array, float]:
    """What each row adds to the slope of y on p_biased given X, (n,), and the slope's robust error.

    Frisch-Waugh: slope = sum w v y / sum w v^2 with v what X leaves of p_biased; leaving row i out moves it
    by w v e / (sum w v^2 (1 - h)), h the row's leverage in v.
    """
    root = np.sqrt(weights)[:, None]
    both = np.column_stack([y, p_biased])
    both = both - X @ np.linalg.lstsq(X * root, both * root, rcond=None)[0]
    u, v = both.T
    scale = float(weights @ v**2)
    if not scale > 1e-10 * float(weights.sum()):
        return np.zeros(len(y)), 0.0
    e = u - v * float((weights * v) @ u) / scale
    scores = weights * v * e / scale
    grouped = scores if cluster is None else np.bincount(cluster, scores)
    h = np.minimum(weights * v**2 / scale, 0.999)
    return scores / (1.0 - h), math.sqrt(float(grouped @ grouped))


def agreement_of_models(models: Sequence[tuple[float, float]], se: float) -> Finding:
    """Whether the models with a bias that fit about as well name the same size; models: (bic, alpha)."""
    best = min(bic for bic, _ in models)
    close = [alpha for bic, alpha in models if bic <= best + CLOSE]
    main = next(alpha for bic, alpha in models if bic == best)
    gap = max(abs(alpha - main) for alpha in close)
    ok = gap <= max(3.0 * se, 0.1 * abs(main))
    return Finding(
        question="Do all starts and shapes lead to the same size?",
        statistic=f"{len(close)} of {len(models)} models fit alike, alpha within {gap:.3g} of {main:.4g}",
        reading="They do."
        if ok
        else "Models that fit alike name other sizes: alpha is less sure than its error says.",
        remedy="Nothing to do." if ok else "More rows or better proxies would decide between them.",
        ok=ok,
        topic="starts",
        value=gap,
    )


def multiplicity(findings: Sequence[Finding]) -> Finding:
    """How many checks were made, since one of many may fail by luck."""
    failed = sum(not one.ok for one in findings)
    return Finding(
        question="How many questions were asked?",
        statistic=f"{failed} of {len(findings)} checks ask for attention",
        reading="With this many questions one may fail by luck; several that point the same way do not.",
        remedy="Read those that failed together, the verdict's reasons first.",
        ok=True,
        topic="multiplicity",
        value=float(failed),
    )
