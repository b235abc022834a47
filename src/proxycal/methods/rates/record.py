"""The finished fit of counts or of a yes/no outcome, and what it says of rows and totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np

from proxycal.effect.row_truth import RowTruth
from proxycal.engine.covariates import Covariates
from proxycal.engine.keep import kept, restored
from proxycal.errors import TableError
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import outcome_of
from proxycal.methods.rates.answer import Fitted
from proxycal.methods.rates.claims import Evidence
from proxycal.methods.rates.kinds import kind_of
from proxycal.result import Details, Estimate, Finding, Prediction, number

if TYPE_CHECKING:
    from proxycal.methods.rates.answer import RowAnswer
    from proxycal.methods.rates.kinds import Kind
    from proxycal.result import Verdict
    from proxycal.table.encode import Arrays

Name = Literal["counts", "binary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatesFit:
    """A report of a share of the truth: who reports how much of it, and what rows were like.

    name : "counts" or "binary". sign : +1 over, -1 under. claim : what follows the size where a bias was
    found. law : what the model says of it. evidence : what the
    verdict rests on. fitted : the model with a report, for rows; None where none could
    be fitted.
    """

    name: Name
    sign: float
    level: float
    verdict: Verdict
    findings: tuple[Finding, ...]
    claim: str
    law: str
    share_biased: float
    estimate: Estimate
    detectable: float
    evidence: Evidence | None
    fitted: Fitted | None

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary."""
        return self.estimate, *(
            Estimate.missing(
                name, f"not defined for {'counts' if self.name == 'counts' else 'yes/no outcomes'}"
            )
            for name in ("moments", "match")
        )

    @property
    def details(self) -> Details:
        """The condition of the claim."""
        return Details(claim=self.claim, law=self.law, detectable=self.detectable, models_direct=True)

    @property
    def kind(self) -> Kind:
        """What counts and yes/no outcomes do differently."""
        return kind_of(self.name, self.sign)

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        y = outcome_of(arrays)
        if self.fitted is None:
            none = np.zeros(arrays.n)
            return Prediction(
                y_cal=y, y_cal_low=y, y_cal_high=y, p_biased=none, shift=none, mu=y, z=none[:, None], a=none
            )
        rows, outcome, answer = self._answer(arrays)
        slopes = self.fitted.slopes(rows, outcome)
        se = np.sqrt(np.maximum(((slopes @ self.fitted.covariance) * slopes).sum(axis=1), 0.0))
        low, high = self.kind.interval(answer, y, se, self.level)
        return Prediction(
            y_cal=answer.mean,
            y_cal_low=low,
            y_cal_high=high,
            p_biased=answer.p,
            shift=y - answer.mean,
            mu=answer.expected,
            z=rows.m,
            a=answer.p,
        )

    def row_truth(self, arrays: Arrays) -> RowTruth:
        """Mean and variance of the truth of each row, and how the mean moves with what all rows share."""
        rows, outcome, answer = self._answer(arrays)
        assert self.fitted is not None
        slope = self.fitted.slopes(rows, outcome)
        return RowTruth(answer.mean, answer.variance, slope)

    @property
    def shared_cov(self) -> np.ndarray:
        """Covariance of the parameters of the model and of the content."""
        return np.zeros((0, 0)) if self.fitted is None else self.fitted.covariance

    def effects(self, arrays: Arrays) -> NoReturn:
        """Not defined: a count of 3 has no unbiased rows of 3 to be compared with."""
        raise TableError(
            f"method='{self.name}' has no local effects: what a report misses is a share of the truth, and "
            "rows "
            "of the same content differ by chance; read the column shift of calibrate()"
        )

    def _answer(self, arrays: Arrays) -> tuple[Covariates, dict[str, np.ndarray], RowAnswer]:
        assert self.fitted is not None
        rows = self.fitted.scored(Covariates.of(arrays))
        outcome = self.kind.outcome(arrays)
        return rows, outcome, self.fitted.rows(rows, outcome)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        names = ("name", "sign", "level", "verdict", "findings", "claim", "law", "share_biased", "estimate")
        values: dict[str, Any] = {name: getattr(self, name) for name in (*names, "detectable", "evidence")}
        if self.fitted is None:
            return values, {}
        model, arrays = kept(self.fitted.model)
        content, of_content = kept(self.fitted.content)
        values |= {"model": model, "content": content, "top": self.fitted.top}
        own = {"theta": self.fitted.theta, "covariance": self.fitted.covariance}
        if self.fitted.top_slope is not None:
            own["top_slope"] = self.fitted.top_slope
        return values, pack({"fitted": own, "model": arrays, "content": of_content})

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        name, sign = values["name"], number(values["sign"])
        fitted = None
        if "model" in values:
            model = restored(values["model"], unpack(tensors, "model"))
            own = unpack(tensors, "fitted")
            fitted = Fitted(
                model,
                restored(values["content"], unpack(tensors, "content")),
                kind_of(name, sign).answers(model.family),
                own["theta"],
                own["covariance"],
                number(values["top"]),
                own.get("top_slope"),
            )
        return cls(
            name=name,
            sign=sign,
            level=number(values["level"]),
            verdict=values["verdict"],
            findings=tuple(Finding(**row) for row in values["findings"]),
            claim=str(values["claim"]),
            law=str(values["law"]),
            share_biased=number(values["share_biased"]),
            estimate=Estimate.from_dict(values["estimate"]),
            detectable=number(values["detectable"]),
            evidence=Evidence.from_dict(values["evidence"]) if values["evidence"] else None,
            fitted=fitted,
        )
