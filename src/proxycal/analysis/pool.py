"""`pool`: Rubin's rules over results of any library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.analysis.rubin import pool_arrays
from proxycal.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxycal.analysis.rubin import Pooled

_KNOWN = (
    "give results with coef and vcov (pyfixest, proxycal), params and cov_params() (statsmodels), params and "
    "cov (linearmodels), or pairs (estimate, covariance)"
)
# Attributes or methods that hold the estimates, and the covariance that goes with them, as libraries call
# them; pyfixest's method vcov() computes a new covariance, and keeps it in _vcov.
_NAMES = (("coef", "_vcov"), ("coef", "vcov"), ("params", "cov_params"), ("params", "cov"))
_DEGREES = ("df_resid", "df_residual", "_df_t")


@dataclass(frozen=True, slots=True)
class Result:
    """What one model says: estimate (k,), cov (k, k), terms; df : residual degrees of freedom, or inf."""

    estimate: np.ndarray
    cov: np.ndarray
    terms: tuple[str, ...]
    df: float = np.inf


def pool(fits: Iterable[Any], df: float | None = None, level: float = 0.95) -> pd.DataFrame:
    """Combine the results of the same model in m completed tables by Rubin's rules.

    Parameters
    ----------
    fits : iterable of results
        One for each completed table: of statsmodels, linearmodels or pyfixest, anything else with `coef` and
        `vcov`, or pairs (estimate, covariance) of arrays, pandas objects or numbers.
    df : float, default None
        Residual degrees of freedom of the model in a completed table; None for what the results say, and
        infinitely many where they say nothing.
    level : float, default 0.95
        Level of the intervals.

    Returns
    -------
    DataFrame
        A row per term: estimate, se, df (Barnard and Rubin 1999), low, high, t, p, and fmi, the fraction of
        the information that is missing. `attrs["vcov"]` is the pooled covariance, as lists.

    Examples
    --------
    >>> import proxycal
    >>> pooled = proxycal.pool([(1.0, 0.04), (1.2, 0.05), (1.1, 0.04)])
    >>> round(float(pooled.estimate.iloc[0]), 2), round(float(pooled.se.iloc[0]), 3)
    (1.1, 0.238)

    """
    results = [as_result(fit, at) for at, fit in enumerate(fits)]
    if not results:
        raise SettingsError(f"there is nothing to pool: {_KNOWN}, one for each completed table")
    if len(results) == 1:
        raise SettingsError("one result cannot be pooled: fit the model in two or more completed tables")
    if not 0.0 < level < 1.0:
        raise SettingsError(f"level={level!r}: use a number between 0 and 1, such as 0.95")
    first = results[0]
    for at, other in enumerate(results[1:], start=2):
        if other.terms != first.terms:
            raise SettingsError(
                f"results 1 and {at} have different terms ({', '.join(first.terms)}; "
                f"{', '.join(other.terms)}): fit the same model in every table"
            )
    complete = min(result.df for result in results) if df is None else float(df)
    return pooled_frame(pooled_of(results, complete, level), first.terms)


def pooled_of(results: Sequence[Result], df: float, level: float) -> Pooled:
    """The rules applied to results with the same terms."""
    estimates = np.array([result.estimate for result in results])
    return pool_arrays(estimates, np.array([result.cov for result in results]), df, level)


def pooled_frame(pooled: Pooled, terms: Sequence[str]) -> pd.DataFrame:
    """A row per term."""
    names = ("estimate", "se", "df", "low", "high", "t", "p", "fmi")
    index = pd.Index(list(terms), name="term")
    frame = pd.DataFrame({name: getattr(pooled, name) for name in names}, index=index)
    # Plain lists: pandas writes attributes to Parquet as JSON.
    frame.attrs["vcov"] = pooled.cov.tolist()
    return frame


def as_result(fit: Any, at: int = 0) -> Result:
    """Read one result; at : its position, for messages."""
    if isinstance(fit, Result):
        return fit
    if isinstance(fit, tuple | list) and len(fit) == 2:
        return _checked(fit[0], fit[1], None, at)
    for coef, cov in _NAMES:
        if hasattr(fit, coef) and hasattr(fit, cov):
            df = next((_value(fit, name) for name in _DEGREES if hasattr(fit, name)), None)
            return _checked(_value(fit, coef), _value(fit, cov), df, at)
    raise SettingsError(f"result {at + 1} ({type(fit).__name__}) is not understood: {_KNOWN}")


def _value(fit: Any, name: str) -> Any:
    held = getattr(fit, name)
    return held() if callable(held) else held


def _checked(estimate: Any, cov: Any, df: Any, at: int) -> Result:
    values = np.atleast_1d(np.asarray(estimate, dtype=float)).ravel()
    matrix = np.atleast_2d(np.asarray(cov, dtype=float))
    k = len(values)
    if matrix.shape != (k, k):
        raise SettingsError(
            f"result {at + 1} has {k} estimates and a covariance of shape {matrix.shape}: it needs ({k}, {k})"
        )
    if not (np.isfinite(values).all() and np.isfinite(matrix).all()):
        raise SettingsError(f"result {at + 1} holds estimates or covariances that are not finite")
    index = getattr(estimate, "index", None)
    terms = tuple(f"x{j + 1}" for j in range(k))
    if index is not None and not callable(index):
        terms = tuple(map(str, index))
    degrees = float(np.inf if df is None else np.asarray(df, dtype=float).ravel()[0])
    return Result(values, matrix, terms, degrees if np.isfinite(degrees) else np.inf)
