"""The finished fit of several reports, and what it says of rows and totals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from scipy.special import expit, ndtri

from proxycal.effect.reporters import ranked
from proxycal.effect.row_truth import RowTruth
from proxycal.engine.covariates import Covariates
from proxycal.engine.keep import kept, restored
from proxycal.errors import TableError
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import outcome_of
from proxycal.methods.reporters.answer import Fitted, quantile
from proxycal.methods.reporters.claims import Evidence, Reporter, detectable
from proxycal.methods.reporters.wording import claim, findings, no_fit
from proxycal.result import Details, Estimate, Finding, Prediction, number

if TYPE_CHECKING:
    from proxycal.effect.draws import Draws
    from proxycal.effect.reporters import Reporters
    from proxycal.result import Verdict
    from proxycal.table.encode import Arrays

NAME = "reporters"
_FITTED = ("sign", "middle", "unit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsFit:
    """Several reports of one truth: which reporters are biased, in which rows, by how much.

    reporters : what is found of each, in the order of the roles. evidence : what the verdict rests on beside
    them. fitted : the model that rows are answered with; None where none could be fitted.
    """

    sign: float
    level: float
    verdict: Verdict
    findings: tuple[Finding, ...]
    reporters: tuple[Reporter, ...]
    share_biased: float
    evidence: Evidence | None
    fitted: Fitted | None

    @classmethod
    def of(
        cls,
        *,
        reporters: tuple[Reporter, ...],
        evidence: Evidence,
        verdict: Verdict,
        share_biased: float,
        level: float,
        fitted: Fitted,
    ) -> Self:
        """The fit with its findings in words."""
        return cls(
            sign=fitted.sign,
            level=level,
            verdict=verdict,
            findings=findings(reporters, evidence, verdict, fitted.sign, level),
            reporters=reporters,
            share_biased=share_biased,
            evidence=evidence,
            fitted=fitted,
        )

    @classmethod
    def unfitted(cls, sign: float, level: float) -> Self:
        """Where no model could be fitted."""
        return cls(
            sign=sign,
            level=level,
            verdict="not identified",
            findings=(no_fit(),),
            reporters=(),
            share_biased=math.nan,
            evidence=None,
            fitted=None,
        )

    @property
    def estimate(self) -> Estimate:
        """The size of the bias of the reporter for whom most speaks."""
        biased = [(one.found, one.bias.lead, one.name) for one in self.reporters if one.bias is not None]
        if not biased:
            return Estimate.missing(NAME, "no model could be fitted")
        name = max(biased)[2]
        bias = next(one.bias for one in self.reporters if one.name == name)
        assert bias is not None
        return Estimate(NAME, bias.size, bias.se, bias.low, bias.high, f"of {name}")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary: the main one, then each reporter."""
        rows = []
        for one in self.reporters:
            bias = one.bias
            note = f"biased in {bias.share:.0%} of its reports" if bias and one.found else "no bias found"
            if bias is None:
                rows.append(Estimate.missing(one.name, note))
            else:
                rows.append(Estimate(one.name, bias.size, bias.se, bias.low, bias.high, note))
        return self.estimate, *rows

    @property
    def reporters_table(self) -> Reporters | None:
        """A row per reporter; None where no model could be fitted."""
        if self.fitted is None:
            return None
        known = [one.bias for one in self.reporters]
        numbers = {
            name: np.array([math.nan if bias is None else getattr(bias, name) for bias in known])
            for name in ("share", "size", "low", "high", "lead")
        }
        # Odds of one to one before the reports are seen; without a bias in the model there is no discovery.
        chance = np.where(np.isnan(numbers["lead"]), 1.0, expit(-np.nan_to_num(numbers["lead"])))
        return ranked(
            np.array([one.name for one in self.reporters], dtype=object),
            np.array([one.n for one in self.reporters]),
            np.nan_to_num(numbers["share"]),
            (numbers["size"], numbers["low"], numbers["high"]),
            chance,
        )

    @property
    def details(self) -> Details:
        """Whose bias it is."""
        size = math.nan if self.evidence is None else detectable(self.reporters, self.evidence)
        return Details(claim=claim(self.reporters), models_direct=True, detectable=size)

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones: the truth in the level of the first reporter."""
        y = outcome_of(arrays)
        if self.fitted is None:
            none = np.zeros(arrays.n)
            return Prediction(
                y_cal=y,
                y_cal_low=y,
                y_cal_high=y,
                p_biased=none,
                shift=none,
                mu=y,
                z=np.zeros((arrays.n, 0)),
                a=none,
            )
        fitted, rows, reports = self.fitted, Covariates.of(arrays), _reports_of(arrays)
        known = fitted.truths(rows, reports)
        slopes = fitted.slopes(rows, reports)
        se = np.sqrt(np.maximum(((slopes @ fitted.covariance) * slopes).sum(axis=1), 0.0)) / fitted.unit
        tail = 0.5 * (1.0 - self.level)
        ends = [fitted.back(quantile(q, known, se)) for q in (tail, 1.0 - tail)]
        mean = fitted.back(known.mean)
        made = np.isfinite(reports)
        return Prediction(
            y_cal=mean,
            y_cal_low=np.minimum(np.minimum(*ends), mean),
            y_cal_high=np.maximum(np.maximum(*ends), mean),
            p_biased=np.clip(known.any, 0.0, 1.0),
            shift=y - mean,
            mu=fitted.back(fitted.expected(rows, reports)),
            z=np.where(made, known.biased.T, np.nan),
            a=known.any,
        )

    def row_truth(self, arrays: Arrays) -> RowTruth:
        """Mean and variance of the truth of each row, and how the mean moves with what all rows share."""
        assert self.fitted is not None
        rows, reports = Covariates.of(arrays), _reports_of(arrays)
        known = self.fitted.truths(rows, reports)
        return RowTruth(
            self.fitted.back(known.mean),
            known.variance * self.fitted.unit**2,
            self.fitted.slopes(rows, reports),
        )

    def draw_truth(
        self, arrays: Arrays, draws: Draws, places: np.ndarray, outside: np.ndarray | None
    ) -> np.ndarray:
        """Draws (m, n) of the truth: of the coefficients, then of who is biased, then of the truth itself."""
        assert self.fitted is not None
        rows, reports, uniforms = Covariates.of(arrays), _reports_of(arrays), draws.uniforms(places)
        made = []
        for move, (first, second) in zip(draws.moved, uniforms, strict=True):
            known = replace(self.fitted, theta=self.fitted.theta + move).truths(rows, reports)
            cell = (known.share.cumsum(axis=0) < first).sum(axis=0).clip(max=len(known.share) - 1)
            at = cell, np.arange(arrays.n)
            noise = ndtri(second.clip(1e-12, 1.0 - 1e-12))
            made.append(self.fitted.back(known.centre[at] + np.sqrt(known.own[at]) * noise))
        return np.stack(made)

    @property
    def shared_cov(self) -> np.ndarray:
        """Covariance of the coefficients."""
        return np.zeros((0, 0)) if self.fitted is None else self.fitted.covariance

    def effects(self, arrays: Arrays) -> NoReturn:
        """Not defined: rows are compared with their own other reports."""
        raise TableError(
            "several reports of one truth have no local effects: a report is compared with the other reports "
            "of its own row, not with other rows; read the column shift of calibrate()"
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        names = ("sign", "level", "verdict", "findings", "reporters", "share_biased", "evidence")
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.fitted is None:
            return values, {}
        model, arrays = kept(self.fitted.model)
        values |= {"model": model, "fitted": {name: getattr(self.fitted, name) for name in _FITTED}}
        own = {"theta": self.fitted.theta, "covariance": self.fitted.covariance}
        return values, pack({"fitted": own, "model": arrays})

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        fitted = None
        if "model" in values:
            own = unpack(tensors, "fitted")
            fitted = Fitted(
                restored(values["model"], unpack(tensors, "model")),
                own["theta"],
                own["covariance"],
                **{name: number(values["fitted"][name]) for name in _FITTED},
            )
        return cls(
            sign=number(values["sign"]),
            level=number(values["level"]),
            verdict=values["verdict"],
            findings=tuple(Finding(**row) for row in values["findings"]),
            reporters=tuple(Reporter.from_dict(row) for row in values["reporters"]),
            share_biased=number(values["share_biased"]),
            evidence=Evidence.from_dict(values["evidence"]) if values["evidence"] else None,
            fitted=fitted,
        )


def _reports_of(arrays: Arrays) -> np.ndarray:
    """The reports (n, R), which this method needs."""
    if arrays.reports is None:
        raise TableError("the outcome columns are needed here: pass a table that has them")
    return arrays.reports
