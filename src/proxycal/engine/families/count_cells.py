"""The cells of counts: negative binomial, as they are or with their bias, and zeros of their own accord."""

from __future__ import annotations

from functools import cached_property
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, expit, gammaln, log_expit

from proxycal.engine.families.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Callable

# Log of k: below, a mean says nothing of a count; above, it is Poisson to four digits.
SPREADS = (-4.0, 8.0)
MEANS = (-25.0, 25.0)
# A log-odds that is certain.
CERTAIN = 40.0
# Gauss and Hermite's three nodes of a standard normal, with their weights.
NODES = ((0.0, 2.0 / 3.0), (-(3.0**0.5), 1.0 / 6.0), (3.0**0.5, 1.0 / 6.0))


def known(outcome: dict[str, np.ndarray], eta: np.ndarray, value: float) -> np.ndarray:
    """A predictor, with this value in trusted rows; so far out, its derivatives are 0 to all digits."""
    return np.where(outcome["trusted"], value, eta) if "trusted" in outcome else eta


def shifts_of(noise: float) -> list[tuple[float, float]]:
    """By what the log of the mean is moved at each node, and the log of the node's weight."""
    if noise == 0.0:
        return [(0.0, 0.0)]
    # Moved so that the mean over the nodes is the mean itself.
    level = log(sum(weight * exp(noise * node) for node, weight in NODES))
    return [(noise * node - level, log(weight)) for node, weight in NODES]


def offset_of(outcome: dict[str, np.ndarray]) -> np.ndarray | float:
    """The log of the exposure."""
    return outcome.get("exposure", 0.0)


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


