"""What the county maps show: by how much calibration raises a report, in all and per head, and |tau|."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Measure:
    """One number per county, hazard and year, in five steps.

    name : its short name, for files. title : what it is, for a legend. cuts : four ends of steps. words : of
    the five steps. unknown : of a county with an event and no number.
    """

    name: str
    title: str
    cuts: tuple[float, ...]
    words: tuple[str, ...]
    unknown: str

    def of(self, table: pd.DataFrame) -> np.ndarray:
        """(n,) its values for the rows of a county table; NaN where there is none."""
        if self.name == "tau":
            return np.exp(table["tau_abs"].to_numpy(dtype=float))
        reported, calibrated = (table[name].to_numpy(dtype=float) for name in ("reported", "calibrated"))
        if self.name == "ratio":
            return np.divide(calibrated, reported, out=np.ones_like(reported), where=reported > 0.0)
        people = table["population"].to_numpy(dtype=float)
        per_head = np.full_like(reported, np.nan)
        np.divide(calibrated - reported, people, out=per_head, where=people > 0.0)
        return per_head

    def steps(self, values: np.ndarray) -> list[int | None]:
        """The step of each value, None where there is none.

        >>> RATIO.steps(np.array([1.0, 1.3, 9.0, np.nan]))
        [0, 1, 4, None]
        """
        at = np.searchsorted(self.cuts, values, side="right")
        return [int(step) if known else None for step, known in zip(at, np.isfinite(values), strict=True)]


RATIO = Measure(
    "ratio",
    "Calibrated loss over reported loss",
    (1.05, 1.5, 2.5, 4.0),
    ("as reported", "1.05 to 1.5 times", "1.5 to 2.5 times", "2.5 to 4 times", "more than 4 times"),
    "event, no answer",
)
PER_HEAD = Measure(
    "per-head",
    "Calibrated less reported loss, dollars per head",
    (0.1, 1.0, 10.0, 100.0),
    ("less than $0.10", "$0.10 to $1", "$1 to $10", "$10 to $100", "more than $100"),
    "event, population not known",
)
TAU = Measure(
    "tau",
    "Factor between a county's report and those of unbiased counties with the same damage: exp |tau|",
    (1.5, 2.5, 5.0, 10.0),
    (
        "less than 1.5 times",
        "1.5 to 2.5 times",
        "2.5 to 5 times",
        "5 to 10 times",
        "more than 10 times",
    ),
    "event, no comparable county",
)
MEASURES = (RATIO, PER_HEAD, TAU)
