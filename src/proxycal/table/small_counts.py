"""Small whole numbers have no logarithm to work with.

The log of a count is a few values far apart: 1, 2 and 3 are 0, 0.69 and 1.10, and what lies between them
looks like a bias by a factor of two or three. Of unbiased counts fitted on the log scale a bias was claimed
in 3 of 30 tables of mean 3.7 and in 2 of 48 of mean 10, where nine rows of ten are below 20; in none of 192
tables of means 20 to 1,000, where up to two thirds are. A tenth is on the safe side of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.table.audited import Trouble
from proxycal.table.outcome_type import outcome_type
from proxycal.table.surface import choose
from proxycal.table.wording import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.audited import AuditTable

# Steps of the grid below which a value is small, and the share of small ones from which on there is no log.
SMALL, GOOD_PART = 20.0, 0.1


def small_share(y: NDArray[np.float64]) -> tuple[float, float]:
    """Share of the values above 0 that are below 20 steps of the grid that all lie on, and that step.

    (0, 0) where they lie on none, or some are negative. Whole numbers lie on one of step 1; losses in full
    thousands lie on one of 1,000.

    >>> small_share(np.array([0.0, 1.0, 2.0, 2.0, 25.0]))
    (0.75, 1.0)
    >>> small_share(np.array([0.5, 1.25, 3.1, 7.77]))
    (0.0, 0.0)
    """
    above = y[np.isfinite(y) & (y > 0.0)]
    if not len(above) or (y < 0.0).any():
        return 0.0, 0.0
    step = outcome_type(above).step or float((above == np.rint(above)).all())
    return (float(np.mean(above < SMALL * step)), step) if step else (0.0, 0.0)


def are_small_counts(y: NDArray[np.float64]) -> bool:
    """Whether a good part of the values (n,) is so few steps above 0 that logarithms would mislead.

    >>> r = np.random.default_rng(0)
    >>> are_small_counts(r.poisson(3.7, 500).astype(float)), are_small_counts(np.exp(r.normal(size=500)))
    (True, False)
    """
    return small_share(y)[0] >= GOOD_PART


def refuse_small_counts(y: NDArray[np.float64], name: str) -> None:
    """Raise where the log scale is asked of an outcome of small counts."""
    if are_small_counts(y):
        raise TableError(f"column {shown(name)} (outcome) {_what(y)}: {_why()}; {_advice(y)}")


def small_counts(table: AuditTable) -> list[Trouble]:
    """An outcome of small counts where the bias is a factor."""
    outcome = table.columns.get(table.roles.outcome)
    if outcome is None or outcome.numbers is None or not are_small_counts(outcome.numbers):
        return []
    advice = _advice(outcome.numbers)
    return [
        Trouble(
            f"column {shown(outcome.name)} {_what(outcome.numbers)}",
            f"{shown(outcome.name)} {_what(outcome.numbers)}: {_why()}.",
            f"{advice[0].upper()}{advice[1:]}.",
            small_share(outcome.numbers)[0],
            must_fix=True,
        )
    ]


def _what(y: NDArray[np.float64]) -> str:
    share, step = small_share(y)
    grid = "whole numbers" if step == 1.0 else f"multiples of {step:g}"
    return f"holds {grid}, {share:.0%} of those above 0 below {SMALL * step:g}"


def _advice(y: NDArray[np.float64]) -> str:
    linear = choose("scale", "linear")
    if small_share(y)[1] != 1.0:
        return linear
    return f"{linear}, and {choose('family', 'counts')} where it counts something: its bias is a share too"


def _why() -> str:
    return "on the log scale the gaps between such small numbers look like a bias"