class CellMaker:
    """Makes the cells of one set of rows; what depends on y and k alone is computed once."""

    def __init__(
        self,
        outcome: dict[str, np.ndarray],
        eta: np.ndarray,
        at: dict[str, int],
        sign: float,
        noise: float,
        derivatives: bool,
    ) -> None:
        self.y, self.eta, self.at, self.sign, self.derivatives = outcome["y"], eta, at, sign, derivatives
        self.outcome, self.nodes = outcome, shifts_of(noise)
        self.log_mean = offset_of(outcome) + eta[at["mean"]]
        self.truth = outcome.get("truth")
        # The negative binomial number: of too few reports the truth, where it is known.
        self.number = self.y if sign > 0.0 else self._true_or_reported
        log_k = eta[at["spread"]]
        self.inside = (log_k > SPREADS[0]) & (log_k < SPREADS[1])
        self.log_k = np.clip(log_k, *SPREADS)
        self.k = np.exp(self.log_k)
        self.base = self._beyond(gammaln) - gammaln(self.number + 1.0)
        if derivatives:
            self.psi, self.psi_1 = self._beyond(digamma), self._beyond(trigamma)

    @cached_property
    def _true_or_reported(self) -> np.ndarray:
        return self.y if self.truth is None else np.where(np.isnan(self.truth), self.y, self.truth)

    def _beyond(self, what: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """what(number + k) - what(k), (n,); where k is one number for all, from a list of whole numbers."""
        k, number = self.k, self.number
        most = int(number.max())
        if k.min() < k.max() or most >= len(number):
            return np.asarray(what(number + k) - what(k))
        listed = what(np.arange(most + 1.0) + k[0])
        return np.asarray((listed - listed[0])[number.astype(np.intp)])

    def count(self, biased: bool) -> list[Cell]:
        """A negative binomial count, as it is or with its bias, at each node of its mean."""
        if not biased:
            log_m = np.clip(self.log_mean, *MEANS)
            cells = [self._plain(log_m, np.exp(log_m), *node) for node in self.nodes]
            if self.truth is not None:
                wrong = np.where(self._true_or_reported != self.y, -np.inf, 0.0)
                for cell in cells:
                    cell.log = cell.log + wrong
            return cells
        logit_r = known(self.outcome, self.eta[self.at["share"]], CERTAIN)
        # Where the truth is known, too few reports are the binomial part alone.
        thinned = -self.sign if self.truth is None or self.sign > 0.0 else np.isnan(self.truth).astype(float)
        log_m = np.clip(self.log_mean + thinned * log_expit(logit_r), *MEANS)
        cells = [self._plain(log_m, np.exp(log_m), *node) for node in self.nodes]
        r, part = expit(logit_r), self._reported(logit_r)
        for cell in cells:
            self._share(cell, r, thinned, part)
        return cells

    def _plain(self, log_m: np.ndarray, m: np.ndarray, shift: float, weight: float) -> Cell:
        """A negative binomial number of this mean, moved by a node, with derivatives by mean and spread."""
        mean, spread = self.at["mean"], self.at["spread"]
        y, k, log_m, m = self.number, self.k, log_m + shift, m * exp(shift)
        total = k + m
        log_total = np.log(total)
        cell = Cell(weight + self.base + k * (self.log_k - log_total) + y * (log_m - log_total))
        if not self.derivatives:
            return cell
        by_m = k * (y - m) / total
        by_mm = -k * m * (k + y) / total**2
        by_mk = by_m * m / total
        by_k = k * (self.psi + self.log_k + 1.0 - log_total - (k + y) / total)
        by_kk = by_k + k * (k * self.psi_1 + 1.0 - k / total - k * (m - y) / total**2)
        cell.first = {mean: by_m, spread: by_k * self.inside}
        cell.second = {
            (mean, mean): by_mm,
            (mean, spread): by_mk * self.inside,
            (spread, spread): by_kk * self.inside,
        }
        return cell

    def _reported(self, logit_r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Log of P(report | truth), with its slopes and curvature by the share, where the truth is known."""
        if self.truth is None:
            return None
        have, true = ~np.isnan(self.truth), self._true_or_reported
        hits, trials = (self.y, true) if self.sign < 0.0 else (true, self.y)
        r = expit(logit_r)
        choose = gammaln(trials + 1.0) - gammaln(hits + 1.0) - gammaln(trials - hits + 1.0)
        log_p = choose + hits * log_expit(logit_r) + (trials - hits) * log_expit(-logit_r)
        return np.where(have, log_p, 0.0), have * (hits - trials * r), have * -trials * r * (1.0 - r)

    def _share(
        self,
        cell: Cell,
        r: np.ndarray,
        thinned: np.ndarray | float,
        part: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    ) -> None:
        """Add to a cell what the share does to its mean, and to the report of a known truth."""
        if part is not None:
            cell.log = cell.log + part[0]
        if not self.derivatives:
            return
        mean, spread, share = (self.at[name] for name in ("mean", "spread", "share"))
        slope = thinned * (1.0 - r)
        by_m, by_mm, by_mk = cell.first[mean], cell.second[mean, mean], cell.second[mean, spread]
        cell.first[share] = by_m * slope
        cell.add(mean, share, by_mm * slope)
        cell.add(spread, share, by_mk * slope)
        cell.add(share, share, by_mm * slope**2 - by_m * slope * r)
        if part is not None:
            cell.first[share] = cell.first[share] + part[1]
            cell.add(share, share, part[2])

    def zero(self) -> Cell:
        """A zero of its own accord."""
        return Cell(np.where(self.number == 0.0, 0.0, -np.inf))

    def weigh(self, name: str, without: list[Cell], given: list[Cell]) -> None:
        """Give cells the probability that they have of a logistic predictor: 1 - p, or p."""
        at = self.at[name]
        eta = known(self.outcome, self.eta[at], -CERTAIN) if name == "who" else self.eta[at]
        p = expit(eta)
        curvature = -p * (1.0 - p)
        for cells, log_p, slope in ((without, log_expit(-eta), -p), (given, log_expit(eta), 1.0 - p)):
            for cell in cells:
                cell.log = cell.log + log_p
                if self.derivatives:
                    cell.first[at] = slope
                    cell.second[at, at] = curvature
