"""The exact method, end to end: the race of mixtures, matching and moments beside it, a verdict.

    (y, P, E) -> bias/exact.py -> alpha, P(A=1)    who is biased -> effect/match.py    and bias/moments.py

Everything inside speaks of over-reporting; direction="under" negates the outcome on the way in and every
signed answer on the way out, so that the two mirror each other exactly.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from proxycal.bias.designs import Data, Frame, Spec, canonical_order
from proxycal.bias.exact import fit_exact
from proxycal.bias.features import Basis
from proxycal.bias.mixture import Params, Rows, Shape, content_mean, posterior
from proxycal.bias.moments import fit_moments
from proxycal.bias.refits import refit_shifts
from proxycal.effect.calibrate import calibrate
from proxycal.effect.match import Controls, match_new
from proxycal.effect.uncertainty import bootstrap_covariance, bootstrap_weights, normal_interval
from proxycal.errors import SettingsError, TableError, UnavailableError
from proxycal.methods.evidence import Evidence, collect, verdict
from proxycal.methods.exact_findings import findings
from proxycal.methods.fit import Effects, Estimate, Prediction
from proxycal.methods.parts import controls_from, controls_tensors, match_likely, outcome_of
from proxycal.neural.packing import pack, unpack

if TYPE_CHECKING:
    from proxycal.bias.runners import ExactBias
    from proxycal.config import Settings
    from proxycal.finding import Finding
    from proxycal.table.encode import Arrays

BOOTSTRAP_DRAWS = 200
_PARAMS = ("beta", "log_sigma", "omega", "scale", "a", "gamma", "log_noise")
# What runs of earlier versions call content features that came from a network.
_NETWORK_FEATURES = "z_hat"


@dataclass(frozen=True, slots=True)
class ExactFit:
    """The fitted mixture, the rows to match with, the estimates side by side and what the verdict rests on.

    sign : +1 for over-, -1 for under-reporting. spec : the model with a bias, frozen, of sign * outcome.
    shift_cov : (L, L) of its shift, outcome's units. cluster_sd : sd of what rows of a cluster share.
    controls : unbiased rows, or None where the split leaves nothing to match.
    """

    sign: float
    level: float
    spec: Spec
    shift_cov: np.ndarray
    sigma: float
    cluster_sd: float
    controls: Controls | None
    estimates: tuple[Estimate, ...]
    share_biased: float
    evidence: Evidence

    @property
    def estimate(self) -> Estimate:
        """The exact estimate."""
        return self.estimates[0]

    @property
    def verdict(self) -> str:
        """What the evidence allows to say."""
        return verdict(self.evidence)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons for the verdict and the cross-checks."""
        return findings(self.evidence)

    @property
    def history(self) -> dict[str, np.ndarray]:
        """Nothing is trained by epochs."""
        return {}

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        y, rows, p_biased = self._posterior(arrays)
        scale = self.spec.frame.scale
        alpha_row = rows.D @ self.spec.params.a[0] * scale
        se_row = np.sqrt(np.maximum(((rows.D @ self.shift_cov) * rows.D).sum(axis=1), 0.0))
        # What calibration takes off is a bias of the stated direction; a level without one is left alone.
        made = calibrate(y, p_biased, np.maximum(alpha_row, 0.0), se_row, "over", self.level)
        low, high = (made.low, made.high) if self.sign > 0 else (-made.high, -made.low)
        post = posterior(self.spec.params, rows, self.spec.shape)
        mu = content_mean(self.spec.params, rows, post) * scale + self.spec.frame.centre
        return Prediction(
            p_biased=p_biased,
            mu=self.sign * mu,
            shift=self.sign * made.shift,
            y_cal=self.sign * made.y_cal,
            low=low,
            high=high,
            z=content_index(self.spec, rows),
            a=p_biased,
        )

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects, each row against its nearest unbiased fitted rows in the content index."""
        if self.controls is None:
            raise TableError(
                "there are no unbiased rows to match with, so no local effects: the fit says nobody, or "
                "everybody, is biased; read findings_"
            )
        y, rows, p_biased = self._posterior(arrays)
        made = match_new(self.controls, y, content_index(self.spec, rows), p_biased > 0.5)
        return Effects(self.sign * made.tau, made.n_matched, made.neighbours, made.distances)

    def _posterior(self, arrays: Arrays) -> tuple[np.ndarray, Rows, np.ndarray]:
        """The outcome as over-reported, its features, and P(A=1|data)."""
        data = data_of(arrays, self.sign)
        rows = self.spec.frame.rows(replace(data, truth=None))
        return data.y, rows, p_of(self.spec, rows, self.cluster_sd)

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
            "estimates": [one.to_dict() for one in self.estimates],
            "share_biased": self.share_biased,
            "evidence": self.evidence.to_dict(),
        }
        named = {name: getattr(self.spec.params, name) for name in _PARAMS}
        parts = {
            "params": {
                name: np.ascontiguousarray(value) for name, value in named.items() if value is not None
            },
            "content": {name: np.ascontiguousarray(value) for name, value in content_arrays.items()},
            "gate": {name: np.ascontiguousarray(value) for name, value in gate_arrays.items()},
            "errors": {"shift_cov": np.ascontiguousarray(self.shift_cov)},
        }
        if self.controls is not None:
            parts["controls"] = controls_tensors(self.controls)
        return values, pack(parts)

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        kept = values["frame"]
        if kept["features"] == _NETWORK_FEATURES:
            raise UnavailableError(
                "this run takes its content from a neural network, which method='exact' no longer uses: fit "
                "the table again"
            )
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
        return cls(
            sign=float(values["sign"]),
            level=float(values["level"]),
            spec=Spec(Shape(**values["shape"]), frame, _params_from(params)),
            shift_cov=unpack(tensors, "errors")["shift_cov"],
            sigma=float(values["sigma"]),
            cluster_sd=float(values["cluster_sd"]),
            controls=None
            if values["k"] is None
            else controls_from(unpack(tensors, "controls"), int(values["k"])),
            estimates=tuple(Estimate.from_dict(one) for one in values["estimates"]),
            share_biased=float(values["share_biased"]),
            evidence=Evidence.from_dict(values["evidence"]),
        )


def _params_from(named: dict[str, np.ndarray]) -> Params:
    found: dict[str, Any] = {name: named.get(name) for name in _PARAMS}
    return Params(**found)


def fit_exact_method(arrays: Arrays, settings: Settings) -> ExactFit:
    """Race and fit, then put matching and moments beside the answer."""
    return answered(find(arrays, settings), arrays, settings)


@dataclass(frozen=True, slots=True)
class Found:
    """The race of some rows: its sign, the rows as it saw them, and its answer."""

    sign: float
    data: Data
    bias: ExactBias


def find(arrays: Arrays, settings: Settings, total: float | None = None) -> Found:
    """Race and fit; total: weight of the table that the arrays are a sample of, None where they are all."""
    sign = 1.0 if settings.direction == "over" else -1.0
    data = data_of(arrays, sign)
    _check_effect(settings.effect, arrays)
    found = fit_exact(data, settings.effect, seed=settings.random_state, total=total)
    if settings.interval == "bootstrap":
        found = _bootstrapped(found, data, settings)
    return Found(sign, data, found)


def answered(race: Found, arrays: Arrays, settings: Settings) -> ExactFit:
    """The answer of a race with matching and moments of its rows beside it."""
    data, found = race.data, race.bias
    rows = found.bias.frame.rows(replace(data, truth=None))
    p_biased = p_of(found.bias, rows, found.cluster_sd)
    controls, match = match_likely(
        data.y, content_index(found.bias, rows), p_biased, data.weights, data.cluster, settings.level
    )
    moments = fit_moments(
        data.y, arrays.P, arrays.E, data.weights, data.cluster, direction="over", level=settings.level
    )
    estimates = (
        _exact_estimate(found, settings.level),
        Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note),
        match,
        *_level_estimates(found, arrays, settings.level),
    )
    return ExactFit(
        sign=race.sign,
        level=settings.level,
        spec=found.bias,
        shift_cov=found.shift_cov,
        sigma=found.sigma,
        cluster_sd=found.cluster_sd,
        controls=controls,
        estimates=estimates,
        share_biased=found.share,
        evidence=collect(found, data, rows, p_biased, estimates, moments),
    )


def _bootstrapped(found: ExactBias, data: Data, settings: Settings) -> ExactBias:
    """The same answer with the covariance of reweighted refits in place of the sandwich."""
    order = canonical_order(data)
    weights = np.empty((BOOTSTRAP_DRAWS, len(order)))
    cluster = None if data.cluster is None else data.cluster[order]
    weights[:, order] = bootstrap_weights(
        data.weights[order], cluster, BOOTSTRAP_DRAWS, settings.random_state
    )
    return replace(found, shift_cov=bootstrap_covariance(refit_shifts(found, data, weights)))


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
        truth=None if arrays.truth is None else sign * arrays.truth,
    )


def p_of(spec: Spec, rows: Rows, cluster_sd: float) -> np.ndarray:
    """P(A=1|data) of any rows; a row of an unknown cluster carries its intercept as noise."""
    params = spec.params
    if cluster_sd > 0.0:
        variance = np.exp(2.0 * params.log_sigma) + (cluster_sd / spec.frame.scale) ** 2
        params = replace(params, log_sigma=0.5 * np.log(variance))
    return posterior(params, rows, spec.shape).p_biased[0]


def content_index(spec: Spec, rows: Rows) -> np.ndarray:
    """The content that drives the outcome, (n, d): each component's own linear predictor."""
    beta = spec.params.beta[0]
    if spec.shape.means == "shared":
        beta = beta[:1]
    elif spec.shape.means == "atom":
        beta = beta[:-1]
    return np.asarray(rows.X @ beta.T) * spec.frame.scale


