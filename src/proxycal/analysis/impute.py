"""Completed tables: the outcome replaced by draws of the truth, everything else as it was."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.effect.draws import draw_truth, draws_of
from proxycal.effect.outside import enough_rows, shrinkage
from proxycal.effect.row_truth import is_known, row_bias
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.table.answers import gaps_text
from proxycal.table.columns import read_column
from proxycal.table.frames import column_names, replaced, to_pandas
from proxycal.table.wording import columns_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from proxycal.result import Fit
    from proxycal.table.encode import Arrays

# Levels of a text column that are columns of their own in the draws; the rest go together.
MOST_LEVELS = 20


@dataclass(frozen=True, slots=True)
class Completed:
    """m draws of the truth for the rows of a table.

    truth : (m, N), NaN for rows with missing values. kept : (N,) rows that have an answer. shrinkage : share
    by which slopes of the columns asked for would be too flat without them in the draws, NaN where none was
    asked for. heard : whether they are in the draws.
    """

    truth: np.ndarray
    kept: np.ndarray
    shrinkage: float = float("nan")
    heard: bool = False


def complete(fit: Fit, df: Any, m: int, seed: int | None, include: Sequence[str] = ()) -> Completed:
    """Draws of the truth for a table in memory; include : columns outside the fit that draws hear of."""
    require_draws(fit, m)
    arrays = fit.encoder.transform(df, design=False)
    places = np.flatnonzero(arrays.kept)
    draws = draws_of(fit.method_fit, m, seed_of(fit, seed))
    outside, seen = None, bool(include) and is_known(fit.method_fit)
    if seen:
        outside = outside_columns(to_pandas(df, list(include)))[arrays.kept]
        wide = arrays.P.shape[1] + arrays.E.shape[1]
        asked = int(np.isfinite(outside).all(axis=1).sum())
        if fit.method_fit.details.unit != "rows" or not enough_rows(asked, wide, outside.shape[1]):
            outside = None
    truth = np.full((m, len(arrays.kept)), np.nan)
    truth[:, arrays.kept] = draw_truth(fit.method_fit, arrays, draws, places, outside)
    flat = _shrinkage(fit, arrays, truth[:, arrays.kept]) if seen else float("nan")
    return Completed(truth, arrays.kept, flat, outside is not None)


def impute(fit: Fit, df: Any, m: int, seed: int | None, include: Sequence[str] = ()) -> list[Any]:
    """Give m tables of the kind of `df`, the outcome column holding the drawn truth."""
    done = complete(fit, df, m, seed, include)
    warn_of(fit, df, done, include)
    return [replaced(df, fit.roles.outcome, drawn) for drawn in done.truth]


def warn_of(fit: Fit, df: Any, done: Completed, include: Sequence[str]) -> None:
    """Say what was left alone, left out or not heard."""
    if fit.why_left_alone:
        text = f"every completed table holds the reports as they are: {fit.why_left_alone}"
        warnings.warn(text, ProxycalWarning, stacklevel=4)
    if not done.kept.all():
        text = gaps_text(df, done.kept, f"{fit.roles.outcome} in the completed tables")
        warnings.warn(text, ProxycalWarning, stacklevel=4)
    if include and not done.heard and np.isfinite(done.shrinkage):
        warnings.warn(flat_text(include, done.shrinkage), ProxycalWarning, stacklevel=4)


def flat_text(columns: Sequence[str], share: float) -> str:
    """What it means that draws have not heard of columns."""
    return (
        f"{columns_named(list(columns))} took no part in the draws of the truth (too few rows, or a bias "
        "shared by clusters): what it says of the outcome beyond proxies and environment shows as a "
        f"slope too small by about {share:.0%}; fit again with it as a proxy if the report cannot have moved "
        "it, or as an environment column if it may drive the bias"
    )


def seed_of(fit: Fit, seed: int | None) -> int:
    """The seed of the draws: that of the fit unless one is given."""
    if seed is None:
        return fit.settings.random_state
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingsError(f"random_state={seed!r}: use a whole number of 0 or more, or None")
    return int(seed)


def require_draws(fit: Fit, m: int) -> None:
    """Refuse a number of tables that is none, and rows that stand for several."""
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
        raise SettingsError(f"m={m!r}: use a whole number of completed tables, such as 20")
    if fit.roles.counts is not None:
        raise TableError(
            f"a row of this table stands for {fit.roles.counts!r} equal rows, whose truths differ: write "
            f"each as a row, df.loc[df.index.repeat(df[{fit.roles.counts!r}])], and fit without counts"
        )


def outside_columns(frame: pd.DataFrame) -> np.ndarray:
    """Columns as numbers (N, r), levels as 0/1 without the first, NaN where missing.

    >>> import pandas as pd
    >>> outside_columns(pd.DataFrame({"w": ["a", "b", None]})).ravel().tolist()
    [0.0, 1.0, nan]
    """
    made: list[np.ndarray] = []
    for name in frame.columns:
        column = read_column(frame[name], str(name))
        numbers = column.as_numbers()
        if numbers is not None:
            made.append(np.asarray(numbers))
            continue
        codes, levels = column.as_levels()
        counts = np.bincount(codes[codes >= 0], minlength=len(levels))
        common = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        for level in sorted(common.tolist())[1:]:
            made.append(np.where(codes < 0, np.nan, codes == level))
    return np.column_stack(made)


def outside_names(fit: Fit, names: Sequence[str], df: Any) -> list[str]:
    """Those of the columns that the fit has not read, in their order."""
    roles = fit.roles
    read = {*_listed(roles.outcome), *roles.proxies, *roles.environment, roles.truth}
    have = set(column_names(df))
    return [name for name in dict.fromkeys(names) if name in have and name not in read]


def _listed(name: str | Sequence[str]) -> list[str]:
    return [name] if isinstance(name, str) else list(name)


def _shrinkage(fit: Fit, arrays: Arrays, truth: np.ndarray) -> float:
    """Of rows whose truth is not known, on the scale of the fit; NaN where validated rows draw the truth."""
    if fit.method_fit.details.by_validation:
        return float("nan")
    bias = row_bias(fit.method_fit, arrays)
    if bias.factor:
        truth = np.log(np.where(truth > 0.0, truth, np.nan))
    asked = np.isfinite(truth).all(axis=0)
    if arrays.truth is not None:
        asked &= ~np.isfinite(arrays.truth)
    if not asked.any():
        return 0.0
    doubt = bias.size**2 * bias.p * (1.0 - bias.p)
    columns = np.hstack([arrays.P, arrays.E])
    return shrinkage(truth[:, asked], doubt[asked], columns[asked], arrays.weights[asked])
