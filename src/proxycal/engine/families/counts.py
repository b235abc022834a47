"""A count: negative binomial, of which a share is reported, or to which what did not happen is added.

    truth   y* ~ NB(m, k)       m = exposure exp(mean), k = exp(spread), Var = m + m^2 / k; Poisson as k grows
            with zeros: y* = 0 of its own accord with probability expit(zeros)
            where content is known up to noise: m exp(noise x - noise^2 / 2), x ~ N(0, 1), three nodes
    under   y ~ Binomial(y*, r)        r = expit(share): thinning keeps k, so that y ~ NB(r m, k)
    over    y* ~ Binomial(y, r)        of the reports a share r is true, so that y ~ NB(m / r, k)
    gate    a row is biased with probability expit(who), else r = 1
    graded  every row has its r
    where the truth is known, the row says P(truth) P(report | truth)

The predictors are mean and spread, then zeros, who and share where the family has them. Given a report, the
missed are NB and the true ones among too many are binomial:

    under   y* - y | y ~ NB(mean (1 - r) m (k + y) / (k + r m), k + y)      over   y* | y ~ Binomial(y, r)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import expit

from proxycal.engine.families.cells import log_sum, mixed
from proxycal.engine.families.checked import add_checked, log_checked
from proxycal.engine.families.count_cells import (
    CERTAIN,
    MEANS,
    SPREADS,
    CellMaker,
    known,
    offset_of,
    shifts_of,
)

if TYPE_CHECKING:
    from proxycal.engine.families.cells import Cell, Derivatives

Report = Literal["none", "gate", "graded"]


@dataclass(frozen=True)
class Counts:
    """A count. report : what happens to it. zeros : whether some rows are zero of their own accord.

    sign : +1 where too much is reported, -1 where too little. Outcomes are `y`, and where there is one
    `exposure`, as a logarithm, `trusted`, true where a report is known to be free of the bias, and `truth`,
    the true count where it was validated, else NaN; of a graded report `checked` and `confirmed` as well.
    noise : sd of the log of the mean, given what is known of a row.
    """

    report: Report = "none"
    zeros: bool = False
    sign: float = -1.0
    noise: float = 0.0

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
        log_p = log_sum([cell.log for cell in self.cells(outcome, eta, derivatives=False)])[0]
        return log_p + log_checked(outcome, eta[-1]) if self.report == "graded" else log_p

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""
        rows = mixed(self.cells(outcome, eta), len(self.names))
        if self.report == "graded":
            add_checked(rows, outcome, eta[-1], len(eta) - 1)
        return rows

    def cells(self, outcome: dict[str, np.ndarray], eta: np.ndarray, derivatives: bool = True) -> list[Cell]:
        """The cells of each row: unbiased, biased, zero of its own accord, as far as the family has them."""
        at = {name: place for place, name in enumerate(self.names)}
        make = CellMaker(outcome, eta, at, self.sign, self.noise, derivatives)
        if self.report == "none":
            cells = make.count(biased=False)
        elif self.report == "graded":
            cells = make.count(biased=True)
        else:
            cells = make.count(biased=False) + make.count(biased=True)
            half = len(cells) // 2
            make.weigh("who", cells[:half], cells[half:])
        if self.zeros:
            zero = make.zero()
            make.weigh("zeros", cells, [zero])
            cells.append(zero)
        return cells

    def truth(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Truth:
        """What is known of the true count, given the report."""
        at = {name: place for place, name in enumerate(self.names)}
        log_mean = np.clip(offset_of(outcome) + eta[at["mean"]], *MEANS)
        expected, y = np.exp(log_mean) * _not_zero(eta, at), outcome["y"]
        if self.report == "none":
            none = np.zeros_like(y)
            return Truth(none, none, none, none + 1.0, expected)
        cells = log_sum([cell.log for cell in self.cells(outcome, eta, derivatives=False)])[1]
        shifts = shifts_of(self.noise)
        first = len(shifts) if self.report == "gate" else 0
        biased = cells[first : first + len(shifts)]
        p, r = biased.sum(axis=0), expit(known(outcome, eta[at["share"]], CERTAIN))
        if self.sign > 0.0:
            return Truth(p, -(1.0 - r) * y, r * (1.0 - r) * y, r, expected)
        k = np.exp(np.clip(eta[at["spread"]], *SPREADS))
        within = biased / np.maximum(p, 1e-300)
        mean = np.exp(np.clip(log_mean + np.array([[shift] for shift, _ in shifts]), *MEANS))
        each = (1.0 - r) * mean * (k + y) / (k + r * mean)
        moved = (within * each).sum(axis=0)
        own = (within * (each + each**2 / (k + y) + (each - moved) ** 2)).sum(axis=0)
        return Truth(p, moved, own, r, expected)


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


def _not_zero(eta: np.ndarray, at: dict[str, int]) -> np.ndarray | float:
    return expit(-eta[at["zeros"]]) if "zeros" in at else 1.0
