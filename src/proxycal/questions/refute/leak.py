"""How much of the bias would a proxy have to carry to change the verdict? Shares of it are added to one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import SettingsError
from proxycal.methods.parts import outcome_of
from proxycal.methods.registry import METHODS
from proxycal.questions.refute.refutation import BIAS_FOUND, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.questions.refits import KeptFit, Refit, Trial

    Array = NDArray[np.float64]

# Shares of the bias that a proxy might carry, and how many proxies are tried, one at a time.
LEAKS = (0.1, 0.25, 0.5, 1.0)
LEAKING = 3
# A verdict that changes with a smaller share than this does not survive.
TOLERABLE = 0.25


def trials(kept: KeptFit, repetitions: int) -> list[Trial]:
    """The proxies that go with the outcome most, each at every share; none without a bias to leak."""
    if METHODS[kept.settings.method].family != "normal":
        raise SettingsError(
            f"refute('leak') does not apply to method='{kept.settings.method}': it adds a part of a measured "
            "number to a proxy; use 'placebo', 'drop-proxy' or 'seed'"
        )
    if kept.fit.verdict != BIAS_FOUND:
        return []
    arrays, alpha = kept.arrays, kept.fit.estimate.alpha
    p_biased = kept.fit.predict(arrays).p_biased
    a = (kept.streams(1)[0].random(arrays.n) < p_biased).astype(float)
    y = outcome_of(arrays) - kept.settings.sign * alpha * a
    size = kept.settings.sign * alpha / float(y.std())
    leaking = []
    for name in _strongest(arrays.P, y, arrays.proxy_source):
        columns = np.flatnonzero([source == name for source in arrays.proxy_source])
        for share in LEAKS:
            P = leaked(arrays.P, columns, y, share, size, a)
            change = f"with {share:.0%} of the bias in '{name}'"
            leaking.append(kept.trial(change, replace(arrays, P=P), share))
    return leaking


def _strongest(P: Array, y: Array, sources: Sequence[str]) -> list[str]:
    strength = np.abs([np.corrcoef(column, y)[0, 1] if column.std() > 0 else 0.0 for column in P.T])
    return list(dict.fromkeys(sources[k] for k in np.argsort(-strength)))[:LEAKING]


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


def read(base: Refit, refits: Sequence[Refit]) -> Reading:
    """The smallest leak in any one proxy that changes the verdict, and what a small leak does to alpha."""
    if not refits:
        words = f"The verdict is '{base.verdict}', so there is no bias to leak."
        return Reading(f"verdict: {base.verdict}", math.nan, words, True)
    tip = tipping_point(base.verdict, [(refit.share, refit.verdict) for refit in refits])
    shares = [refit.share for refit in refits]
    small = [refit for refit in refits if refit.share == min(shares)]
    worst = max(small, key=lambda refit: abs(refit.alpha - base.alpha))
    change = (worst.alpha - base.alpha) / base.alpha if base.alpha > 0.0 else math.nan
    if math.isfinite(tip):
        words = (
            f"The verdict changes once a proxy carries {tip:.0%} of the bias: "
            "make sure that no proxy carries that much."
        )
    else:
        words = (
            f"The verdict holds even if a proxy carries {max(shares):.0%} of the bias; "
            f"alpha changes by {change:+.0%} {worst.change}."
        )
    return Reading(f"alpha changes by {change:+.0%} {worst.change}", tip, words, not tip < TOLERABLE)


def tipping_point(verdict: str, tried: Sequence[tuple[float, str]]) -> float:
    """The smallest share at which any verdict differs; NaN if none does.

    >>> tipping_point("bias found", [(0.1, "bias found"), (0.5, "not identified"), (1.0, "no bias found")])
    0.5
    """
    return min((share for share, other in tried if other != verdict), default=math.nan)
