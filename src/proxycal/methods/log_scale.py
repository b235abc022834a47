"""Any method on the log scale, where a bias is a factor and a report of zero is immune to it.

    y > 0:   log y = log y_true + s * alpha * A     a report is exp(s * alpha) times the truth
    y = 0:   60% of nothing is nothing: y_cal = 0, and the row has no part in the size

The method sees the logarithms of the positive rows and nothing else. What it answers comes back in the
outcome's own units: the calibrated outcome is the mean of the true one, y with 1 - p and y * exp(-size) with
p, and not exp of the mean logarithm, which would be too low in every total. alpha itself stays a logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from proxycal.effect.coefficients import coefficients_of
from proxycal.effect.draws import draw_truth
from proxycal.effect.row_truth import row_bias, shared_cov, sure_of
from proxycal.errors import TableError
from proxycal.methods.checks.zeros import fit_zeros, zero_test
from proxycal.methods.expression import ClosedForm, NoClosedForm, as_expression, choose, linear, ln, logistic
from proxycal.methods.log_zeros import Zeros, zeros_of
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import outcome_of
from proxycal.methods.smearing import Smearing, fit_smearing
from proxycal.methods.validated.thresholds import LEAST_ROWS
from proxycal.result import Effects, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proxycal.effect.coefficients import Coefficients
    from proxycal.effect.draws import Draws
    from proxycal.effect.row_truth import RowBias, RowTruth
    from proxycal.methods.expression import Columns
    from proxycal.methods.registry import MethodFit
    from proxycal.result import Details, Estimate, Finding, Prediction, Verdict
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Rows above 0 that a fit needs at the least.
MIN_POSITIVE = 20
# A factor nearer to one is no size: with it, a share of biased rows says nothing.
LEAST_SIZE = -math.log(0.99)


@dataclass(frozen=True, slots=True)
class LogFit:
    """A method's fit of the positive rows on the log scale, answering in the outcome's own units.

    inner : the method's own record, in logarithms. positive : positions of its rows among the fitted ones.
    gate : (1 + q,) who is biased by environment, for rows of zero. fill : stands in for their logarithm.
    spread : mean over median of the outcome of given content, so that mu is a mean.
    """

    inner: MethodFit
    zeros: Zeros
    positive: np.ndarray
    gate: np.ndarray
    fill: float
    spread: float

    @property
    def estimate(self) -> Estimate:
        """The main estimate, a logarithm."""
        return self.inner.estimate

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary, logarithms."""
        return self.inner.estimates

    @property
    def share_biased(self) -> float:
        """Mean of P(A = 1 | data) over the positive rows; none where no bias was found and it has no size."""
        if self.verdict == "no bias found" and not self.inner.estimate.alpha >= LEAST_SIZE:
            return 0.0
        return self.inner.share_biased

    @property
    def verdict(self) -> Verdict:
        """What may be said."""
        return self.inner.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of the method, and what the zeros say."""
        return (*self.inner.findings, self.zeros.finding())

    @property
    def details(self) -> Details:
        """Those of the method, in logarithms."""
        return replace(self.inner.details, log_spread=math.log(self.spread))

    @property
    def shared_cov(self) -> np.ndarray:
        """Covariance of the parameters that all rows share.

        A sandwich is that of many rows. With k parameters in n rows every row pulls the fit to itself, and
        the scores are too small by n / (n - k), as in the jackknife of a regression (HC3): squared, it is
        what totals of a few hundred rows need.
        """
        cov, n = shared_cov(self.inner), len(self.positive)
        k = len(cov)
        return cov * (n / (n - k)) ** 2 if n > k else cov

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer in the outcome's own units; a zero stays zero."""
        y = outcome_of(arrays)
        is_zero = y <= 0.0
        inner = self.inner.predict(self.in_logs(arrays))
        p, ratio = _two_states(self.inner, inner)
        y_cal = y * (1.0 - p + p * ratio)
        # The mean of a skewed mixture may lie beyond its quantiles; widening to it only adds coverage.
        low = np.minimum(_times(y, inner.y_cal_low), y_cal)
        high = np.maximum(_times(y, inner.y_cal_high), y_cal)
        chance = expit(self.gate[0] + arrays.E @ self.gate[1:])
        return replace(
            inner,
            y_cal=np.where(is_zero, 0.0, y_cal),
            y_cal_low=np.where(is_zero, 0.0, low),
            y_cal_high=np.where(is_zero, 0.0, high),
            p_biased=np.where(is_zero, chance, inner.p_biased),
            shift=np.where(is_zero, 0.0, y - y_cal),
            mu=np.exp(inner.mu) * self.spread,
        )

    def closed_form(self, columns: Columns) -> ClosedForm:
        """The same answer as arithmetic, where the method has one; of a zero, who is biased and no size."""
        made = getattr(self.inner, "closed_form", None)
        if made is None:
            raise NoClosedForm("this method has no answer in closed form: use calibrate")
        positive = as_expression(0.0).below(columns.y)
        form = made(replace(columns, y=ln(choose(positive, columns.y, 1.0))))
        by_environment = logistic(linear(self.gate[0], self.gate[1:], columns.E))
        p = choose(positive, form.p_biased, by_environment)
        return ClosedForm(p, choose(positive, form.size, 0.0), factor=True)

    def row_bias(self, arrays: Arrays) -> RowBias:
        """Who is biased, and by which factor; of a zero, whatever it is, nothing is left."""
        return replace(row_bias(self.inner, self.in_logs(arrays)), factor=True)

    def draw_truth(
        self, arrays: Arrays, draws: Draws, places: np.ndarray, outside: np.ndarray | None
    ) -> np.ndarray:
        """Draws (m, n) of the true outcome: of logarithms, and back; a zero is a zero."""
        y = outcome_of(arrays)
        logs = self.in_logs(arrays, truth=True)
        if outside is not None:
            # What stands in for the logarithm of zero says nothing of other columns.
            outside = np.where((y > 0.0)[:, None], outside, np.nan)
        drawn = draw_truth(self.inner, logs, draws, places, outside)
        return np.exp(drawn, out=np.zeros_like(drawn), where=y > 0.0)

    def coefficients(self, arrays: Arrays) -> Coefficients:
        """Those of the method, for logarithms; their likelihood is not that of all rows."""
        return replace(coefficients_of(self.inner, positive_logs(arrays)), log_lik=math.nan)

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects in the outcome's own units: y less what the matched rows say; none for a zero."""
        y = outcome_of(arrays)
        is_zero = y <= 0.0
        inner = self.inner.effects(self.in_logs(arrays))
        known = (inner.neighbours >= 0) & ~is_zero[:, None]
        return Effects(
            tau=np.where(is_zero, 0.0, y * -np.expm1(-inner.tau)),
            n_matched=np.where(is_zero, 0, inner.n_matched),
            neighbours=np.where(known, self.positive[np.maximum(inner.neighbours, 0)], -1),
            distances=np.where(known, inner.distances, np.nan),
        )

    def in_logs(self, arrays: Arrays, truth: bool = False) -> Arrays:
        """All rows, a stand-in for the logarithm of zero; with the logarithm of their truth where asked."""
        y = outcome_of(arrays)
        logs = np.log(np.where(y > 0.0, y, 1.0))
        known = None
        if truth and arrays.truth is not None:
            known = np.log(np.where((arrays.truth > 0.0) & (y > 0.0), arrays.truth, np.nan))
        return replace(arrays, y=np.where(y > 0.0, logs, self.fill), truth=known)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        values, tensors = self.inner.state()
        own = {"zeros": self.zeros, "fill": self.fill, "spread": self.spread}
        return {"log": own, "inner": values}, pack(
            {"log": {"positive": self.positive, "gate": self.gate}, "inner": tensors}
        )


