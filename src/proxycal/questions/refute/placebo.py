"""Is a bias still found when the proxies say nothing? They are shuffled among the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.questions.refute.refutation import BIAS_FOUND, MOSTLY, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray

    from proxycal.questions.refits import KeptFit, Refit, Trial


def trials(kept: KeptFit, repetitions: int) -> list[Trial]:
    """The rows with the proxies of other rows."""
    return [
        kept.trial(f"proxies shuffled, {i + 1}", replace(kept.arrays, P=shuffled(kept.arrays.P, rng)))
        for i, rng in enumerate(kept.streams(repetitions))
    ]


def shuffled(P: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
    """Proxies of other rows, each row's together: all they say of each other, nothing of the outcome."""
    return P[rng.permutation(len(P))]


def read(base: Refit, refits: Sequence[Refit]) -> Reading:
    """How often a bias is found all the same."""
    n = len(refits)
    share = sum(refit.verdict == BIAS_FOUND for refit in refits) / max(n, 1)
    ok = share <= 1.0 - MOSTLY
    statistic = f"a bias was found in {share:.0%} of {n} tables with shuffled proxies"
    if not ok:
        words = (
            f"With shuffled proxies a bias is still found in {share:.0%} of {n} tables: "
            "the verdict rests on the shape of the outcome, not on the proxies."
        )
    elif base.verdict == BIAS_FOUND:
        words = (
            f"With shuffled proxies a bias is found in {share:.0%} of {n} tables: "
            "the verdict depends on the proxies, as it should."
        )
    else:
        words = (
            "No bias was found in the table; with shuffled proxies one was found in "
            f"{share:.0%} of {n} tables."
        )
    return Reading(statistic, share, words, ok)
