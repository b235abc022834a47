"""A finished exact fit: answers for rows, and its state in a run folder.

Everything inside speaks of over-reporting; direction="under" negates the outcome on the way in and every
signed answer on the way out, so that the two mirror each other exactly.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import block_diag

from proxycal.effect.calibrate import calibrate_turned
from proxycal.effect.coefficients import SIZE
from proxycal.effect.match import Controls, match_new
from proxycal.effect.row_truth import RowBias
from proxycal.errors import StoreError, TableError
from proxycal.methods.exact.clusters import Means, cluster_means
from proxycal.methods.exact.outcome import Outcome
from proxycal.methods.one_model.closed_form import closed_form
from proxycal.methods.one_model.coefficients import one_model_coefficients
from proxycal.methods.one_model.details import kept_details, with_law
from proxycal.methods.one_model.evidence import Evidence, verdict
from proxycal.methods.one_model.findings import findings
from proxycal.methods.one_model.law import Law, RowAnswers, unanswered, without_clusters
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import controls_from, controls_tensors, outcome_of
from proxycal.result import Curve, Details, Effects, Estimate, GateTerm, number

if TYPE_CHECKING:
    from proxycal.effect.coefficients import Coefficients
    from proxycal.methods.expression import ClosedForm, Columns
    from proxycal.result import Finding, Prediction, Verdict
    from proxycal.table.encode import Arrays

_CURVE = ("at", "unbiased", "biased")


@dataclass(frozen=True, slots=True)
class OneModelFit:
    """The fitted model, the rows to match with, the estimates side by side and what the verdict rests on.

    between : variance of the size between models that explain the table about as well.

    sign : +1 for over-, -1 for under-reporting. effect : how the size was asked to vary. law : the model
    with a bias, None where none could be fitted. controls : unbiased rows, or None where the split leaves
    nothing to match. verdict, findings : what the evidence allows to say, and the reasons. means : what the
    means of clusters leave out, where whole clusters are biased.
    """

    sign: float
    level: float
    effect: str
    law: Law | None
    controls: Controls | None
    estimate: Estimate
    estimates: tuple[Estimate, ...]
    share_biased: float
    evidence: Evidence
    verdict: Verdict
    findings: tuple[Finding, ...]
    details: Details
    outcome: Outcome = field(default_factory=Outcome)
    between: float = 0.0
    means: Means | None = None

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        answers = self.answers(arrays)
        size, p = answers.size, answers.p_biased
        se = np.hypot(answers.size_se, answers.spread)
        if math.isfinite(self.outcome.spike):
            # A row on the spike is what it says; that its reporter is biased is as likely as E makes it.
            on = self.outcome.on_spike(outcome_of(arrays))
            size, p = np.where(on, 0.0, size), np.where(on, answers.prior, p)
            se = np.where(on, 0.0, se)
        y, z = self.sign * outcome_of(arrays), answers.mu[:, None]
        return calibrate_turned(self.sign, y, p, size, se, self.level, mu=answers.mu, z=z, a=p)

    def closed_form(self, columns: Columns) -> ClosedForm:
        """The same answer as arithmetic, where there is one."""
        return closed_form(self, columns)

    def row_bias(self, arrays: Arrays) -> RowBias:
        """Who is biased and by how much, and how both move with the parameters that all rows share."""
        answers = self.answers(arrays)
        size = self.sign * answers.size
        if self.law is None or self.means is not None:
            # All rows of a cluster share its doubt; what moves with the size alone is shared by all.
            relative = (size / self.estimate.alpha)[:, None]
            return RowBias(answers.p_biased, size, np.zeros_like(relative), relative)
        p_slope, size_slope = self.law.slopes(arrays, self.outcome)
        # Which of the models is right moves all sizes alike.
        alike = answers.size / max(self.estimate.alpha, 1e-300)
        p_slope = np.column_stack([p_slope, np.zeros(arrays.n)])
        size_slope = np.column_stack([size_slope, alike])
        spread = answers.spread if self.law.family.varies else None
        bias = RowBias(answers.p_biased, size, p_slope, self.sign * size_slope, spread)
        return self._off_spike(bias, arrays)

    def _off_spike(self, bias: RowBias, arrays: Arrays) -> RowBias:
        """The same, but rows on the spike have no bias to take off."""
        if math.isnan(self.outcome.spike):
            return bias
        on = self.outcome.on_spike(outcome_of(arrays))
        return RowBias(
            bias.p,
            np.where(on, 0.0, bias.size),
            np.where(on[:, None], 0.0, bias.p_slope),
            np.where(on[:, None], 0.0, bias.size_slope),
            None if bias.spread is None else np.where(on, 0.0, bias.spread),
        )

    @property
    def shared_cov(self) -> np.ndarray:
        """Covariance of the parameters that the slopes of `row_bias` are in."""
        if self.law is None or self.means is not None:
            return np.array([[self.estimate.se**2]])
        return np.asarray(block_diag(self.law.covariance, [[self.between]]))

    def coefficients(self, arrays: Arrays) -> Coefficients:
        """Who misreports, by how much, and the content; arrays : the fitted rows."""
        if self.law is None:
            raise TableError("no model could be fitted, so there are no coefficients: read findings_")
        p = self.answers(arrays).p_biased
        found = one_model_coefficients(self.law, self.outcome, arrays, p, self.sign, self.effect)
        if self.effect != "constant":
            return found
        own = np.array([name == SIZE for name in found.components])
        cov = found.cov + self.between * np.outer(own, own)
        return replace(found, estimate=np.where(own, self.estimate.alpha, found.estimate), cov=cov)

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects, each row against its nearest unbiased fitted rows in the content index."""
        if self.controls is None:
            raise TableError(
                "there are no unbiased rows to match with, so no local effects: the fit says nobody, or "
                "everybody, is biased; read findings_"
            )
        answers = self.answers(arrays)
        y = self.sign * outcome_of(arrays)
        matches = match_new(self.controls, y, answers.mu[:, None], answers.p_biased > 0.5)
        return Effects(self.sign * matches.tau, matches.n_matched, matches.neighbours, matches.distances)

    def answers(self, arrays: Arrays) -> RowAnswers:
        """What the model says of the rows, the bias upward."""
        if self.law is None:
            return unanswered(self.sign * outcome_of(arrays))
        if self.means is None:
            return self.law.answers(arrays, self.outcome)
        # What the model of cluster means says, row by row; without a cluster column each row is one.
        means, codes = cluster_means(without_clusters(arrays))
        noise = self.means.noise(np.bincount(codes))
        found = self.law.answers(means, self.outcome, noise)
        return RowAnswers(**{item.name: getattr(found, item.name)[codes] for item in fields(found)})

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        law, arrays = (None, {}) if self.law is None else self.law.state()
        values: dict[str, Any] = {
            "sign": self.sign,
            "level": self.level,
            "effect": self.effect,
            "law": law,
            "k": None if self.controls is None else self.controls.k,
            "estimates": self.estimates,
            "share_biased": self.share_biased,
            "between": self.between,
            "evidence": self.evidence,
            "gate": self.details.gate,
            "outcome": self.outcome.state(),
            "means": None if self.means is None else asdict(self.means),
        }
        parts = {"law": arrays}
        if self.controls is not None:
            parts["controls"] = controls_tensors(self.controls)
        if self.details.curve is not None:
            parts["curve"] = {
                name: np.ascontiguousarray(getattr(self.details.curve, name)) for name in _CURVE
            }
        return values, pack(parts)

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        if "shape" in values:
            raise StoreError(
                "this run comes from an earlier version, whose exact method had another model: fit the table "
                "again"
            )
        law = None
        if values["law"] is not None:
            law = Law.from_state(values["law"], unpack(tensors, "law"))
        evidence = Evidence.from_dict(values["evidence"])
        details = Details()
        if law is not None:
            curve = unpack(tensors, "curve")
            gate = tuple(_gate_term(row) for row in values["gate"])
            details = with_law(
                kept_details(Curve(*(curve[name] for name in _CURVE)), gate, law.family.components), evidence
            )
        controls = None
        if values["k"] is not None:
            controls = controls_from(unpack(tensors, "controls"), int(values["k"]))
        return cls(
            sign=float(values["sign"]),
            level=float(values["level"]),
            effect=str(values["effect"]),
            law=law,
            controls=controls,
            estimate=Estimate.from_dict(values["estimates"][0]),
            estimates=tuple(Estimate.from_dict(row) for row in values["estimates"]),
            share_biased=number(values["share_biased"]),
            between=float(values["between"]),
            evidence=evidence,
            verdict=verdict(evidence),
            findings=findings(evidence),
            details=details,
            outcome=Outcome.from_state(values["outcome"]),
            means=None if values["means"] is None else Means(**values["means"]),
        )


def _gate_term(values: dict[str, Any]) -> GateTerm:
    return GateTerm(**values | {name: number(values[name]) for name in ("odds", "low", "high")})
