"""The records of a finished fit: frozen, without frames, read by every room after the fit.

    Fit = what was asked (settings, roles) + what was computed (encoder, method_fit, estimate, rows, ...)

`Prediction` declares every output column once: its name, meaning and unit. Frames, CSV headers, the pieces of
a large table, the app and the reference page read `OUTPUT_COLUMNS`, which is derived from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from proxycal.finding import Finding, number, plain

if TYPE_CHECKING:
    import numpy as np

    from proxycal.effect.grouped import Totals
    from proxycal.effect.last_check import Support
    from proxycal.methods.registry import MethodFit
    from proxycal.questions.answers import Power, Refutation
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays, Encoder
    from proxycal.table.roles import Roles

Verdict = Literal["bias found", "no bias found", "not identified"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimator's size of the bias, in the outcome's own units and in the stated direction.

    Parameters
    ----------
    name : str
        The estimator, such as "exact", "moments" or "match".
    alpha, se, low, high : float
        Size, standard error and interval; NaN where the estimator has no answer.
    note : str, default ""
        What a reader should know, such as why there is no answer.

    """

    name: str
    alpha: float
    se: float
    low: float
    high: float
    note: str = ""

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies above 0 (False where there is no interval)."""
        return self.low > 0.0

    def ratio(self, sign: float) -> tuple[float, float, float]:
        """What biased rows report, as a share of the truth, with its interval, where alpha is a logarithm.

        sign : +1 for over-, -1 for under-reporting.

        >>> [round(part, 2) for part in Estimate("exact", 0.92, 0.05, 0.82, 1.02).ratio(-1.0)]
        [0.4, 0.36, 0.44]
        """
        ends = sorted([_exp(sign * self.low), _exp(sign * self.high)])
        return _exp(sign * self.alpha), ends[0], ends[1]

    @classmethod
    def missing(cls, name: str, note: str) -> Estimate:
        """An estimator without an answer, and the reason."""
        return cls(name, math.nan, math.nan, math.nan, math.nan, note)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        values: dict[str, Any] = plain(self)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Estimate:
        """The reverse of `to_dict`."""
        numbers = {name: number(values[name]) for name in ("alpha", "se", "low", "high")}
        return cls(name=str(values["name"]), note=str(values["note"]), **numbers)


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0)) if not math.isnan(value) else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A fit's answer for n rows. The fields with a meaning and a unit are the output columns, each (n,).

    z, a : what `latents` shows. Content (n, d), or P(biased) of each of d reports; and the bias score (n,),
    higher for the biased.
    """

    y_cal: np.ndarray = field(metadata={"meaning": "calibrated outcome: y_obs - shift", "unit": "outcome"})
    y_cal_low: np.ndarray = field(
        metadata={"meaning": "lower end of its pointwise interval", "unit": "outcome"}
    )
    y_cal_high: np.ndarray = field(
        metadata={"meaning": "upper end of its pointwise interval", "unit": "outcome"}
    )
    p_biased: np.ndarray = field(
        metadata={"meaning": "probability that the row is biased, given the data", "unit": "probability"}
    )
    shift: np.ndarray = field(
        metadata={"meaning": "what calibration subtracts, with its sign", "unit": "outcome"}
    )
    mu: np.ndarray = field(
        metadata={"meaning": "expected report without a bias, E[y_obs | do(A=0), E, Z]", "unit": "outcome"}
    )
    z: np.ndarray
    a: np.ndarray

    def outputs(self) -> dict[str, np.ndarray]:
        """The output columns by name."""
        return {column.name: getattr(self, column.name) for column in OUTPUT_COLUMNS}

    def columns(self) -> dict[str, np.ndarray]:
        """All of it by column name."""
        return self.outputs() | self.latents()

    def latents(self) -> dict[str, np.ndarray]:
        """Content z_1 .. z_d and the bias score a, by name."""
        return {f"z_{j + 1}": self.z[:, j] for j in range(self.z.shape[1])} | {"a": self.a}


class OutputColumn(NamedTuple):
    """A column that calibration adds: its name, what it means, and its unit."""

    name: str
    meaning: str
    unit: str


OUTPUT_COLUMNS = tuple(
    OutputColumn(item.name, item.metadata["meaning"], item.metadata["unit"])
    for item in fields(Prediction)
    if item.metadata
)


