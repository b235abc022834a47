"""Survey estimates: with the error of the design, and that of the calibration where a model draws."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.analysis.impute import complete, flat_text, outside_names, require_draws
from proxycal.analysis.pool import Result, pooled_frame, pooled_of
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.survey.design import replicates_of, stages_of
from proxycal.survey.estimates import estimate, quantile
from proxycal.table.columns import read_column
from proxycal.table.frames import from_columns, to_pandas
from proxycal.table.wording import counted, rows_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxycal.analysis.impute import Completed
    from proxycal.result import Fit
    from proxycal.survey.design import Lonely, Replication
    from proxycal.survey.estimates import Design, Estimated

    Names = str | Sequence[str]
    Ask = Callable[[np.ndarray, np.ndarray], Estimated]


# Below this share a column that took no part in the draws is not worth a word.
LEAST_SHRINKAGE = 0.01


@dataclass(frozen=True, slots=True)
class Survey:
    """How a sample was drawn: the columns that say so.

    Parameters
    ----------
    weights : str
        Column of the sampling weights: how many units of the population a row stands for.
    strata, clusters : str or sequence of str, default ()
        Columns of the strata and of the sampled clusters, one for each stage, the first stage first. Without
        clusters every row was sampled by itself. A cluster's name counts within its stratum.
    fpc : str or sequence of str, default ()
        Columns of the finite population correction, one for each stage: how many clusters the stratum (or the
        cluster above) has, or the share of them that was sampled. Without it sampling is with replacement,
        and the first stage has all of the error.
    replicates : sequence of str, default ()
        Columns of replicate weights, instead of strata, clusters and fpc.
    replicate_type : {"BRR", "Fay", "JK1", "JKn", "bootstrap"}, default "BRR"
        How they were made.
    scale, rscales, rho : float, sequence of float, float, default None, None, 0.0
        The variance is scale times the sum of rscales times squared differences from the mean of the
        replicates; None for what replicate_type has. rho is that of Fay's method.
    lonely : {"fail", "certainty"}, default "fail"
        A stratum with one sampled cluster is refused, or was certain to be sampled and has no error.

    Examples
    --------
    >>> import pandas, proxycal
    >>> table = pandas.DataFrame({"y": [1.0, 3.0, 2.0, 6.0], "pw": [5.0] * 4, "region": list("aabb")})
    >>> proxycal.Survey(weights="pw", strata="region").on(table).mean("y").round(3)[["estimate", "se", "df"]]
         estimate     se   df
    all       3.0  1.118  2.0

    """

    weights: str
    strata: Names = ()
    clusters: Names = ()
    fpc: Names = ()
    replicates: Sequence[str] = ()
    replicate_type: Replication = "BRR"
    scale: float | None = None
    rscales: Sequence[float] | None = None
    rho: float = 0.0
    lonely: Lonely = "fail"

    def __post_init__(self) -> None:
        stages = len(_names(self.clusters))
        if self.replicates and (self.strata or self.clusters or self.fpc):
            raise SettingsError("replicates stand in place of strata, clusters and fpc: give one of the two")
        if len(_names(self.fpc)) > max(stages, 1) or len(_names(self.strata)) > max(stages, 1):
            raise SettingsError(
                "there are more columns in strata or fpc than stages: give clusters for each stage"
            )
        if self.lonely not in ("fail", "certainty"):
            raise SettingsError(f"lonely={self.lonely!r} is not known: use 'fail' or 'certainty'")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it reads."""
        parts = (
            _names(part) for part in (self.weights, self.strata, self.clusters, self.fpc, self.replicates)
        )
        return tuple(dict.fromkeys(name for part in parts for name in part))

    def on(self, df: Any, level: float = 0.95) -> SurveyEstimates:
        """Estimates of a table as it is, without a calibration."""
        return SurveyEstimates(self, df, level)

    def design(self, table: pd.DataFrame) -> tuple[np.ndarray, Design]:
        """Weights (n,) and the design of the rows of a table."""
        weights = _numbers(table, self.weights)
        if (weights < 0.0).any() or not weights.any():
            raise TableError(f"column {shown(self.weights)} (weights) must be 0 or more, and not all 0")
        if self.replicates:
            made = np.array([_numbers(table, name) for name in self.replicates])
            rscales = None if self.rscales is None else np.asarray(self.rscales, dtype=float)
            return weights, replicates_of(made, self.replicate_type, self.scale, rscales, self.rho)
        strata, clusters = (
            [_codes(table, name) for name in _names(part)] for part in (self.strata, self.clusters)
        )
        sizes = [_numbers(table, name) for name in _names(self.fpc)]
        return weights, stages_of(len(table), strata, clusters, sizes, self.lonely)


