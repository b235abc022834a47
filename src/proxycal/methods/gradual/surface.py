"""What new rows need of a finished fit: their bias with its error, and what their proxies say of content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.gradual.basis import Basis
from proxycal.methods.packing import pack, unpack
from proxycal.result import number
from proxycal.tails import t_ppf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.methods.gradual.anchor import Anchor
    from proxycal.methods.gradual.estimate import BiasEstimate

    Array = NDArray[np.float64]

_NUMBERS = ("offset", "offset_var", "offset_df", "degrees", "expected")
_ARRAYS = ("coefficients", "covariance", "reference", "center", "by_proxy", "proxy_mean", "by_basis")


@dataclass(frozen=True, slots=True)
class RowBias:
    """Bias of rows with its standard error and interval, all (n,), in the outcome's units."""

    bias: Array
    se: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """bias(E) = (B(E) - reference)'coefficients + offset, and E[y - bias | P, E], linear in P and B(E).

    coefficients, covariance, reference, center, by_basis : (q,), (q, q), (q,), (q,), (q,)
    by_proxy, proxy_mean : (K,)
    offset, offset_var, offset_df : the anchor's mean bias, its variance and degrees of freedom
    degrees : of freedom of the coefficients; expected : mean of the outcome without its bias
    """

    basis: Basis
    coefficients: Array
    covariance: Array
    reference: Array
    center: Array
    by_proxy: Array
    proxy_mean: Array
    by_basis: Array
    offset: float
    offset_var: float
    offset_df: float
    degrees: float
    expected: float

    def bias(self, columns: Mapping[str, Array], level: float) -> RowBias:
        """Bias of rows with these environment columns; the errors of b and of the offset add up."""
        gap = self.gap(columns)
        bias = gap @ self.coefficients + self.offset
        own = np.maximum(((gap @ self.covariance) * gap).sum(axis=1), 0.0)
        variance = own + self.offset_var
        # Satterthwaite: degrees of freedom of a sum of two estimated variances.
        spread = own**2 / self.degrees + self.offset_var**2 / self.offset_df
        degrees = np.divide(variance**2, spread, out=np.full(len(bias), self.degrees), where=spread > 0.0)
        se = np.sqrt(variance)
        half = t_ppf(0.5 + level / 2.0, np.maximum(degrees, 1.0)) * se
        return RowBias(bias, se, bias - half, bias + half)

    def gap(self, columns: Mapping[str, Array]) -> Array:
        """(n, q) the environment of rows, less that of the reference."""
        gap = self.basis.transform(columns) - self.reference
        if not np.isfinite(gap).all():
            raise TableError("a row has a level of the environment that the fit never saw: fit again with it")
        return gap

    def content(self, proxies: Array, columns: Mapping[str, Array]) -> Array:
        """(n,) what content adds to the outcome, in its units; zero for the mean row."""
        by_environment = (self.basis.transform(columns) - self.center) @ self.by_basis
        return np.asarray((proxies - self.proxy_mean) @ self.by_proxy + by_environment)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays that `from_state` turns into the same surface."""
        values, arrays = self.basis.to_state()
        own = {name: getattr(self, name) for name in _ARRAYS}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return {"basis": values, **numbers}, pack({"basis": arrays, "surface": own})

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: Mapping[str, np.ndarray]) -> Self:
        """The surface that `state` described."""
        own = unpack(tensors, "surface")
        parts: dict[str, Any] = {name: own[name] for name in _ARRAYS}
        parts |= {name: number(values[name]) for name in _NUMBERS}
        return cls(basis=Basis.from_state(values["basis"], unpack(tensors, "basis")), **parts)


def surface_of(estimate: BiasEstimate, anchor: Anchor) -> Surface:
    """The surface of an estimate. Content given P and E is its best linear prediction in the fitted system.

    With P = WZ + u and Z | E ~ (Gamma X, I): E[Z | P, E] = Gamma X + G (P - W Gamma X) for
    G = (I + W' Psi^-1 W)^-1 W' Psi^-1, in the units of the reduced form.
    """
    reduced, structure = estimate.reduced, estimate.fit.structure
    proxies, outcome = structure.loadings[:-1], structure.loadings[-1] * reduced.scale[-1]
    weighted = proxies / structure.errors[:-1, None]
    identity = np.eye(structure.dimension)
    gain = np.linalg.solve(identity + proxies.T @ weighted, weighted.T)
    by_regressor = outcome @ (identity - gain @ proxies) @ structure.gamma
    without_bias = (anchor.reference - reduced.center) @ estimate.coefficients - anchor.offset
    return Surface(
        basis=estimate.basis,
        coefficients=estimate.coefficients,
        covariance=estimate.covariance,
        reference=anchor.reference,
        center=reduced.center,
        by_proxy=outcome @ gain / reduced.scale[:-1],
        proxy_mean=reduced.mean[:-1],
        by_basis=reduced.whiten @ by_regressor,
        offset=anchor.offset,
        offset_var=anchor.offset_var,
        offset_df=anchor.offset_df,
        degrees=estimate.degrees,
        expected=float(reduced.mean[-1] + without_bias),
    )
