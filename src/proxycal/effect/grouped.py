"""The record of totals: what was added up, as reported and calibrated, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxycal.result import number, plain

TOTALS_COLUMNS = ("rows", "reported", "calibrated", "low", "high", "change_pct")


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals or means of the true outcome over G - 1 groups of rows, and over all rows last.

    by : the column of the groups, None where there is only the last. statistic : "total" or "mean".
    labels : of the groups, then "overall". rows : (G,) counts. reported, calibrated, low, high : (G,) in the
    outcome's own units; low and high are NaN where no bias was found. change_pct : calibrated over reported,
    less one, in per cent; NaN where nothing was reported.
    """

    by: str | None
    statistic: str
    labels: tuple[str, ...]
    rows: np.ndarray
    reported: np.ndarray
    calibrated: np.ndarray
    low: np.ndarray
    high: np.ndarray
    change_pct: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, without the labels."""
        return {name: getattr(self, name) for name in TOTALS_COLUMNS}

    def records(self) -> list[dict[str, Any]]:
        """A dictionary per group, its label as "group"."""
        columns = {name: values.tolist() for name, values in self.columns().items()}
        rows = zip(*columns.values(), strict=True)
        return [
            {"group": label, **dict(zip(columns, row, strict=True))}
            for label, row in zip(self.labels, rows, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return plain({"by": self.by, "statistic": self.statistic, "groups": self.records()})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Totals:
        """The reverse of `to_dict`."""
        groups = values["groups"]
        columns = {name: np.array([number(row[name]) for row in groups]) for name in TOTALS_COLUMNS}
        columns["rows"] = columns["rows"].astype(int)
        labels = tuple(str(row["group"]) for row in groups)
        return cls(by=values["by"], statistic=str(values["statistic"]), labels=labels, **columns)
