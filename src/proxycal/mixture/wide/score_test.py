"""The score test of larger laws, at the maximum of a wider model: see `mixture/score_test.py`.

Besides components, the sizes of a bias and their gates have no place of their own yet, and so a grid of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.score_test import GRID, MOST, SHARES, Maximum
from proxycal.mixture.wide.grow import Place, grown
from proxycal.mixture.wide.law import layout, names
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.sums import log_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.wide.fit import Fitted
    from proxycal.mixture.wide.law import Law

    Array = NDArray[np.float64]

# Sizes, in parts of the smallest and of the largest so far, that one more may have.
SMALLER, LARGER = (0.15, 0.3, 0.5, 0.7), (1.3, 1.6, 2.0)
# Which of them are tried with a gate of their own.
OWN_GATES = (1, 3)


class ScoreTest:
    """The score test of laws that contain the one of a model, which is at its maximum."""

    def __init__(self, model: Fitted) -> None:
        self.model = model
        self._seen, scores = model.likelihood.scores(model.theta)
        self._roots = np.sqrt(model.problem.weights)[:, None]
        self._scores = scores * self._roots
        total = self._scores.T @ self._roots[:, 0]
        self._at = Maximum.of(self._scores.T @ self._scores, total)
        short = total - model.likelihood.penalty(model.theta)[1]
        self._left = 0.5 * float(short @ self._at.inverse @ short)

    def gain(self, directions: Array) -> float:
        """Log likelihood that a step along all directions (n,g) would gain."""
        weighted = directions * self._roots
        along = self._scores.T @ weighted
        return self._at.gain(along, weighted.T @ weighted, weighted.T @ self._roots[:, 0])

    def gains(self, directions: Array) -> tuple[Array, Array]:
        """Log likelihood that a step along each direction, in its sense only, would gain; and its length."""
        weighted = directions * self._roots
        squares = (weighted * weighted).sum(axis=0)
        return self._at.gains(self._scores.T @ weighted, squares, weighted.T @ self._roots[:, 0])

    def foretold(self, law: Law) -> float:
        """Log likelihood that a larger law would gain, with what the smaller one has left to gain."""
        old = self.model.law
        if law.components > old.components:
            gain = self.component[0]
        elif law.states > old.states or law.gates > old.gates:
            gain = self._more_sizes if law.shared_gate else max(self._gate_of_each_size, self._bent_gate)
        elif (law.spread or law.cv > 0.0) and not (old.spread or old.cv > 0.0):
            gain = float(self.gains(self._wider_sizes)[0].max())
        else:
            gain = self._nested(law)
        return self._left + gain

    def _nested(self, law: Law) -> float:
        """Of a law whose further parameters are zero at the smaller one, beyond what noise would gain."""
        problem = self.model.problem
        likelihood = Likelihood(problem, law)
        p, q = problem.X.shape[1], problem.E.shape[1]
        had, has = names(self.model.law, p, q), names(law, p, q)
        if not set(had) <= set(has):
            # It does not contain the smaller one, whose scores say nothing of it.
            return float("inf")
        new = [i for i, name in enumerate(has) if name not in had]
        return self.gain(likelihood.scores(grown(self.model, law))[1][:, new]) - 0.5 * len(new)

    @property
    def _wider_sizes(self) -> Array:
        """Slopes of the rows by the variance of each size, (n, states)."""
        cells = self._seen.cells
        beyond = cells.left[1:] ** 2 / cells.variance[1:] - 1.0
        return np.asarray((self._seen.r[1:] * beyond / (2.0 * cells.variance[1:])).sum(axis=1).T)

    @cached_property
    def component(self) -> tuple[float, list[Place]]:
        """What one more component would gain, and where: the best by its score, and by its weight alone."""
        ratio = self._ratios()
        by_score, length = self.gains(ratio)
        # A few rows far from the others have a large score each, and its square: there a search along the
        # weight says more.
        weights = self.model.problem.weights
        tried = np.stack([weights @ np.log1p(share * ratio) for share in SHARES])
        by_weight = tried.max(axis=0)
        first, second = int(by_score.argmax()), int(by_weight.argmax())
        share = float(np.clip(length[first], SHARES[0], SHARES[-1]))
        places = [_place(first, share if by_score[first] > by_weight[first] else _best(tried[:, first]))]
        if second != first:
            places.append(_place(second, _best(tried[:, second])))
        return max(float(by_score[first]), float(by_weight[second])), places

    def _ratios(self) -> Array:
        """Density of each row in a component of the grid, over its density, less 1: (n,g)."""
        problem, old = self.model.problem, self.model.law
        law = replace(old, components=len(GRID) + 1, weights_by_content=False, own_slopes=False)
        law = replace(law, scale_by_component=False)
        p, q = problem.X.shape[1], problem.E.shape[1]
        at, was, theta = layout(law, p, q), layout(old, p, q), self.model.theta
        probe = np.zeros(at.size)
        for name in ("b", "alpha", "gamma", "split", "log_omega", "delta", "gate_y"):
            probe[getattr(at, name)] = theta[getattr(was, name)]
        # Of components with slopes of their own for the sd, the first stands for all.
        probe[at.tau] = theta[was.tau][: at.tau.stop - at.tau.start]
        sd = float(np.exp(theta[was.log_sigma][0]))
        probe[at.log_sigma] = np.log(sd * np.r_[1.0, GRID[:, 1]])
        probe[at.d] = sd * GRID[:, 0]
        density, cells = Likelihood(problem, law).joint(probe)
        density = log_sum(density)[0] - cells.log_weight
        return np.expm1(np.minimum(density[1:] - self._seen.loglik, MOST)).T

    @cached_property
    def _sizes(self) -> Array:
        """Slopes of the rows by the share of the biased that have another size, (n,g)."""
        problem, old, theta = self.model.problem, self.model.law, self.model.theta
        p, q = problem.X.shape[1], problem.E.shape[1]
        was = layout(old, p, q)
        sizes = theta[was.alpha]
        grid = np.r_[np.array(SMALLER) * sizes.min(), np.array(LARGER) * sizes.max()]
        law = replace(old, states=len(grid), shared_gate=True)
        at = layout(law, p, q)
        probe = np.zeros(at.size)
        for name in ("b", "log_sigma", "d", "c", "v", "k", "tau", "delta"):
            probe[getattr(at, name)] = theta[getattr(was, name)]
        probe[at.alpha], probe[at.gamma] = grid, theta[was.gamma][: at.gamma.stop - at.gamma.start]
        probe[at.log_omega] = theta[was.log_omega].max(initial=-np.inf)
        density, _ = Likelihood(problem, law).joint(probe)
        share = log_sum(density[1:].swapaxes(0, 1))[0] + np.log(len(grid)) - self._seen.loglik
        return np.asarray(np.exp(np.minimum(share, MOST)) - self._seen.r[1:].sum(axis=(0, 1))).T

    @cached_property
    def _more_sizes(self) -> float:
        weights, tried = self.model.problem.weights, self._sizes
        by_share = [float((weights @ np.log1p(share * tried)).max()) for share in SHARES]
        return max(float(self.gains(tried)[0].max()), *by_share)

    @cached_property
    def _gate_of_each_size(self) -> float:
        """Of one more size that some rows have more often than others, by a column of the gate."""
        gate = self.model.likelihood.G
        assert gate is not None
        # Shares are not negative, and so neither is what multiplies them.
        opens = np.maximum(np.hstack([gate[:, :1], 1.0 + gate[:, 1:], 1.0 - gate[:, 1:]]), 0.0)
        return max(float(self.gains(self._sizes[:, [i]] * opens)[0].max()) for i in OWN_GATES)

    @cached_property
    def _bent_gate(self) -> float:
        """Of two gates to about one size, which together are one that bends with E."""
        seen, gate = self._seen, self.model.likelihood.G
        assert gate is not None
        assert seen.cells.log_gate is not None
        left = seen.r[1:].sum(axis=(0, 1)) - np.exp(seen.cells.log_gate[1:]).sum(axis=0)
        columns = gate[:, 1:]
        if not columns.shape[1]:
            return 0.0
        weighted = columns * (left * self.model.problem.weights)[:, None]
        ways = np.linalg.eigh(columns.T @ weighted)[1]
        bends = left[:, None] * (columns @ ways) ** 2
        return float(np.max([self.gains(bends)[0], self.gains(-bends)[0]]))


def _place(index: int, weight: float) -> Place:
    place, width = GRID[index]
    return Place(float(place), float(width), weight)


def _best(tried: Array) -> float:
    return float(SHARES[int(tried.argmax())])
