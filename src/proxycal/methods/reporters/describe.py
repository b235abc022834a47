"""What a fitted model of several reports says of each reporter, with standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtri

from proxycal.methods.reporters.claims import Bias, Reporter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.engine.covariates import Covariates
    from proxycal.methods.rates.inference import Independent
    from proxycal.methods.reporters.answer import Fitted
    from proxycal.methods.reporters.search import Lead


@dataclass(frozen=True)
class Described:
    """Rows under a fitted model. eta : (q, n) its predictors; biased : (R, n) P(biased) of each report."""

    fitted: Fitted
    rows: Covariates
    reports: np.ndarray
    weights: np.ndarray
    eta: np.ndarray
    biased: np.ndarray

    @classmethod
    def of(cls, fitted: Fitted, rows: Covariates, reports: np.ndarray, weights: np.ndarray) -> Described:
        """The rows (n) with their reports (n, R)."""
        biased = fitted.truths(rows, reports).biased
        return cls(fitted, rows, reports, weights, fitted.predictors(rows), biased)

    def predictor(self, name: str) -> np.ndarray:
        """The values (n,) of a predictor."""
        return np.asarray(self.eta[self.fitted.model.names.index(name)])

    def reporters(
        self,
        names: Sequence[str],
        biased: Sequence[int],
        leads: Sequence[Lead],
        level: float,
        independent: Independent,
    ) -> tuple[Reporter, ...]:
        """What is said of each; biased : numbers, from 1, of those with a bias in the model."""
        known = {lead.reporter: lead for lead in leads}
        made = []
        for j, name in enumerate(names, start=1):
            scale = self.predictor(self.fitted.family.scale(j))
            above, above_se = self.above(j, independent)
            bias = self.bias(j, known[j], level) if j in biased else None
            made.append(
                Reporter(
                    name=name,
                    n=int(np.isfinite(self.reports[:, j - 1]).sum()),
                    error=float(np.exp(np.average(scale, weights=self.weights))) * self.fitted.unit,
                    above=above,
                    above_se=above_se,
                    bias=bias,
                    found=bias is not None and bias.claimable,
                )
            )
        return tuple(made)

    def bias(self, j: int, lead: Lead, level: float) -> Bias:
        """The bias of reporter j."""
        seen = np.where(np.isfinite(self.reports[:, j - 1]), self.weights, 0.0)
        p = self.biased[j - 1]
        size, se = self._size(j, seen * p + 1e-12)
        wide = float(ndtri(0.5 + 0.5 * level)) * se
        chance = expit(self.predictor(f"who{j}"))
        mean = float(np.average(chance, weights=self.weights))
        doubt = float(np.average(chance * (1.0 - chance), weights=self.weights))
        return Bias(
            share=float(np.average(p, weights=seen)),
            size=size,
            se=se,
            low=max(size - wide, 0.0),
            high=size + wide,
            driven=lead.driven,
            alone=lead.alone,
            separation=size / self._noise(j),
            by=1.0 - doubt / max(mean * (1.0 - mean), 1e-12),
        )

    def _size(self, j: int, weights: np.ndarray) -> tuple[float, float]:
        """Mean size of a bias of reporter j, and its standard error, in the units of the reports."""
        model, unit = self.fitted.model, self.fitted.unit
        size, w = np.exp(self.predictor(f"size{j}")), weights / weights.sum()
        slope = (w * size) @ model.predictors[model.names.index(f"size{j}")].columns(self.rows)
        at = model.at(f"size{j}")
        variance = float(slope @ self.fitted.covariance[at, at] @ slope)
        return float(w @ size) * unit, math.sqrt(max(variance, 0.0)) * unit

    def _noise(self, j: int) -> float:
        """Mean sd of what is left of report j beside the mean of the others, in the units of the reports."""
        family = self.fitted.family
        variance = {k: np.exp(2.0 * self.predictor(family.scale(k))) for k in range(1, len(family.signs) + 1)}
        others = 1.0 / np.sum([1.0 / value for k, value in variance.items() if k != j], axis=0)
        return float(np.average(np.sqrt(variance[j] + others), weights=self.weights)) * self.fitted.unit

    def above(self, j: int, independent: Independent) -> tuple[float, float]:
        """Mean of report j minus the mean of the others in its row, and its standard error."""
        own, others = self.reports[:, j - 1], np.delete(self.reports, j - 1, axis=1)
        both = np.isfinite(own) & np.isfinite(others).any(axis=1)
        if both.sum() < 2:
            return math.nan, math.nan
        d = np.zeros(len(own))
        d[both] = own[both] - np.nanmean(others[both], axis=1)
        w = np.where(both, self.weights, 0.0)
        mean = float(np.average(d, weights=w))
        left = np.where(both, d - mean, 0.0)
        return mean, math.sqrt(float(independent.products(left[:, None], w)[0, 0])) / float(w.sum())
