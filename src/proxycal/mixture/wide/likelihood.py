"""Log likelihood and gradient of a wider model, row by row in closed form.

One pass forms all cells (state of the report, component of the content) of all rows; the gradient reuses
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.features import products_of
from proxycal.mixture.laws import LOG_2PI, NEVER, RIDGE, log_expit
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

    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]
    # A block of parameters: its place, how the log likelihood of each row moves along its columns (r,n), and
    # the columns (n,c), None for a column of ones; it has r times c parameters.
    Block = tuple[slice, Array, Array | None]

# Of a lone component: its log weight, the scale of a sd that follows nothing, its place; and no bias.
ONE, EVEN, NO_PLACE, NO_SHIFT = np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), np.zeros((0, 1))
# The log sd may move this far with E and content: beyond, a few rows decide alone.
MOST_LOG_SCALE = 4.0


@dataclass(frozen=True, slots=True)
class Cells:
    """All cells of all rows under given parameters.

    left (T,J,n): the outcome less the mean of the cell; variance (T,J,n or 1), own (J,n or 1): variance of
    the content alone; log_prior (T,J,n); shift (T-1,n or 1): the bias of each state; log_gate (1+gates,n) or
    None; log_weight (J, n or 1); scale (J or 1, n or 1): s_i; place (J,): d.
    """

    left: Array
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
        self.G: Array | None = None
        if law.states:
            gate = [np.ones_like(m)] + [problem.E] * ("E" in law.gate)
            if "Q" in law.gate:
                gate.append(products_of(problem.E, pairs(q)))
            self.G = np.hstack([*gate, m] if "m" in law.gate else gate)
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
        self.weights = None if (problem.weights == 1.0).all() else problem.weights
        # The ridge on slopes of gate and weights, so that perfectly separated groups keep a finite gate.
        self._ridge = np.zeros(self.at.size)
        if law.states:
            self._ridge[self.at.gamma] = RIDGE
            self._ridge[self.at.gamma.start : self.at.gamma.stop : self.gate_width] = 0.0
        self._ridge[self.at.gate_y] = self._ridge[self.at.v] = RIDGE

    def cells(self, theta: Array) -> Cells:
        """Means, variances and prior probabilities of all cells."""
        law, at, rows = self.law, self.at, self.problem
        left = rows.y - rows.X @ theta[at.b]
        scale = EVEN
        if self.S is not None:
            log_scale = theta[at.tau].reshape(-1, self.S.shape[1]) @ self.S.T
            scale = np.exp(np.minimum(np.maximum(log_scale, -MOST_LOG_SCALE), MOST_LOG_SCALE))
        if law.skew:
            return self._skewed(theta, left, scale)
        place, log_weight = NO_PLACE, ONE
        left = left[None]
        if law.components > 1:
            place = after_zero(theta[at.d])
            left = left - place[:, None] * scale
            log_weight = after_zero(theta[at.c])[:, None]
            if law.own_slopes:
                left -= after_zero(theta[at.k])[:, None] * rows.m
            if law.weights_by_content:
                log_weight = log_weight + after_zero(theta[at.v])[:, None] * rows.m
            log_weight = log_weight - log_sum(log_weight)
        own = (np.exp(theta[at.log_sigma])[:, None] * scale) ** 2 + rows.noise
        if not law.states:
            return Cells(
                left[None], own[None], own, log_weight[None], NO_SHIFT, None, log_weight, scale, place
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
        of_states = np.empty((1 + len(shift), *left.shape))
        of_states[0] = left
        np.subtract(left, shift[:, None, :], out=of_states[1:])
        variance = own[None] + after_zero(extra)[:, None, None]
        log_prior, log_gate = self._gate(theta, shift)
        log_prior = log_prior[:, None, :]
        return Cells(
            of_states,
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

    def _skewed(self, theta: Array, left: Array, scale: Array) -> Cells:
        """Normal noise plus a signed gamma noise of mean 0 whose scale follows E, in bins."""
        assert self.bins is not None
        width = np.exp(theta[self.at.log_skew]) * scale
        side = np.sign(self.law.skew)
        left = (left - side * width * (self.bins.mean - 1.0)[:, None])[:, None, :]
        own = np.full((1, 1), np.exp(2.0 * theta[self.at.log_sigma][0]))
        variance = (own + (width * self.bins.sd[:, None]) ** 2)[:, None, :]
        log_prior = np.broadcast_to(self.bins.log_share[:, None, None], left.shape)
        return Cells(left, variance, own, log_prior, NO_SHIFT, None, ONE, scale, NO_PLACE)

    def seen(self, theta: Array) -> Seen:
        """Log likelihood of every row, and the posterior of its cells."""
        density, cells = self.joint(theta)
        return Seen(*normalised(density), cells)

    def joint(self, theta: Array) -> tuple[Array, Cells]:
        """Log density of each cell times its probability, (T,J,n), and the cells."""
        cells = self.cells(theta)
        density, _, _ = self._density(cells)
        density += cells.log_prior
        return density, cells

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Minus the penalised log likelihood, and its gradient: what an optimiser asks for."""
        return self.evaluate(theta)[1:]

    def evaluate(self, theta: Array) -> tuple[Seen, float, Array]:
        """What the rows say, and the answer to the optimiser."""
        seen, blocks = self._pass(theta, self.weights)
        return seen, *self._value(theta, seen, blocks)

    def with_squares(self, theta: Array) -> tuple[float, Array, Array]:
        """The answer to the optimiser, and the sum over rows of the squared scores of each parameter."""
        seen, blocks = self._pass(theta, self.weights)
        squares = np.empty(self.at.size)
        for at, factor, columns in blocks:
            square = factor * factor
            squares[at] = square.sum(axis=1) if columns is None else (square @ (columns * columns)).ravel()
        return *self._value(theta, seen, blocks), squares

    def _value(self, theta: Array, seen: Seen, blocks: list[Block]) -> tuple[float, Array]:
        total = np.add.reduce(seen.loglik) if self.weights is None else seen.loglik @ self.weights
        gradient = np.empty(self.at.size)
        for at, factor, columns in blocks:
            if columns is None:
                gradient[at] = np.add.reduce(factor, axis=1)
            else:
                gradient[at] = (factor @ columns).ravel()
        value, slope = self.penalty(theta)
        return value - float(total), slope - gradient

    def scores(self, theta: Array) -> tuple[Seen, Array]:
        """What the rows say, and the gradient of the log likelihood of each of them, (n,k)."""
        seen, blocks = self._pass(theta, None)
        scores = np.empty((len(self.problem.y), self.at.size))
        for at, factor, columns in blocks:
            into = scores[:, at]
            if columns is None:
                into[:] = factor.T
            else:
                np.multiply(
                    factor.T[:, :, None], columns[:, None], out=into.reshape(len(into), len(factor), -1)
                )
        return seen, scores

    def _pass(self, theta: Array, weights: Array | None) -> tuple[Seen, list[Block]]:
        """What the rows say, and how their log likelihood, times weights, moves with every block."""
        cells = self.cells(theta)
        density, by_mean, by_log_sd = self._density(cells)
        density += cells.log_prior
        seen = Seen(*normalised(density), cells)
        r = seen.r if weights is None else seen.r * weights
        by_mean *= r
        by_log_sd *= r
        return seen, self._blocks(theta, cells, r, by_mean, by_log_sd, weights)

    def _density(self, cells: Cells) -> tuple[Array, Array, Array]:
        """Log density of each cell, and its derivatives by the mean and by the log sd."""
        inv = 1.0 / np.sqrt(cells.variance)
        z = cells.left * inv
        by_mean = z * inv
        z *= z
        density = -0.5 * z
        density += np.log(inv) - 0.5 * LOG_2PI
        z -= 1.0
        if self.ranged is not None:
            at, ends = self.ranged
            sds = inv if inv.shape[-1] == 1 else inv[..., at]
            mean = ends[0] - cells.left[..., at]
            density[..., at], by_mean[..., at], z[..., at] = interval_density(*ends, mean, sds)
        return density, by_mean, z

    def _blocks(
        self,
        theta: Array,
        cells: Cells,
        r: Array,
        by_mean: Array,
        by_log_sd: Array,
        weights: Array | None,
    ) -> list[Block]:
        law, at, rows = self.law, self.at, self.problem
        by_place = summed(by_mean, 0)
        blocks: list[Block] = [(at.b, summed(by_place, 0)[None], rows.X)]
        if law.skew:
            return blocks + self._skew_blocks(theta, cells, by_mean[:, 0], by_log_sd[:, 0])
        own_part = by_log_sd
        if law.states and (law.spread or law.cv):
            own_part = by_log_sd * (cells.own[None] / cells.variance)
        by_own = summed(own_part, 0)
        blocks.append((at.log_sigma, by_own, None))
        if law.components > 1:
            scale = cells.scale[1:] if len(cells.scale) > 1 else cells.scale
            prior = np.exp(cells.log_weight[1:])
            left = summed(r, 0)[1:] - (prior if weights is None else prior * weights)
            blocks += [(at.d, by_place[1:] * scale, None), (at.c, left, None)]
            if law.weights_by_content:
                blocks.append((at.v, left, rows.m[:, None]))
            if law.own_slopes:
                blocks.append((at.k, by_place[1:], rows.m[:, None]))
        if self.S is not None:
            by_scale = by_own + by_place * cells.place[:, None] * cells.scale
            blocks.append((at.tau, by_scale if law.scale_by_component else summed(by_scale, 0)[None], self.S))
        if law.states:
            blocks += self._bias_blocks(theta, cells, r, by_mean, by_log_sd - own_part, weights)
        return blocks

    def _skew_blocks(self, theta: Array, cells: Cells, by_mean: Array, by_log_sd: Array) -> list[Block]:
        """The part of widths, of normal and of skewed noise; by_mean, by_log_sd (bins, n)."""
        assert self.bins is not None
        at, part = self.at, (cells.own[None] / cells.variance)[:, 0]
        width = np.exp(theta[at.log_skew]) * cells.scale
        pulled = by_mean * np.sign(self.law.skew) * width * (self.bins.mean - 1.0)[:, None]
        by_width = (pulled + by_log_sd * (1.0 - part)).sum(axis=0, keepdims=True)
        blocks: list[Block] = [
            (at.log_sigma, (by_log_sd * part).sum(axis=0, keepdims=True), None),
            (at.log_skew, by_width, None),
        ]
        return blocks if self.S is None else [*blocks, (at.tau, by_width, self.S)]

    def _bias_blocks(
        self,
        theta: Array,
        cells: Cells,
        r: Array,
        by_mean: Array,
        by_extra: Array,
        weights: Array | None,
    ) -> list[Block]:
        """The part of sizes and gate; by_extra: derivative by the log of the sd that sizes add."""
        law, at = self.law, self.at
        pulled, biased = summed(by_mean[1:], 1), summed(r[1:], 1)
        blocks: list[Block] = []
        of_size = pulled
        if law.cv and self.bins is not None:
            of_size = (self.bins.mean @ pulled + by_extra[1:].sum(axis=(0, 1)) / theta[at.alpha][0])[None]
            biased = biased.sum(axis=0, keepdims=True)
        if law.shared_gate:
            shares = self.log_shares(theta)
            assert shares is not None
            every = biased.sum(axis=0, keepdims=True)
            blocks.append((at.split, biased[1:] - np.exp(shares[1:, None]) * every, None))
            biased = every
        if law.spread:
            blocks.append((at.log_omega, summed(by_extra[1:], 1), None))
        along = summed(pulled, 0)
        assert self.G is not None
        if law.gate == "E y":
            slope, y = theta[at.gate_y][0], self.problem.y
            logit = self._logit(theta)[0]
            honest = -r[0].sum(axis=0) * expit(logit + slope * y)
            truth = y - cells.shift[0]
            moved = biased[0] * expit(-(logit + slope * truth))
            # A larger bias makes the true outcome of a biased row smaller, and so what the gate sees.
            of_size, along = of_size - slope * moved, along - slope * moved
            blocks.append((at.gate_y, (honest * y + moved * truth)[None], None))
            left = (honest + moved)[None]
        else:
            assert cells.log_gate is not None
            prior = np.exp(cells.log_gate[1:])
            left = biased - (prior if weights is None else prior * weights)
        if law.by_content:
            blocks.append((at.delta, along[None], self.problem.m[:, None]))
        return [*blocks, (at.alpha, of_size, None), (at.gamma, left, self.G)]

    def penalty(self, theta: Array) -> tuple[float, Array]:
        """The ridge on slopes of gate and weights, and its slopes."""
        slope = self._ridge * theta
        return 0.5 * float(slope @ theta), slope