@dataclass(frozen=True, slots=True)
class LogValidatedFit(LogFit):
    """Validated rows on the log scale: what was learned of logarithms answers in the outcome's own units.

    smearing : from mean logarithms to means, by the validated rows. Zeros are among those, so that totals
    hold what was never reported.
    """

    smearing: Smearing

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer in the outcome's own units; a zero stays zero."""
        y, own = outcome_of(arrays), LogFit.predict(self, arrays)
        y_cal = self.smearing.means(own.y_cal)
        return replace(
            own,
            y_cal=y_cal,
            # The ends are quantiles: they need no smearing.
            y_cal_low=np.minimum(own.y_cal_low, y_cal),
            y_cal_high=np.maximum(own.y_cal_high, y_cal),
            shift=y - y_cal,
        )

    def row_truth(self, arrays: Arrays) -> RowTruth:
        """The mean truth of each row, and how it moves with what the validated rows showed."""
        return self.smearing.row_truth(LogFit.predict(self, arrays).y_cal)

    @property
    def shared_cov(self) -> np.ndarray:
        """Covariance of what the validated rows showed."""
        return self.smearing.cov

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        values, tensors = LogFit.state(self)
        return values, tensors | pack({"smearing": self.smearing.state()})


def in_own_units(fit: LogFit, shown: Arrays) -> LogValidatedFit:
    """The record of validated rows `shown`, zeros among them."""
    # What learns from validated rows is slow to import, and few fits need it.
    from proxycal.methods.validated.fit import design_weights
    from proxycal.methods.validated.record import ValidatedFit

    assert isinstance(fit.inner, ValidatedFit)
    assert shown.truth is not None
    y = outcome_of(shown)
    value, _ = fit.inner.out_of_fold(fit.in_logs(shown, truth=True))
    value = np.exp(value, out=np.zeros_like(y), where=y > 0.0)
    return _with(fit, fit_smearing(value, shown.truth, design_weights(shown)))


