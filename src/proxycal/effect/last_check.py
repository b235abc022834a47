"""The last check of every answer: a value that the fitted table cannot support is an error, never an answer.

    rows, totals --(predict, conclude)--> answer_rows, answer_totals --> frames, files, pages

Nothing is returned or written but through here. What reports and truths of the fitted table, and the report
of the row itself, span is its range; a true value may lie beyond it by ten times that range. On the log
scale a bias is a factor, and may be as large as the ratio of the largest to the smallest of them as well. A
value beyond has been extrapolated along something that the table does not identify, and no user should have
to find that out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.effect.calibrate import predict
from proxycal.effect.totals import conclude, in_order, left_over, with_labels
from proxycal.errors import AnswerError, TableError, arithmetic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.effect.grouped import AsReported, Totals
    from proxycal.effect.totals import Statistic, TotalSums
    from proxycal.methods.registry import MethodFit
    from proxycal.result import Prediction
    from proxycal.table.encode import Arrays

# How far beyond the range, in ranges, a true value may lie.
BEYOND = 10.0


@dataclass(frozen=True, slots=True)
class Support:
    """What a fit saw, and so what it can answer for.

    low, high : smallest and largest report or validated truth; on the log scale of those above 0.
    log : whether the bias is a factor. columns : names (k) of the encoded columns. column_low, column_high :
    (k,) smallest and largest value of each.
    """

    low: float
    high: float
    log: bool
    columns: tuple[str, ...]
    column_low: tuple[float, ...]
    column_high: tuple[float, ...]

    @classmethod
    def of(cls, arrays: Arrays, scale: str) -> Support:
        """Of the fitted rows; of a large table a sample that holds all validated rows will do."""
        assert arrays.y is not None  # a fit has its outcome
        known = arrays.y if arrays.truth is None else np.concatenate([arrays.y, arrays.truth])
        known = known[np.isfinite(known)]
        if scale == "log":
            known = known[known > 0.0]
        encoded = np.hstack([arrays.P, arrays.E])
        return cls(
            low=float(known.min()),
            high=float(known.max()),
            log=scale == "log",
            columns=(*arrays.proxy_names, *arrays.environment_names),
            column_low=tuple(encoded.min(axis=0).tolist()),
            column_high=tuple(encoded.max(axis=0).tolist()),
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Support:
        """Rebuild it from what JSON keeps of its fields."""
        return cls(
            low=float(values["low"]),
            high=float(values["high"]),
            log=bool(values["log"]),
            columns=tuple(map(str, values["columns"])),
            column_low=tuple(map(float, values["column_low"])),
            column_high=tuple(map(float, values["column_high"])),
        )

    def bounds(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest true value (n,) that reports y (n,) can have.

        >>> Support(0.0, 100.0, False, (), (), ()).bounds(np.array([50.0, 200.0]))
        (array([-1000., -2000.]), array([1100., 2200.]))
        >>> Support(10.0, 100.0, True, (), (), ()).bounds(np.array([50.0]))[1]
        array([11000.])
        """
        low, high = np.minimum(y, self.low), np.maximum(y, self.high)
        if self.log:
            with np.errstate(over="ignore"):
                ratio = high / np.where(y > 0.0, low, self.low) * (1.0 + BEYOND)
                return np.where(y > 0.0, low / ratio, 0.0), high * ratio
        beyond = BEYOND * (high - low)
        return low - beyond, high + beyond

    def outside(self, y: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Which values (n,) the reports y (n,) cannot have."""
        low, high = self.bounds(y)
        return ~(np.isfinite(values) & (low <= values) & (values <= high))

    def column_outside(self, encoded: np.ndarray) -> str:
        """The encoded column whose value lies furthest outside of those of the fit; "" where none does."""
        low, high = np.array(self.column_low), np.array(self.column_high)
        beyond = np.maximum(low - encoded, encoded - high)
        return self.columns[int(np.argmax(beyond))] if (beyond > 0.0).any() else ""


def answer_rows(
    fitted: MethodFit, support: Support, arrays: Arrays, rows: np.ndarray | None = None
) -> Prediction:
    """The answer of a fit for rows that have their outcome, or for some of them, by position."""
    assert arrays.y is not None  # calibration asks for it
    with arithmetic("the calibration"):
        predicted = predict(fitted, arrays, rows)
    y = arrays.y if rows is None else arrays.y[rows]
    if fitted.details.by_validation and (support.low, support.high) == (0.0, 1.0):
        predicted = between_no_and_yes(predicted, y)
    bad = support.outside(y, predicted.y_cal)
    if arrays.truth is not None:
        bad &= np.isnan(arrays.truth if rows is None else arrays.truth[rows])
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        place = at if rows is None else int(rows[at])
        count = f"{int(bad.sum())} of {len(bad)} rows"
        encoded = np.concatenate([arrays.P[place], arrays.E[place]])
        number = int(np.flatnonzero(arrays.kept)[place]) + 1
        _refuse(support, count, f"row {number}", y[at], predicted.y_cal[at], support.column_outside(encoded))
    return predicted


def between_no_and_yes(predicted: Prediction, y: np.ndarray) -> Prediction:
    """The answer for outcomes and truths from 0 to 1, such as no and yes: a combination may leave that."""
    y_cal, low, high = (
        np.clip(values, 0.0, 1.0) for values in (predicted.y_cal, predicted.y_cal_low, predicted.y_cal_high)
    )
    return replace(predicted, y_cal=y_cal, y_cal_low=low, y_cal_high=high, shift=y - y_cal)


def answer_totals(
    fitted: MethodFit,
    support: Support,
    sums: TotalSums,
    level: float,
    statistic: Statistic = "total",
    by: str | None = None,
    left: AsReported | None = None,
) -> Totals:
    """Totals, or means, and their intervals from the sums over all rows; by : the column of the groups.

    left : rows without an answer, which enter as reported.
    """
    with arithmetic("a total"):
        done = conclude(fitted, sums, level, statistic, by, left)
    named = in_order(with_labels(sums, left))
    weight = named.weight + left_over(left, named.labels).weight
    unit = np.where(weight > 0.0, weight, np.nan) if statistic == "total" else np.ones_like(weight)
    bad = support.outside(done.reported / unit, done.calibrated / unit) & (weight > 0.0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        what = f"the mean of group {done.labels[at]!r}"
        count = f"{int(bad.sum())} of {len(bad)} groups"
        _refuse(support, count, what, done.reported[at] / unit[at], done.calibrated[at] / unit[at], "")
    return done


def _refuse(support: Support, count: str, where: str, y: float, value: float, column: str) -> None:
    low, high = (float(end[0]) for end in support.bounds(np.array([y])))
    said = (
        f"{count} would get a calibrated value that nothing supports, first {where}: {value:.6g} for a "
        f"report of {y:.6g}, where reports and truths of the fit lie between {support.low:.6g} and "
        f"{support.high:.6g} and {low:.6g} to {high:.6g} is possible"
    )
    if column:
        raise TableError(
            f"{said}. Column '{column}' of that row lies outside of the fitted rows: correct it or leave the "
            "row out, or fit again with rows like it"
        )
    raise AnswerError(
        f"{said}. This is a bug in proxycal, not in your data, and nothing was returned or written. Please "
        "send us this message, the settings and roles of the fit (config.toml of its run folder, which holds "
        "no data) and, if you may, the table"
    )
