"""Does the result depend on a single proxy? Each is left out in turn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.questions.refute.refutation import BIAS_FOUND, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.questions.refits import KeptFit, Refit, Trial
    from proxycal.table.encode import Arrays

# Standard errors by which alpha may change without a proxy.
STEADY = 3.0


def trials(kept: KeptFit, repetitions: int) -> list[Trial]:
    """The rows without each of the proxies in turn, however many repetitions were asked for."""
    proxies = list(dict.fromkeys(kept.arrays.proxy_source))
    if len(proxies) < 2:
        raise TableError("refute('drop-proxy') needs two proxies or more: this fit has one, so none can go")
    return [kept.trial(f"without '{name}'", without(kept.arrays, name)) for name in proxies]


def without(arrays: Arrays, proxy: str) -> Arrays:
    """The arrays without the columns of one proxy."""
    stays = [k for k, source in enumerate(arrays.proxy_source) if source != proxy]
    return replace(
        arrays,
        P=arrays.P[:, stays],
        proxy_names=tuple(arrays.proxy_names[k] for k in stays),
        proxy_source=tuple(arrays.proxy_source[k] for k in stays),
        proxy_categorical=tuple(arrays.proxy_categorical[k] for k in stays),
    )


def read(base: Refit, refits: Sequence[Refit]) -> Reading:
    """Which proxy changes the result most when it is left out."""
    moved = [_moved(base, refit) for refit in refits]
    worst = int(np.argmax(moved))
    most, change = moved[worst], refits[worst].change
    turned = [refit.change for refit in refits if refit.verdict != base.verdict]
    statistic = f"alpha changes most {change}: {base.alpha:#.3g} to {refits[worst].alpha:#.3g}"
    if base.verdict != BIAS_FOUND:
        words = f"The verdict with all proxies is '{base.verdict}'"
        words += (
            f"; it changes {_listed(turned)}." if turned else ", and stays the same without any single one."
        )
        return Reading(statistic, most, words, True)
    if turned:
        words = f"The verdict changes {_listed(turned)}. Check that no proxy can see the report."
    elif most > STEADY:
        words = (
            f"alpha changes by {most:.1f} standard errors {change}: "
            "that proxy, or the others, may see the report."
        )
    else:
        words = (
            f"No single proxy decides the result: without one of them alpha changes by at most {most:.1f} "
            "standard errors."
        )
    return Reading(statistic, most, words, not turned and most <= STEADY)


def _moved(base: Refit, other: Refit) -> float:
    """How far alpha moved, in the larger of the two standard errors; 0 where there is nothing to compare."""
    error = float(np.nanmax([base.se, other.se, 0.0]))
    gap = abs(other.alpha - base.alpha)
    return gap / error if error > 0.0 and math.isfinite(gap) else 0.0


def _listed(changes: Sequence[str]) -> str:
    return ", ".join(changes[:3]) + (" and more" if len(changes) > 3 else "")
