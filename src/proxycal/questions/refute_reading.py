"""Attempts to break a finished fit: what is done to the arrays, and how the refits are read.

    null        the outcome drawn from the best model without a bias: how often, and how much, is found?
    placebo     proxies shuffled among the rows: whatever was found must go
    drop-proxy  one proxy less at a time: does a single one carry the answer?
    leak        a share of the bias added to one proxy: how much leaking would undo the verdict?
    seed        other seeds, and parts of the rows

The refits themselves are the caller's business; here are only arrays and numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KINDS = ("null", "placebo", "drop-proxy", "leak", "seed")
# Shares of the bias that a proxy might carry.
LEAKS = (0.1, 0.25, 0.5, 1.0)
# Share of the rows in a subsample.
PART = 0.8
# A verdict that survives, or falls, in this share of the repetitions is taken to do so.
MOSTLY = 0.9
FOUND = "bias found"
# Once a bias is claimed, the best model without one mostly is that bias in disguise.
LEFT_OUT = (
    "The tables come from the best model without a bias that cannot imitate one: models in which the "
    "environment chooses between components were left out, so this does not speak against those."
)


@dataclass(frozen=True, slots=True)
class Refit:
    """One fit of changed arrays: what was changed, and what came out (NaN where there is no answer).

    share : of the bias leaked, of the rows kept; NaN where the kind has none. gain : BIC gain of a bias, NaN
    for methods without a race. note : why there is no answer.
    """

    change: str
    share: float
    alpha: float
    se: float
    low: float
    high: float
    gain: float
    share_biased: float
    verdict: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the refits mean: one statistic, one number (or NaN), words, and whether the fit survived."""

    statistic: str
    value: float
    reading: str
    ok: bool


# --- what is done to the arrays ---


def shuffled(P: Array, rng: Generator) -> Array:
    """Proxies of other rows, each row's together: all they say of each other, nothing of the outcome."""
    return P[rng.permutation(len(P))]


def leaked(P: Array, columns: NDArray[np.intp], y: Array, share: float, size: float, a: Array) -> Array:
    """The proxies with `share` of a bias in the given columns.

    size : the bias in sds of the outcome, so that share = 1 moves a proxy by as many of its own sds as the
    report moved the outcome by its own. It moves the way the proxy goes with the outcome y.
    """
    out = P.copy()
    for k in columns.tolist():
        column = P[:, k]
        way = 1.0 if float((column - column.mean()) @ (y - y.mean())) >= 0.0 else -1.0
        out[:, k] = column + way * share * size * column.std() * a
    return out


def part_of(n: int, share: float, cluster: NDArray[np.int64] | None, rng: Generator) -> NDArray[np.intp]:
    """Sorted positions of a random part of the rows; clusters stay whole."""
    if cluster is None:
        return np.sort(rng.permutation(n)[: max(1, round(share * n))])
    codes = np.unique(cluster)
    chosen = rng.permutation(codes)[: max(1, round(share * len(codes)))]
    return np.flatnonzero(np.isin(cluster, chosen))


# --- how the refits are read ---


def read_null(base: Refit, refits: Sequence[Refit]) -> Reading:
    """p-value of what was found among tables drawn without a bias."""
    raced = math.isfinite(base.gain)
    seen = base.gain if raced else base.alpha
    # A method that gives no size sees no bias; a fit that failed (its note says why) counts against.
    sizes = [0.0 if math.isnan(one.alpha) and not one.note else one.alpha for one in refits]
    p = p_value(seen, [one.gain for one in refits] if raced else sizes)
    alarms = sum(one.verdict == FOUND for one in refits)
    name = "the BIC gain of a bias" if raced else "alpha"
    statistic = f"p = {p:.2g} for {name}; a bias was claimed in {alarms} of {len(refits)} tables without one"
    # One alarm proves nothing, however few the tables.
    calm = alarms <= max(1.0, (1.0 - MOSTLY) * len(refits))
    typical = float(np.nanmedian(sizes)) if np.isfinite(sizes).any() else math.nan
    if base.verdict != FOUND:
        reading = "No bias was claimed, and tables without one look the same." if calm else _noisy(typical)
        return Reading(statistic, p, reading, calm)
    beyond = p <= max(0.05, 1.0 / (len(refits) + 1))
    if not beyond:
        reading = "Tables without any bias show as much: do not act on this estimate."
    elif not calm:
        reading = _noisy(typical)
    else:
        reading = "What was found is beyond anything that tables without a bias show."
    return Reading(statistic, p, f"{reading} {LEFT_OUT}", beyond and calm)


def _noisy(typical: float) -> str:
    return (
        "On tables like this one the method claims a bias where there is none (typical alpha there: "
        f"{typical:.3g}): its verdict is not to be trusted here."
    )


