"""A fitted model of the engine as rows are answered with it: who is biased, by how much, what content says.

Inside, the bias is upward and the outcome in units of what proxies and environment leave of it; answers are
in the outcome's own units, turned so that the bias is upward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from proxycal.engine.covariates import Covariates
from proxycal.engine.inference import mean_size
from proxycal.engine.keep import kept, restored
from proxycal.methods.parts import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.engine.families.normal import Normal
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model
    from proxycal.engine.standard import Standard
    from proxycal.methods.exact.outcome import Outcome
    from proxycal.table.encode import Arrays

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """What a model says of n rows, in the outcome's units, the bias upward.

    p_biased : (n,) P(A=1|data). prior : (n,) the same before the outcome is seen. size : (n,) the bias that
    each row has if it has one; size_se : (n,) its standard error; spread : (n,) its sd where sizes vary, else
    0. mu : (n,) the outcome without a bias.
    """

    p_biased: np.ndarray
    prior: np.ndarray
    size: np.ndarray
    size_se: np.ndarray
    spread: np.ndarray
    mu: np.ndarray


@dataclass(frozen=True)
class Law:
    """A model at its maximum, without the terms that are not there.

    theta : (k,), covariance : (k, k) of the coefficients. parameters : how many of them the data use.
    unit_variance : of what rows of a cluster share in the mean, 0 without clusters. standard : the units of
    the engine.
    """

    model: Model
    theta: np.ndarray
    covariance: np.ndarray
    unit_variance: float
    standard: Standard
    parameters: float = 0.0

    @classmethod
    def of(cls, fit: Maximum, covariance: np.ndarray, standard: Standard) -> Law:
        """From a maximum and the covariance of its coefficients that are there."""
        variance = 1.0 / float(fit.unit_ridges[0]) if len(fit.unit_ridges) else 0.0
        small = fit.awake()
        held = small.model.penalty(small.ridges) * np.diag(small.covariance)
        used = small.model.width - float(held.sum())
        return cls(small.model, small.theta.dense, covariance, variance, standard, used)

    @property
    def family(self) -> Normal:
        """The kind of outcome."""
        family: Any = self.model.family
        return family

    @property
    def unit(self) -> float:
        """The outcome's units that make one of the engine's."""
        return self.standard.unit

    def covariates(self, arrays: Arrays) -> Covariates:
        """The columns of rows, with their content."""
        rows = Covariates.of(arrays)
        return rows.with_content(self.standard.content(rows))

    def predictors(self, designs: list[np.ndarray], noise: np.ndarray | float = 0.0) -> np.ndarray:
        """The values (q, n) of the linear predictors; noise : further variance of the outcome of each row.

        To a row of an unknown cluster, what its cluster shares is noise.
        """
        ends = self.model.ends
        eta = np.stack([X @ self.theta[ends[at] : ends[at + 1]] for at, X in enumerate(designs)])
        further = self.unit_variance + noise
        if np.any(further > 0.0):
            place = self.family.names.index("scale")
            eta[place] = 0.5 * np.log(np.exp(2.0 * eta[place]) + further)
        return eta

    def reports(self, arrays: Arrays, outcome: Outcome) -> dict[str, np.ndarray]:
        """What the family reads of each row."""
        return reports_of(arrays, outcome, self.standard)

    def answers(self, arrays: Arrays, outcome: Outcome, noise: np.ndarray | float = 0.0) -> RowAnswers:
        """The answers for rows; noise : as in `predictors`, in the outcome's own units."""
        designs = self.model.designs(self.covariates(arrays))
        eta = self.predictors(designs, noise / self.unit**2)
        p, size, spread = self._posterior(self.reports(arrays, outcome), eta)
        place, part = self.family.names.index("size"), self.model.at("size")
        X = designs[place]
        relative = np.sqrt(np.maximum(((X @ self.covariance[part, part]) * X).sum(axis=1), 0.0))
        return RowAnswers(
            p_biased=p,
            prior=expit(eta[self.family.names.index("who")]),
            size=size * self.unit,
            size_se=relative * size * self.unit,
            spread=spread * self.unit,
            mu=self.family.unbiased_mean(eta) * self.unit + self.standard.middle,
        )

    def _posterior(
        self, reports: dict[str, np.ndarray], eta: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P(biased), size of a biased row given its report, and the sd of that size, (n,) each."""
        p, mean, square = self.family.posterior(reports, eta)
        # Chances add up to one but for rounding.
        p = np.minimum(p, 1.0)
        known = p > 1e-12
        divisor = np.where(known, p, 1.0)
        size = np.where(known, mean / divisor, mean_size(self.family, eta))
        variance = np.where(known, square / divisor - size**2, 0.0)
        return p, size, np.sqrt(np.maximum(variance, 0.0)) if self.family.varies else np.zeros_like(p)

    def slopes(self, arrays: Arrays, outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
        """How P(biased) and the size of each row move with the coefficients, (n, k) each."""
        reports = self.reports(arrays, outcome)
        designs = self.model.designs(self.covariates(arrays))
        eta = self.predictors(designs)

        def seen(values: np.ndarray) -> np.ndarray:
            return np.stack(self._posterior(reports, values)[:2])

        parts = []
        for place, X in enumerate(designs):
            move = np.zeros((len(eta), 1))
            move[place] = _STEP
            by_eta = (seen(eta + move) - seen(eta - move)) / (2.0 * _STEP)
            parts.append(X[None] * by_eta[:, :, None])
        both = np.concatenate(parts, axis=2)
        return both[0], self.unit * both[1]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Values for JSON, and arrays."""
        return kept(self)

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Law:
        """The reverse of `state`."""
        inside = {name: restored_part(values, arrays, name) for name in ("model", "standard")}
        return cls(
            inside["model"],
            arrays["theta"],
            arrays["covariance"],
            float(values["unit_variance"]),
            inside["standard"],
            float(values["parameters"]),
        )


def restored_part(values: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> Any:
    """A record inside a kept one."""
    return restored(values[name], arrays)


def reports_of(arrays: Arrays, outcome: Outcome, standard: Standard) -> dict[str, np.ndarray]:
    """What the family reads of each row: reports or their ranges, and which of them are trusted."""
    y = outcome_of(arrays)
    reports = {"y": standard.outcome(y)}
    ends = outcome.ranges(y, standard.sign)
    if ends is not None:
        low, high = ((end - standard.middle) / standard.unit for end in ends)
        reports |= {"low": low, "high": high}
    if arrays.trusted is not None:
        reports["trusted"] = arrays.trusted
    return reports


def moved(law: Law, designs: list[np.ndarray], value: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """How numbers (m,) that depend on the predictors move with the coefficients, (m, k)."""
    eta = law.predictors(designs)
    columns = []
    for place, X in enumerate(designs):
        for column in X.T:
            by = np.zeros_like(eta)
            by[place] = _STEP * column
            columns.append((value(eta + by) - value(eta - by)) / (2.0 * _STEP))
    return np.stack(columns, axis=1)


def without_clusters(arrays: Arrays) -> Arrays:
    """The same rows, each a cluster of its own."""
    return arrays if arrays.cluster is not None else replace(arrays, cluster=np.arange(arrays.n))


def unanswered(y: np.ndarray) -> RowAnswers:
    """What is said of reports y (n,) where no model could be fitted: nobody is biased by anything."""
    none = np.zeros(len(y))
    return RowAnswers(none, none, none, none, none, y)
