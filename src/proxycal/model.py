"""ProxyCalibrator: the object a user holds. It takes a table through the rooms and computes nothing itself.

table -> Encoder -> Arrays -> methods/ (content, bias, effect) -> Calibration -> report, run folder
"""

from __future__ import annotations

import os
import warnings
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import sklearn.exceptions
from sklearn.base import BaseEstimator

from proxycal.answers import (
    calibrated,
    effect_columns,
    gaps_text,
    predicted,
    report_data,
    row_labels,
    rows_shown,
    spread,
    table_findings,
    versions,
)
from proxycal.errors import ProxycalError, ProxycalWarning, RolesError
from proxycal.files import read_table
from proxycal.methods.registry import method_named
from proxycal.methods.training import keep, training_state
from proxycal.questions.answers import Power, Refutation, answers_to_dict
from proxycal.result import Calibration
from proxycal.scale.fit import LARGE, fit_large, in_pieces
from proxycal.scale.pieces import FramePieces, file_pieces, is_partitioned, partition_pieces
from proxycal.scale.sources import fits_in_memory
from proxycal.settings import PaperSettings, Settings
from proxycal.store import Run, atomic_file, save_run, write_text
from proxycal.table.audit import audit
from proxycal.table.encode import Encoder
from proxycal.table.frames import answer, to_pandas
from proxycal.table.roles import Roles
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from proxycal.engine import Engine
    from proxycal.finding import Finding
    from proxycal.methods.registry import FittedMethod
    from proxycal.questions.refits import KeptFit, Progress
    from proxycal.questions.refute import RefuterName
    from proxycal.report.data import ReportData
    from proxycal.scale.fit import LargeFit
    from proxycal.table.encode import Arrays


class NotFittedError(ProxycalError, sklearn.exceptions.NotFittedError):
    """Something was asked of a model before `fit`: call fit(table) first."""


