"""Totals and means of the true outcome over groups of rows, with an interval for each.

Given the data, the true outcome of row i has a mean m_i(theta) and a variance v_i of its own (is it biased or
not?), while the error of theta, the parameters of the bias, is the same in all rows. So for weights w

    total = sum w_i m_i,   variance = sum w_i^2 v_i + g' Cov(theta) g,   g = sum w_i dm_i/dtheta

Every sum is over rows, so that the sums of pieces of a table add up. The mean m_i is taken in the outcome's
own units: where the bias is a factor, of y * exp(-size) and not of the logarithm, which would be too low.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtri

from proxycal.errors import SettingsError, TableError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from proxycal.methods.registry import MethodFit
    from proxycal.result import Prediction
    from proxycal.table.encode import Arrays

Statistic = Literal["total", "mean"]
# Groups of one table: enough for the counties of a nation; with more, a table of totals is the table itself.
MOST_GROUPS = 4_000
# Rows answered at a time: slopes are a matrix as wide as there are parameters.
BLOCK = 8_192
OVERALL = "overall"


def _no_slope() -> np.ndarray:
    return np.zeros((0, 0))


@dataclass(frozen=True, slots=True)
class RowBias:
    """What a fit knows of the bias of n rows, on the scale of the fit.

    p : (n,) probability of a bias. size : (n,) the bias of a row that has one, signed: truth = y - size.
    p_slope, size_slope : (n, k) how both move with the k parameters that all rows share.
    """

    p: np.ndarray
    size: np.ndarray
    p_slope: np.ndarray
    size_slope: np.ndarray


@dataclass(frozen=True, slots=True)
class RowTruth:
    """The true outcome of n rows, given the data, in the outcome's own units.

    mean, variance : (n,) of each row for known parameters. slope : (n, k) of the mean in the parameters.
    extra : (n, m) whatever else a method wants added up, with the weights, for its `finish_totals`.
    """

    mean: np.ndarray
    variance: np.ndarray
    slope: np.ndarray
    extra: np.ndarray = field(default_factory=_no_slope)

    @classmethod
    def as_reported(cls, y: np.ndarray, k: int = 0) -> RowTruth:
        """Where nothing is taken off: the report itself."""
        return cls(y, np.zeros(len(y)), np.zeros((len(y), k)))


def truth_of_shift(y: np.ndarray, bias: RowBias) -> RowTruth:
    """The true outcome where the bias is added: y with 1 - p, y - size with p.

    >>> flat = np.zeros((1, 1))
    >>> truth_of_shift(np.array([5.0]), RowBias(np.array([0.5]), np.array([2.0]), flat, flat)).mean
    array([4.])
    """
    p, size = bias.p, bias.size
    slope = -(bias.p_slope * size[:, None] + p[:, None] * bias.size_slope)
    return RowTruth(y - p * size, p * (1.0 - p) * size**2, slope)


def truth_of_factor(y: np.ndarray, bias: RowBias) -> RowTruth:
    """The true outcome where the bias is a factor, size its logarithm: y with 1 - p, y exp(-size) with p.

    >>> flat = np.zeros((1, 1))
    >>> half = RowBias(np.array([0.5]), np.array([-np.log(2.0)]), flat, flat)
    >>> truth_of_factor(np.array([10.0]), half).mean.round(6)
    array([15.])
    """
    p, ratio = bias.p, np.exp(-bias.size)
    slope = bias.p_slope * (ratio - 1.0)[:, None] - bias.size_slope * (p * ratio)[:, None]
    return RowTruth(y * (1.0 - p + p * ratio), p * (1.0 - p) * (y * (ratio - 1.0)) ** 2, y[:, None] * slope)


def row_bias(fitted: MethodFit, arrays: Arrays) -> RowBias:
    """The bias of rows as the method says, or else from its predictions, alpha being the one parameter."""
    own = getattr(fitted, "row_bias", None)
    if own is not None:
        bias: RowBias = own(arrays)
        return bias
    predicted, alpha = fitted.predict(arrays), fitted.estimate.alpha
    p = sure_of(fitted, predicted)
    size = predicted.shift / p
    # Sizes move in proportion to alpha; who is biased is taken as known.
    slope = size / alpha if np.isfinite(alpha) and alpha > 0.0 else np.zeros_like(size)
    return RowBias(p, size, np.zeros((len(p), 1)), slope[:, None])


def sure_of(fitted: MethodFit, predicted: Prediction) -> np.ndarray:
    """(n,) by what the shift of a row must be divided to give the bias that it has if it has one.

    Where a bias has no two states, or validated rows chose the answer, the shift is the bias itself; so it is
    where nobody has one.
    """
    p, details = predicted.p_biased, fitted.details
    return np.where((p > 0.0) & (not details.claim) & (not details.by_validation), p, 1.0)


def shared_cov(fitted: MethodFit) -> np.ndarray:
    """Covariance (k, k) of the parameters in which the slopes of rows are."""
    own = getattr(fitted, "shared_cov", None)
    if own is not None:
        return np.asarray(own)
    se = fitted.estimate.se
    return np.array([[se**2 if np.isfinite(se) else 0.0]])


def row_truth(fitted: MethodFit, arrays: Arrays) -> RowTruth:
    """The true outcome of rows that have their report; without a finding, what was reported stands."""
    assert arrays.y is not None  # totals ask for it
    own = getattr(fitted, "row_truth", None)
    if not is_known(fitted):
        return RowTruth.as_reported(arrays.y, len(shared_cov(fitted)))
    if own is not None:
        truth: RowTruth = own(arrays)
        return truth
    return truth_of_shift(arrays.y, row_bias(fitted, arrays))


def is_known(fitted: MethodFit) -> bool:
    """Whether the fit says anything of totals beyond the reported ones."""
    return fitted.verdict == "bias found" or hasattr(fitted, "finish_totals")


@dataclass(frozen=True, slots=True)
class TotalSums:
    """Sums over the rows of G groups, of a table or a piece of one; those of pieces add up.

    labels : G values of the grouping column, (None,) without one. rows, weight : (G,) how many rows, and their
    weight. reported, calibrated, variance : (G,) sums of w y, w mean, w^2 variance. slope, extra : (G, k) and
    (G, m) sums with w. unanswered : rows left out for missing values.
    """

    labels: tuple[Hashable, ...]
    rows: np.ndarray
    weight: np.ndarray
    reported: np.ndarray
    calibrated: np.ndarray
    variance: np.ndarray
    slope: np.ndarray
    extra: np.ndarray
    unanswered: int = 0

    def __add__(self, other: TotalSums) -> TotalSums:
        labels = tuple(dict.fromkeys((*self.labels, *other.labels)))
        refuse_groups(len(labels))
        place = {label: at for at, label in enumerate(labels)}
        sums = {}
        for name in _SUMMED:
            mine, theirs = getattr(self, name), getattr(other, name)
            whole = np.zeros((len(labels), *mine.shape[1:]), dtype=mine.dtype)
            for own, part in ((self.labels, mine), (other.labels, theirs)):
                whole[[place[label] for label in own]] += part
            sums[name] = whole
        return TotalSums(labels, **sums, unanswered=self.unanswered + other.unanswered)

    def overall(self) -> TotalSums:
        """All groups as one."""
        sums = {name: getattr(self, name).sum(axis=0, keepdims=True) for name in _SUMMED}
        return TotalSums((OVERALL,), **sums, unanswered=self.unanswered)


_SUMMED = tuple(item.name for item in fields(TotalSums) if item.name not in ("labels", "unanswered"))


def refuse_groups(count: int, name: str = "") -> None:
    """Refuse more groups than a table of totals is for."""
    if count > MOST_GROUPS:
        raise TableError(
            f"{f'column {name!r} has' if name else 'the grouping column has'} {count:,} levels or more, and "
            f"totals are given for at most {MOST_GROUPS:,}: group them first, or choose a coarser column"
        )


def sum_rows(
    fitted: MethodFit, arrays: Arrays, codes: np.ndarray, labels: Sequence[Hashable], weights: np.ndarray
) -> TotalSums:
    """The sums of n rows; codes (n,): the group of each, a position in labels; weights (n,)."""
    assert arrays.y is not None
    parts = [
        _sums_of(
            row_truth(fitted, arrays.take(rows)), arrays.y[rows], codes[rows], len(labels), weights[rows]
        )
        for rows in np.split(np.arange(arrays.n), range(BLOCK, arrays.n, BLOCK))
    ]
    return TotalSums(tuple(labels), **{name: sum(part[name] for part in parts) for name in _SUMMED})


def _sums_of(truth: RowTruth, y: np.ndarray, codes: np.ndarray, groups: int, w: np.ndarray) -> dict[str, Any]:
    def by_group(values: np.ndarray) -> np.ndarray:
        return np.bincount(codes, weights=values, minlength=groups)

    def by_columns(values: np.ndarray) -> np.ndarray:
        columns = [by_group(w * column) for column in values.T]
        return np.column_stack(columns) if columns else np.zeros((groups, 0))

    return {
        "rows": np.bincount(codes, minlength=groups),
        "weight": by_group(w),
        "reported": by_group(w * y),
        "calibrated": by_group(w * truth.mean),
        "variance": by_group(w**2 * truth.variance),
        "slope": by_columns(truth.slope),
        "extra": by_columns(truth.extra),
    }


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals or means of G groups, and of all rows last.

    labels : of the groups, then "overall". rows : (G,) counts. reported, calibrated, low, high : (G,) in the
    outcome's own units; low and high are NaN where no bias was found. change_pct : calibrated over reported,
    less one, in per cent; NaN where nothing was reported.
    """

    labels: tuple[Hashable, ...]
    rows: np.ndarray
    reported: np.ndarray
    calibrated: np.ndarray
    low: np.ndarray
    high: np.ndarray
    change_pct: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, without the labels."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "labels"}


