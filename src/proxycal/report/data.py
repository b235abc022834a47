"""What a report needs to know: one frozen record, filled by the model, read by every page and figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from proxycal.finding import Finding
    from proxycal.questions.answers import Power, Refutation


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One estimator: its size of the bias, standard error and interval (NaN where it has none)."""

    name: str
    alpha: float
    se: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentColumn:
    """One environment column as the user knows it.

    values : (n,) float. Numbers in their own units, or codes into `levels`; NaN where missing.
    levels : names of the categories, or None for a numeric column.
    """

    name: str
    values: np.ndarray
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class MixtureCurve:
    """Outcome minus content under the fitted mixture, as shares of all rows that lie below each place.

    at (m,) : outcome's own units, rising. unbiased, biased (m,) : the two parts of the mixture.
    """

    at: np.ndarray
    unbiased: np.ndarray
    biased: np.ndarray


@dataclass(frozen=True, slots=True)
class GateRow:
    """What multiplies the odds of being biased, with a pointwise interval.

    One sd more of a numeric column (level None), or a level of a categorical one against its `reference`.
    """

    column: str
    level: str | None
    reference: str | None
    odds: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ReportData:
    """A fitted calibration, as a reader sees it.

    verdict : "bias found" | "no bias found" | "not identified".
    estimate : the main estimator; `estimates` holds all of them, the main one included.
    y_obs, y_cal, y_low, y_high, mu, p_biased, weights : (n,) float, rows of the fitted table, or a random
    sample of them where they are many; outcome's own units. n_fitted : rows in the fit.
    environment : the columns that may drive the bias, in the order of the roles.
    sources : original names of other roles that were set, e.g. {"weights": "w", "cluster": "county"}.
    settings : what the run was asked to do, as option -> value.
    versions : package -> version. seconds : time the fit took, None if unknown.
    mixture, gate : the fitted mixture around the content and what drives its bias, where the method has them.
    refutations, power : questions put to the fit, where they were.
    """

    verdict: str
    method: str
    direction: str
    level: float
    outcome: str
    proxies: tuple[str, ...]
    estimate: EstimateRow
    estimates: tuple[EstimateRow, ...]
    share_biased: float
    findings: tuple[Finding, ...]
    y_obs: np.ndarray
    y_cal: np.ndarray
    y_low: np.ndarray
    y_high: np.ndarray
    mu: np.ndarray
    p_biased: np.ndarray
    weights: np.ndarray
    environment: tuple[EnvironmentColumn, ...]
    n_fitted: int
    random_state: int = 0
    sources: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    mixture: MixtureCurve | None = None
    gate: tuple[GateRow, ...] = ()
    refutations: tuple[Refutation, ...] = ()
    power: Power | None = None

    @property
    def n(self) -> int:
        """Number of rows at hand; `n_fitted` where all of them are."""
        return len(self.y_obs)