def _with(fit: LogFit, smearing: Smearing) -> LogValidatedFit:
    return LogValidatedFit(**{part.name: getattr(fit, part.name) for part in fields(fit)}, smearing=smearing)


def from_log_state(
    values: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    restore: Callable[[dict[str, Any], dict[str, np.ndarray]], MethodFit],
) -> LogFit:
    """The reverse of `LogFit.state`; restore : of the method's own record."""
    own, arrays = values["log"], unpack(tensors, "log")
    zeros = Zeros(**own["zeros"] | {"p": number(own["zeros"]["p"])})
    # A method that has no answer may have nothing to keep, such as a gradual fit that was refused.
    inner = restore(values["inner"], unpack(tensors, "inner", may_be_empty=True))
    fill, spread = float(own["fill"]), float(own["spread"])
    fit = LogFit(inner, zeros, arrays["positive"], arrays["gate"], fill, spread)
    if not inner.details.by_validation:
        return fit
    return _with(fit, Smearing.from_state(unpack(tensors, "smearing")))


def fit_logs(fit: Callable[[Arrays, Settings], MethodFit], arrays: Arrays, settings: Settings) -> LogFit:
    """Fit the positive rows of arrays on the log scale."""
    logs = positive_logs(arrays)
    require_positive(logs, arrays.n, settings)
    return finish(fit(logs, replace(settings, scale="linear")), arrays, logs)


