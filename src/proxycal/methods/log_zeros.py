"""The rows of zero of a table on the log scale: how many, and what the environment has to do with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.parts import outcome_of
from proxycal.result import Finding

if TYPE_CHECKING:
    from proxycal.methods.checks.zeros import ZeroTest
    from proxycal.table.encode import Arrays

# A pattern of zeros this unlikely without an effect of the environment is told.
ZEROS_P = 1e-3


@dataclass(frozen=True, slots=True)
class Zeros:
    """The rows that are immune: how many of n, and what the environment has to do with them.

    p : of "given the proxies, the environment says nothing of zeros"; NaN where it was not asked. column :
    the environment column that says most, higher : whether zeros are more common where it is higher.
    one_sided : validated rows where one of report and truth is zero and the other is not.
    """

    count: int
    n: int
    p: float
    column: str
    higher: bool
    one_sided: int

    def finding(self) -> Finding:
        """The share of zeros by environment, in words."""
        share = f"{self.count:,} of {self.n:,} reports are zero ({self.count / max(self.n, 1):.0%})"
        ok = not self.p < ZEROS_P and not self.one_sided
        immune = f"{share}: a factor cannot change them, so they stay zero and do not affect its size."
        where = f"'{self.column}' is {'higher' if self.higher else 'lower'}"
        if "=" in self.column:
            where = f"{self.column} is {'true' if self.higher else 'not true'}"
        if not self.count:
            reading = f"None of {self.n:,} reports is zero."
        elif self.p < ZEROS_P:
            reading = (
                f"Reports of zero are more common where {where}, beyond what the proxies explain "
                f"(p = {self.p:.2g}): some cases there may not be reported at all. {immune}"
            )
        else:
            tested = f" (p = {self.p:.2g})" if math.isfinite(self.p) else ""
            reading = f"{immune} The environment does not predict them beyond the proxies{tested}."
            reading = reading if tested else immune
        if self.one_sided:
            reading += (
                f" In {self.one_sided} validated rows one of report and truth is zero and the other is not, "
                "which no factor explains."
            )
        return Finding(
            question="Are reports of zero part of the bias?",
            statistic=share,
            reading=reading,
            remedy="Nothing to do."
            if ok
            else "Calibration does not add what was never reported: ask for the missing reports there.",
            ok=ok,
            topic="zeros",
            value=self.p if math.isfinite(self.p) else None,
        )


def zeros_of(test: ZeroTest, arrays: Arrays, count: int, n: int) -> Zeros:
    """What a test of the zeros among arrays says; count of n rows are zero in the whole table."""
    one_sided = 0
    if arrays.truth is not None:
        known = np.isfinite(arrays.truth)
        one_sided = int(((outcome_of(arrays) > 0.0) != (arrays.truth > 0.0))[known].sum())
    return Zeros(count, n, test.p, arrays.environment_names[test.column], test.slope > 0.0, one_sided)
