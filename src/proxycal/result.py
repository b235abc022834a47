"""The finished calibration: a frozen record that pages, tables and files read."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.finding import Finding
from proxycal.methods.registry import Estimate

if TYPE_CHECKING:
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles

_NUMBERS = ("y_obs", "y_cal", "y_low", "y_high", "mu", "p_biased", "weights")
_ENVIRONMENT = "environment:"


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a fit found, in the outcome's own units.

    alpha, se, interval : size of the bias (>= 0, in the stated direction), its standard error, its interval
    at settings.level.
    share_biased : mean of P(A = 1 | data). verdict : "bias found" | "no bias found" | "not identified".
    findings : reasons and cautions. estimates : every estimator's answer, the main one first in `estimate`.
    n : rows in the fit. versions : package -> version that made it.
    """

    estimate: Estimate
    estimates: tuple[Estimate, ...]
    share_biased: float
    verdict: str
    findings: tuple[Finding, ...]
    settings: Settings
    roles: Roles
    n: int
    versions: dict[str, str]

    @property
    def alpha(self) -> float:
        """Size of the bias."""
        return self.estimate.alpha

    @property
    def se(self) -> float:
        """Standard error of alpha."""
        return self.estimate.se

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of alpha at `settings.level`."""
        return self.estimate.low, self.estimate.high

    def summary(self) -> pd.DataFrame:
        """One row per estimator: alpha, se, low, high, note."""
        rows = [(one.alpha, one.se, one.low, one.high, one.note) for one in self.estimates]
        names = pd.Index([one.name for one in self.estimates], name="estimator")
        return pd.DataFrame(rows, columns=["alpha", "se", "low", "high", "note"], index=names)

    def to_dict(self) -> dict[str, Any]:
        """What was found as plain JSON values; settings, roles and versions have files of their own."""
        return {
            "alpha": _or_none(self.alpha),
            "alpha_se": _or_none(self.se),
            "alpha_interval": [_or_none(bound) for bound in self.interval],
            "share_biased": self.share_biased,
            "verdict": self.verdict,
            "n": self.n,
            "estimate": self.estimate.to_dict(),
            "estimates": [one.to_dict() for one in self.estimates],
            "findings": [one.to_dict() for one in self.findings],
        }

    @classmethod
    def from_dict(
        cls, values: dict[str, Any], settings: Settings, roles: Roles, versions: dict[str, str]
    ) -> Calibration:
        """The reverse of `to_dict`."""
        return cls(
            estimate=Estimate.from_dict(values["estimate"]),
            estimates=tuple(Estimate.from_dict(one) for one in values["estimates"]),
            share_biased=float(values["share_biased"]),
            verdict=str(values["verdict"]),
            findings=tuple(Finding(**one) for one in values["findings"]),
            settings=settings,
            roles=roles,
            n=int(values["n"]),
            versions=versions,
        )

    def _repr_html_(self) -> str:
        low, high = self.interval
        head = f"<b>{html.escape(self.verdict)}</b> in {html.escape(self.roles.outcome)} ({self.n} rows)"
        if self.verdict == "bias found":
            head += (
                f": {self.settings.direction}-reported by {self.alpha:.4g} ({self.settings.level:.0%} "
                f"interval {low:.4g} to {high:.4g}) in {self.share_biased:.0%} of the rows"
            )
        failed = "".join(
            f"<li>{html.escape(one.question)} {html.escape(one.reading)} {html.escape(one.remedy)}</li>"
            for one in self.findings
            if not one.ok
        )
        return f"<div><p>{head}</p>{self.summary().to_html()}{f'<ul>{failed}</ul>' if failed else ''}</div>"


@dataclass(frozen=True, slots=True)
class FittedRows:
    """The fitted rows as a reader may look at them: all of them, or a sample where they are many.

    y_obs, y_cal, y_low, y_high, mu, p_biased, weights : (n,) floats, outcome's own units.
    environment : column -> (values (n,), levels); values are numbers or codes into levels, NaN where missing.
    """

    y_obs: np.ndarray
    y_cal: np.ndarray
    y_low: np.ndarray
    y_high: np.ndarray
    mu: np.ndarray
    p_biased: np.ndarray
    weights: np.ndarray
    environment: dict[str, tuple[np.ndarray, tuple[str, ...] | None]]

    def to_frame(self) -> pd.DataFrame:
        """As a table that Parquet keeps exactly: categories stay categories."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        for name, (values, levels) in self.environment.items():
            column: Any = values
            if levels is not None:
                codes = np.where(np.isnan(values), -1, values).astype(np.int64)
                column = pd.Categorical.from_codes(codes, categories=pd.Index(levels, dtype=object))
            columns[_ENVIRONMENT + name] = column
        return pd.DataFrame(columns)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> FittedRows:
        """The reverse of `to_frame`."""
        environment: dict[str, tuple[np.ndarray, tuple[str, ...] | None]] = {}
        for name in frame.columns:
            if not name.startswith(_ENVIRONMENT):
                continue
            column = frame[name]
            if isinstance(column.dtype, pd.CategoricalDtype):
                codes = column.cat.codes.to_numpy().astype(np.float64)
                levels = tuple(str(level) for level in column.cat.categories)
                environment[name.removeprefix(_ENVIRONMENT)] = (np.where(codes < 0, np.nan, codes), levels)
            else:
                environment[name.removeprefix(_ENVIRONMENT)] = (column.to_numpy(dtype=np.float64), None)
        return cls(
            **{name: frame[name].to_numpy(dtype=np.float64) for name in _NUMBERS}, environment=environment
        )


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
