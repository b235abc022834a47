"""A count: negative binomial, of which a share is reported, or to which what did not happen is added.

    truth   y* ~ NB(m, k)       m = exposure exp(mean), k = exp(spread), Var = m + m^2 / k; Poisson as k grows
            with zeros: y* = 0 of its own accord with probability expit(zeros)
    under   y ~ Binomial(y*, r)        r = expit(share): thinning keeps k, so that y ~ NB(r m, k)
    over    y* ~ Binomial(y, r)        of the reports a share r is true, so that y ~ NB(m / r, k)
    gate    a row is biased with probability expit(who), else r = 1
    graded  every row has its r

The predictors are mean and spread, then zeros, who and share where the family has them. Given a report, the
missed are NB and the true ones among too many are binomial:

    under   y* - y | y ~ NB(mean (1 - r) m (k + y) / (k + r m), k + y)      over   y* | y ~ Binomial(y, r)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import digamma, expit, gammaln, log_expit

from proxycal.engine.families.cells import Cell, log_sum, mixed

if TYPE_CHECKING:
    from proxycal.engine.families.cells import Derivatives

Report = Literal["none", "gate", "graded"]

# Log of k: below, a mean says nothing of a count; above, it is Poisson to four digits.
SPREADS = (-4.0, 8.0)
MEANS = (-25.0, 25.0)
# A log-odds that is certain.
CERTAIN = 40.0


@dataclass(frozen=True)
class Counts:
    """A count. report : what happens to it. zeros : whether some rows are zero of their own accord.

    sign : +1 where too much is reported, -1 where too little. Outcomes are `y`, and where there is one
    `exposure`, as a logarithm, and `trusted`, true where a report is known to be free of the bias.
    """

    report: Report = "none"
    zeros: bool = False
    sign: float = -1.0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors, in order."""
        names = ["mean", "spread"]
        names += ["zeros"] if self.zeros else []
        names += ["who"] if self.report == "gate" else []
        names += ["share"] if self.report != "none" else []
        return tuple(names)

    def log_density(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """Log probability (n,) of reports."""
        return log_sum([cell.log for cell in self.cells(outcome, eta, derivatives=False)])[0]

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""
        return mixed(self.cells(outcome, eta), len(self.names))

    def cells(self, outcome: dict[str, np.ndarray], eta: np.ndarray, derivatives: bool = True) -> list[Cell]:
        """The cells of each row: unbiased, biased, zero of its own accord, as far as the family has them."""
        at = {name: place for place, name in enumerate(self.names)}
        make = _CellMaker(outcome, eta, at, self.sign, derivatives)
        if self.report == "none":
            cells = [make.count(biased=False)]
        elif self.report == "graded":
            cells = [make.count(biased=True)]
        else:
            cells = [make.count(biased=False), make.count(biased=True)]
            make.weigh(cells, "who", (0.0, 1.0))
        if self.zeros:
            cells.append(make.zero())
            make.weigh(cells, "zeros", (*[0.0] * (len(cells) - 1), 1.0))
        return cells

    def truth(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Truth:
        """What is known of the true count, given the report."""
        at = {name: place for place, name in enumerate(self.names)}
        share = log_sum([cell.log for cell in self.cells(outcome, eta, derivatives=False)])[1]
        y = outcome["y"]
        mean = np.exp(np.clip(_offset(outcome) + eta[at["mean"]], *MEANS))
        if self.report == "none":
            none = np.zeros_like(y)
            return Truth(none, none, none, none + 1.0, mean * _not_zero(eta, at))
        p, r = share[1 if self.report == "gate" else 0], expit(_known(outcome, eta[at["share"]], CERTAIN))
        k = np.exp(np.clip(eta[at["spread"]], *SPREADS))
        if self.sign > 0.0:
            moved, own = -(1.0 - r) * y, r * (1.0 - r) * y
        else:
            moved = (1.0 - r) * mean * (k + y) / (k + r * mean)
            own = moved + moved**2 / (k + y)
        return Truth(p, moved, own, r, mean * _not_zero(eta, at))


@dataclass(frozen=True, slots=True)
class Truth:
    """The true count of n rows, given their reports.

    p : (n,) probability of a bias. moved, variance : (n,) mean and variance of truth minus report of a row
    that has one. share : (n,) r. expected : (n,) the mean of the truth before the report is known.
    """

    p: np.ndarray
    moved: np.ndarray
    variance: np.ndarray
    share: np.ndarray
    expected: np.ndarray


def _known(outcome: dict[str, np.ndarray], eta: np.ndarray, value: float) -> np.ndarray:
    """A predictor, with this value in trusted rows; so far out, its derivatives are 0 to all digits."""
    return np.where(outcome["trusted"], value, eta) if "trusted" in outcome else eta


def _offset(outcome: dict[str, np.ndarray]) -> np.ndarray | float:
    return outcome.get("exposure", 0.0)


def _not_zero(eta: np.ndarray, at: dict[str, int]) -> np.ndarray | float:
    return expit(-eta[at["zeros"]]) if "zeros" in at else 1.0


def trigamma(x: np.ndarray) -> np.ndarray:
    """The second derivative of the log of the gamma function, to 1e-9, for x > 0.

    By its recurrence up to x + 6 and its asymptotic series from there: five times faster than scipy's zeta.
    """
    total = np.zeros_like(x)
    for shift in range(6):
        total += (x + shift) ** -2.0
    inverse = 1.0 / (x + 6.0)
    square = inverse**2
    series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0))
    return np.asarray(total + inverse * (1.0 + 0.5 * inverse + square * series))


