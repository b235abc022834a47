"""What kind of outcome a table has: a number, a count, or a yes and no.

Counts are whole numbers from 0, small enough that their size decides how they vary: one row in fifty or more
is 0, and of the others half are at most 20. A rating stops where its scale ends; a count goes on: the largest
is three times the mean or more. Larger counts are as good as measured numbers, and a bias that is added to
them stays a number. Yes and no are True and False, 0 and 1, or words for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from proxycal.table.wording import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.columns import Column

Family = Literal["normal", "counts", "binary"]

# Of counts: least share of zeros, largest median of the others, and how far the largest is above the mean.
LEAST_ZEROS, SMALL_MEDIAN, TAIL = 0.02, 20.0, 3.0
YES, NO = ("yes", "y", "true", "1"), ("no", "n", "false", "0")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A kind of outcome, and why it was taken, as a clause about the column."""

    family: Family
    why: str


def recognised(y: NDArray[np.float64], name: str) -> Recognised:
    """The kind of the outcomes y (n,) of a column.

    >>> recognised(np.array([0.0, 1.0, 1.0, 0.0]), "voted").family
    'binary'
    >>> recognised(np.random.default_rng(0).poisson(2.0, 500).astype(float), "cases").family
    'counts'
    >>> recognised(np.array([1.0, 2.0, 3.0, 4.0, 5.0] * 20), "rating").family
    'normal'
    """
    seen = y[np.isfinite(y)]
    if len(seen) and np.isin(seen, (0.0, 1.0)).all():
        return Recognised("binary", f"{shown(name)} holds two values, no and yes (0 and 1)")
    whole = len(seen) > 0 and bool((seen >= 0.0).all() and (seen == np.rint(seen)).all())
    if not whole:
        return Recognised("normal", f"{shown(name)} holds measured numbers")
    zeros, above = float(np.mean(seen == 0.0)), seen[seen > 0.0]
    small = len(above) > 0 and float(np.median(above)) <= SMALL_MEDIAN
    goes_on = float(seen.max()) >= TAIL * float(seen.mean())
    if zeros >= LEAST_ZEROS and small and goes_on and len(np.unique(seen)) > 2:
        return Recognised(
            "counts",
            f"{shown(name)} holds whole numbers from 0 to {seen.max():g}, {zeros:.0%} of them 0 and half of "
            "the "
            f"others at most {np.median(above):g}",
        )
    return Recognised("normal", f"{shown(name)} holds whole numbers, but not small counts from 0")


def yes_no(column: Column) -> NDArray[np.float64] | None:
    """Words for yes and no as 1 and 0 (n,), NaN where missing; None where a column holds anything else.

    >>> from proxycal.table.columns import Column
    >>> codes = np.array([0, 1, -1])
    >>> yes_no(Column("x", "text", codes < 0, codes=codes, levels=("No", "Yes")))
    array([ 0.,  1., nan])
    """
    if column.codes is None or not column.levels:
        return None
    words = [level.strip().lower() for level in column.levels]
    if not all(word in YES + NO for word in words):
        return None
    values = np.array([float(word in YES) for word in words] + [np.nan])
    return np.asarray(np.where(column.missing, np.nan, values[column.codes]))
