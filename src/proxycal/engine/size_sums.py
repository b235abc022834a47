"""The size of the bias and its error as sums over rows, for rows that are read in pieces."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.engine.inference import Sizes, mean_size, posterior, widest
from proxycal.engine.likelihood import PIECE, Sample, predictors, scores
from proxycal.engine.search import family_of

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates
    from proxycal.engine.maximise import Maximum

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class SizeSums:
    """Weighted sums over rows.

    weight : of the rows. chance, doubt : of the chance of a bias before the report is seen, and of its
    variance. log_scale : of the log sd of the noise. biased : of P(biased). size : of that times the size,
    slope : and how it moves with the coefficients (k,). meat : of the products of the rows' scores (k, k).
    """

    weight: float
    chance: float
    doubt: float
    log_scale: float
    biased: float
    size: float
    slope: np.ndarray
    meat: np.ndarray

    def __add__(self, other: SizeSums) -> SizeSums:
        return SizeSums(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(self)))

    @classmethod
    def of_piece(
        cls, fit: Maximum, rows: Covariates, outcome: dict[str, np.ndarray], weights: np.ndarray
    ) -> SizeSums:
        """The sums of a piece, a few rows at a time."""
        total: SizeSums | None = None
        for begin in range(0, rows.n, PIECE):
            few = np.arange(begin, min(begin + PIECE, rows.n))
            part = {name: values[few] for name, values in outcome.items()}
            found = cls.of(fit, Sample.of(fit.model, rows.take(few), part, weights[few]))
            total = found if total is None else total + found
        assert total is not None  # a piece has rows
        return total

    @classmethod
    def of(cls, fit: Maximum, sample: Sample) -> SizeSums:
        """The sums of some rows."""
        family, w = family_of(fit), sample.weights
        at, eta = family.names.index, predictors(fit.model, sample, fit.theta)
        mass = w * posterior(fit, sample)[0]
        chance = expit(eta[at("who")])
        slope = np.zeros(fit.model.width)
        for name in ("size", "more", "second"):
            if name in family.names:
                move = np.zeros((len(eta), 1))
                move[at(name)] = _STEP
                by_eta = (mean_size(family, eta + move) - mean_size(family, eta - move)) / (2.0 * _STEP)
                slope[fit.model.at(name)] = (mass * by_eta) @ sample.designs[at(name)]
        of_rows = scores(fit.model, sample, fit.theta) * w[:, None]
        return cls(
            weight=float(w.sum()),
            chance=float(w @ chance),
            doubt=float(w @ (chance * (1.0 - chance))),
            log_scale=float(w @ eta[at("scale")]),
            biased=float(mass.sum()),
            size=float(mass @ mean_size(family, eta)),
            slope=slope,
            meat=of_rows.T @ of_rows,
        )

    def sizes(self, fit: Maximum) -> Sizes:
        """The bias in all rows."""
        slope = self.slope / max(self.biased, 1e-12)
        mean = self.chance / self.weight
        return Sizes(
            alpha=self.size / max(self.biased, 1e-12),
            se=float(np.sqrt(max(slope @ self.covariance(fit) @ slope, 0.0))),
            noise=float(np.exp(self.log_scale / self.weight)),
            share=self.biased / self.weight,
            alone=1.0 - self.doubt / self.weight / max(mean * (1.0 - mean), 1e-9),
        )

    def covariance(self, fit: Maximum) -> np.ndarray:
        """Covariance (k, k) of the coefficients."""
        return widest(fit.covariance, self.meat)