def p_value(seen: float, drawn: Sequence[float]) -> float:
    """Share of draws, the table itself among them, that reach what was seen.

    >>> p_value(3.0, [1.0, 2.0, 5.0])
    0.5
    """
    return (1 + sum(not one < seen for one in drawn)) / (1 + len(drawn))


def read_placebo(base: Refit, refits: Sequence[Refit]) -> Reading:
    """Without working proxies nothing may be found."""
    kept = sum(one.verdict == FOUND for one in refits) / max(len(refits), 1)
    ok = kept <= 1.0 - MOSTLY
    statistic = f"a bias was claimed in {kept:.0%} of {len(refits)} tables with shuffled proxies"
    if not ok:
        reading = (
            "A bias is claimed although the proxies say nothing: it rests on the shape of the outcome alone."
        )
    elif base.verdict == FOUND:
        reading = "The claim falls when the proxies are shuffled, as it must: it does rest on them."
    else:
        reading = "No bias was claimed, and none is with shuffled proxies."
    return Reading(statistic, kept, reading, ok)


def read_drop(base: Refit, refits: Sequence[Refit]) -> Reading:
    """Which proxy moves the answer most when it is left out."""
    moved = [_moved(base, one) for one in refits]
    worst = int(np.argmax(moved))
    turned = [one.change for one in refits if one.verdict != base.verdict]
    statistic = f"alpha moves most {refits[worst].change}: {base.alpha:.4g} to {refits[worst].alpha:.4g}"
    if base.verdict == FOUND and turned:
        return Reading(
            statistic,
            moved[worst],
            f"The verdict is another {_listed(turned)}: it rests on that proxy, so ask whether it "
            "may see the report.",
            False,
        )
    ok = base.verdict != FOUND or moved[worst] <= 3.0
    if not ok:
        reading = (
            f"The size is another {refits[worst].change} ({moved[worst]:.1f} standard errors): that proxy, "
            "or the others, may see the report."
        )
    elif base.verdict != FOUND:
        reading = "No bias was claimed." + (f" One is {_listed(turned)}." if turned else "")
    else:
        reading = "No single proxy carries the answer."
    return Reading(statistic, moved[worst], reading, ok)


def _moved(base: Refit, other: Refit) -> float:
    """How far alpha moved, in the larger of the two standard errors; 0 where there is nothing to compare."""
    error = float(np.nanmax([base.se, other.se, 0.0]))
    gap = abs(other.alpha - base.alpha)
    return gap / error if error > 0.0 and math.isfinite(gap) else 0.0


def _listed(changes: Sequence[str]) -> str:
    return ", ".join(changes[:3]) + (" and more" if len(changes) > 3 else "")


def read_leak(base: Refit, refits: Sequence[Refit]) -> Reading:
    """The smallest leak in any one proxy that undoes the verdict, and what a small leak does to alpha."""
    tip = tipping_point(base.verdict, [(one.share, one.verdict) for one in refits])
    first = min(one.share for one in refits)
    small = [one for one in refits if one.share == first]
    worst = max(small, key=lambda one: abs(one.alpha - base.alpha))
    change = (worst.alpha - base.alpha) / base.alpha if base.alpha > 0.0 else math.nan
    statistic = f"{worst.change}, alpha changes by {change:+.0%}"
    if math.isfinite(tip):
        reading = (
            f"The verdict changes once a proxy carries {tip:.0%} of the bias: be sure that none does, or as "
            "little."
        )
    else:
        reading = "The verdict stands even if a proxy carries all of the bias; its size need not."
    return Reading(statistic, tip, reading, not tip < 0.25)


def tipping_point(verdict: str, tried: Sequence[tuple[float, str]]) -> float:
    """The smallest share at which any verdict differs; NaN if none does.

    >>> tipping_point("bias found", [(0.1, "bias found"), (0.5, "not identified"), (1.0, "no bias found")])
    0.5
    """
    return min((share for share, other in tried if other != verdict), default=math.nan)


def read_seed(base: Refit, refits: Sequence[Refit]) -> Reading:
    """Same verdict, and a size that stays within its error."""
    same = sum(one.verdict == base.verdict for one in refits) / max(len(refits), 1)
    sizes = np.array([one.alpha for one in refits])
    spread = float(np.nanmax(np.abs(sizes - base.alpha))) if np.isfinite(sizes).any() else math.nan
    statistic = (
        f"same verdict in {same:.0%} of {len(refits)} refits; alpha within {spread:.3g} of {base.alpha:.4g}"
    )
    # 80% of the rows move an honest estimate by half a standard error: four are far out of line.
    wild = base.verdict == FOUND and math.isfinite(base.se) and spread > 4.0 * base.se
    if same < MOSTLY:
        reading = "The verdict depends on which rows and which seed were used: take it as not identified."
    elif wild:
        reading = (
            "The verdict holds, but alpha moves more than its standard error allows: a few rows drive it."
        )
    else:
        reading = "Other seeds and parts of the rows say the same."
    return Reading(statistic, same, reading, same >= MOSTLY and not wild)