@dataclass(frozen=True, slots=True)
class Effects:
    """Local effects of n rows, each against its nearest unbiased rows in content.

    tau : (n,) signed difference y_obs - matched mean.
    n_matched : (n,) how many rows it was compared with, whole numbers.
    neighbours : (n, k) positions of the matches among the fitted rows; -1 where there are fewer.
    distances : (n, k) whitened distances to them; NaN where there are fewer.
    """

    tau: np.ndarray
    n_matched: np.ndarray
    neighbours: np.ndarray
    distances: np.ndarray


@dataclass(frozen=True, slots=True)
class Curve:
    """Outcome minus content under a fitted mixture, as shares of all rows that lie below each place.

    at : (m,) places in the outcome's own units, rising.
    unbiased, biased : (m,) P(y - mu <= at, A = 0), and the same with A = 1.
    """

    at: np.ndarray
    unbiased: np.ndarray
    biased: np.ndarray


@dataclass(frozen=True, slots=True)
class GateTerm:
    """How one encoded environment column moves the odds of being biased, the others held.

    odds, low, high : the odds are multiplied by this, for one sd more of a number (level None), or for a
    level against the `reference` level. The interval is pointwise; NaN where there is none.
    """

    column: str
    level: str | None
    reference: str | None
    odds: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class BiasShape:
    """How a graded bias depends on one environment column, the others at their mean.

    levels : names, or None for a number. at : (m,) positions of levels, or encoded values. bias, low, high :
    (m,) in the stated direction, with a pointwise interval, against `relative_to`.
    """

    column: str
    levels: tuple[str, ...] | None
    at: np.ndarray
    bias: np.ndarray
    low: np.ndarray
    high: np.ndarray
    relative_to: str


@dataclass(frozen=True, slots=True)
class Gaps:
    """Errors of n validated rows beside what the fit says of them without having seen their truth.

    truth : (n,) outcome's units. seen, expected : (n,) report minus truth, and minus the calibrated value, in
    the stated direction.
    """

    truth: np.ndarray
    seen: np.ndarray
    expected: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        return {"truth": self.truth, "seen": self.seen, "expected": self.expected}


@dataclass(frozen=True, slots=True)
class Details:
    """What some methods know beside their answer; a method without a part leaves its default.

    history : named curves, a value per epoch or step.
    curve, gate : the fitted mixture around the content, and what drives who is biased.
    models_shape, models_noise : whether the fitted model allows for noise that is not normal, and for noise
    that differs between environments. models_direct : whether it lets the environment move the outcome.
    sizes : (BIC, alpha) of every model with a bias of one size that was compared.
    log_spread : on the log scale, log of mean over median of the outcome of given content, else 0.
    law : what the fitted law says of the bias beyond one size and a gate by the environment, as a clause; ""
    where it says no more. unit : what is biased or not: "rows", or "clusters" that share their bias.
    claim : what to say after the size of a bias, in place of the share of biased rows, where the bias has no
    two states: relative to what, and under which assumption.
    shapes : a bias that grades with the environment, along each of its columns.
    gaps : errors of validated rows, of a method that learns from them.
    by_validation : whether the answer for rows was chosen by validated rows, and stands whatever the verdict.
    detectable : size of a bias found in nine tables of ten, in units of alpha. rows_needed : rows at which
    one of the estimated size would be; NaN where rows do not help.
    """

    history: dict[str, np.ndarray] = field(default_factory=dict)
    curve: Curve | None = None
    gate: tuple[GateTerm, ...] = ()
    models_shape: bool = False
    models_noise: bool = False
    models_direct: bool = False
    sizes: tuple[tuple[float, float], ...] = ()
    law: str = ""
    unit: str = "rows"
    claim: str = ""
    log_spread: float = 0.0
    shapes: tuple[BiasShape, ...] = ()
    gaps: Gaps | None = None
    by_validation: bool = False
    detectable: float = math.nan
    rows_needed: float = math.nan