@dataclass(frozen=True, slots=True)
class SurveyEstimates:
    """Totals, means, ratios and quantiles of one table, by `Survey.on` or `ProxyCalibrator.survey`.

    Every answer is a frame with a row per group: estimate, se, df, low, high, t, p and fmi. With a model the
    calibrated column is drawn anew for each completed table: se holds the error of the design and that of the
    calibration, and fmi is the share of what is not known that comes from the calibration.
    """

    survey: Survey
    df: Any
    level: float
    drawn: Callable[[list[str]], Completed] | None = None
    outcome: str = ""

    def total(self, column: str, by: str | None = None) -> Any:
        """Total of a column in the population, overall or by the groups of another column.

        Examples
        --------
        >>> import pandas, proxycal
        >>> table = pandas.DataFrame({"y": [1.0, 3.0, 2.0], "pw": [5.0, 5.0, 10.0]})
        >>> float(proxycal.Survey(weights="pw").on(table).total("y").estimate.iloc[0])
        40.0

        """
        return self._answer(
            [column], by, lambda w, design, y, inside: estimate(w, design, y[0], None, inside)
        )

    def mean(self, column: str, by: str | None = None) -> Any:
        """Mean of a column in the population, overall or by group."""
        return self._answer(
            [column],
            by,
            lambda w, design, y, inside: estimate(w, design, y[0], np.ones_like(y[0]), inside),
        )

    def ratio(self, numerator: str, denominator: str, by: str | None = None) -> Any:
        """Ratio of the totals of two columns, overall or by group."""
        return self._answer(
            [numerator, denominator],
            by,
            lambda w, design, y, inside: estimate(w, design, y[0], y[1], inside),
        )

    def quantile(self, column: str, q: float = 0.5, by: str | None = None) -> Any:
        """Quantile of a column in the population, such as its median, overall or by group."""
        if not 0.0 < q < 1.0:
            raise SettingsError(f"q={q!r}: use a number between 0 and 1, such as 0.5 for the median")
        return self._answer(
            [column], by, lambda w, design, y, inside: quantile(w, design, y[0], q, inside, self.level)
        )

    def _answer(self, columns: list[str], by: str | None, ask: Callable[..., Estimated]) -> Any:
        read = dict.fromkeys([*columns, *self.survey.columns, *([] if by is None else [by])])
        table = to_pandas(self.df, list(read)).reset_index(drop=True)
        weights, design = self.survey.design(table)
        codes, labels = np.zeros(len(table), dtype=np.intp), ["all"]
        if by is not None:
            codes, groups = pd.factorize(table[by], sort=True)
            _require_known(codes < 0, by, "groups")
            labels = [str(group) for group in groups]
        truths = self._truths(columns, by)
        values = {name: _numbers(table, name) for name in columns if truths is None or name != self.outcome}
        rows = []
        for group in range(len(labels)):
            results = []
            for truth in [None] if truths is None else truths:
                y = [values.get(name, truth) for name in columns]
                done = ask(weights, design, np.array(y), codes == group)
                results.append(Result(np.array([done.estimate]), np.array([[done.se**2]]), ("",), done.df))
            pooled = pooled_of(results, results[0].df, self.level)
            rows.append(pooled_frame(pooled, (labels[group],)))
        frame = pd.concat(rows)
        frame.index.name, frame.attrs = by, {}
        if isinstance(self.df, pd.DataFrame):
            return frame
        plain = frame.rename_axis("group" if by is None else by).reset_index()
        return from_columns({str(name): plain[name].to_numpy() for name in plain.columns}, self.df)

    def _truths(self, columns: list[str], by: str | None) -> np.ndarray | None:
        """Draws (m, n) of the calibrated column where it is asked for, having heard of all that is asked."""
        if self.drawn is None or self.outcome not in columns:
            return None
        others = [name for name in columns if name != self.outcome]
        design = [*_names(self.survey.strata)[:1], self.survey.weights]
        done = self.drawn([*others, *([] if by is None else [by]), *design])
        _require_known(~done.kept, self.outcome, "the calibrated column, for gaps in the columns of the fit,")
        return done.truth


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _numbers(table: pd.DataFrame, name: str) -> np.ndarray:
    values = read_column(table[name], name).as_numbers()
    if values is None:
        raise TableError(f"column {shown(name)} must hold numbers")
    _require_known(~np.isfinite(values), name, "numbers")
    return np.asarray(values)


def _codes(table: pd.DataFrame, name: str) -> np.ndarray:
    codes = pd.factorize(table[name])[0]
    _require_known(codes < 0, name, "strata or clusters")
    return np.asarray(codes)


def _require_known(gone: np.ndarray, name: str, what: str) -> None:
    if gone.any():
        raise TableError(
            f"column {shown(name)} ({what}) has {counted(int(gone.sum()), 'missing value')}, "
            f"{rows_of(gone, pd.RangeIndex(len(gone)))}: fill them, or give these rows weight and value 0"
        )


def survey_of(fit: Fit, df: Any, design: Survey, m: int, seed: int | None) -> SurveyEstimates:
    """Estimates of a table whose outcome a model draws."""
    if not isinstance(design, Survey):
        raise SettingsError(f"design must be a proxycal.Survey, not {type(design).__name__}")
    require_draws(fit, m)
    if m < 2:
        raise SettingsError(f"m={m}: pooling needs two completed tables or more, such as 20")
    if fit.why_left_alone:
        text = f"the estimates are those of the reports: {fit.why_left_alone}"
        warnings.warn(text, ProxycalWarning, stacklevel=3)

    def drawn(names: list[str]) -> Completed:
        outside = outside_names(fit, names, df)
        done = complete(fit, df, m, seed, outside)
        if outside and not done.heard and done.shrinkage > LEAST_SHRINKAGE:
            warnings.warn(flat_text(outside, done.shrinkage), ProxycalWarning, stacklevel=5)
        return done

    return SurveyEstimates(design, df, fit.settings.level, drawn, fit.roles.outcome)
