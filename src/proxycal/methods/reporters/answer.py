"""What a fitted model of several reports says of the truth of each row, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from proxycal.engine.families.reports import Reports

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates
    from proxycal.engine.families.reports import Truths
    from proxycal.engine.model import Model

_STEP = 1e-4
# Halvings between the ends of an interval that surely holds the quantile: 2^-50 of its width is left.
_HALVINGS = 50


@dataclass(frozen=True)
class Fitted:
    """A model at its maximum, in units in which reports are (sign * y - middle) / unit.

    theta : (k,), covariance : (k, k).
    """

    model: Model
    theta: np.ndarray
    covariance: np.ndarray
    sign: float
    middle: float
    unit: float

    @property
    def family(self) -> Reports:
        """The family of the model."""
        assert isinstance(self.model.family, Reports)
        return self.model.family

    def turned(self, reports: np.ndarray) -> np.ndarray:
        """Reports in the units of the model."""
        return (self.sign * reports - self.middle) / self.unit

    def back(self, truth: np.ndarray) -> np.ndarray:
        """A truth in the units of the reports."""
        return self.sign * (self.unit * truth + self.middle)

    def predictors(self, rows: Covariates) -> np.ndarray:
        """The values (q, n) of the predictors."""
        ends, designs = self.model.ends, self.model.designs(rows)
        return np.stack([X @ self.theta[ends[at] : ends[at + 1]] for at, X in enumerate(designs)])

    def truths(self, rows: Covariates, reports: np.ndarray) -> Truths:
        """The truth of rows, in the units of the model."""
        return self.family.truths({"y": self.turned(reports)}, self.predictors(rows))

    def expected(self, rows: Covariates, reports: np.ndarray) -> np.ndarray:
        """What the first report of each row would be without a bias and errors, in the units of the model.

        As the other reports, and proxies if they tell of the truth, have it; where there is neither, as the
        report itself has it.
        """
        eta, made = self.predictors(rows), np.isfinite(reports)
        first = np.argmax(made, axis=1)
        others = reports.copy()
        others[np.arange(len(reports)), first] = np.nan
        if not self.family.known:
            alone = made.sum(axis=1) < 2
            others[alone] = reports[alone]
        level = np.zeros(len(reports))
        for j in range(2, reports.shape[1] + 1):
            level = np.where(first == j - 1, eta[self.family.names.index(f"offset{j}")], level)
        return np.asarray(self.family.truths({"y": self.turned(others)}, eta).mean + level)

    def slopes(self, rows: Covariates, reports: np.ndarray) -> np.ndarray:
        """How the mean of the truth, in the units of the reports, moves with all coefficients (n, k)."""
        eta, outcome = self.predictors(rows), {"y": self.turned(reports)}
        parts = []
        for place, X in enumerate(self.model.designs(rows)):
            move = np.zeros((len(eta), 1))
            move[place] = _STEP
            up, down = (self.family.truths(outcome, at).mean for at in (eta + move, eta - move))
            parts.append(X * ((up - down) / (2.0 * _STEP))[:, None])
        return np.asarray(self.sign * self.unit * np.hstack(parts))


def quantile(q: float, known: Truths, se: np.ndarray) -> np.ndarray:
    """The q quantile (n,) of the truth; se : (n,) what the error of the parameters adds to each part.

    >>> from proxycal.engine.families.reports import Truths
    >>> half = np.full((2, 1), 0.5)
    >>> known = Truths(half, np.array([[0.0], [4.0]]), np.full((2, 1), 0.01), np.zeros((0, 1)), half[0])
    >>> [abs(float(quantile(q, known, np.zeros(1))[0].round(6))) for q in (0.25, 0.75)]
    [0.0, 4.0]
    """
    sd = np.sqrt(known.own + se**2)
    low, high = (known.centre - 10.0 * sd).min(axis=0), (known.centre + 10.0 * sd).max(axis=0)
    sd = np.maximum(sd, 1e-12)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = (known.share * ndtr((middle - known.centre) / sd)).sum(axis=0) < q
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))