def _check_effect(effect: str, arrays: Arrays) -> None:
    column = effect.removeprefix("by:")
    if effect.startswith("by:") and column not in arrays.levels:
        known = ", ".join(f"'by:{name}'" for name in arrays.levels) or "none here"
        raise SettingsError(
            f"effect='{effect}': '{column}' is not a categorical environment column; possible: {known}. "
            "A numeric column can be cut into a few levels first"
        )


def _exact_estimate(found: ExactBias, level: float) -> Estimate:
    """The shift itself, or, where it varies, its mean over the biased.

    alpha >= 0 by definition; a mean below 0 is no bias of the stated direction, and the interval shows it.
    """
    at = found.where_biased
    note = "" if found.bias.frame.effect == "constant" else f"mean over the biased; {found.bias.frame.effect}"
    mean, se = float(at @ found.shift), float(np.sqrt(max(float(at @ found.shift_cov @ at), 0.0)))
    made = _normal("exact", mean, se, level, note)
    return made if mean >= 0.0 else replace(made, alpha=0.0, high=max(made.high, 0.0))


def _level_estimates(found: ExactBias, arrays: Arrays, level: float) -> list[Estimate]:
    """The size at each level, or how it changes with each environment column."""
    frame = found.bias.frame
    if frame.effect == "constant":
        return []
    if frame.effect == "linear":
        # From the gate's orthonormal columns back to one slope per encoded environment column.
        names = [f"exact, slope of {name}" for name in arrays.environment_names]
        size, cov = (
            frame.gate.rotate @ found.shift[1:],
            frame.gate.rotate @ found.shift_cov[1:, 1:] @ frame.gate.rotate.T,
        )
    else:
        column = frame.effect.removeprefix("by:")
        names = [f"exact, {column}={name}" for name in arrays.level_names[column]]
        size, cov = found.shift, found.shift_cov
    errors = np.sqrt(np.maximum(np.diag(cov), 0.0))
    triples = zip(names, size, errors, strict=True)
    return [_normal(name, float(a), float(se), level) for name, a, se in triples]


def _normal(name: str, alpha: float, se: float, level: float, note: str = "") -> Estimate:
    if not math.isfinite(se):
        return Estimate(name, alpha, math.nan, math.nan, math.nan, note)
    return Estimate(name, alpha, se, *normal_interval(alpha, se, level), note)