class ProxyCalibrator(BaseEstimator):
    """Finds and removes a reporting bias with proxies that never saw the reporter.

        E ~ p(E)    Z ~ p(Z|E)    A ~ p(A|E), A in {0, 1}
        Y_true ~ p(.|Z)    P_k ~ p(.|Z)    Y_obs = Y_true + s * alpha * A

    s = +1 for direction="over", -1 for "under": the data cannot tell the two apart, so you say which.

    roles : which column is what. method : "exact" | "moments" | "paper" (pip install 'proxycal[paper]').
    effect : "constant" | "by:COLUMN" | "linear", how alpha may vary.
    level : of all intervals. missing : "raise" | "drop" | "impute".
    random_state : a whole number; the same seed gives the same bytes, whatever n_jobs.
    paper : PaperSettings for method="paper"; None for the defaults.
    interval : "sandwich" | "bootstrap" (weighted refits; slower), how method="exact" gets its errors.

    >>> from proxycal import Roles
    >>> model = ProxyCalibrator(Roles("loss", ["built"], ["income"]), method="paper", direction="under")
    >>> model.get_params()["direction"]
    'under'
    >>> model.alpha_
    Traceback (most recent call last):
      ...
    proxycal.model.NotFittedError: this ProxyCalibrator is not fitted: call fit(table) first
    """

    def __init__(
        self,
        roles: Roles,
        method: str = "exact",
        direction: str = "over",
        effect: str = "constant",
        level: float = 0.95,
        missing: str = "raise",
        random_state: int = 0,
        n_jobs: int = 1,
        paper: PaperSettings | None = None,
        interval: str = "sandwich",
    ) -> None:
        self.roles = roles
        self.method = method
        self.direction = direction
        self.effect = effect
        self.level = level
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.paper = paper
        self.interval = interval

    @classmethod
    def from_settings(cls, roles: Roles, settings: Settings) -> Self:
        """An unfitted model that will do what `settings` ask.

        >>> ProxyCalibrator.from_settings(Roles("y", ["p"], ["e"]), Settings(level=0.9)).level
        0.9
        """
        return cls(roles, **{one.name: getattr(settings, one.name) for one in fields(settings)})

    def fit(self, df: Any) -> Self:
        """Fit a pandas, polars or Dask frame; every value that is not allowed is named here.

        A Dask frame, and with the exact method any of more than 200,000 rows, is fitted in pieces: a sample
        chooses the models, all rows fit them (method="paper": all rows train stage 1, a sample the rest).
        """
        settings = self._settings()
        method = method_named(settings.method)
        if is_partitioned(df):
            pieces = partition_pieces(df, self.roles.columns)
            return self._keep_large(fit_large(pieces, self.roles, settings))
        if in_pieces(df, self.roles, settings):
            frame = to_pandas(df, self.roles.columns)
            return self._keep_large(fit_large(FramePieces(frame), self.roles, settings), frame)
        encoder = Encoder.fit(df, self.roles, settings.missing)  # type: ignore[arg-type]
        arrays = encoder.transform(df)
        fitted = method.fit_function()(arrays, settings)
        return self._keep(df, encoder, arrays, fitted, row_labels(df, self.roles), arrays.n)

    def fit_files(
        self,
        tables: Sequence[str | os.PathLike[str]],
        *,
        jobs: int = 1,
        engine: Engine = "joblib",
        scheduler: str | None = None,
    ) -> Self:
        """Fit one table that is spread over CSV or Parquet files, which may be larger than memory.

        jobs, engine, scheduler : who reads and adds up, as in `calibrate_files`; the answer does not depend
        on it. Up to 200,000 rows, and for a single CSV, this is `fit` of the whole table.
        """
        settings = self._settings()
        method_named(settings.method)  # says before anything is read what is not installed
        text = [name for name in (self.roles.id, self.roles.cluster) if name is not None]
        names = [os.fspath(one) for one in tables]
        if len(names) == 1 and fits_in_memory(names[0], LARGE):
            return self.fit(read_table(names[0], text))
        with file_pieces(names, self.roles.columns, text, jobs, engine, scheduler) as pieces:
            if pieces.rows <= LARGE:
                return self.fit(pieces.frame())
            return self._keep_large(fit_large(pieces, self.roles, settings))

    def _keep_large(self, large: LargeFit, table: pd.DataFrame | None = None) -> Self:
        """Keep a fit of many rows; the sample stands for them, under the labels of the table if given."""
        named = large.frame if table is None else table.iloc[large.frame.index]
        labels = row_labels(named, self.roles)
        return self._keep(large.frame, large.encoder, large.arrays, large.fit, labels, large.n)

    def _keep(
        self, df: Any, encoder: Encoder, arrays: Arrays, fitted: FittedMethod, labels: np.ndarray, n: int
    ) -> Self:
        settings = self._settings()
        result = Calibration(
            estimate=fitted.estimate,
            estimates=fitted.estimates,
            share_biased=fitted.share_biased,
            verdict=fitted.verdict,
            findings=(*table_findings(df, self.roles, encoder, settings.method), *fitted.findings),
            settings=settings,
            roles=self.roles,
            n=n,
            versions=versions(settings.method),
        )
        rows = rows_shown(df, arrays, encoder, fitted, result)
        # Only now, all at once: a fit that fails leaves an earlier one as it was.
        self.encoder_, self.fit_, self.result_, self.rows_ = encoder, fitted, result, rows
        self.labels_ = labels[arrays.kept]
        self.training_ = keep(arrays, settings.random_state)
        self.questions_: dict[str, Refutation | Power] = {}
        return self

    # --- what was found ---

    @property
    def alpha_(self) -> float:
        """Size of the bias, >= 0, in the outcome's own units."""
        return self._fitted().alpha

    @property
    def alpha_se_(self) -> float:
        """Standard error of alpha."""
        return self._fitted().se

    @property
    def alpha_interval_(self) -> tuple[float, float]:
        """Interval of alpha at `level`."""
        return self._fitted().interval

    @property
    def share_biased_(self) -> float:
        """Mean of P(A = 1 | data) over the fitted rows."""
        return self._fitted().share_biased

    @property
    def verdict_(self) -> str:
        """One of "bias found", "no bias found", "not identified"."""
        return self._fitted().verdict

    @property
    def findings_(self) -> list[Finding]:
        """The reasons for the verdict, and what else a reader should know."""
        return list(self._fitted().findings)

    def summary(self) -> pd.DataFrame:
        """One row per estimator (exact, moments, match): alpha, se, low, high, note."""
        return self._fitted().summary()

    # --- answers for rows ---

    def calibrate(self, df: Any) -> Any:
        """The calibrated outcome, as a frame of the same kind and index as `df`.

        y_cal, y_cal_low, y_cal_high (pointwise), p_biased, shift (signed: y_cal = y_obs - shift) and
        mu = E[y_obs | do(A=0), E, Z]. Unless the verdict is "bias found" the outcome is left alone.
        """
        left_alone = self.why_left_alone()
        columns, kept = calibrated(df, self.encoder_, self.fit_)
        if left_alone:
            warnings.warn(left_alone, ProxycalWarning, stacklevel=2)
        self._warn_of_gaps(df, kept, "y_cal, p_biased and mu")
        return answer(df, columns)

    def effects(self, df: Any) -> Any:
        """Local effects: each row against its nearest unbiased fitted rows in content.

        tau (signed), tau_abs, n_matched, and as text, nearest first and joined by "; ": matched (ids or index
        labels of the fitted rows) and distances.
        """
        self._fitted()
        arrays = self.encoder_.transform(df, design=False)
        made = self.fit_.effects(arrays)
        unmatched = int(np.isnan(made.tau).sum())
        self._warn_of_gaps(df, arrays.kept, "tau")
        if unmatched:
            text = f"{counted(unmatched, 'row')} had no unbiased row to match with, so no tau: fit more rows"
            warnings.warn(text, ProxycalWarning, stacklevel=2)
        return answer(df, spread(effect_columns(made, self.labels_), arrays.kept))

    def latents(self, df: Any) -> Any:
        """Content z_1 .. z_d and the bias score a (higher for the biased) of each row."""
        self._fitted()
        arrays, made = predicted(df, self.encoder_, self.fit_)
        self._warn_of_gaps(df, arrays.kept, "z and a")
        columns = {f"z_{j + 1}": made.z[:, j] for j in range(made.z.shape[1])} | {"a": made.a}
        return answer(df, spread(columns, arrays.kept))

    def why_left_alone(self) -> str:
        """The reasons for which `calibrate` leaves the outcome as reported; empty where it does not."""
        if self._fitted().verdict == "bias found":
            return ""
        made = self.fit_.findings
        reasons = [one.reading for one in made if not one.ok] or [made[0].reading]
        return (
            f"the verdict is '{self.verdict_}', so the outcome is left as reported "
            f"(y_cal = y_obs, shift = 0): {' '.join(reasons)}"
        )

    # --- questions put to the fit ---

    def check(self, df: Any = None) -> list[Finding]:
        """The findings of the fit, and further checks of its rows, or of a table where one is given."""
        from proxycal.questions.assumptions import further_findings

        found = self._fitted()
        arrays = self.training_ if df is None else self.encoder_.transform(df)
        before = found.findings if df is None else (*audit(df, found.roles), *self.fit_.findings)
        return [*before, *further_findings(self.fit_, arrays, found.settings, before)]

    def refute(
        self, kind: RefuterName = "null", repetitions: int = 20, progress: Progress | None = None
    ) -> Refutation:
        """Try to break the fit: "null" | "placebo" | "drop-proxy" | "leak" | "seed".

        The rows of the fit are changed in one way and fitted again, `n_jobs` at a time; the answer holds a
        table of the refits, what they mean, and whether the fit survived (`ok`). `report` and `save` keep it.
        """
        from proxycal.questions.refute.refutation import refute

        refutation = self.questions_[kind] = refute(kind, self._kept_fit(), repetitions, progress)
        return refutation

    def power(
        self,
        alphas: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 5.0),
        repetitions: int = 20,
        progress: Progress | None = None,
    ) -> Power:
        """What size of bias these rows could show: known ones are injected, on top of what was found.

        alphas : sizes in sds of the bias-free outcome; no bias at all is always tried too.
        """
        from proxycal.questions.power import power

        found = self.questions_["power"] = power(self._kept_fit(), alphas, repetitions, progress)
        return found

    # --- pages and files ---

    def plot(self, kind: str, ax: Axes | None = None) -> Axes:
        """Draw one picture of the fitted rows; an unknown kind is answered with the list of them."""
        from proxycal.report.plots import draw

        return draw(kind, self.report_data(), ax)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page about this fit: one self-contained HTML file, or a PDF where the name ends so."""
        data = self.report_data()
        if os.fspath(path).lower().endswith(".pdf"):
            from proxycal.report.pdf import print_pdf

            with atomic_file(path) as place:
                place.write_bytes(print_pdf(data))
            return
        from proxycal.report.page import render

        write_text(path, render(data))

    def report_data(self) -> ReportData:
        """The record that pages, pictures and the terminal read."""
        return report_data(self._fitted(), self.rows_, self.fit_, self.training_, self.questions_)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a run folder, whole or not at all; `proxycal.load` reads it."""
        found = self._fitted()
        values, tensors = self.fit_.state()
        training, rows = training_state(self.training_)
        save_run(
            folder,
            Run(
                config=found.settings.to_toml(),
                roles=found.roles.to_dict(),
                encoder=self.encoder_.to_dict(),
                results=found.to_dict() | {"fit": values, "training": training},
                versions=found.versions,
                tensors=tensors | rows,
                labels=self.labels_,
                rows=self.rows_.to_frame(),
                history=self.fit_.history,
                questions=answers_to_dict(self.questions_),
            ),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def _repr_html_(self) -> str:
        fitted = self.__sklearn_is_fitted__()
        return self.result_._repr_html_() if fitted else f"<pre>{self!r} (not fitted)</pre>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _fitted(self) -> Calibration:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this ProxyCalibrator is not fitted: call fit(table) first")
        return self.result_

    def _kept_fit(self) -> KeptFit:
        """The fit and the rows kept of it, as questions take them."""
        from proxycal.questions.refits import KeptFit

        found = self._fitted()
        settings = replace(found.settings, n_jobs=self.n_jobs)
        return KeptFit.of(self.training_, settings, method_named(settings.method), self.fit_, found.n)

    def _settings(self) -> Settings:
        if not isinstance(self.roles, Roles):
            raise RolesError(
                f"roles must be a proxycal.Roles, not {type(self.roles).__name__}: declare the columns"
            )
        return Settings(
            method=self.method,
            direction=self.direction,
            effect=self.effect,
            level=self.level,
            missing=self.missing,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            interval=self.interval,
            paper=PaperSettings() if self.paper is None else self.paper,
        )

    def _warn_of_gaps(self, df: Any, kept: np.ndarray, what: str) -> None:
        if not kept.all():
            warnings.warn(gaps_text(df, kept, what), ProxycalWarning, stacklevel=3)