class _CellMaker:
    """Makes the cells of one set of rows; what depends on y and k alone is computed once."""

    def __init__(
        self,
        outcome: dict[str, np.ndarray],
        eta: np.ndarray,
        at: dict[str, int],
        sign: float,
        derivatives: bool,
    ) -> None:
        self.y, self.eta, self.at, self.sign, self.derivatives = outcome["y"], eta, at, sign, derivatives
        self.offset = _offset(outcome)
        self.outcome = outcome
        log_k = eta[at["spread"]]
        self.inside = (log_k > SPREADS[0]) & (log_k < SPREADS[1])
        self.log_k = np.clip(log_k, *SPREADS)
        self.k = np.exp(self.log_k)
        self.base = gammaln(self.y + self.k) - gammaln(self.k) - gammaln(self.y + 1.0)
        if derivatives:
            self.psi = digamma(self.y + self.k) - digamma(self.k)
            self.psi_1 = trigamma(self.y + self.k) - trigamma(self.k)

    def count(self, biased: bool) -> Cell:
        """A negative binomial count, as it is or with its bias."""
        mean, spread = self.at["mean"], self.at["spread"]
        log_m = self.offset + self.eta[mean]
        if biased:
            share = self.at["share"]
            logit_r = _known(self.outcome, self.eta[share], CERTAIN)
            log_m = log_m - self.sign * log_expit(logit_r)
        log_m = np.clip(log_m, *MEANS)
        y, k, m = self.y, self.k, np.exp(log_m)
        log_total = np.logaddexp(self.log_k, log_m)
        cell = Cell(self.base + k * (self.log_k - log_total) + y * (log_m - log_total))
        if not self.derivatives:
            return cell
        total = k + m
        by_m = k * (y - m) / total
        by_mm = -k * m * (k + y) / total**2
        by_mk = by_m * m / total
        by_k = k * (self.psi + self.log_k + 1.0 - log_total - (k + y) / total)
        by_kk = by_k + k * (k * self.psi_1 + 1.0 - k / total - k * (m - y) / total**2)
        cell.first = {mean: by_m, spread: by_k * self.inside}
        cell.add(mean, mean, by_mm)
        cell.add(mean, spread, by_mk * self.inside)
        cell.add(spread, spread, by_kk * self.inside)
        if biased:
            r = expit(logit_r)
            slope = -self.sign * (1.0 - r)
            cell.first[share] = by_m * slope
            cell.add(mean, share, by_mm * slope)
            cell.add(spread, share, by_mk * self.inside * slope)
            cell.add(share, share, by_mm * slope**2 + by_m * self.sign * r * (1.0 - r))
        return cell

    def zero(self) -> Cell:
        """A zero of its own accord."""
        return Cell(np.where(self.y == 0.0, 0.0, -np.inf))

    def weigh(self, cells: list[Cell], name: str, states: tuple[float, ...]) -> None:
        """Give each cell the probability of its state, 0 or 1, of a logistic predictor."""
        at = self.at[name]
        eta = _known(self.outcome, self.eta[at], -CERTAIN) if name == "who" else self.eta[at]
        p = expit(eta)
        for cell, state in zip(cells, states, strict=True):
            cell.log = cell.log + log_expit(eta if state else -eta)
            if self.derivatives:
                cell.first[at] = state - p
                cell.add(at, at, -p * (1.0 - p))
