"""A finished exact fit: answers for rows, and its state in a run folder.

Everything inside speaks of over-reporting; direction="under" negates the outcome on the way in and every
signed answer on the way out, so that the two mirror each other exactly.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from proxycal.effect.calibrate import calibrate_turned
from proxycal.effect.match import Controls, match_new
from proxycal.effect.row_truth import RowBias
from proxycal.errors import StoreError, TableError
from proxycal.methods.exact.closed_form import closed_form
from proxycal.methods.exact.clusters import Means, cluster_means
from proxycal.methods.exact.coefficients import exact_coefficients
from proxycal.methods.exact.details import kept_details, with_law
from proxycal.methods.exact.evidence import Evidence, verdict
from proxycal.methods.exact.findings import findings
from proxycal.methods.exact.outcome import Outcome
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import controls_from, controls_tensors, outcome_of
from proxycal.mixture.answers import answer_rows, widened
from proxycal.mixture.designs import Data, Frame, Spec
from proxycal.mixture.features import Basis
from proxycal.mixture.information import biased_slope
from proxycal.mixture.laws import Params, Shape
from proxycal.mixture.scores import layout_of
from proxycal.mixture.wide.widen import WideLaw
from proxycal.result import Curve, Effects, Estimate, GateTerm, number

if TYPE_CHECKING:
    from proxycal.effect.coefficients import Coefficients
    from proxycal.methods.expression import ClosedForm, Columns
    from proxycal.mixture.answers import RowAnswers
    from proxycal.result import Details, Finding, Prediction, Verdict
    from proxycal.table.encode import Arrays

_PARAMS = ("beta", "log_sigma", "omega", "scale", "a", "gamma")
_CURVE = ("at", "unbiased", "biased")


@dataclass(frozen=True, slots=True)
class ExactFit:
    """The fitted mixture, the rows to match with, the estimates side by side and what the verdict rests on.

    sign : +1 for over-, -1 for under-reporting. spec : the model with a bias, frozen, of sign * outcome.
    shift_cov : (L, L) of its shift, outcome's units; gate_cov : (q, q) of who is biased, in the features of
    the gate; cov : (m, m) of all parameters, in the units of the frame. cluster_sd : sd of what rows of a
    cluster share. controls : unbiased rows, or None where the split leaves nothing to match. verdict,
    findings : what the evidence allows to say, and the reasons.
    """

    sign: float
    level: float
    spec: Spec
    shift_cov: np.ndarray
    gate_cov: np.ndarray
    cov: np.ndarray
    sigma: float
    cluster_sd: float
    controls: Controls | None
    estimate: Estimate
    estimates: tuple[Estimate, ...]
    share_biased: float
    evidence: Evidence
    verdict: Verdict
    findings: tuple[Finding, ...]
    details: Details
    law: WideLaw | None = None
    outcome: Outcome = field(default_factory=Outcome)
    means: Means | None = None

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        data, answers = self._answers(arrays)
        D = answers.rows.D
        se_row = np.sqrt(np.maximum(((D @ self.shift_cov) * D).sum(axis=1), 0.0))
        if self.law is not None:
            se_row = np.hypot(self.estimate.se, answers.spread)
        # What calibration takes off is a bias of the stated direction; a level without one is left alone.
        size, p = np.maximum(answers.size, 0.0), answers.p_biased
        if math.isfinite(self.outcome.spike):
            # A row on the spike is what it says; that its reporter is biased is as likely as E makes it.
            on = self.outcome.on_spike(outcome_of(arrays))
            size, p = np.where(on, 0.0, size), np.where(on, answers.prior, p)
            se_row = np.where(on, 0.0, se_row)
        return calibrate_turned(
            self.sign, data.y, p, size, se_row, self.level, mu=answers.mu, z=answers.content, a=p
        )

    def closed_form(self, columns: Columns) -> ClosedForm:
        """The same answer as arithmetic, where there is one."""
        return closed_form(self, columns)

    def row_bias(self, arrays: Arrays) -> RowBias:
        """Who is biased and by how much, and how both move with the parameters that all rows share."""
        answers = self._answers(arrays)[1]
        params, scale = self.spec.params, self.spec.frame.scale
        if self.law is not None:
            if self.means is not None:
                # All rows of a cluster share its doubt; what moves with the size alone is shared by all.
                relative = (self.sign * answers.size / self.estimate.alpha)[:, None]
                return RowBias(answers.p_biased, self.sign * answers.size, np.zeros_like(relative), relative)
            p_slope, size_slope = self.law.slopes(answers.rows)
            size = self.sign * answers.size
            size_slope *= self.sign * scale
            bias = RowBias(answers.p_biased, size, p_slope, size_slope, answers.spread)
            return self._off_spike(bias, arrays)
        slope = biased_slope(widened(self.spec, self.cluster_sd), answers.rows, self.spec.shape)
        size_slope = np.zeros_like(slope)
        size_slope[:, layout_of(params, self.spec.shape).shift] = self.sign * scale * answers.rows.D
        # As in `predict`: a level without a bias of the stated direction is left alone.
        size_slope[answers.size < 0.0] = 0.0
        size = self.sign * np.maximum(answers.size, 0.0)
        return self._off_spike(RowBias(answers.p_biased, size, slope, size_slope), arrays)

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
        return self.cov if self.means is None else np.array([[self.estimate.se**2]])

    def coefficients(self, arrays: Arrays) -> Coefficients:
        """Who misreports, by how much, and the content; arrays : the fitted rows."""
        return exact_coefficients(self, arrays, data_of(arrays, self.sign))

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects, each row against its nearest unbiased fitted rows in the content index."""
        if self.controls is None:
            raise TableError(
                "there are no unbiased rows to match with, so no local effects: the fit says nobody, or "
                "everybody, is biased; read findings_"
            )
        data, answers = self._answers(arrays)
        matches = match_new(self.controls, data.y, answers.content, answers.p_biased > 0.5)
        return Effects(self.sign * matches.tau, matches.n_matched, matches.neighbours, matches.distances)

    def _answers(self, arrays: Arrays) -> tuple[Data, RowAnswers]:
        """The rows as over-reported, and what the mixture says of them."""
        data = data_of(arrays, self.sign)
        if self.means is not None:
            return data, self._answers_of_clusters(arrays, data, self.means)
        ranges = self.outcome.ranges(outcome_of(arrays), self.sign)
        return data, answer_rows(self.spec, data, self.cluster_sd, self.law, ranges)

    def _answers_of_clusters(self, arrays: Arrays, data: Data, within: Means) -> RowAnswers:
        """What the mixture of cluster means says, row by row; without a cluster column each row is one."""
        if arrays.cluster is None:
            arrays = replace(arrays, cluster=np.arange(arrays.n))
        means, codes = cluster_means(arrays)
        noise = within.noise(np.bincount(codes))
        found = answer_rows(self.spec, data_of(means, self.sign), 0.0, self.law, None, noise)
        given = {item.name: getattr(found, item.name)[codes] for item in fields(found) if item.name != "rows"}
        return replace(found, rows=self.spec.frame.rows(data), **given)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        frame = self.spec.frame
        content, content_arrays = frame.content.state()
        gate, gate_arrays = frame.gate.state()
        values: dict[str, Any] = {
            "sign": self.sign,
            "level": self.level,
            "shape": asdict(self.spec.shape),
            "frame": {
                "features": frame.features,
                "effect": frame.effect,
                "n_levels": frame.n_levels,
                "centre": frame.centre,
                "scale": frame.scale,
                "content": content,
                "gate": gate,
            },
            "sigma": self.sigma,
            "cluster_sd": self.cluster_sd,
            "k": None if self.controls is None else self.controls.k,
            "estimates": self.estimates,
            "share_biased": self.share_biased,
            "evidence": self.evidence,
            "gate": self.details.gate,
            "sizes": self.details.sizes,
            "law": None if self.law is None else self.law.state()[0],
            "outcome": self.outcome.state(),
            "means": None if self.means is None else asdict(self.means),
        }
        named = {name: getattr(self.spec.params, name) for name in _PARAMS}
        parts = {
            "params": {
                name: np.ascontiguousarray(value) for name, value in named.items() if value is not None
            },
            "content": {name: np.ascontiguousarray(value) for name, value in content_arrays.items()},
            "gate": {name: np.ascontiguousarray(value) for name, value in gate_arrays.items()},
            "errors": {
                "shift_cov": np.ascontiguousarray(self.shift_cov),
                "gate_cov": np.ascontiguousarray(self.gate_cov),
                "cov": np.ascontiguousarray(self.cov),
            },
        }
        if self.law is not None:
            parts["law"] = {name: np.ascontiguousarray(value) for name, value in self.law.state()[1].items()}
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
        kept = values["frame"]
        params = unpack(tensors, "params")
        frame = Frame(
            features=str(kept["features"]),
            content=Basis.from_state(kept["content"], unpack(tensors, "content")),
            gate=Basis.from_state(kept["gate"], unpack(tensors, "gate")),
            effect=str(kept["effect"]),
            n_levels=int(kept["n_levels"]),
            centre=float(kept["centre"]),
            scale=float(kept["scale"]),
        )
        if "log_noise" in params:
            raise StoreError(
                "this run comes from an earlier version, whose exact method took validated rows into the "
                "model: fit the table again"
            )
        shape, errors = Shape(**values["shape"]), unpack(tensors, "errors")
        curve = unpack(tensors, "curve")
        evidence = Evidence.from_dict(values["evidence"])
        return cls(
            sign=float(values["sign"]),
            level=float(values["level"]),
            spec=Spec(shape, frame, _params_from(params)),
            shift_cov=errors["shift_cov"],
            gate_cov=errors["gate_cov"],
            cov=errors["cov"],
            sigma=float(values["sigma"]),
            cluster_sd=float(values["cluster_sd"]),
            controls=None
            if values["k"] is None
            else controls_from(unpack(tensors, "controls"), int(values["k"])),
            estimate=Estimate.from_dict(values["estimates"][0]),
            estimates=tuple(Estimate.from_dict(row) for row in values["estimates"]),
            share_biased=float(values["share_biased"]),
            evidence=evidence,
            verdict=verdict(evidence),
            findings=findings(evidence),
            details=with_law(
                kept_details(
                    shape,
                    Curve(*(curve[name] for name in _CURVE)),
                    tuple(_gate_term(row) for row in values["gate"]),
                    tuple((number(bic), number(size)) for bic, size in values["sizes"]),
                ),
                evidence,
            ),
            law=None if values["law"] is None else WideLaw.from_state(values["law"], unpack(tensors, "law")),
            outcome=Outcome.from_state(values["outcome"]),
            means=None if values["means"] is None else Means(**values["means"]),
        )


def _params_from(named: dict[str, np.ndarray]) -> Params:
    values: dict[str, Any] = {name: named.get(name) for name in _PARAMS}
    return Params(**values)


def _gate_term(values: dict[str, Any]) -> GateTerm:
    return GateTerm(**values | {name: number(values[name]) for name in ("odds", "low", "high")})


def data_of(arrays: Arrays, sign: float) -> Data:
    """The arrays as the exact estimator sees them: the bias upward."""
    numeric = ~np.array([*arrays.proxy_categorical, *arrays.categorical], dtype=bool)
    return Data(
        y=sign * outcome_of(arrays),
        P=arrays.P,
        E=arrays.E,
        weights=arrays.weights,
        curved=numeric,
        cluster=arrays.cluster,
        levels=arrays.levels,
        trusted=arrays.trusted,
    )
