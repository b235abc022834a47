"""The moment method on its own: no shape for the outcome, only exclusion.

    u = y - sum_k b_k P_k = c + alpha*A + noise       alpha, sigma and the share of A from three moments of u

Who is biased follows from u and from what E says of it: pi(E) = (E[u|E] - c) / alpha, noise taken as normal
for this last step only. Everything inside speaks of over-reporting, as in the other methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit

from proxycal.effect.calibrate import calibrate_turned
from proxycal.effect.likely import match_likely
from proxycal.effect.match import Controls, match_new
from proxycal.errors import TableError
from proxycal.methods.crosschecks import beside_matching, first_stage
from proxycal.methods.moments.closed_form import closed_form
from proxycal.methods.moments.estimate import MomentsFit, fit_moments
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import controls_from, controls_tensors, outcome_of
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Details, Effects, Estimate, Finding, number

if TYPE_CHECKING:
    from proxycal.methods.expression import ClosedForm, Columns
    from proxycal.result import Prediction, Verdict
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# The gate is linear in E here, so it is kept away from certainty.
SURE = 0.98


@dataclass(frozen=True, slots=True)
class MomentsMethod:
    """Moments, the content they leave, and the rows to match with.

    sign : +1 for over-, -1 for under-reporting. b (p,), centre: u = sign*y - P b - centre has mean alpha*A.
    gate (1 + q,): E[u|E] in E. first_stage_f, two_valued_p : what the verdict rests on.
    """

    sign: float
    level: float
    b: np.ndarray
    gate: np.ndarray
    centre: float
    sigma: float
    share_biased: float
    first_stage_f: float
    two_valued_p: float
    controls: Controls | None
    moments: Estimate
    match: Estimate

    @property
    def estimate(self) -> Estimate:
        """The moment estimate."""
        return self.moments

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary."""
        return Estimate.missing("exact", "not run: fit with method='exact'"), self.moments, self.match

    @property
    def verdict(self) -> Verdict:
        """Found where E is a strong instrument, two values suffice and the interval excludes 0."""
        strong = (
            self.first_stage_f >= THRESHOLDS.weak_f and self.two_valued_p > THRESHOLDS.moments_contradicted_p
        )
        return "bias found" if strong and self.moments.excludes_zero else "not identified"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons for the verdict."""
        known = math.isfinite(self.two_valued_p)
        ok = known and self.two_valued_p > THRESHOLDS.moments_contradicted_p
        two_valued = Finding(
            question="Does a bias of one size explain how the environment moves the outcome?",
            statistic=f"p = {self.two_valued_p:.2g}" if known else "no answer",
            reading=self._two_valued_reading(ok),
            remedy="Nothing to do."
            if ok
            else "Use method='exact', which does not need the moments to agree.",
            ok=ok,
            topic="two-valued",
            value=self.two_valued_p if known else None,
        )
        return (
            first_stage(self.first_stage_f),
            two_valued,
            beside_matching(self.moments, self.match),
        )

    def _two_valued_reading(self, ok: bool) -> str:
        """The test of a two-valued bias in words; the note of the estimate explains a contradiction."""
        p, note = self.two_valued_p, self.moments.note
        if ok:
            return f"A bias of one size explains how the environment moves the outcome (p = {p:.2g})."
        if not math.isfinite(p):
            return f"The moments give no size of the bias. {note}".strip()
        return (
            note
            or f"A bias of one size does not explain how the environment moves the outcome (p = {p:.2g})."
        )

    @property
    def details(self) -> Details:
        """Nothing beside the answer."""
        return Details()

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        y, content, p_biased = self._posterior(arrays)
        alpha = self.moments.alpha if math.isfinite(self.moments.alpha) else 0.0
        se = self.moments.se if math.isfinite(self.moments.se) else 0.0
        mu = content[:, 0] + self.centre
        return calibrate_turned(self.sign, y, p_biased, alpha, se, self.level, mu=mu, z=content, a=p_biased)

    def closed_form(self, columns: Columns) -> ClosedForm:
        """The same answer as arithmetic."""
        return closed_form(self, columns, SURE)

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects, each row against its nearest unbiased fitted rows in content."""
        if self.controls is None:
            raise TableError(
                "nobody, or everybody, is biased here, so there are no local effects; read findings_"
            )
        y, content, p_biased = self._posterior(arrays)
        matches = match_new(self.controls, y, content, p_biased > 0.5)
        return Effects(self.sign * matches.tau, matches.n_matched, matches.neighbours, matches.distances)

    def _posterior(self, arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y, content = self.sign * outcome_of(arrays), arrays.P @ self.b
        u = y - content - self.centre
        p = p_biased(u, self.gate[0] + arrays.E @ self.gate[1:], self.moments.alpha, self.sigma)
        return y, content[:, None], p

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        names = (
            "sign",
            "level",
            "centre",
            "sigma",
            "share_biased",
            "first_stage_f",
            "two_valued_p",
        )
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        values |= {"moments": self.moments, "match": self.match}
        parts = {"content": {"b": self.b, "gate": self.gate}}
        if self.controls is not None:
            values["k"] = self.controls.k
            parts["controls"] = controls_tensors(self.controls)
        return values, pack(parts)

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        content = unpack(tensors, "content")
        numbers = {
            name: number(value) for name, value in values.items() if name not in ("moments", "match", "k")
        }
        kept = None if "k" not in values else controls_from(unpack(tensors, "controls"), int(values["k"]))
        return cls(
            **numbers,
            b=content["b"],
            gate=content["gate"],
            controls=kept,
            moments=Estimate.from_dict(values["moments"]),
            match=Estimate.from_dict(values["match"]),
        )


def p_biased(u: np.ndarray, h: np.ndarray, alpha: float, sigma: float) -> np.ndarray:
    """P(A=1|u, E) with u = alpha*A + normal noise and pi(E) = h / alpha; zeros where there is no alpha.

    >>> p_biased(np.array([0.0, 2.0]), np.array([1.0, 1.0]), alpha=2.0, sigma=0.5).round(3).tolist()
    [0.0, 1.0]
    """
    if not (math.isfinite(alpha) and alpha > 0.0 and sigma > 0.0):
        return np.zeros(len(u))
    pi = np.clip(h / alpha, 1.0 - SURE, SURE)
    return np.asarray(expit(np.log(pi / (1.0 - pi)) + alpha * (u - 0.5 * alpha) / np.square(sigma)))


def fit_moments_method(arrays: Arrays, settings: Settings) -> MomentsMethod:
    """Moments first, then who is biased, then matching beside them."""
    sign = settings.sign
    y, w = sign * outcome_of(arrays), arrays.weights
    moments = fit_moments(y, arrays.P, arrays.E, w, arrays.cluster, settings.level)
    alpha = moments.alpha if math.isfinite(moments.alpha) else 0.0
    content = arrays.P @ moments.b
    centre = float(np.average(y - content, weights=w)) - alpha * (moments.share if alpha else 0.0)
    design = np.column_stack([np.ones(arrays.n), arrays.E])
    u = y - content - centre
    gate = least_squares(design, u, w)
    p = p_biased(u, design @ gate, moments.alpha, moments.sigma)
    controls, match = match_likely(y, content[:, None], p, w, arrays.cluster, settings.level)
    return MomentsMethod(
        sign=sign,
        level=settings.level,
        b=moments.b,
        gate=gate,
        centre=centre,
        sigma=moments.sigma,
        share_biased=float(np.average(p, weights=w)),
        first_stage_f=moments.first_stage_f_robust,
        two_valued_p=moments.two_valued_p,
        controls=controls,
        moments=_estimate(moments),
        match=match,
    )


def _estimate(moments: MomentsFit) -> Estimate:
    if not math.isfinite(moments.alpha):
        return Estimate.missing("moments", moments.note)
    return Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note)
