"""One wider model brought to its maximum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.minimise import minimise, within
from proxycal.mixture.wide.curvature import curvature
from proxycal.mixture.wide.law import Law, layout, n_paid
from proxycal.mixture.wide.likelihood import Likelihood

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]

# Steps of the optimiser that show whether a model is worth finishing, and most of them all.
TRIAL_STEPS, MOST_STEPS = 12, 150
# Relative gain of a step below which a model is at its maximum; and, with the most steps, of a model that
# answers: its digits must not depend on the way that led to it.
FINE, POLISH_STEPS, POLISHED = 1e-8, 500, 1e-14
# Largest slope of the log likelihood at a maximum.
GRADIENT = 1e-6
# A size below this, in sds of the outcome, is no bias.
LEAST_SIZE = 1e-3
WIDEST = 1.5


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model at (or on the way to) its maximum: its law, its problem, theta, loglik without penalty, bic."""

    law: Law
    problem: Problem
    theta: Array
    loglik: float
    bic: float

    @property
    def likelihood(self) -> Likelihood:
        """The function that theta maximises."""
        return Likelihood(self.problem, self.law)

    @property
    def size(self) -> int:
        """Parameters that BIC charges for."""
        return n_paid(self.law, self.problem.X.shape[1], self.problem.E.shape[1])


def fit(
    problem: Problem,
    law: Law,
    start: Array,
    steps: int = MOST_STEPS,
    extra: float = 0.0,
    precision: float = FINE,
    bar: float = np.inf,
    trial: int = TRIAL_STEPS,
) -> Fitted:
    """Maximise from a start; extra : added to BIC, for what the law does not count itself.

    precision : relative gain of a step below which the maximum is reached. bar : BIC that the steps of the
    trial must reach for others to follow.
    """
    likelihood = Likelihood(problem, law)
    lower, upper = widths(likelihood)
    lower[likelihood.at.alpha] = LEAST_SIZE
    start = within(start, lower, upper)
    value, slopes, squares = likelihood.with_squares(start)
    bend = curvature(likelihood, start, squares)
    paid = n_paid(law, problem.X.shape[1], problem.E.shape[1]) * float(np.log(problem.n))
    # The ridge of a gate is a matter of tenths, which the bar leaves room for.
    must = trial, 0.5 * (bar - extra - paid)
    theta, value = minimise(
        likelihood, start, lower, upper, bend, steps, precision, GRADIENT, (value, slopes), must
    )
    return _worth(problem, law, theta, likelihood.penalty(theta)[0] - value, extra)


def widths(likelihood: Likelihood) -> tuple[Array, Array]:
    """Bounds of the parameters: of widths, which a likelihood would drive to nothing, and of no others."""
    at = likelihood.at
    lower, upper = np.full(at.size, -np.inf), np.full(at.size, np.inf)
    lower[at.log_sigma], upper[at.log_sigma] = np.log(likelihood.problem.floor), WIDEST
    lower[at.log_omega], upper[at.log_omega] = -6.0, WIDEST
    return lower, upper


def polished(one: Fitted) -> Fitted:
    """The model at its maximum as exactly as numbers allow."""
    extra = one.bic + 2.0 * one.loglik - one.size * float(np.log(one.problem.n))
    return fit(one.problem, one.law, one.theta, POLISH_STEPS, extra, POLISHED)


def valued(problem: Problem, law: Law, theta: Array, extra: float = 0.0) -> Fitted:
    """The model at given parameters with what it is worth."""
    loglik = Likelihood(problem, law).seen(theta).loglik
    return _worth(problem, law, theta, float(loglik @ problem.weights), extra)


def _worth(problem: Problem, law: Law, theta: Array, total: float, extra: float) -> Fitted:
    paid = n_paid(law, problem.X.shape[1], problem.E.shape[1]) * float(np.log(problem.n))
    return Fitted(law, problem, theta, total, paid - 2.0 * total + extra)


def plain_start(problem: Problem, law: Law) -> Array:
    """Least squares: the start of a law without a bias and with one component."""
    at = layout(law, problem.X.shape[1], problem.E.shape[1])
    theta = np.zeros(at.size)
    theta[at.b] = least_squares(problem.X, problem.y, problem.weights)
    sd = _sd(problem, problem.y - problem.X @ theta[at.b])
    theta[at.log_sigma] = np.log(max(sd, problem.floor))
    return theta


def starts_from_guesses(problem: Problem, law: Law, guesses: Sequence[Array]) -> list[Array]:
    """Parameters of a law with one size and one component, from guesses of who is biased, (n,) each.

    All guesses share their least squares: what takes long is the factor of X, not one more outcome.
    """
    at = layout(law, problem.X.shape[1], problem.E.shape[1])
    gate = Likelihood(problem, law).G
    assert gate is not None
    tau = np.column_stack(guesses)
    sure = np.clip(tau, 0.05, 0.95)
    gates = least_squares(gate, np.log(sure / (1.0 - sure)), problem.weights)
    outcomes = np.column_stack([problem.y, tau])
    slopes = least_squares(problem.X, outcomes, problem.weights)
    residual, starts = outcomes - problem.X @ slopes, []
    y, sd = residual[:, 0], _sd(problem, residual[:, 0])
    for i, biased in enumerate(residual.T[1:], start=1):
        theta = np.zeros(at.size)
        # The slope of tau beside X is that of what X leaves of both.
        size = (problem.weights * biased) @ y / max(float((problem.weights * biased) @ biased), 1e-300)
        alpha = max(float(size), 0.5 * sd)
        theta[at.b] = slopes[:, 0] - alpha * slopes[:, i]
        left = _sd(problem, y - alpha * biased)
        theta[at.log_sigma] = np.log(max(left, 0.3 * sd, problem.floor))
        theta[at.alpha], theta[at.gamma] = alpha, gates[:, i - 1]
        starts.append(theta)
    return starts


def _sd(problem: Problem, residual: Array) -> float:
    return float(np.sqrt(np.average(residual**2, weights=problem.weights)))


def replaced(old: Fitted, problem: Problem, steps: int = MOST_STEPS, precision: float = FINE) -> Fitted:
    """The same law from the same parameters on other rows, or on the same rows with another outcome."""
    extra = old.bic + 2.0 * old.loglik - old.size * float(np.log(old.problem.n))
    return fit(problem, old.law, old.theta, steps, extra, precision)


def with_extra(one: Fitted, extra: float) -> Fitted:
    """The same model, charged more."""
    return replace(one, bic=one.bic + extra)
