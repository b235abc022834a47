"""What a fitted model does after the calibration: completed tables, regressions, coefficient tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxycal.drift.run import check_frame, warn_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from proxycal.analysis.surveys import Survey, SurveyEstimates
    from proxycal.result import Fit


class AfterCalibration:
    """The methods of `ProxyCalibrator` that continue where calibrated values are not enough."""

    def survey(
        self, df: Any, design: Survey, m: int = 20, random_state: int | None = None
    ) -> SurveyEstimates:
        """Survey estimates of the calibrated column: errors of the design, the calibration's own added.

        Parameters
        ----------
        df : pandas or polars frame
            The sample.
        design : Survey
            How it was drawn: weights, strata, clusters, finite populations, or replicate weights.
        m : int, default 20
            How many completed tables.
        random_state : int, default None
            Seed of the draws; None for that of the model.

        Returns
        -------
        SurveyEstimates
            With total(), mean(), ratio() and quantile(), each overall or by group.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
        >>> mean = model.survey(sim.table.assign(pw=10.0), proxycal.Survey(weights="pw")).mean("y")
        >>> bool(mean.low.iloc[0] < sim.truth["y_true"].mean() < mean.high.iloc[0])
        True

        """
        from proxycal.analysis.surveys import survey_of

        return survey_of(self._fitted(), df, design, m, random_state)

    def band(
        self,
        df: Any,
        share: Sequence[float],
        reports: Sequence[float] | None = None,
        amount: Sequence[float] | None = None,
        by: str | None = None,
    ) -> Any:
        """Totals under an assumption that you state, where the data do not tell: nothing of it is found.

        A validated row counts with its truth and a trusted one with its report; the assumption is about the
        others, in every group.

        Parameters
        ----------
        df : pandas or polars frame
            The table.
        share : (float, float)
            How many of the rows are biased, from and to, 0 to 1.
        reports : (float, float), default None
            Which part of the truth biased rows report, such as (0.6, 0.9); above 1 with direction="over".
        amount : (float, float), default None
            By what amount biased rows are off, in place of `reports`.
        by : str, default None
            Column of the groups; None for all rows only.

        Returns
        -------
        frame
            rows, reported, low and high (biased rows are as large as the others), lowest and highest
            (whichever rows they are), and the assumption as a sentence.

        Examples
        --------
        >>> import pandas as pd, proxycal
        >>> sim = proxycal.simulate(n=200, alpha=0.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="under", method="moments").fit(sim.table)
        >>> row = model.band(sim.table, share=(0.1, 0.4), amount=(1.0, 2.0)).iloc[0]
        >>> [round(float(end - row.reported)) for end in (row.low, row.high)]
        [20, 160]

        """
        from proxycal.analysis.band import band_of

        return band_of(self._fitted(), df, share, reports, amount, by)

    def tidy(self, exponentiate: bool = False) -> pd.DataFrame:
        """The coefficients as a table: who misreports, by how much, and what the content is made of.

        Parameters
        ----------
        exponentiate : bool, default False
            Whether estimate, low and high of "who" are odds ratios instead of log odds.

        Returns
        -------
        DataFrame
            A row per coefficient: term, estimate, std_error, statistic, p_value, low, high and component:
            "who" (log odds of being biased), "size" (in the stated direction) and "content" (expected truth,
            where it is a straight line). For one unit of a number, and of a level against the reference.
            A method without such a model has its size only.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over").fit(sim.table)
        >>> model.tidy().query("component == 'who'")["term"].tolist()
        ['(Intercept)', 'e_1', 'e_2']

        """
        from proxycal.analysis.tidy import tidy

        return tidy(self._fitted(), exponentiate)

    def glance(self) -> pd.DataFrame:
        """The fit in one row: verdict, size with its interval, share biased, log likelihood, BIC.

        Returns
        -------
        DataFrame
            Columns method, verdict, n, alpha, alpha_se, alpha_low, alpha_high, share_biased, parameters,
            log_lik and bic; the last three are missing where the method has no likelihood of all fitted rows.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over").fit(sim.table)
        >>> model.glance()["verdict"].tolist()
        ['bias found']

        """
        from proxycal.analysis.tidy import glance

        return glance(self._fitted())

    def confint(self, level: float | None = None) -> pd.DataFrame:
        """Intervals of the coefficients of `tidy`: component, term, low and high.

        Parameters
        ----------
        level : float, default None
            Level of the intervals; None for that of the model.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over").fit(sim.table)
        >>> low, high = model.confint(0.99).loc[("size", "alpha")]
        >>> bool(low < 5.0 < high)
        True

        """
        from proxycal.analysis.tidy import confint

        return confint(self._fitted(), level)

    def vcov(self) -> pd.DataFrame:
        """Covariance of the coefficients of `tidy`, labelled by component and term.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over").fit(sim.table)
        >>> model.vcov().shape == (len(model.tidy()),) * 2
        True

        """
        from proxycal.analysis.tidy import vcov

        return vcov(self._fitted())

    # What maketables reads of a result, which need not be installed for it.

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        """The coefficients of `tidy` as maketables reads them."""
        from proxycal.analysis.tidy import coefficient_table

        return coefficient_table(self._fitted())

    def __maketables_stat__(self, key: str) -> Any:
        """One figure of `glance` by its name; "N" is the number of rows. None where there is none."""
        row = self.glance().iloc[0]
        return row.get({"N": "n"}.get(key, key))

    @property
    def __maketables_depvar__(self) -> str:
        """The report."""
        return str(self._fitted().roles.outcome)

    if TYPE_CHECKING:

        def _fitted(self) -> Fit: ...

    def impute(
        self, df: Any, m: int = 20, random_state: int | None = None, include: Sequence[str] = ()
    ) -> list[Any]:
        """Completed tables: the outcome column holds a draw of the truth, all other columns stay.

        Every table draws the parameters of the fit from their joint normal distribution, then who is biased,
        by how much, and the truth of each row (proper multiple imputation). A validated row keeps its truth.
        Analyse each table as if it were complete and combine the results with `proxycal.pool`. Unless the
        verdict is "bias found" all tables hold the reports, and a warning says so.

        Parameters
        ----------
        df : pandas or polars frame
            The table.
        m : int, default 20
            How many tables.
        random_state : int, default None
            Seed of the draws; None for that of the model. The same seed gives the same bytes.
        include : sequence of str, default ()
            Columns that are neither proxy nor environment and will stand in the analysis: draws that have
            not heard of them make their slopes too small. `regress` does this by itself.

        Returns
        -------
        list of frames
            Of the kind and index of `df`. A row with missing values has no draw: its outcome is missing.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
        >>> tables = model.impute(sim.table, m=5)
        >>> pooled = proxycal.pool([(t["y"].mean(), t["y"].var() / len(t)) for t in tables])
        >>> bool(pooled.low.iloc[0] < sim.truth["y_true"].mean() < pooled.high.iloc[0])
        True

        """
        from proxycal.analysis.impute import impute

        warn_of(check_frame(self._fitted(), df), stacklevel=2)
        return impute(self._fitted(), df, m, random_state, include)

    def regress(
        self,
        formula: str,
        df: Any,
        m: int = 20,
        vcov: str | Mapping[str, str] | None = None,
        family: str = "ols",
        weights: str | None = None,
        random_state: int | None = None,
    ) -> Any:
        """A regression with the calibrated column: imputes, fits every completed table, pools.

        Parameters
        ----------
        formula : str
            As in formulaic: "loss ~ income + C(hazard)". The outcome of the roles stands on the left, or on
            the right with its error. Columns that are neither proxy nor environment take part in the draws;
            where there are too few rows for that, a warning says by how much their slopes are too small.
        df : pandas or polars frame
            The table.
        m : int, default 20
            How many completed tables.
        vcov : {"iid", "hetero"} or {"cluster": COLUMN}, default None
            Covariance of a completed table; None for the clusters of the roles, or "hetero" without any.
        family : {"ols", "logit", "poisson"}, default "ols"
            What is fitted; all but "ols" need pip install 'proxycal[models]'.
        weights : str, default None
            Column of weights; None for that of the roles.
        random_state : int, default None
            Seed of the draws; None for that of the model.

        Returns
        -------
        frame
            A row per term: estimate, se, df, low, high, t, p and fmi (fraction of missing information).

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
        >>> model.regress("y ~ e_1 + e_2", sim.table, m=5).index.tolist()
        ['Intercept', 'e_1', 'e_2']

        """
        from proxycal.analysis.regress import regress

        warn_of(check_frame(self._fitted(), df), stacklevel=2)
        return regress(self._fitted(), formula, df, m, vcov, family, weights, random_state)
