"""ProxyCalibrator: the object a user holds. It takes a table through the rooms and computes nothing itself.

table --Encoder--> arrays --method--> MethodFit --effect--> rows --> Fit (result_) --> report, run folder
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator

from proxycal.analysis.after import AfterCalibration
from proxycal.drift.run import check_frame, warn_of
from proxycal.effect.last_check import answer_rows
from proxycal.errors import ProxycalWarning, RolesError
from proxycal.fitting import fit_files, fit_table
from proxycal.found import Found
from proxycal.manners import Manners
from proxycal.methods.registry import METHODS
from proxycal.pages import Pages
from proxycal.scale.streams import calibrate_stream, is_streamed
from proxycal.scale.totals import totals_frame
from proxycal.settings import Direction, Family, Interval, Missing, Scale, Settings, TotalRows
from proxycal.since import Since
from proxycal.store import load_fit
from proxycal.table.answers import effect_columns, gaps_text, laid_out, latent_columns
from proxycal.table.audit import audit
from proxycal.table.roles import Roles
from proxycal.table.wording import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import numpy as np
    import pandas as pd

    from proxycal.effect.totals import Statistic
    from proxycal.methods.paper.settings import PaperSettings
    from proxycal.parallel import Engine
    from proxycal.questions.answers import Power, Refutation
    from proxycal.questions.power import PowerPoint
    from proxycal.questions.refits import KeptFit, Progress
    from proxycal.questions.refute import RefuterName
    from proxycal.result import Finding, Prediction


class ProxyCalibrator(Found, Manners, AfterCalibration, Since, Pages, BaseEstimator):
    """Finds and removes a reporting bias with proxies that never saw the report.

        E ~ p(E)    Z ~ p(Z|E)    A ~ p(A|E), A in {0, 1}
        Y_true ~ p(.|Z)    P_k ~ p(.|Z)    Y_obs = Y_true + s * alpha * A

    s = +1 for direction="over", -1 for "under": the data cannot tell the two apart, so you say which.

    Parameters
    ----------
    roles : Roles
        Which column is what.
    method : {"auto", "exact", "validated", "moments", "gradual", "paper"}, default "auto"
        "auto" is "validated" where 30 rows or more have a truth, else what the kind of outcome asks for;
        "exact" compares mixtures, "gradual" is for a bias that changes gradually, "paper" trains networks.
    direction : {"over", "under"}
        Whether biased reports are too high or too low. Required: `fit` refuses a model without it.
    scale : {"linear", "log"}, default "linear"
        "log" where the bias is a factor: alpha is a logarithm, `ratio_` what biased rows report of the truth.
    family : {"auto", "normal", "counts", "binary"}, default "auto"
        "counts": a share of what happened is reported. "binary": some of the yes, or of the no, is denied.
    exclusion : bool, default False
        You state that the environment acts on the truth only through content (counts, yes and no).
    log_proxies : sequence of str, default ()
        Proxies that are sizes (dollars, areas, counts), of which the logarithm is taken.
    effect : {"constant", "linear", "by:COLUMN"}, default "constant"
        How the size of the bias varies: not at all, with the environment, or by level.
    level : float, default 0.95
        Level of all intervals.
    missing : {"raise", "drop", "impute"}, default "raise"
        What to do with missing values. The outcome is never imputed.
    random_state : int, default 0
        Seed of everything random; the same seed gives the same bytes, whatever `n_jobs`.
    n_jobs : int, default 1
        Processes for refits; -1 for all cores.
    paper : PaperSettings or None, default None
        Settings of method="paper"; None for the defaults.
    interval : {"sandwich", "bootstrap"}, default "sandwich"
        How method="exact" computes its errors; "bootstrap" refits with random weights and is slower.
    total_rows : {"raise", "keep"}, default "raise"
        What to do with rows that are totals of other rows: refuse the table, or take them for rows.

    Attributes
    ----------
    result_ : Fit
        The finished fit, with everything that was computed.
    alpha_, alpha_se_, alpha_interval_, ratio_, ratio_interval_, share_biased_, verdict_, findings_
        What was found.

    Examples
    --------
    >>> import proxycal
    >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
    >>> model = proxycal.ProxyCalibrator(sim.roles, method="moments", direction="over").fit(sim.table)
    >>> model.verdict_, round(model.alpha_, 1)
    ('bias found', 5.0)
    >>> round(float((model.calibrate(sim.table)["y_cal"] - sim.truth["y_true"]).abs().mean()), 1)
    0.1

    """

    def __init__(
        self,
        roles: Roles,
        method: str = "auto",
        direction: Direction | None = None,
        scale: Scale = "linear",
        family: Family = "auto",
        exclusion: bool = False,
        log_proxies: Sequence[str] = (),
        effect: str = "constant",
        level: float = 0.95,
        missing: Missing = "raise",
        random_state: int = 0,
        n_jobs: int = 1,
        paper: PaperSettings | None = None,
        interval: Interval = "sandwich",
        total_rows: TotalRows = "raise",
    ) -> None:
        self.roles = roles
        self.method = method
        self.direction = direction
        self.scale = scale
        self.family = family
        self.exclusion = exclusion
        self.log_proxies = log_proxies
        self.effect = effect
        self.level = level
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.paper = paper
        self.interval = interval
        self.total_rows = total_rows

    @classmethod
    def from_settings(cls, roles: Roles, settings: Settings) -> Self:
        """An unfitted model that will do what `settings` ask.

        >>> settings = Settings(direction="over", level=0.9)
        >>> ProxyCalibrator.from_settings(Roles("y", ["p"], ["e"]), settings).level
        0.9
        """
        names = [name for name in cls._get_param_names() if name not in ("roles", "paper")]
        chosen = {name: getattr(settings, name) for name in names}
        return cls(roles, paper=settings.sections["paper"], **chosen)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a pandas, polars or Dask frame; every value that is not allowed is named here.

        What comes in batches is fitted too: a DuckDB relation, ibis table, polars LazyFrame, Arrow reader.

        A Dask frame, and with method="exact" any of more than 200,000 rows, is fitted in pieces: a sample
        chooses the models, all rows fit them (method="paper": all rows train stage 1, a sample the rest).

        Parameters
        ----------
        X : frame
            The table, with a column for every role.
        y : ignored
            For scikit-learn's pipelines; the outcome is a column of X.

        """
        # A fit that fails leaves an earlier one as it was.
        self.result_ = fit_table(X, self.roles, self._settings())
        return self

    def fit_files(
        self,
        tables: Sequence[str | os.PathLike[str]],
        *,
        jobs: int = 1,
        engine: Engine = "joblib",
        scheduler: str | None = None,
    ) -> Self:
        """Fit one table that is spread over CSV or Parquet files, which may be larger than memory.

        Parameters
        ----------
        tables : sequence of paths
            The files. Up to 200,000 rows, and for a single CSV, this is `fit` of the whole table.
        jobs, engine, scheduler
            Who reads and adds up, as in `calibrate_files`; the answer does not depend on it.

        """
        self.result_ = fit_files(tables, self.roles, self._settings(), jobs, engine, scheduler)
        return self

    # --- answers for rows ---

    def calibrate(self, df: Any, transport: bool = False) -> Any:
        """The calibrated outcome, as a frame of the same kind and index as `df`.

        y_cal, y_cal_low, y_cal_high (pointwise), p_biased, shift (signed: y_cal = y_obs - shift) and
        mu = E[y_obs | do(A=0), E, Z]. Unless the verdict is "bias found" the outcome is left alone. A DuckDB
        relation, ibis table, polars LazyFrame or Arrow reader is answered as it is read: a
        pyarrow.RecordBatchReader of its own columns, then these.
        transport=True is for rows drawn from elsewhere: intervals widen as columns and reports differ from
        the fitted ones, columns may be absent, and rows unlike all fitted ones are refused.
        """
        left_alone = self._fitted().why_left_alone
        if transport:
            from proxycal.analysis.transport import transported

            return transported(self.result_, df)
        if is_streamed(df):
            return calibrate_stream(self.result_, df)
        drift = check_frame(self.result_, df)
        predicted, kept = self._predicted(df)
        warn_of(drift, stacklevel=2)
        if left_alone:
            warnings.warn(left_alone, ProxycalWarning, stacklevel=2)
        self._warn_of_gaps(df, kept, "y_cal, p_biased and mu")
        return laid_out(df, predicted.outputs(), kept)

    def totals(
        self, df: Any, by: str | None = None, weights: str | None = None, statistic: Statistic = "total"
    ) -> Any:
        """Total or mean of the true outcome, overall and by group, with a joint interval.

        The error of the size of the bias, and of who is biased, is shared by all rows; the doubt about each
        row is its own.

        Parameters
        ----------
        df : pandas, polars or Dask frame
            The table.
        by : str, default None
            Column of the groups, such as "region"; None for all rows only.
        weights : str, default None
            Column that each row is multiplied by, as it is; None for the role `weights` of the fit, and
            where there is none every row counts once. The role `counts` repeats rows in either case.
        statistic : {"total", "mean"}, default "total"
            What is asked.

        Returns
        -------
        frame
            A row per group and one for all rows: rows, reported, calibrated, low, high, change_pct. Unless
            the verdict is "bias found", calibrated is what was reported, and low and high are missing.
            With missing="drop" rows with gaps enter as reported: as_reported_rows is their number,
            as_reported their sum. Groups add up to the row of all rows.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
        >>> mean = model.totals(sim.table, statistic="mean").iloc[0]
        >>> bool(mean.low < sim.truth["y_true"].mean() < mean.high < mean.reported)
        True

        """
        return totals_frame(self._fitted(), df, by, weights, statistic)

    def plan_audit(self, df: Any, n: int = 50) -> pd.DataFrame:
        """Which n rows to validate next, drawn with known probabilities, and an empty truth column.

        `attrs["reading"]` says what is gained. Fit again with `Roles(..., truth=..., inclusion=...)`.
        """
        from proxycal.questions.audit_plan import plan_audit
        from proxycal.table.audit_sheet import sheet

        fit = self._fitted()
        arrays = fit.encoder.transform(df, design=False)
        plan = plan_audit(fit.method_fit, arrays, n, self.random_state)
        self._warn_of_gaps(df, arrays.kept, "they cannot be chosen; inclusion probabilities")
        if plan.random:
            warnings.warn(plan.reading, ProxycalWarning, stacklevel=2)
        return sheet(df, fit.roles, arrays.kept, plan)

    def effects(self, df: Any) -> Any:
        """Local effects: each row against its nearest unbiased fitted rows in content.

        tau (signed), tau_abs, n_matched, and as text, nearest first and joined by "; ": matched (ids or index
        labels of the fitted rows) and distances.
        """
        fit = self._fitted()
        arrays = fit.encoder.transform(df, design=False)
        columns = effect_columns(fit.method_fit.effects(arrays), fit.labels)
        unmatched = int((columns["tau"] != columns["tau"]).sum())
        self._warn_of_gaps(df, arrays.kept, "tau")
        if unmatched:
            text = f"{counted(unmatched, 'row')} had no unbiased row to match with, so no tau: fit more rows"
            warnings.warn(text, ProxycalWarning, stacklevel=2)
        return laid_out(df, columns, arrays.kept)

    def latents(self, df: Any) -> Any:
        """Content z_1 .. z_d and the bias score a of each row; of several reports P(biased) of each."""
        self._fitted()
        predicted, kept = self._predicted(df)
        self._warn_of_gaps(df, kept, "z and a")
        return laid_out(df, latent_columns(self.result_.roles, predicted), kept)

    # --- questions put to the fit ---

    def check(self, df: Any = None) -> list[Finding]:
        """The findings of the fit, and further checks of its rows, or of a table where one is given."""
        from proxycal.questions.assumptions import further_findings

        fit = self._fitted()
        arrays = fit.training if df is None else fit.encoder.transform(df)
        before = (
            fit.findings if df is None else (*audit(df, fit.roles, fit.settings), *fit.method_fit.findings)
        )
        return [*before, *further_findings(fit.method_fit, arrays, fit.settings, before)]

    def refute(
        self, kind: RefuterName = "null", repetitions: int = 20, progress: Progress | None = None
    ) -> Refutation:
        """Try to break the fit: its rows are changed in one way and fitted again, `n_jobs` at a time.

        Parameters
        ----------
        kind : {"null", "placebo", "drop-proxy", "leak", "seed"}, default "null"
            What is changed.
        repetitions : int, default 20
            Refits, 2 or more.
        progress : callable, optional
            Called with (done, total) after each refit.

        Returns
        -------
        Refutation
            A table of the refits, what they mean, and whether the fit survived (`ok`); `report` and `save`
            keep it.

        """
        from proxycal.questions.refute.refutation import refute

        return self._answered(kind, refute(kind, self._kept_fit(), repetitions, progress))

    def power(
        self,
        alphas: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 5.0),
        repetitions: int = 20,
        progress: Progress | None = None,
        tell: Callable[[PowerPoint], None] | None = None,
    ) -> Power:
        """What size of bias these rows could show: known ones are injected, on top of what was found.

        Parameters
        ----------
        alphas : sequence of float, default (0.25, 0.5, 1, 2, 5)
            Sizes in sds of the bias-free outcome; no bias at all is always tried too.
        repetitions : int, default 20
            Most tables of a size; a size is left as soon as its answer is clear.
        progress
            As in `refute`.
        tell : callable, default None
            Told of each size, as a row of the table, once its answer is clear.

        """
        from proxycal.questions.power import power

        return self._answered("power", power(self._kept_fit(), alphas, repetitions, progress, tell))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        asked = super().__repr__(N_CHAR_MAX)
        if not self.__sklearn_is_fitted__():
            return asked
        from proxycal.report.summary import sentence

        return f"{asked}\n{self.formula_}\n{self.result_.verdict}: {sentence(self.result_)}"

    def _predicted(self, df: Any) -> tuple[Prediction, np.ndarray]:
        """The answer for the rows of a table that have one, and which those are."""
        fit = self.result_
        arrays = fit.encoder.transform(df, design=False)
        return answer_rows(fit.method_fit, fit.support, arrays), arrays.kept

    def _kept_fit(self) -> KeptFit:
        """The fit and the rows kept of it, with as many processes as this object has now."""
        from proxycal.questions.refits import KeptFit

        fit = self._fitted()
        settings = replace(fit.settings, n_jobs=self.n_jobs)
        return KeptFit.of(fit.training, settings, METHODS[settings.method], fit.method_fit, fit.n)

    def _answered(self, name: str, answer: Any) -> Any:
        """Keep the answer to a question for pages and the run folder."""
        self.result_ = replace(self.result_, questions={**self.result_.questions, name: answer})
        return answer

    def _settings(self) -> Settings:
        if not isinstance(self.roles, Roles):
            raise RolesError(
                f"roles must be a proxycal.Roles, not {type(self.roles).__name__}: declare the columns"
            )
        names = [name for name in self._get_param_names() if name not in ("roles", "paper")]
        sections = {} if self.paper is None else {"paper": self.paper}
        return Settings(**{name: getattr(self, name) for name in names}, sections=sections)

    def _warn_of_gaps(self, df: Any, kept: np.ndarray, what: str) -> None:
        if not kept.all():
            warnings.warn(gaps_text(df, kept, what), ProxycalWarning, stacklevel=3)


def load(folder: str | os.PathLike[str]) -> ProxyCalibrator:
    """Read a run folder written by `ProxyCalibrator.save` or `proxycal fit`.

    Nothing in the folder is executed; a damaged or newer one is one StoreError.
    """
    fit = load_fit(folder)
    model = ProxyCalibrator.from_settings(fit.roles, fit.settings)
    model.result_ = fit
    return model
