"""A yes or no, of which some of one kind are reported as the other.

Turned so that what may be denied is 1: the yes where too few are reported, the no where too many are.

    truth   F = P(y* = 1) = Phi(mean)              probit: content with normal noise in it stays a probit
    report  P(y = 1) = r F + a (1 - F)             r = expit(share), a = expit(alarms): no reported as yes

A yes/no outcome has a mean and nothing else: how many deny, times how often each does, is all that r can be.
The predictors are mean, then share and alarms where the family has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr

from proxycal.engine.families.cells import Derivatives
from proxycal.engine.families.checked import add_checked, log_checked

# Index beyond which a truth is certain, and the smallest probability of a report.
SURE, TINY = 8.0, 1e-14


@dataclass(frozen=True)
class Binary:
    """A yes/no outcome `y`. denied : whether 1s are reported as 0. alarms : whether 0s are reported as 1.

    `trusted` is true where a report is known to deny nothing; `truth` is 0 or 1 where it was validated, else
    NaN; `checked` and `confirmed` are of the 1s.
    """

    denied: bool = False
    alarms: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors, in order."""
        return ("mean", *(["share"] if self.denied else []), *(["alarms"] if self.alarms else []))

    def log_density(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """Log probability (n,) of reports `y`, 0 or 1."""
        p, q = self._probabilities(*self._parts(outcome, eta))
        log_p = np.log(np.where(outcome["y"] > 0.0, p, q))
        if "truth" in outcome:
            at = np.flatnonzero(np.isfinite(outcome["truth"]))
            log_p[at] = self._validated(outcome, eta, at).log
        return log_p + log_checked(outcome, eta[1]) if self.denied else log_p

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""
        s, F, r, a = self._parts(outcome, eta)
        p, q = self._probabilities(s, F, r, a)
        yes = outcome["y"] > 0.0
        density = np.exp(-0.5 * s * s) / np.sqrt(2.0 * np.pi) * (np.abs(s) < SURE)
        at = {name: place for place, name in enumerate(self.names)}
        # Derivatives of P(y = 1).
        first = {at["mean"]: (r - a) * density}
        second = {(at["mean"], at["mean"]): -s * (r - a) * density}
        if self.denied:
            slope, place = r * (1.0 - r), at["share"]
            first[place] = slope * F
            second |= {(place, place): slope * (1.0 - 2.0 * r) * F, (at["mean"], place): slope * density}
        if self.alarms:
            slope, place = a * (1.0 - a), at["alarms"]
            first[place] = slope * ndtr(-s)
            second |= {
                (place, place): slope * (1.0 - 2.0 * a) * ndtr(-s),
                (at["mean"], place): -slope * density,
            }
        by_p = np.where(yes, 1.0 / p, -1.0 / q)
        width, n = len(self.names), len(s)
        out = Derivatives(np.log(np.where(yes, p, q)), np.zeros((width, n)), np.zeros((width, width, n)))
        for i, value in first.items():
            out.first[i] = by_p * value
            for j, other in first.items():
                if j >= i:
                    out.second[i, j] = by_p * second.get((i, j), 0.0) - by_p**2 * value * other
        if "truth" in outcome:
            known = np.flatnonzero(np.isfinite(outcome["truth"]))
            own = self._validated(outcome, eta, known)
            out.log[known], out.first[:, known], out.second[:, :, known] = own.log, own.first, own.second
        if self.denied:
            add_checked(out, outcome, eta[1], 1)
        return out

    def _validated(self, outcome: dict[str, np.ndarray], eta: np.ndarray, at: np.ndarray) -> Derivatives:
        """Of rows whose truth is known: P(truth) P(report | truth), in which the predictors are apart."""
        y, t = outcome["y"][at], outcome["truth"][at]
        s = np.clip(eta[0, at], -SURE, SURE)
        side = 2.0 * t - 1.0
        log_f = log_ndtr(side * s)
        # Mills' ratio is the slope of a log of a normal probability.
        slope = side * np.exp(-0.5 * s * s - log_f) / np.sqrt(2.0 * np.pi) * (np.abs(eta[0, at]) < SURE)
        width, n = len(self.names), len(at)
        out = Derivatives(log_f, np.zeros((width, n)), np.zeros((width, width, n)))
        out.first[0], out.second[0, 0] = slope, -slope * (s + slope)
        free = ~outcome["trusted"][at] if "trusted" in outcome else np.ones(n, dtype=bool)
        for name, mine in (("share", (t > 0.0) & free), ("alarms", t == 0.0)):
            if name in self.names:
                place = self.names.index(name)
                logit = eta[place, at]
                p = expit(logit)
                out.log[:] += mine * np.where(y > 0.0, log_expit(logit), log_expit(-logit))
                out.first[place] += mine * (y - p)
                out.second[place, place] -= mine * p * (1.0 - p)
        return out

    def truth(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P(y* = 1 | y) and P(y* = 1), (n,) each."""
        s, F, r, a = self._parts(outcome, eta)
        p, q = self._probabilities(s, F, r, a)
        given = np.where(outcome["y"] > 0.0, r * F / p, (1.0 - r) * F / q)
        return given, F

    def _parts(
        self, outcome: dict[str, np.ndarray], eta: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Index, P(y* = 1), r and a, n each; r = 1 in trusted rows."""
        s = np.clip(eta[0], -SURE, SURE)
        r = expit(eta[1]) if self.denied else np.ones_like(s)
        if "trusted" in outcome:
            r = np.where(outcome["trusted"], 1.0, r)
        a = expit(eta[-1]) if self.alarms else np.zeros_like(s)
        return s, ndtr(s), r, a

    def _probabilities(
        self, s: np.ndarray, F: np.ndarray, r: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """P(y = 1) and P(y = 0), each without a difference that would lose digits."""
        missed = ndtr(-s)
        return np.maximum(r * F + a * missed, TINY), np.maximum((1.0 - r) * F + (1.0 - a) * missed, TINY)
