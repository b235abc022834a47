"""What a fitted model says of the bias: attributes with an underscore, summary, pictures, notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import sklearn.exceptions

from proxycal.errors import ProxycalError, SettingsError
from proxycal.table.answers import estimates_frame, reporters_frame, shapes_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from proxycal.result import Finding, Fit, Verdict


class NotFittedError(ProxycalError, sklearn.exceptions.NotFittedError):
    """Something was asked of a model before `fit`: call fit(table) first."""


class NoRatioError(SettingsError, AttributeError):
    """A ratio was asked of a bias that is added: the attribute exists with scale="log" only."""


class Found:
    """The attributes of `ProxyCalibrator` that exist once it is fitted; all are read from `result_`."""

    result_: Fit

    @property
    def formula_(self) -> str:
        """The fit as one line, outcome ~ proxies | environment, as `proxycal.fit` reads it."""
        from proxycal.report.summary import formula

        return formula(self._fitted())

    @property
    def alpha_(self) -> float:
        """Size of the bias, >= 0, in the outcome's own units; with scale="log" a logarithm."""
        return self._fitted().estimate.alpha

    @property
    def alpha_se_(self) -> float:
        """Standard error of alpha."""
        return self._fitted().estimate.se

    @property
    def alpha_interval_(self) -> tuple[float, float]:
        """Interval of alpha at `level`."""
        estimate = self._fitted().estimate
        return estimate.low, estimate.high

    @property
    def ratio_(self) -> float:
        """What biased rows report of the truth, exp(-alpha) if they under-report; with scale="log" only."""
        return self._ratio()[0]

    @property
    def ratio_interval_(self) -> tuple[float, float]:
        """Interval of `ratio_` at `level`."""
        return self._ratio()[1:]

    @property
    def share_biased_(self) -> float:
        """Mean of P(A = 1 | data) over the fitted rows."""
        return self._fitted().share_biased

    @property
    def verdict_(self) -> Verdict:
        """One of "bias found", "no bias found", "not identified"."""
        return self._fitted().verdict

    @property
    def findings_(self) -> list[Finding]:
        """The reasons for the verdict, and what else a reader should know."""
        return list(self._fitted().findings)

    def summary(self) -> pd.DataFrame:
        """A row per estimator (exact, moments, match): alpha, se, low, high, note.

        With scale="log" also ratio, ratio_low and ratio_high: what biased rows report of the truth.
        """
        fit = self._fitted()
        return estimates_frame(fit.estimates, fit.settings.sign if fit.settings.factor else None)

    def reporters(self) -> pd.DataFrame:
        """A row for each of several reporters, the one whose reports are off most on average first.

        Returns
        -------
        DataFrame
            reporter; n: reports made; p_biased: share of biased ones; size, low, high: by how much these are
            off, in the stated direction, with an interval; rank; q_value: share of false discoveries among
            the reporters that stand out at least as much.

        Examples
        --------
        >>> import proxycal
        >>> from proxycal.testing import SeveralReports
        >>> drawn = SeveralReports().draw(1, 400)
        >>> model = proxycal.ProxyCalibrator(drawn.roles, direction="under").fit(drawn.table)
        >>> table = model.reporters()
        >>> table["reporter"].tolist(), bool(table["q_value"][0] < 0.01)
        (['own', 'register'], True)

        """
        return reporters_frame(self._fitted())

    def bias_by_environment(self) -> pd.DataFrame:
        """How a graded bias depends on each environment column, the others at their mean (method="gradual").

        Returns
        -------
        DataFrame
            A row per level of a category, and per place along a number: column, at, bias, low, high and
            relative_to. The bias is in the outcome's units and the stated direction, its interval pointwise.

        """
        fit = self._fitted()
        shapes = fit.method_fit.details.shapes
        if not shapes:
            raise SettingsError(
                f"method='{fit.settings.method}' has no bias that changes gradually with the environment: "
                "fit with method='gradual'"
                if fit.settings.method != "gradual"
                else f"no bias was estimated: {fit.estimate.note}"
            )
        return shapes_frame(shapes, fit.encoder)

    def plot(self, kind: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw one picture of the fitted rows.

        Parameters
        ----------
        kind : str, default None
            "estimates", "residual", "calibrated", "content", "who", "gate", "totals", "sizes", "gaps",
            "graded" or "power"; an unknown kind is answered with the list of them. None for the main
            picture: what is left of the outcome after its content, or the errors of validated rows.
        ax : matplotlib Axes, default None
            Where to draw; None for a figure of its own.

        Examples
        --------
        >>> import proxycal
        >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
        >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
        >>> model.plot().get_xlabel()
        'y minus content prediction'

        """
        from proxycal.report.plots import draw, main_plot

        fit = self._fitted()
        return draw(main_plot(fit).kind if kind is None else kind, fit, ax)

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            return f"<pre>{html.escape(repr(self))} (not fitted)</pre>"
        from proxycal.report.notebook import notebook

        return notebook(self.result_)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def _fitted(self) -> Fit:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this ProxyCalibrator is not fitted: call fit(table) first")
        return self.result_

    def _ratio(self) -> tuple[float, float, float]:
        fit = self._fitted()
        if not fit.settings.factor:
            raise NoRatioError("a bias that is added is no ratio: fit with scale='log'")
        return fit.estimate.ratio(fit.settings.sign)
