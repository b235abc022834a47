"""What every method hands back: the seam between the estimators and the model.

A method is a module with one function `fit_*(arrays, settings)` that returns a frozen dataclass with the
members of `FittedMethod`. The model asks nothing else of it.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from proxycal.errors import UnavailableError
from proxycal.extras import require_torch

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from proxycal.finding import Finding
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# What every method computes with.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
VERDICTS = ("bias found", "no bias found", "not identified")


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimator's size of the bias, in the outcome's own units and in the stated direction.

    alpha, se, low, high : NaN where the estimator has no answer; `note` then says why.

    >>> Estimate("match", alpha=2.0, se=0.1, low=1.8, high=2.2).excludes_zero
    True
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes None."""
        values = asdict(self)
        return {
            key: None if isinstance(one, float) and not math.isfinite(one) else one
            for key, one in values.items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Estimate:
        """The reverse of `to_dict`."""
        numbers = {key: _number(values[key]) for key in ("alpha", "se", "low", "high")}
        return cls(name=str(values["name"]), note=str(values["note"]), **numbers)

    @classmethod
    def missing(cls, name: str, note: str) -> Estimate:
        """An estimator without an answer, and the reason."""
        return cls(name, math.nan, math.nan, math.nan, math.nan, note)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A fitted method's answer for the rows of a table.

    p_biased : P(A = 1 | data), shape (n,).
    mu : E[y_obs | do(A = 0), E, Z], shape (n,).
    shift : signed, what calibration takes off: y_cal = y_obs - shift, shape (n,).
    y_cal, low, high : calibrated outcome and its pointwise interval, shape (n,).
    z : content, shape (n, d). a : bias score, higher for the biased, shape (n,).
    """

    p_biased: np.ndarray
    mu: np.ndarray
    shift: np.ndarray
    y_cal: np.ndarray
    low: np.ndarray
    high: np.ndarray
    z: np.ndarray
    a: np.ndarray


@dataclass(frozen=True, slots=True)
class Effects:
    """Local effects of rows, each against its nearest unbiased rows in content.

    tau : signed difference y_obs - matched mean, shape (n,).
    n_matched : how many rows it was compared with, shape (n,), whole numbers.
    neighbours : positions of the matches among the fitted rows, shape (n, k); -1 where there are fewer.
    distances : whitened distances to them, shape (n, k); NaN where there are fewer.
    """

    tau: np.ndarray
    n_matched: np.ndarray
    neighbours: np.ndarray
    distances: np.ndarray


class FittedMethod(Protocol):
    """What the model asks of a finished fit. Implementations are frozen dataclasses."""

    @property
    def estimate(self) -> Estimate:
        """The main estimate; its alpha is never negative."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary: exact, moments, match."""

    @property
    def share_biased(self) -> float:
        """Mean of P(A = 1 | data) over the fitted rows."""

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons for the verdict and what else the reader should know."""

    @property
    def history(self) -> dict[str, np.ndarray]:
        """Named curves, one value per epoch or step; empty where nothing was iterated."""

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects for rows encoded like the fitted ones."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly: plain JSON values, and arrays."""

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""


@dataclass(frozen=True, slots=True)
class Method:
    """Where a method lives; its module is imported on first use, since it may need torch."""

    module: str
    fit: str
    fitted: str
    libraries: tuple[str, ...] = LIBRARIES

    def fit_function(self) -> Callable[[Arrays, Settings], FittedMethod]:
        """The function that makes a fit of arrays."""
        function: Callable[[Arrays, Settings], FittedMethod]
        function = getattr(importlib.import_module(self.module), self.fit)
        return function

    def fitted_class(self) -> type[FittedMethod]:
        """The frozen class that it returns."""
        made: type[FittedMethod] = getattr(importlib.import_module(self.module), self.fitted)
        return made


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


METHODS = {
    "exact": Method("proxycal.methods.exact.fit", "fit_exact_method", "ExactFit"),
    "paper": Method("proxycal.methods.paper.fit", "fit_paper", "PaperFit", (*LIBRARIES, "torch")),
    "moments": Method("proxycal.methods.moments.fit", "fit_moments_method", "MomentsMethod"),
}


def method_named(name: str) -> Method:
    """Where a method lives, if all it needs is installed; it is loaded only when it is used."""
    if name not in METHODS:
        known = " or ".join(f"method='{one}'" for one in METHODS)
        raise UnavailableError(f"method='{name}' is not available yet: use {known}")
    if "torch" in METHODS[name].libraries:
        require_torch(f"method='{name}'", "use method='exact'")
    return METHODS[name]