def conclude(fitted: MethodFit, sums: TotalSums, statistic: Statistic, level: float) -> Totals:
    """Totals, or means, and their intervals from the sums over all rows."""
    if statistic not in ("total", "mean"):
        raise SettingsError(f"statistic={statistic!r} is not known: use 'total' or 'mean'")
    order = _sorted(sums.labels)
    overall = sums.overall()
    parts = [overall] if sums.labels == (None,) else [sums, overall]
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _SUMMED}
    if len(parts) == 2:
        at = [*order, len(order)]
        whole = {name: values[at] for name, values in whole.items()}
    labels = tuple(sums.labels[i] for i in order) if len(parts) == 2 else ()
    taken = OVERALL if OVERALL not in labels else f"{OVERALL} (all rows)"
    named = TotalSums((*labels, taken), **whole)
    calibrated, variance = finish(fitted, named)
    unit = np.where(named.weight > 0.0, named.weight, np.nan) if statistic == "mean" else 1.0
    reach = float(ndtri(0.5 + level / 2.0)) * np.sqrt(np.maximum(variance, 0.0))
    low, high = calibrated - reach, calibrated + reach
    if getattr(fitted, "factor", False):
        # A sum of sizes is positive, and its error a factor like the bias: the interval is one of its logarithm.
        part = np.divide(reach, calibrated, out=np.zeros_like(reach), where=calibrated > 0.0)
        low, high = calibrated * np.exp(-part), calibrated * np.exp(part)
    if not is_known(fitted):
        low = high = np.full_like(calibrated, np.nan)
    change = np.full_like(calibrated, np.nan)
    np.divide(calibrated - named.reported, np.abs(named.reported), out=change, where=named.reported != 0.0)
    return Totals(
        labels=named.labels,
        rows=named.rows,
        reported=named.reported / unit,
        calibrated=calibrated / unit,
        low=low / unit,
        high=high / unit,
        change_pct=100.0 * change,
    )


def finish(fitted: MethodFit, sums: TotalSums) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated totals (G,) and their variances (G,); the method's own where it has them."""
    own = getattr(fitted, "finish_totals", None)
    if own is not None:
        calibrated, variance = own(sums)
        return np.asarray(calibrated), np.asarray(variance)
    shared = np.einsum("gi,ij,gj->g", sums.slope, shared_cov(fitted), sums.slope)
    return sums.calibrated, sums.variance + shared


def _sorted(labels: Sequence[Any]) -> list[int]:
    """Positions of the labels in their order; as text where they are of several kinds."""
    try:
        return sorted(range(len(labels)), key=lambda at: labels[at])
    except TypeError:
        return sorted(range(len(labels)), key=lambda at: str(labels[at]))
