"""What a fitted model says of rows that came after it, and learns from them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from proxycal.drift.wording import columns_of
from proxycal.errors import ProxycalWarning
from proxycal.scale.drift import drift_of_frame
from proxycal.scale.streams import is_streamed
from proxycal.table.frames import from_columns

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.result import Fit


class Since:
    """What may be asked of a fitted model about later rows; a part of ProxyCalibrator."""

    if TYPE_CHECKING:
        result_: Fit

        def _fitted(self) -> Fit: ...

        def fit(self, X: Any, y: Any = None) -> Self:
            """Fit a frame."""

    def drift(self, df: Any) -> Any:
        """What changed since the fit: a row for each column, and one for the report given the rest.

        `calibrate` and `totals` ask this of every table: they refuse other units, and warn of the rest.

        Parameters
        ----------
        df : frame, or table that comes in batches
            The new rows. Those that were fitted are not compared; of many rows 20,000 are.

        Returns
        -------
        frame
            Of the kind of `df`; pandas for Dask and for what comes in batches. column; what: "as
            fitted", "drift" (its values moved), "unit" (all of them are one factor times what they
            were) or "refit" (the report behaves otherwise, given all other columns: the bias may
            have changed); size: the factor of a unit, else the share of rows that lie elsewhere;
            shift: of the mean, in standard deviations of the fitted rows; p: of "nothing changed";
            detail: in words.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=600, alpha=5.0, random_state=0)
        >>> old, new = sim.table[:400], sim.table[400:].copy()
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(old)
        >>> new["p_1"] = 1000 * new["p_1"]
        >>> drift = model.drift(new)
        >>> drift[drift["what"] != "as fitted"][["column", "what"]].to_numpy().tolist()
        [['p_1', 'unit']]

        """
        drift = drift_of_frame(self._fitted(), df)
        return from_columns(columns_of(drift), None if is_streamed(df) else df)

    def update(self, df: Any, old: Any = None, when: str | None = None) -> Self:
        """Fit again with rows that came later, and say if their bias is another.

        The answer is that of `fit` on all rows. Rows of `df` that were fitted before are left out. A warning
        says where the new rows do not behave as the fit before them expects: a likelihood ratio of a bias of
        their own against "same as before", and the law of the reports given all other columns. Both together
        raise a false alarm in one table of a hundred.

        Parameters
        ----------
        df : pandas or polars frame
            The new rows, with the columns of the roles. Levels that were never seen are allowed.
        old : frame, default None
            The table that was fitted, with the rows of earlier updates. Needed only where the fit does not
            hold it: of more than 20,000 rows, with weights, with clusters, with constant columns.
        when : str, default None
            What the log calls these rows, such as "2026-07"; None for today's date.

        Returns
        -------
        ProxyCalibrator
            The model itself, fitted to all rows; `updates_` is the log.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=900, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
        >>> may, june = sim.table[:600], sim.table[600:]
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over").fit(may)
        >>> model.update(june, when="June").updates_[["when", "rows", "n", "changed"]].to_numpy().tolist()
        [['first fit', 600, 600, False], ['June', 300, 900, False]]

        """
        from proxycal.analysis.update import change_text, compare_new, logged

        before = self._fitted()
        made = compare_new(before, df, old)
        self.fit(made.table)
        self.result_ = replace(self.result_, updates=logged(before, self.result_, made, when))
        if made.changed:
            warnings.warn(change_text(made), ProxycalWarning, stacklevel=2)
        return self

    @property
    def updates_(self) -> pd.DataFrame:
        """What was learned when: a row for the first fit and for each `update`.

        when, rows (new), n (in all), verdict, alpha, low, high, share_biased; changed: whether the new rows
        do not behave as the fit before expects; p_bias: of "same bias as before"; size, odds: of the new
        rows' bias, as multiples; p_report: of "reports behave as before".
        """
        from proxycal.analysis.update import log_frame

        return log_frame(self._fitted())
