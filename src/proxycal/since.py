"""What a fitted model says of rows that came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxycal.drift.wording import columns_of
from proxycal.scale.drift import drift_of_frame
from proxycal.scale.streams import is_streamed
from proxycal.table.frames import from_columns

if TYPE_CHECKING:
    from proxycal.result import Fit


class Since:
    """What may be asked of a fitted model about later rows; a part of ProxyCalibrator."""

    if TYPE_CHECKING:

        def _fitted(self) -> Fit: ...

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
