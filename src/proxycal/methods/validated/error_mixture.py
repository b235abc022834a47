"""Mixtures of reporting errors, learned from validated rows and, where asked, from all reports.

    y_true | x ~ N(x'b, tau2)        content
    k | x      ~ softmax(x'a_k)      which error a report has; a heap (a round number) has its own rate in k
    y | y_true, k ~ N(slope_k y_true + x'g_k, s2_k)

A validated row shows its error; the others show y alone, which is normal given k. So everything is closed:
EM has weighted least squares for b and g, and a bound (Boehning) for the gate.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit
from sklearn.linear_model import RidgeCV

from proxycal.mixture.least_squares import least_squares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.methods.validated.rows import Rows

    Array = NDArray[np.float64]

# An error is clear where it lies this many robust sds from the median of the errors.
CLEAR = 3.0
# Clear errors that a second and a third kind of error need.
SECOND, THIRD = 4, 12
# No component is narrower than this share of the sd of the reports.
NARROWEST = 1e-3
RIDGE = 3.0
# Steps of EM, and the gain in log-likelihood per row below which it stops.
STEPS, LEAST_STEPS, TOLERANCE = 60, 10, 1e-5
# Strengths of the penalty on the content that is learned from validated rows alone.
STRENGTHS = np.logspace(-1.0, 4.0, 12)


@dataclass(frozen=True, slots=True)
class Posterior:
    """What a mixture says of n rows that are not validated.

    mean, sd : (n,) of the true value. p : (n,) probability of an error of another kind than
    the unbiased one.
    content : (n,) expected true value without the report.
    """

    mean: Array
    sd: Array
    p: Array
    content: Array


@dataclass(frozen=True, slots=True)
class ErrorMixture:
    """A fitted mixture of K kinds of error over p features (and a constant, which comes first).

    content : (p + 1,), tau2 : (1,) variance of content. slope, variance : (K,). error : (K, p + 1).
    gate : (K, p + 1). heap : (K,) rate of round numbers, 0.5 where there are none.
    """

    content: Array
    tau2: Array
    slope: Array
    error: Array
    variance: Array
    gate: Array
    heap: Array

    @property
    def unbiased(self) -> int:
        """The kind whose mean error is nearest to none, at average features."""
        return int(np.argmin(np.abs(self.error[:, 0])))

    def posterior(self, rows: Rows) -> Posterior:
        """The true value of rows given their reports; their own truth is not looked at."""
        x = with_constant(rows.x)
        content, tau2 = x @ self.content, self.tau2[0]
        slope, variance = self.slope[:, None], self.variance[:, None]
        left = rows.y - self.error @ x.T
        log_p = log_kinds(self.gate, self.heap, x, rows.heap)
        log_p += _log_normal(left - slope * content, slope**2 * tau2 + variance)
        r = np.exp(log_p - np.logaddexp.reduce(log_p, axis=0))
        narrow = 1.0 / (1.0 / tau2 + slope**2 / variance)
        at = narrow * (content / tau2 + slope * left / variance)
        mean = (r * at).sum(axis=0)
        spread = (r * (narrow + (at - mean) ** 2)).sum(axis=0)
        return Posterior(mean, np.sqrt(spread), 1.0 - r[self.unbiased], content)

    def state(self) -> dict[str, Array]:
        """The arrays by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, Array]) -> ErrorMixture:
        """The reverse of `state`."""
        return cls(**{part.name: arrays[part.name] for part in fields(cls)})


def with_constant(x: Array) -> Array:
    """Features with a constant first, (n, p + 1)."""
    return np.column_stack([np.ones(len(x)), x])


def log_gate(gate: Array, x: Array) -> Array:
    """Log probability of each kind of error by the features alone, (K, n)."""
    odds = gate @ x.T
    return np.asarray(odds - np.logaddexp.reduce(odds, axis=0))


def log_kinds(gate: Array, rates: Array, x: Array, heap: NDArray[np.bool_]) -> Array:
    """Log probability of each kind of error, and of the heap, before the report is seen; (K, n)."""
    log_p = log_gate(gate, x)
    # By the fit and not by these rows: without a round number among them they are not round either.
    if (rates != rates[0]).any():
        log_p += np.where(heap, np.log(rates)[:, None], np.log1p(-rates)[:, None])
    return log_p


def _log_normal(gap: Array, variance: Array | float) -> Array:
    return np.asarray(-0.5 * (np.log(2.0 * np.pi * variance) + gap * gap / variance))