@dataclass(frozen=True, slots=True)
class EnvironmentColumn:
    """One environment column as the user knows it.

    values : (n,) numbers in their own units, or codes into `levels`; NaN where missing.
    levels : names of the categories, None for a numeric column.
    """

    name: str
    values: np.ndarray
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FittedRows:
    """The fitted rows that pages and pictures show: all of them, or a sample where they are many.

    y_obs, weights : (n,) outcome's own units. predicted : the fit's answer for these rows.
    environment : the columns that may drive the bias, in the order of the roles.
    """

    y_obs: np.ndarray
    weights: np.ndarray
    predicted: Prediction
    environment: tuple[EnvironmentColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What was learned when: a line of the log, as `ProxyCalibrator.updates_` describes it."""

    when: str
    rows: int
    n: int
    verdict: Verdict
    alpha: float
    low: float
    high: float
    share_biased: float
    changed: bool = False
    p_bias: float = math.nan
    size: float = math.nan
    odds: float = math.nan
    p_report: float = math.nan

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Update:
        """Rebuild it from what JSON keeps of its fields."""
        return cls(**values | {name: number(values[name]) for name in _UPDATE_NUMBERS})


_UPDATE_NUMBERS = ("alpha", "low", "high", "share_biased", "p_bias", "size", "odds", "p_report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A finished fit: what was asked and everything that was computed, so that nobody computes it again.

    Parameters
    ----------
    estimate : Estimate
        The main estimate; alpha >= 0, in the stated direction and the outcome's own units.
    estimates : tuple of Estimate
        Every estimator's answer, the main one among them.
    share_biased : float
        Mean of P(A = 1 | data) over the fitted rows.
    verdict : {"bias found", "no bias found", "not identified"}
        What may be said.
    findings : tuple of Finding
        Reasons for the verdict, and what else a reader should know.
    settings, roles : Settings, Roles
        What was asked.
    n : int
        Rows in the fit.
    versions : dict
        Package -> version that made it.
    encoder, method_fit : Encoder, MethodFit
        The fitted translation of tables into arrays, and the method's own record.
    rows : FittedRows
        Rows that pages show.
    labels : ndarray of str, (n,)
        What each fitted row is called.
    training : Arrays
        The encoded rows, or a sample of many, for questions that refit.
    support : Support
        What reports, truths and columns span: no answer may lie far beyond.
    totals : tuple of Totals
        Totals of the fitted rows, or means where some are below zero: in all, and by each categorical
        environment column; none of a table that was read in pieces.
    asked_method : str
        The method that was asked for, where the data chose the one in `settings`; "" where both are the same.
    questions : dict
        Refutations and power asked since, by name.
    updates : tuple of Update
        What was learned when, the first fit first; none of a fit that was not updated.

    Examples
    --------
    >>> import proxycal
    >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
    >>> fit = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).result_
    >>> fit.n, fit.verdict
    (400, 'bias found')

    """

    estimate: Estimate
    estimates: tuple[Estimate, ...]
    share_biased: float
    verdict: Verdict
    findings: tuple[Finding, ...]
    settings: Settings
    roles: Roles
    n: int
    versions: dict[str, str]
    # Two fits are the same where they found the same; arrays do not compare.
    encoder: Encoder = field(compare=False, repr=False)
    method_fit: MethodFit = field(compare=False, repr=False)
    rows: FittedRows = field(compare=False, repr=False)
    labels: np.ndarray = field(compare=False, repr=False)
    training: Arrays = field(compare=False, repr=False)
    support: Support = field(compare=False, repr=False)
    totals: tuple[Totals, ...] = field(default=(), compare=False, repr=False)
    asked_method: str = ""
    questions: dict[str, Refutation | Power] = field(default_factory=dict, compare=False, repr=False)
    updates: tuple[Update, ...] = ()

    @property
    def why_left_alone(self) -> str:
        """Why calibration leaves the outcome as reported; empty where it does not."""
        if self.verdict == "bias found" or self.method_fit.details.by_validation:
            return ""
        own = self.method_fit.findings
        reasons = [finding.reading for finding in own if not finding.ok] or [own[0].reading]
        helps = [finding.remedy for finding in self.findings if not finding.ok and finding.remedy]
        advice = f" What would help most: {helps[0]}" if helps and self.verdict == "not identified" else ""
        left = "so the outcome is left as reported (y_cal = y_obs, shift = 0)"
        return f"the verdict is '{self.verdict}', {left}: {' '.join(reasons)}{advice}"
