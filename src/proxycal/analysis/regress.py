"""A regression on the calibrated column: impute, fit in every completed table, pool."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.analysis.impute import complete, outside_names, warn_of
from proxycal.analysis.models import (
    Design,
    Family,
    Kind,
    fit_model,
    require_family,
    require_full_rank,
    require_outcome,
)
from proxycal.analysis.pool import Result, pooled_frame, pooled_of
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.table.frames import column_names, from_columns, to_pandas
from proxycal.table.groups import read_weights
from proxycal.table.wording import columns_named, counted, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from formulaic import ModelMatrices

    from proxycal.analysis.impute import Completed
    from proxycal.result import Fit

    Vcov = str | Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A regression as it was asked: columns that it reads, how it weighs rows, and which covariance."""

    formula: Any
    family: Family
    used: list[str]
    weights: str | None
    kind: Kind
    cluster: str | None


def regress(
    fit: Fit, formula: str, df: Any, m: int, vcov: Vcov, family: str, weights: str | None, seed: int | None
) -> Any:
    """The pooled coefficients as a frame of the kind of `df`; see `ProxyCalibrator.regress`."""
    if m < 2:
        raise SettingsError(f"m={m}: pooling needs two completed tables or more, such as 20")
    asked = _asked(fit, formula, df, vcov, family, weights)
    outside = outside_names(fit, asked.used, df)
    done = complete(fit, df, m, seed, outside)
    warn_of(fit, df, done, outside)
    read = dict.fromkeys([*asked.used, asked.weights, asked.cluster])
    columns = [name for name in read if name is not None]
    # Rows by their number: labels may occur twice.
    table = to_pandas(df, columns).reset_index(drop=True)
    # Without a bias all tables are the same, and so are all results.
    same = bool((done.truth[:1, done.kept] == done.truth[:, done.kept]).all())
    truths = done.truth[:1] if same else done.truth
    results, rows = _fitted(asked, fit.roles.outcome, table, truths)
    pooled = pooled_of(results * (m if same else 1), results[0].df, fit.settings.level)
    frame = pooled_frame(pooled, results[0].terms)
    reading = _reading(done, outside, m, rows)
    frame.attrs |= {"reading": reading, "m": m, "rows": rows}
    if isinstance(df, pd.DataFrame):
        return frame
    plain = frame.reset_index()
    return from_columns({name: plain[name].to_numpy() for name in plain.columns}, df)


def _asked(fit: Fit, formula: str, df: Any, vcov: Vcov, family: str, weights: str | None) -> _Asked:
    """Check all that was asked before any work is done."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        parsed = Formula(formula)
        variables = [str(name) for name in parsed.required_variables]
    except (FormulaicError, SyntaxError) as error:
        raise SettingsError(
            f"the formula {formula!r} cannot be read ({error}): write it like 'loss ~ income + C(hazard)'"
        ) from error
    if not hasattr(parsed, "lhs") or len(parsed.lhs) != 1:
        raise SettingsError(f"the formula {formula!r} needs one column left of ~, as in 'loss ~ income'")
    have = set(column_names(df))
    absent = [name for name in variables if name not in have]
    if absent:
        raise TableError(f"the table has no {columns_named(absent)}, which the formula {formula!r} reads")
    if fit.roles.outcome not in variables:
        raise SettingsError(
            f"the formula {formula!r} does not hold the calibrated column {shown(fit.roles.outcome)}, so "
            "there is nothing to impute: put it on the left or on the right"
        )
    weights = fit.roles.weights if weights is None else weights
    kind, cluster = _covariance(fit, vcov)
    # Names that stand before a sign are in the formula's order, which a set is not.
    used = sorted(variables)
    return _Asked(parsed, require_family(family), used, weights, kind, cluster)


def _covariance(fit: Fit, vcov: Vcov) -> tuple[Kind, str | None]:
    """Which covariance, and the column of its clusters."""
    if vcov is None:
        return ("hetero", None) if fit.roles.cluster is None else ("cluster", fit.roles.cluster)
    if isinstance(vcov, str) and vcov in ("iid", "hetero"):
        return ("iid" if vcov == "iid" else "hetero"), None
    if isinstance(vcov, dict) and list(vcov) == ["cluster"]:
        return "cluster", str(vcov["cluster"])
    raise SettingsError(
        f"vcov={vcov!r} is not known: use 'iid', 'hetero' or {{'cluster': 'COLUMN'}}, or None for the "
        "clusters of the fit, and errors of unequal spread where it has none"
    )


def _fitted(asked: _Asked, outcome: str, table: pd.DataFrame, truths: np.ndarray) -> tuple[list[Result], int]:
    """The model in every completed table, and how many rows it has."""
    results: list[Result] = []
    start, rows, spec = None, 0, None
    for truth in truths:
        matrices, spec = _matrices(asked, table.assign(**{outcome: truth}), spec)
        y, x = matrices.lhs, matrices.rhs
        names = [str(name) for name in x.columns]
        if y.shape[1] != 1:
            raise TableError(f"the left side of the formula has {y.shape[1]} columns: use one of numbers")
        values, name = y.iloc[:, 0].to_numpy(dtype=float), str(y.columns[0])
        if not results:
            require_full_rank(x.to_numpy(dtype=float), names)
        require_outcome(asked.family, values, name)
        design = _design(asked, x, table)
        done = fit_model(asked.family, values, design, start)
        start, rows = done.estimate, len(values)
        results.append(Result(done.estimate, done.cov, tuple(names), design.df))
    return results, rows


def _matrices(asked: _Asked, table: pd.DataFrame, spec: Any) -> tuple[ModelMatrices, Any]:
    """Both sides of the formula; categories and centres are those of the first table."""
    from formulaic.errors import FormulaicError

    try:
        if spec is None:
            made = asked.formula.get_model_matrix(table, context={}, na_action="drop")
            return made, made.model_spec
        return spec.get_model_matrix(table, context={}), spec
    except (FormulaicError, NameError, TypeError, ValueError) as error:
        raise TableError(f"the formula cannot be evaluated on this table: {error}") from error


def _design(asked: _Asked, x: pd.DataFrame, table: pd.DataFrame) -> Design:
    used = table.loc[x.index]
    weights = read_weights(used, asked.weights)
    cluster = None
    if asked.cluster is not None:
        if used[asked.cluster].isna().any():
            raise TableError(f"column {shown(asked.cluster)} (clusters) holds missing values: fill them")
        cluster = pd.factorize(used[asked.cluster])[0]
        if cluster.max() < 1:
            raise TableError(f"column {shown(asked.cluster)} has one cluster: errors need two or more")
    kind = asked.kind
    if kind == "iid" and asked.weights is not None:
        text = "with weights errors are taken as of unequal spread (vcov='hetero')"
        warnings.warn(text, ProxycalWarning, stacklevel=5)
        kind = "hetero"
    return Design(x.to_numpy(dtype=float), weights / weights.mean(), kind, cluster)


def _reading(done: Completed, outside: list[str], m: int, rows: int) -> str:
    """What was done, in a sentence or two."""
    text = f"{counted(rows, 'row')} in {m} completed tables, pooled by Rubin's rules."
    if done.heard and np.isfinite(done.shrinkage):
        text += (
            f" {columns_named(outside)} took part in the draws of the truth; otherwise what it says of the "
            f"outcome beyond proxies and environment would show as a slope too small by {done.shrinkage:.0%}."
        )
    return text