def fit_all_rows(rows: Rows, kinds: int, follows: bool, start: ErrorMixture | None = None) -> ErrorMixture:
    """A mixture with slope one, from validated rows and the reports of all others.

    kinds : at most this many; fewer where the validated rows show too few clear errors.
    follows : whether the mean of each kind of error may follow the features.
    start : a fit of nearly the same rows to start from.
    """
    x, known = with_constant(rows.x), rows.known
    truth = np.where(known, rows.truth, 0.0)
    narrowest = (NARROWEST * float(rows.y.std())) ** 2
    fit = start if start is not None else _start(rows, x, kinds, narrowest)
    gram = x.T @ x + np.diag(np.r_[0.0, np.full(x.shape[1] - 1, 1e-6 * len(x))])
    bound = np.linalg.inv(0.5 * (x.T @ x) + np.eye(x.shape[1]))
    before = -np.inf
    for step in range(STEPS):
        # E: responsibilities r (K, n), and the true value of a row in each kind: mean at, variance spare.
        content, tau2, variance = x @ fit.content, fit.tau2[0], fit.variance[:, None]
        left = rows.y - fit.error @ x.T
        seen = _log_normal(left - np.where(known, truth, content), np.where(known, variance, tau2 + variance))
        log_p = log_kinds(fit.gate, fit.heap, x, rows.heap) + seen
        total = np.logaddexp.reduce(log_p, axis=0)
        likelihood = float(total.sum() + _log_normal((truth - content)[known], tau2).sum())
        if step >= LEAST_STEPS and likelihood - before < TOLERANCE * len(x):
            break
        before = likelihood
        r = np.exp(log_p - total)
        narrow = 1.0 / (1.0 / tau2 + 1.0 / variance)
        at = np.where(known, truth, narrow * (content / tau2 + left / variance))
        spare = np.where(known, 0.0, narrow)
        # M
        b = np.linalg.solve(gram, x.T @ (r * at).sum(axis=0))
        tau2 = max(float((r * (spare + (at - x @ b) ** 2)).sum()) / len(x), narrowest)
        error = _error_means(x, r, rows.y - at, known, follows)
        gaps = spare + (rows.y - at - error @ x.T) ** 2
        own = np.maximum((r * gaps).sum(axis=1) / np.maximum(r.sum(axis=1), 1e-9), narrowest)
        gate, heap = fit.gate, fit.heap
        if len(r) > 1:
            gate = gate + (r - np.exp(log_gate(gate, x))) @ x @ bound
            if rows.heap.any():
                heap = np.clip(r @ rows.heap / np.maximum(r.sum(axis=1), 1e-9), 1e-3, 1.0 - 1e-3)
        fit = ErrorMixture(b, np.array([tau2]), np.ones(len(r)), error, own, gate, heap)
    return fit


def _error_means(x: Array, r: Array, error: Array, known: NDArray[np.bool_], follows: bool) -> Array:
    """Mean of each kind of error, (K, p + 1): by ridge regression where validated rows allow it."""
    means = np.zeros((len(r), x.shape[1]))
    penalty = np.diag(np.r_[1e-9, np.full(x.shape[1] - 1, RIDGE)])
    for k, (w, own) in enumerate(zip(r, error, strict=True)):
        if follows and (len(r) == 1 or w[known].sum() > 3 * x.shape[1]):
            means[k] = np.linalg.solve((x * w[:, None]).T @ x + penalty, x.T @ (w * own))
        else:
            means[k, 0] = float(w @ own) / max(float(w.sum()), 1e-9)
    return means


def _start(rows: Rows, x: Array, kinds: int, narrowest: float) -> ErrorMixture:
    """Kinds of error by how far the validated errors lie from their median."""
    known = rows.known
    error = (rows.y - rows.truth)[known]
    middle, sd, clear = _clear(error, narrowest)
    if kinds == 3 and clear.sum() < THIRD:
        kinds = 2
    if kinds > 1 and clear.sum() < SECOND:
        kinds = 1
    means, variances = [float(error.mean())], [max(float(error.var()), narrowest)]
    if kinds > 1:
        means, variances = [middle], [sd**2]
        far = np.sort(error[clear])
        for part in np.array_split(far, kinds - 1):
            means.append(float(part.mean()))
            variances.append(max(float(part.var()), 4.0 * sd**2))
    target = np.where(known, np.where(known, rows.truth, 0.0), rows.y - error.mean())
    b = least_squares(x, target)
    share = float(clear.mean())
    shares = np.array([1.0 - share] + [share / max(kinds - 1, 1)] * (kinds - 1)).clip(0.02)
    g, gate = np.zeros((kinds, x.shape[1])), np.zeros((kinds, x.shape[1]))
    g[:, 0], gate[:, 0] = means, np.log(shares)
    tau2 = max(0.7 * float(np.var(rows.y - x @ b)), narrowest)
    return ErrorMixture(
        b, np.array([tau2]), np.ones(kinds), g, np.array(variances), gate, np.full(kinds, 0.5)
    )


