"""What a fit knows of the true outcome of each row: its mean, its own doubt, and what all rows share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.methods.registry import MethodFit
    from proxycal.result import Prediction
    from proxycal.table.encode import Arrays


@dataclass(frozen=True, slots=True)
class RowBias:
    """What a fit knows of the bias of n rows, on the scale of the fit.

    p : (n,) probability of a bias. size : (n,) the bias of a row that has one, signed: truth = y - size, or
    truth = y exp(-size) where it is a factor. p_slope, size_slope : (n, k) how both move with the k
    parameters that all rows share. spread : (n,) sd of the size of a row where sizes vary, else None.
    """

    p: np.ndarray
    size: np.ndarray
    p_slope: np.ndarray
    size_slope: np.ndarray
    spread: np.ndarray | None = None
    factor: bool = False


@dataclass(frozen=True, slots=True)
class RowTruth:
    """The true outcome of n rows, given the data, in the outcome's own units.

    mean, variance : (n,) of each row for known parameters. slope : (n, k) of the mean in the parameters.
    jump, chance : (n,) where the variance is that of two states: what the second adds to the first, and its
    probability. middle : (n,) the mean with that probability, where it is another than the mean's. extra :
    (n, m) what else a method wants added up, with the weights, for its `finish_totals`.
    """

    mean: np.ndarray
    variance: np.ndarray
    slope: np.ndarray
    jump: np.ndarray | None = None
    chance: np.ndarray | None = None
    middle: np.ndarray | None = None
    extra: np.ndarray | None = None

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
    return RowTruth(y - p * size, p * (1.0 - p) * size**2, slope, -size, p)


def truth_of_factor(y: np.ndarray, bias: RowBias) -> RowTruth:
    """The true outcome where the bias is a factor, size its logarithm: y with 1 - p, y exp(-size) with p.

    >>> flat = np.zeros((1, 1))
    >>> half = RowBias(np.array([0.5]), np.array([-np.log(2.0)]), flat, flat)
    >>> truth_of_factor(np.array([10.0]), half).mean.round(6)
    array([15.])
    """
    p, ratio = bias.p, np.exp(-bias.size)
    slope = bias.p_slope * (ratio - 1.0)[:, None] - bias.size_slope * (p * ratio)[:, None]
    jump = y * (ratio - 1.0)
    return RowTruth(y + p * jump, p * (1.0 - p) * jump**2, y[:, None] * slope, jump, p)


def averaged(bias: RowBias, cov: np.ndarray) -> RowBias:
    """The same rows with P(biased) averaged over the error of the parameters, whose covariance (k, k) is cov.

    In a few hundred rows the parameters that say who is biased are known roughly, and the probability at
    their estimate is too sure: of rows that it gave 0.4% in simulated nations, 1.7% were biased. The log-odds
    have the standard deviation s that cov gives them, and

        E[logistic(l + s Z)] ~ logistic(l / sqrt(1 + pi s^2 / 8)),

    whose derivative in l is the mean slope (MacKay 1992). Far out it is up to twice the mean itself, which in
    the same nations is nearer to what was seen than the mean is: a normal error has too short tails there.

    >>> bias = RowBias(np.array([0.01]), np.array([1.0]), np.array([[0.01 * 0.99]]), np.zeros((1, 1)))
    >>> averaged(bias, np.array([[4.0]])).p.round(3), averaged(bias, np.array([[0.0]])).p
    (array([0.054]), array([0.01]))
    """
    p = bias.p
    own = p * (1.0 - p)
    moves = (own > 0.0) & bias.p_slope.any(axis=1)
    if not moves.any():
        return bias
    slope = bias.p_slope[moves] / own[moves, None]
    shrink = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * ((slope @ cov) * slope).sum(axis=1))
    chance, p_slope = p.copy(), bias.p_slope.copy()
    chance[moves] = expit(shrink * logit(p[moves]))
    p_slope[moves] = slope * (shrink * chance[moves] * (1.0 - chance[moves]))[:, None]
    return replace(bias, p=chance, p_slope=p_slope)


def truth_of_states(
    states: Callable[[np.ndarray, RowBias], RowTruth], y: np.ndarray, bias: RowBias, cov: np.ndarray
) -> RowTruth:
    """The true outcome of two states: its mean as rows are calibrated, its doubt with averaged probabilities.

    states : `truth_of_shift` or `truth_of_factor`.
    """
    doubt = states(y, averaged(bias, cov))
    return replace(doubt, mean=states(y, bias).mean, middle=doubt.mean)


def row_bias(fitted: MethodFit, arrays: Arrays) -> RowBias:
    """The bias of rows as the method says, or else from its predictions, alpha being the one parameter.

    Trusted rows have none, whatever the method says.
    """
    own = getattr(fitted, "row_bias", None)
    bias: RowBias = _from_predictions(fitted, arrays) if own is None else own(arrays)
    if arrays.trusted is None:
        return bias
    free = ~arrays.trusted
    return replace(bias, p=bias.p * free, p_slope=bias.p_slope * free[:, None])


def _from_predictions(fitted: MethodFit, arrays: Arrays) -> RowBias:
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
    truth: RowTruth
    if not is_known(fitted):
        truth = RowTruth.as_reported(arrays.y, len(shared_cov(fitted)))
    elif own is not None:
        truth = own(arrays)
    else:
        bias = row_bias(fitted, arrays)
        states = truth_of_factor if bias.factor else truth_of_shift
        truth = truth_of_states(states, arrays.y, bias, shared_cov(fitted))
    if arrays.truth is None or hasattr(fitted, "finish_totals"):
        # A method that finishes totals itself knows what its validated rows are for.
        return truth
    return with_known(truth, arrays.truth)


def with_known(truth: RowTruth, known: np.ndarray) -> RowTruth:
    """The same rows with their validated values (n,), NaN where there is none: as in calibration, no doubt.

    >>> flat = np.zeros((2, 1))
    >>> with_known(RowTruth(np.ones(2), np.ones(2), flat), np.array([np.nan, 5.0])).mean.tolist()
    [1.0, 5.0]
    """
    shown = np.isfinite(known)
    if not shown.any():
        return truth

    def settled(values: np.ndarray | None, at: np.ndarray | float = 0.0) -> np.ndarray | None:
        return None if values is None else np.where(shown, at, values)

    return replace(
        truth,
        mean=np.where(shown, known, truth.mean),
        variance=np.where(shown, 0.0, truth.variance),
        slope=np.where(shown[:, None], 0.0, truth.slope),
        jump=settled(truth.jump),
        chance=settled(truth.chance),
        middle=settled(truth.middle, known),
    )


def is_known(fitted: MethodFit) -> bool:
    """Whether the fit says anything of totals beyond the reported ones."""
    by_validation = fitted.details.by_validation or hasattr(fitted, "finish_totals")
    return fitted.verdict == "bias found" or by_validation