def finish(
    inner: MethodFit,
    arrays: Arrays,
    logs: Arrays,
    zeros: int | None = None,
    n: int = 0,
    shown: Arrays | None = None,
) -> LogFit:
    """The record of a fit; arrays : rows with their zeros, or a sample of n rows of which `zeros` are.

    shown : the validated rows, where `arrays` do not hold all of them.
    """
    y, predicted = outcome_of(arrays), inner.predict(logs)
    is_zero = y <= 0.0
    p, ratio = _two_states(inner, predicted)
    # Duan's smearing: the mean of exp(noise), over who may be biased.
    residual = np.exp(outcome_of(logs) - predicted.mu) * (1.0 - p + p * ratio)
    test = zero_test(is_zero, arrays.P, arrays.E, arrays.weights, arrays.cluster)
    fit = LogFit(
        inner=inner,
        zeros=zeros_of(test, arrays, int(is_zero.sum()) if zeros is None else zeros, n or arrays.n),
        positive=np.flatnonzero(~is_zero),
        # E[p_biased | E] is the chance of a bias by environment, whatever the method.
        gate=fit_zeros(logs.E, predicted.p_biased, logs.weights),
        fill=float(np.average(outcome_of(logs), weights=logs.weights)),
        spread=float(np.average(residual, weights=logs.weights)),
    )
    if not inner.details.by_validation:
        return fit
    if shown is None:
        assert arrays.truth is not None  # the method asked for it
        shown = arrays.take(np.flatnonzero(np.isfinite(arrays.truth)))
    return in_own_units(fit, shown)


def positive_logs(arrays: Arrays) -> Arrays:
    """The positive rows, the logarithm in place of the outcome and of the validated truth."""
    y = outcome_of(arrays)
    rows = np.flatnonzero(y > 0.0)
    kept = arrays.take(rows)
    truth, cluster, weights = kept.truth, kept.cluster, kept.weights
    if truth is not None:
        truth = np.log(np.where(truth > 0.0, truth, np.nan))
    if cluster is not None:
        cluster = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    if len(weights):
        # Sampling weights say how these rows compare, not how many there are.
        weights = weights * (kept.stand_for / weights.sum())
    return replace(kept, y=np.log(y[rows]), truth=truth, cluster=cluster, weights=weights)


def require_positive(logs: Arrays, n: int, settings: Settings) -> None:
    """Refuse what no method could fit: few positive rows, all alike, or none in a level with a size."""
    y = outcome_of(logs)
    need = max(MIN_POSITIVE, 2 * (logs.P.shape[1] + logs.E.shape[1]))
    if len(y) < need:
        raise TableError(
            f"on the log scale only rows above 0 say how large a bias is: {len(y)} of {n} are, and a fit on "
            f"{logs.P.shape[1] + logs.E.shape[1]} proxy and environment columns needs {need}; add rows or "
            "use fewer columns"
        )
    if settings.method == "validated" and logs.validated < LEAST_ROWS:
        raise TableError(
            f"method='validated' needs at least {LEAST_ROWS} validated rows, and on the log scale only those "
            f"whose report and truth are above 0 teach: {logs.validated} are; validate more rows, or use "
            "method='exact'"
        )
    if float(np.ptp(y)) == 0.0:
        raise TableError(f"all {len(y)} rows above 0 report the same value: there is nothing to calibrate")
    column = settings.effect.removeprefix("by:")
    if settings.effect.startswith("by:") and column in logs.levels:
        held = np.bincount(logs.levels[column], minlength=len(logs.level_names[column]))
        if (held == 0).any():
            name = logs.level_names[column][int(np.argmin(held))]
            raise TableError(
                f"effect='{settings.effect}': every report of {column}={name} is zero, so it has no size of "
                "its own; group that level with another"
            )


def _two_states(fit: MethodFit, predicted: Prediction) -> tuple[np.ndarray, np.ndarray]:
    """The chance of a bias and truth over report if there is one, (n,) each; sure without two states."""
    p = sure_of(fit, predicted)
    return np.where(predicted.shift != 0.0, p, predicted.p_biased), np.exp(-predicted.shift / p)


def _times(y: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """exp(logs), 0 where the report is zero: what stands there in place of its logarithm may be anything."""
    with np.errstate(over="ignore"):
        # A limit of so many log points that no number holds it bounds nothing: infinite is the right answer.
        return np.exp(logs, out=np.zeros_like(y), where=y > 0.0)