def _clear(error: Array, narrowest: float) -> tuple[float, float, NDArray[np.bool_]]:
    """Median and robust sd of errors, and which of them are clear."""
    middle = float(np.median(error))
    sd = max(1.4826 * float(np.median(np.abs(error - middle))), narrowest**0.5)
    return middle, sd, np.abs(error - middle) > CLEAR * sd


def fit_validated_rows(rows: Rows, steps: int = STEPS) -> ErrorMixture:
    """A mixture from validated rows alone: common errors follow the features and the truth, clear ones not.

    It does not lean on reports being normal given the features, so it holds where their shape is odd.
    """
    known = rows.known
    x, truth, error = with_constant(rows.x)[known], rows.truth[known], (rows.y - rows.truth)[known]
    heap = rows.heap[known].astype(float)
    n, width = x.shape
    narrowest = (NARROWEST * float(rows.y.std())) ** 2
    ridge = RidgeCV(STRENGTHS).fit(x[:, 1:], truth)
    b = np.r_[ridge.intercept_, ridge.coef_]
    spent = min(width, n / 3)
    tau2 = max(float(np.mean((truth - x @ b) ** 2)) * n / (n - spent), narrowest)
    centre, scale = float(truth.mean()), float(truth.std()) or 1.0
    h = np.column_stack([x, (truth - centre) / scale])
    penalty = np.diag(np.r_[1e-9, np.full(width - 1, RIDGE), 0.1])
    middle, sd, clear = _clear(error, narrowest)
    two = clear.sum() >= SECOND
    g = np.zeros(width + 1)
    g[0] = middle
    share = float(clear.mean()) if two else 0.0
    other = float(error[clear].mean()) if two else 0.0
    variance = np.array([sd**2, max(float(error[clear].var()), 4.0 * sd**2) if two else 1.0])
    gate = np.zeros(width)
    gate[0] = np.log(max(share, 1e-9) / (1.0 - share))
    rates = np.full(2, 0.5)
    bound = np.linalg.inv(0.25 * x.T @ x + 2.0 * np.eye(width))
    r = clear.astype(float) if two else np.zeros(n)
    for _ in range(steps if two else 5):
        if two:
            round_number = heap * np.log(rates[1] / rates[0]) + (1.0 - heap) * np.log(
                (1.0 - rates[1]) / (1.0 - rates[0])
            )
            odds = (
                x @ gate + _log_normal(error - other, variance[1]) - _log_normal(error - h @ g, variance[0])
            )
            r = expit(odds + round_number)
            for _ in range(2):
                p = expit(x @ gate)
                gate = gate + bound @ (x.T @ (r - p) - 2.0 * np.r_[0.0, gate[1:]])
            other = float(r @ error) / max(float(r.sum()), 1e-9)
            variance[1] = max(float(r @ (error - other) ** 2) / max(float(r.sum()), 1e-9), narrowest)
            if heap.any():
                rates = np.clip(
                    [(1 - r) @ heap / max((1 - r).sum(), 1e-9), r @ heap / max(r.sum(), 1e-9)], 0.01, 0.99
                )
        q = 1.0 - r
        g = np.linalg.solve((h * q[:, None]).T @ h + penalty, h.T @ (q * error))
        variance[0] = max(float(q @ (error - h @ g) ** 2) / max(float(q.sum()) - spent / 2, 1.0), narrowest)
    slope = g[-1] / scale
    common = g[:-1].copy()
    common[0] -= slope * centre
    constant = np.r_[other, np.zeros(width - 1)]
    kinds = 2 if two else 1
    return ErrorMixture(
        b,
        np.array([tau2]),
        np.array([1.0 + slope, 1.0])[:kinds],
        np.stack([common, constant])[:kinds],
        variance[:kinds],
        np.stack([np.zeros(width), gate])[:kinds],
        rates[:kinds],
    )
