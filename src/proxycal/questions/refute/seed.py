"""Do other seeds, and parts of the rows, give the same result? The fit is repeated with each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from proxycal.questions.refute.refutation import BIAS_FOUND, MOSTLY, Reading
from proxycal.table.training import take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from proxycal.questions.refits import KeptFit, Refit, Trial

# Refits with another seed; the others are fits of a part of the rows.
SEEDS = 3
PART = 0.8
# 80% of the rows move an honest estimate by half a standard error: four are far out of line.
WILD = 4.0


def trials(kept: KeptFit, repetitions: int) -> list[Trial]:
    """The same rows with other seeds, and parts of the rows with the same seed."""
    arrays, first = kept.arrays, kept.settings.random_state
    seeds = min(SEEDS, repetitions - 1)
    reseeded = [
        kept.trial(f"seed {seed}", arrays, random_state=seed) for seed in range(first + 1, first + seeds + 1)
    ]
    parts = [
        kept.trial(
            f"part {i + 1} of the rows", take(arrays, part_of(arrays.n, PART, arrays.cluster, rng)), PART
        )
        for i, rng in enumerate(kept.streams(repetitions - seeds))
    ]
    return reseeded + parts


def part_of(n: int, share: float, cluster: NDArray[np.int64] | None, rng: Generator) -> NDArray[np.intp]:
    """Sorted positions of a random part of the rows; clusters stay whole."""
    if cluster is None:
        return np.sort(rng.permutation(n)[: max(1, round(share * n))])
    codes = np.unique(cluster)
    chosen = rng.permutation(codes)[: max(1, round(share * len(codes)))]
    return np.flatnonzero(np.isin(cluster, chosen))


def read(base: Refit, refits: Sequence[Refit]) -> Reading:
    """Same verdict, and a size that stays within its error."""
    n = len(refits)
    same = sum(refit.verdict == base.verdict for refit in refits) / max(n, 1)
    sizes = np.array([refit.alpha for refit in refits])
    spread = float(np.nanmax(np.abs(sizes - base.alpha))) if np.isfinite(sizes).any() else math.nan
    statistic = f"same verdict in {same:.0%} of {n} refits; alpha within {spread:.3g} of {base.alpha:.4g}"
    wild = base.verdict == BIAS_FOUND and math.isfinite(base.se) and spread > WILD * base.se
    if same < MOSTLY:
        words = (
            f"Only {same:.0%} of {n} refits with other seeds and parts of the rows give the same verdict: "
            "treat it as not identified."
        )
    elif wild:
        words = (
            f"The verdict holds, but alpha moves by up to {spread:.3g} (standard error {base.se:.3g}): "
            "a few rows drive it."
        )
    else:
        words = f"{same:.0%} of {n} refits with other seeds and parts of the rows give the same verdict."
    return Reading(statistic, same, words, same >= MOSTLY and not wild)
