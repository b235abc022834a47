"""Log likelihood and gradient of a wider model, row by row in closed form.

One pass forms all cells (state of the report, component of the content) of all rows; the gradient reuses
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.features import products_of
from proxycal.mixture.laws import LOG_2PI, NEVER, RIDGE, log_expit
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.wide.law import (
    NOISE_BINS,
    Bins,
    Law,
    Layout,
    gamma_bins,
    gate_columns,
    layout,
    lognormal_bins,
    pairs,
)
from proxycal.mixture.wide.ranges import interval_density
from proxycal.mixture.wide.sums import after_zero, log_sum, normalised, summed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# The log weight of a lone component, and the scale of a sd that follows nothing.
ONE, EVEN = np.zeros((1, 1)), np.ones((1, 1))
# The log sd may move this far with E and content: beyond, a few rows decide alone.
MOST_LOG_SCALE = 4.0


@dataclass(frozen=True, slots=True)
class Problem:
    """The rows of one comparison.

    y (n,) outcome, standardised, the bias upward; X (n,p) content features, orthonormal, first column 1; E
    (n,q) environment, orthonormal, no intercept; m (n,) standardised content index; weights (n,); low, high
    (n,): where the outcome lies if it is known as an interval, or None; floor: smallest sd of a component;
    noise (n,) or 0: variance beyond that of the components, for answers only: gradients take it as none;
    trusted (n,): where no bias can be, or None.
    """

    y: Array
    X: Array
    E: Array
    m: Array
    weights: Array
    floor: float = 0.05
    low: Array | None = None
    high: Array | None = None
    noise: Array | float = 0.0
    trusted: NDArray[np.bool_] | None = None

    @property
    def n(self) -> float:
        """Total weight of the rows."""
        return float(self.weights.sum())

    def with_column(self, column: Array) -> Problem:
        """The same with one more content column."""
        centred = column - np.average(column, weights=self.weights)
        left = centred - self.X @ least_squares(self.X, centred)
        sd = float(np.sqrt(np.average(left**2, weights=self.weights)))
        return replace(self, X=np.column_stack([self.X, left / max(sd, 1e-12)]))

    def take(self, index: NDArray[np.intp]) -> Problem:
        """Some of the rows."""
        return replace(
            self,
            y=self.y[index],
            X=self.X[index],
            E=self.E[index],
            m=self.m[index],
            weights=self.weights[index],
            low=None if self.low is None else self.low[index],
            high=None if self.high is None else self.high[index],
            trusted=None if self.trusted is None else self.trusted[index],
        )


@dataclass(frozen=True, slots=True)
class Cells:
    """All cells of all rows under given parameters.

    mean, variance (T,J,n or 1), own (J,n or 1): variance of the content alone; log_prior (T,J,n); shift
    (T-1,n or 1): the bias of each state; log_gate (1+gates,n) or None; log_weight (J, n or 1); scale (J or
    1, n or 1): s_i; place (J,): d.
    """

    mean: Array
    variance: Array
    own: Array
    log_prior: Array
    shift: Array
    log_gate: Array | None
    log_weight: Array
    scale: Array
    place: Array


@dataclass(frozen=True, slots=True)
class Seen:
    """What the rows say: loglik (n,); r (T,J,n) posterior of the cells; cells."""

    loglik: Array
    r: Array
    cells: Cells


class Likelihood:
    """The penalised log likelihood of one law on one problem, as a function of the parameter vector."""

    def __init__(self, problem: Problem, law: Law) -> None:
        self.problem, self.law = problem, law
        q = problem.E.shape[1]
        self.at: Layout = layout(law, problem.X.shape[1], q)
        self.gate_width = gate_columns(law, q)
        m = problem.m[:, None]
        scale = [problem.E] * ("E" in law.scale) + [m] * ("m" in law.scale)
        self.S = np.hstack(scale) if scale else None
        gate = [np.ones_like(m)] + [problem.E] * ("E" in law.gate)
        if "Q" in law.gate:
            gate.append(products_of(problem.E, pairs(q)))
        gate += [m] * ("m" in law.gate)
        self.G = np.hstack(gate) if law.states else None
        self.bins: Bins | None = None
        if law.cv:
            self.bins = lognormal_bins(law.cv) if law.heavy else gamma_bins(law.cv)
        elif law.skew:
            self.bins = gamma_bins(abs(law.skew), NOISE_BINS)
        # Which size each state of a report has: with a gamma law all bins share one.
        self.owner = (
            np.zeros(len(self.bins.mean), int) if law.cv and self.bins is not None else np.arange(law.states)
        )
        # Rows whose outcome is known as a range (their low is not their high), with value, low and high.
        self.ranged: tuple[NDArray[np.intp] | slice, tuple[Array, Array, Array]] | None = None
        if problem.low is not None and problem.high is not None:
            apart = problem.low != problem.high
            if apart.any():
                at = slice(None) if apart.all() else np.flatnonzero(apart)
                self.ranged = at, (problem.y[at], problem.low[at], problem.high[at])
        even = problem.weights.max() - problem.weights.min() <= 1e-12 * problem.weights.max()
        self.weights = None if even and abs(problem.weights[0] - 1.0) < 1e-12 else problem.weights

    def cells(self, theta: Array) -> Cells:
        """Means, variances and prior probabilities of all cells."""
        law, at, rows = self.law, self.at, self.problem
        base = rows.X @ theta[at.b]
        scale = EVEN
        if self.S is not None:
            log_scale = theta[at.tau].reshape(-1, self.S.shape[1]) @ self.S.T
            scale = np.exp(np.minimum(np.maximum(log_scale, -MOST_LOG_SCALE), MOST_LOG_SCALE))
        if law.skew:
            return self._skewed(theta, base, scale)
        place, log_weight = np.zeros(law.components), ONE
        mean = base[None]
        if law.components > 1:
            place = after_zero(theta[at.d])
            mean = base + place[:, None] * scale
            log_weight = after_zero(theta[at.c])[:, None]
            if law.own_slopes:
                mean = mean + after_zero(theta[at.k])[:, None] * rows.m
            if law.weights_by_content:
                log_weight = log_weight + after_zero(theta[at.v])[:, None] * rows.m
            log_weight = log_weight - log_sum(log_weight)
        own = (np.exp(theta[at.log_sigma])[:, None] * scale) ** 2 + rows.noise
        if not law.states:
            return Cells(
                mean[None], own[None], own, log_weight[None], np.zeros((0, 1)), None, log_weight, scale, place
            )
        alpha = theta[at.alpha]
        shift = alpha[self.owner][:, None]
        if self.law.cv and self.bins is not None:
            extra = (alpha[0] * self.bins.sd) ** 2
            shift = shift * self.bins.mean[:, None]
        else:
            extra = np.exp(2.0 * theta[at.log_omega]) if law.spread else np.zeros(law.states)
        if law.by_content:
            shift = shift + theta[at.delta] * rows.m
        means = np.concatenate([mean[None], mean[None] + shift[:, None, :]])
        variance = own[None] + after_zero(extra)[:, None, None]
        log_prior, log_gate = self._gate(theta, shift)
        log_prior = log_prior[:, None, :]
        return Cells(
            means,
            variance,
            own,
            log_prior if law.components == 1 else log_prior + log_weight,
            shift,
            log_gate,
            log_weight,
            scale,
            place,
        )

    def _gate(self, theta: Array, shift: Array) -> tuple[Array, Array]:
        """Log prior of each state (T,n), bins of sizes included, and of what each gate opens (1+gates, n)."""
        law, at = self.law, self.at
        logit = self._logit(theta)
        if law.gate == "E y":
            # The gate looks at the true outcome: what is reported if unbiased, less the bias otherwise.
            slope, y = theta[at.gate_y][0], self.problem.y
            log_not = log_expit(-(logit[0] + slope * y))
            log_prior = np.stack([log_not, log_expit(logit[0] + slope * (y - shift[0]))])
            return log_prior, log_prior
        if law.gates == 1:
            log_yes = log_expit(logit)
            log_gate = np.concatenate([log_yes - logit, log_yes])
        else:
            full = np.concatenate([np.zeros((1, logit.shape[1])), logit])
            log_gate = full - log_sum(full)
        shares = self.log_shares(theta)
        if shares is not None:
            return np.concatenate([log_gate[:1], log_gate[1:] + shares[:, None]]), log_gate
        return log_gate, log_gate

    def log_shares(self, theta: Array) -> Array | None:
        """Log share of each size, or bin of sizes, among the biased; None where each has its own gate."""
        if self.law.cv and self.bins is not None:
            return self.bins.log_share
        if not self.law.shared_gate:
            return None
        odds = after_zero(theta[self.at.split])
        return np.asarray(odds - log_sum(odds))

    def _logit(self, theta: Array) -> Array:
        """(gates, n) what each gate says of each row, before its outcome; of trusted rows: never."""
        assert self.G is not None
        logit = theta[self.at.gamma].reshape(self.law.gates, -1) @ self.G.T
        if self.problem.trusted is not None:
            logit[:, self.problem.trusted] = NEVER
        return np.asarray(logit)

    def _skewed(self, theta: Array, base: Array, scale: Array) -> Cells:
        """Normal noise plus a signed gamma noise of mean 0 whose scale follows E, in bins."""
        assert self.bins is not None
        width = np.exp(theta[self.at.log_skew]) * scale
        side = np.sign(self.law.skew)
        mean = (base + side * width * (self.bins.mean - 1.0)[:, None])[:, None, :]
        own = np.full((1, 1), np.exp(2.0 * theta[self.at.log_sigma][0]))
        variance = (own + (width * self.bins.sd[:, None]) ** 2)[:, None, :]
        log_prior = np.broadcast_to(self.bins.log_share[:, None, None], mean.shape)
        return Cells(
            mean, variance, own, log_prior, np.zeros((0, 1)), None, np.zeros((1, 1)), scale, np.zeros(1)
        )

    def seen(self, theta: Array) -> Seen:
        """Log likelihood of every row, and the posterior of its cells."""
        cells = self.cells(theta)
        density, _, _ = self._density(cells)
        density += cells.log_prior
        return Seen(*normalised(density), cells)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Minus the penalised log likelihood, and its gradient: what an optimiser asks for."""
        return self.evaluate(theta)[1:]

    def evaluate(self, theta: Array) -> tuple[Seen, float, Array]:
        """What the rows say, and the answer to the optimiser."""
        cells = self.cells(theta)
        density, by_mean, by_log_sd = self._density(cells)
        density += cells.log_prior
        seen = Seen(*normalised(density), cells)
        total, r = float(np.add.reduce(seen.loglik)), seen.r
        if self.weights is not None:
            total, r = float(seen.loglik @ self.weights), r * self.weights
        by_mean *= r
        by_log_sd *= r
        gradient = self._gradient(theta, cells, r, by_mean, by_log_sd)
        value, slope = self.penalty(theta)
        return seen, value - total, slope - gradient

    def _density(self, cells: Cells) -> tuple[Array, Array, Array]:
        """Log density of each cell, and its derivatives by the mean and by the log sd."""
        inv = 1.0 / np.sqrt(cells.variance)
        z = self.problem.y - cells.mean
        z *= inv
        by_mean = z * inv
        z *= z
        density = -0.5 * z
        density += np.log(inv) - 0.5 * LOG_2PI
        z -= 1.0
        if self.ranged is not None:
            at, ends = self.ranged
            sds = inv if inv.shape[-1] == 1 else inv[..., at]
            density[..., at], by_mean[..., at], z[..., at] = interval_density(*ends, cells.mean[..., at], sds)
        return density, by_mean, z

    def _gradient(self, theta: Array, cells: Cells, r: Array, by_mean: Array, by_log_sd: Array) -> Array:
        law, at, rows = self.law, self.at, self.problem
        gradient = np.zeros(at.size)
        by_place = summed(by_mean, 0)
        gradient[at.b] = summed(by_place, 0) @ rows.X
        if law.skew:
            part = cells.own[None] / cells.variance
            width = np.exp(theta[at.log_skew]) * cells.scale
            assert self.bins is not None
            pulled = by_mean[:, 0] * np.sign(law.skew) * width * (self.bins.mean - 1.0)[:, None]
            by_width = (pulled + by_log_sd[:, 0] * (1.0 - part[:, 0])).sum(axis=0)
            gradient[at.log_skew] = by_width.sum()
            gradient[at.log_sigma] = (by_log_sd * part).sum()
            if self.S is not None:
                gradient[at.tau] = by_width @ self.S
            return gradient
        own_part = by_log_sd
        if law.states and (law.spread or law.cv):
            own_part = by_log_sd * (cells.own[None] / cells.variance)
        by_own = summed(own_part, 0)
        gradient[at.log_sigma] = np.add.reduce(by_own, axis=1)
        if law.components > 1:
            scale = cells.scale[1:] if len(cells.scale) > 1 else cells.scale
            gradient[at.d] = np.add.reduce(by_place[1:] * scale, axis=1)
            prior = np.exp(cells.log_weight[1:])
            left = summed(r, 0)[1:] - (prior if self.weights is None else prior * self.weights)
            gradient[at.c] = np.add.reduce(left, axis=1)
            if law.weights_by_content:
                gradient[at.v] = left @ rows.m
            if law.own_slopes:
                gradient[at.k] = by_place[1:] @ rows.m
        if self.S is not None:
            by_scale = by_own + by_place * cells.place[:, None] * cells.scale
            slopes = by_scale @ self.S if law.scale_by_component else summed(by_scale, 0) @ self.S
            gradient[at.tau] = slopes.ravel()
        if law.states:
            self._bias_gradient(gradient, theta, cells, r, by_mean, by_log_sd - own_part)
        return gradient

    def _bias_gradient(
        self, gradient: Array, theta: Array, cells: Cells, r: Array, by_mean: Array, by_extra: Array
    ) -> None:
        """The part of sizes and gate; by_extra: derivative by the log of the sd that sizes add."""
        law, at, m = self.law, self.at, self.problem.m
        pulled, biased = summed(by_mean[1:], 1), summed(r[1:], 1)
        if law.cv and self.bins is not None:
            alpha = theta[at.alpha][0]
            gradient[at.alpha] = self.bins.mean @ pulled.sum(axis=1) + by_extra[1:].sum() / alpha
            biased = biased.sum(axis=0, keepdims=True)
        else:
            gradient[at.alpha] = np.add.reduce(pulled, axis=1)
        if law.shared_gate:
            shares = self.log_shares(theta)
            assert shares is not None
            of_size = biased.sum(axis=1)
            gradient[at.split] = (of_size - np.exp(shares) * of_size.sum())[1:]
            biased = biased.sum(axis=0, keepdims=True)
        if law.spread:
            gradient[at.log_omega] = by_extra[1:].sum(axis=(1, 2))
        if law.by_content:
            gradient[at.delta] = pulled.sum(axis=0) @ m
        assert self.G is not None
        if law.gate == "E y":
            slope, y = theta[at.gate_y][0], self.problem.y
            logit = self._logit(theta)[0]
            honest = -r[0].sum(axis=0) * expit(logit + slope * y)
            truth = y - cells.shift[0]
            moved = biased[0] * expit(-(logit + slope * truth))
            gradient[at.gamma] = (honest + moved) @ self.G
            gradient[at.gate_y] = honest @ y + moved @ truth
            gradient[at.alpha] -= slope * moved.sum()
            if law.by_content:
                gradient[at.delta] -= slope * (moved @ m)
            return
        assert cells.log_gate is not None
        prior = np.exp(cells.log_gate[1:])
        left = biased - (prior if self.weights is None else prior * self.weights)
        gradient[at.gamma] = (left @ self.G).ravel()

    def penalty(self, theta: Array) -> tuple[float, Array]:
        """The ridge on slopes of gate and weights, so that perfectly separated groups keep a finite gate."""
        at = self.at
        slope = np.zeros(at.size)
        if self.law.states:
            gate = theta[at.gamma].reshape(self.law.gates, -1).copy()
            gate[:, 0] = 0.0
            slope[at.gamma] = RIDGE * gate.ravel()
            slope[at.gate_y] = RIDGE * theta[at.gate_y]
        slope[at.v] = RIDGE * theta[at.v]
        return 0.5 * float(slope @ theta), slope
