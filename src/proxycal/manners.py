"""The manners of a scikit-learn transformer and predictor, for tables with named columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import TransformerMixin

from proxycal.effect.last_check import answer_rows
from proxycal.errors import SettingsError
from proxycal.result import OUTPUT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.utils import Tags

    from proxycal.result import Fit


class Manners(TransformerMixin):
    """What pipelines, column transformers and cross-validation call. The rows are those of a data frame."""

    result_: Fit

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The arguments of the constructor."""
        return list(cls._get_param_names())

    def transform(self, X: Any) -> Any:
        """The same as `calibrate`, under the name that pipelines call; `set_output` chooses another frame."""
        return self.calibrate(X)

    def predict(self, X: Any) -> np.ndarray:
        """The calibrated outcome y_cal of each row, (n,); NaN where a row has gaps."""
        return np.asarray(self.calibrate(X)["y_cal"], dtype=float)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """How much of the variance of true values the calibrated ones explain (R squared).

        The role `truth` is not used here: a validated row, whose calibrated value is its truth, is calibrated
        as if nobody had looked.

        Parameters
        ----------
        X : frame
            The table.
        y : array of float, (n,)
            True values; NaN where they are not known, and those rows have no part in the score.
        sample_weight : array of float, (n,), default None
            How much each row counts.

        """
        from sklearn.metrics import r2_score

        fit = self._fitted()
        if y is None:
            raise SettingsError(
                "score needs true values to compare with: pass them as y, such as score(df, df['truth'])"
            )
        arrays = replace(fit.encoder, roles=replace(fit.roles, truth=None)).transform(X, design=False)
        truth = np.asarray(y, dtype=float)
        if truth.shape != arrays.kept.shape:
            raise SettingsError(
                f"y has shape {truth.shape}, the table {len(arrays.kept)} rows: pass a true value, or NaN, "
                "for each row"
            )
        known = np.isfinite(truth[arrays.kept])
        if known.sum() < 2:
            raise SettingsError(
                f"y holds {int(known.sum())} true values of rows without gaps: a score needs two at least"
            )
        y_cal = answer_rows(fit.method_fit, fit.support, arrays).y_cal
        weights = (
            None if sample_weight is None else np.asarray(sample_weight, dtype=float)[arrays.kept][known]
        )
        return float(r2_score(truth[arrays.kept][known], y_cal[known], sample_weight=weights))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The names of the columns of `transform`, whatever the columns of the table.

        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
        >>> model.get_feature_names_out().tolist()
        ['y_cal', 'y_cal_low', 'y_cal_high', 'p_biased', 'shift', 'mu']
        """
        self._fitted()
        return np.array([column.name for column in OUTPUT_COLUMNS], dtype=object)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The columns of a table that the fit has read; further columns do not matter."""
        return np.array(self._fitted().roles.columns, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns the fit has read."""
        return len(self._fitted().roles.columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing != "raise"
        tags.target_tags.required = False
        return tags
