"""The models of `regress` for a completed table: least squares here, logit and Poisson by statsmodels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proxycal.errors import SettingsError, TableError, UnavailableError
from proxycal.extras import is_installed

if TYPE_CHECKING:
    from collections.abc import Callable

Family = Literal["ols", "logit", "poisson"]
Kind = Literal["iid", "hetero", "cluster"]


@dataclass(frozen=True, slots=True)
class Design:
    """The right side x (n, k), weights (n,) of mean one, and how errors are taken.

    kind : which covariance. cluster : (n,) codes, where errors have some.
    """

    x: np.ndarray
    weights: np.ndarray
    kind: Kind
    cluster: np.ndarray | None = None

    @property
    def df(self) -> float:
        """Residual degrees of freedom: clusters less one where errors are theirs."""
        if self.cluster is not None:
            return float(len(np.unique(self.cluster)) - 1)
        return float(len(self.x) - self.x.shape[1])


@dataclass(frozen=True, slots=True)
class Coefficients:
    """estimate (k,) and cov (k, k)."""

    estimate: np.ndarray
    cov: np.ndarray


def fit_model(family: Family, y: np.ndarray, design: Design, start: np.ndarray | None = None) -> Coefficients:
    """Fit y (n,); start : coefficients to begin from."""
    if family == "ols":
        return least_squares(y, design)
    return _by_statsmodels(family, y, design, start)


def least_squares(y: np.ndarray, design: Design) -> Coefficients:
    """Weighted least squares with the covariance asked for; the usual corrections for few rows or clusters.

    >>> x = np.column_stack([np.ones(4), [0.0, 1.0, 2.0, 3.0]])
    >>> least_squares(np.array([1.0, 3.0, 5.0, 7.0]), Design(x, np.ones(4), "iid")).estimate.round(9).tolist()
    [1.0, 2.0]
    """
    x, w, (n, k) = design.x, design.weights, design.x.shape
    bread = np.linalg.inv(x.T @ (w[:, None] * x))
    beta = bread @ (x.T @ (w * y))
    scores = x * (w * (y - x @ beta))[:, None]
    if design.kind == "iid":
        residual = y - x @ beta
        return Coefficients(beta, bread * float(w @ residual**2) / (n - k))
    factor = n / (n - k)
    if design.cluster is not None:
        scores, groups = by_cluster(scores, design.cluster)
        factor = groups / (groups - 1.0) * (n - 1.0) / (n - k)
    return Coefficients(beta, factor * bread @ (scores.T @ scores) @ bread)


def by_cluster(scores: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, int]:
    """Scores (n, k) added up within clusters (G, k), and G."""
    codes = np.unique(cluster, return_inverse=True)[1]
    groups = int(codes.max()) + 1
    summed = np.zeros((groups, scores.shape[1]))
    np.add.at(summed, codes, scores)
    return summed, groups


def require_family(family: str) -> Family:
    """The family by its name, with what it needs installed."""
    names: dict[str, Family] = {"ols": "ols", "logit": "logit", "poisson": "poisson"}
    if family not in names:
        raise SettingsError(f"family={family!r} is not known: use 'ols', 'logit' or 'poisson'")
    if family != "ols" and not is_installed("statsmodels"):
        raise UnavailableError(
            f"family='{family}' needs statsmodels: pip install 'proxycal[models]', or use family='ols', or "
            "fit the tables of impute() yourself and give the results to proxycal.pool"
        )
    return names[family]


def require_outcome(family: Family, y: np.ndarray, name: str) -> None:
    """Refuse an outcome that the family does not have."""
    if family == "logit" and not np.isin(y, (0.0, 1.0)).all():
        raise TableError(f"family='logit' needs a left side of 0 and 1, and '{name}' holds other values")
    if family == "poisson" and (y < 0.0).any():
        raise TableError(
            f"family='poisson' needs a left side without values below 0, and {int((y < 0.0).sum())} values "
            f"of '{name}' are: a bias that is added takes small reports below 0; fit with scale='log' if it "
            "is a factor, or use family='ols'"
        )


def require_full_rank(x: np.ndarray, names: list[str]) -> None:
    """Refuse a design whose columns say the same; the message names the first that says nothing new."""
    unit = x / np.maximum(np.linalg.norm(x, axis=0), 1e-300)
    diagonal = np.abs(np.diag(np.linalg.qr(unit, mode="r")))
    if len(x) <= x.shape[1]:
        raise TableError(f"{len(x)} complete rows for {x.shape[1]} coefficients: add rows or drop columns")
    if (diagonal < 1e-9).any():
        name = names[int(np.argmax(diagonal < 1e-9))]
        raise TableError(f"column '{name}' of the formula repeats what columns before it say: leave it out")


def _by_statsmodels(family: Family, y: np.ndarray, design: Design, start: np.ndarray | None) -> Coefficients:
    import statsmodels.api as sm

    law = sm.families.Binomial() if family == "logit" else sm.families.Poisson()
    kinds: dict[Kind, dict[str, Any]] = {
        "iid": {"cov_type": "nonrobust"},
        "hetero": {"cov_type": "HC1"},
        "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": design.cluster}},
    }
    fit: Callable[..., Any] = sm.GLM(y, design.x, family=law, var_weights=design.weights).fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            done = fit(start_params=start, **kinds[design.kind])
        except (np.linalg.LinAlgError, ValueError, sm.tools.sm_exceptions.PerfectSeparationError) as error:
            raise TableError(f"family='{family}' could not be fitted ({error}): use fewer columns") from error
    if not done.converged or not np.isfinite(done.params).all():
        raise TableError(
            f"family='{family}' did not converge: a column may predict the left side perfectly; leave it out"
        )
    return Coefficients(np.asarray(done.params), np.asarray(done.cov_params()))
