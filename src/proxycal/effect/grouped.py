"""The records of totals: what was added up, as reported and calibrated, and what had no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.result import number, plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

_WHOLE = ("rows", "as_reported_rows")
TOTALS_COLUMNS = (
    *("rows", "reported", "calibrated", "low", "high", "change_pct"),
    *("as_reported_rows", "as_reported"),
)


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals or means of the true outcome over G - 1 groups of rows, and over all rows last.

    by : the column of the groups, None where there is only the last. statistic : "total" or "mean".
    labels : of the groups, then "overall". rows : (G,) counts. reported, calibrated, low, high : (G,) in the
    outcome's own units; low and high are NaN where no bias was found. change_pct : calibrated over reported,
    less one, in per cent; NaN where nothing was reported.
    as_reported_rows, as_reported : (G,) how many of the rows have no answer for missing values, and what they
    add to reported and to calibrated alike (to the total; also where the statistic is a mean).
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
    as_reported_rows: np.ndarray
    as_reported: np.ndarray

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
        values: dict[str, Any] = plain({"by": self.by, "statistic": self.statistic, "groups": self.records()})
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Totals:
        """The reverse of `to_dict`."""
        groups = values["groups"]
        columns = {name: np.array([number(row[name]) for row in groups]) for name in TOTALS_COLUMNS}
        columns |= {name: columns[name].astype(int) for name in _WHOLE}
        labels = tuple(str(row["group"]) for row in groups)
        return cls(by=values["by"], statistic=str(values["statistic"]), labels=labels, **columns)


@dataclass(frozen=True, slots=True)
class AsReported:
    """Rows without an answer, which enter totals as they were reported; those of pieces add up.

    labels : of G groups. rows, weight, reported : (G,) sums over the rows that have their report.
    blank : rows without a report, which are in no total.
    """

    labels: tuple[Hashable, ...]
    rows: np.ndarray
    weight: np.ndarray
    reported: np.ndarray
    blank: int

    @classmethod
    def of(
        cls, y: np.ndarray, codes: np.ndarray, labels: Sequence[Hashable], w: np.ndarray, counts: np.ndarray
    ) -> AsReported:
        """Of rows with reports y (n,), NaN where missing, groups, weights and counts, (n,) each.

        >>> y, codes, w = np.array([2.0, np.nan]), np.array([0, 0]), np.array([3.0, 3.0])
        >>> rows = AsReported.of(y, codes, ["a"], w, counts=np.ones(2))
        >>> rows.rows.tolist(), rows.reported.tolist(), rows.blank
        ([1], [6.0], 1)
        """
        has = np.isfinite(y)
        codes, every = codes[has], (counts * w)[has]
        count = len(labels)
        return cls(
            tuple(labels),
            np.bincount(codes, weights=counts[has], minlength=count).astype(np.int64),
            np.bincount(codes, weights=every, minlength=count),
            np.bincount(codes, weights=every * y[has], minlength=count),
            int(counts[~has].sum()),
        )

    def __add__(self, other: AsReported) -> AsReported:
        labels = tuple(dict.fromkeys((*self.labels, *other.labels)))
        mine, theirs = self.over(labels), other.over(labels)
        return AsReported(
            labels,
            mine.rows + theirs.rows,
            mine.weight + theirs.weight,
            mine.reported + theirs.reported,
            self.blank + other.blank,
        )

    def over(self, labels: Sequence[Hashable]) -> AsReported:
        """The same with these labels, zeros where there is none."""
        place = {label: at for at, label in enumerate(self.labels)}
        at = np.array([place.get(label, len(place)) for label in labels], dtype=np.intp)
        rows, weight, reported = (
            np.append(part, 0)[at].astype(part.dtype) for part in (self.rows, self.weight, self.reported)
        )
        return AsReported(tuple(labels), rows, weight, reported, self.blank)
