"""Larger laws started from smaller ones: at the same place, or with one component or size more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.wide.law import Law, gate_names, layout, scale_columns
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.sums import log_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.wide.fit import Fitted
    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one more component would stand: place and width in sds of the first, weight among all."""

    place: float
    width: float
    weight: float


# One more size of the bias begins at this part of the smallest, with this share of those called unbiased so
# far. It takes more steps than other extensions to show its worth.
SMALLER, TAKEN, SIZE_STEPS = 0.3, 0.2, 40


def grown(old: Fitted, law: Law, problem: Problem | None = None) -> Array:
    """Parameters of a law that contains the old one, at the old one's place."""
    problem = old.problem if problem is None else problem
    p, q = problem.X.shape[1], problem.E.shape[1]
    at, was = layout(law, p, q), layout(old.law, old.problem.X.shape[1], q)
    theta = np.zeros(at.size)
    if problem.X is old.problem.X:
        theta[at.b] = old.theta[was.b]
    else:
        mean = old.problem.X @ old.theta[was.b]
        theta[at.b] = least_squares(problem.X, mean, problem.weights)
    widths = old.theta[was.log_sigma][: law.components]
    theta[at.log_sigma] = np.r_[widths, np.full(law.components - len(widths), widths[0])]
    for name in ("d", "c", "v", "k"):
        mine, other = getattr(at, name), old.theta[getattr(was, name)]
        theta[mine][: len(other)] = other[: mine.stop - mine.start]
    theta[at.log_skew] = old.theta[was.log_skew]
    _grow_scale(theta, at.tau, law, old, q)
    if law.states and old.law.states:
        _grow_bias(theta, law, old, q)
    return theta


def _grow_scale(theta: Array, where: slice, law: Law, old: Fitted, q: int) -> None:
    if not law.scale or not old.law.scale:
        return
    was = layout(old.law, old.problem.X.shape[1], q)
    mine = theta[where].reshape(-1, scale_columns(law, q))
    others = old.theta[was.tau].reshape(-1, scale_columns(old.law, q))
    for part in ("E", "m"):
        if part in law.scale and part in old.law.scale:
            new, had = _columns(law.scale, part, q), _columns(old.law.scale, part, q)
            mine[:, new] = others[:1, had]
            mine[: len(others), new] = others[: len(mine), had]


def _columns(parts: str, part: str, q: int) -> slice:
    """Where E, or m, stands among the columns of the sd."""
    if part == "E":
        return slice(0, q)
    start = q if "E" in parts else 0
    return slice(start, start + 1)


def _grow_bias(theta: Array, law: Law, old: Fitted, q: int) -> None:
    p = old.problem.X.shape[1]
    at, was = layout(law, len(theta[layout(law, p, q).b]), q), layout(old.law, p, q)
    gate = theta[at.gamma].reshape(law.gates, -1)
    had = old.theta[was.gamma].reshape(old.law.gates, -1)
    names, old_names = gate_names(law, q), gate_names(old.law, q)
    for i, name in enumerate(names):
        if name in old_names:
            gate[: len(had), i] = had[:, old_names.index(name)]
    sizes = old.theta[was.alpha]
    theta[at.alpha] = np.r_[sizes, np.full(max(law.states - len(sizes), 0), sizes[-1])][: law.states]
    if law.shared_gate and old.law.shared_gate:
        theta[at.split][: len(sizes) - 1] = old.theta[was.split]
    elif law.gates > old.law.gates == 1:
        # Each size opens its own gate where it had its share of the common one, or half of it.
        odds = np.r_[0.0, old.theta[was.split]] if old.law.shared_gate else np.zeros(law.states)
        gate[:] = gate[0]
        gate[:, 0] += odds - np.log(np.exp(odds).sum())
    if law.spread:
        narrow = np.full(law.states, np.log(0.5) + old.theta[was.log_sigma][0])
        theta[at.log_omega] = (
            old.theta[was.log_omega]
            if old.law.spread and law.states == old.law.states
            else (narrow if law.states == old.law.states else np.full(law.states, -3.0))
        )
    if law.by_content and old.law.by_content:
        theta[at.delta] = old.theta[was.delta]
    if law.gate == "E y" and old.law.gate == "E y":
        theta[at.gate_y] = old.theta[was.gate_y]


def split_sizes(theta: Array, law: Law, problem: Problem) -> list[Array]:
    """Starts with one more size of the bias.

    A size below the others takes rows from the unbiased, so that more are biased at all; one among or above
    them takes rows from them.
    """
    at, starts = layout(law, problem.X.shape[1], problem.E.shape[1]), []
    sizes = theta[at.alpha][:-1]
    if not law.shared_gate:
        theta[at.alpha.stop - 1] = SMALLER * sizes.min()
        if len(sizes) > 1:
            theta[at.gamma].reshape(law.gates, -1)[-1, 0] = np.log(TAKEN)
        return [theta]
    shares = _shares(np.r_[0.0, theta[at.split][:-1]])
    gate = Likelihood(problem, law).G
    assert gate is not None
    # A gate may say that nobody is biased, or everybody: a start needs a row of each.
    least = 1.0 / len(problem.y)
    biased = float(np.clip(expit(gate @ theta[at.gamma]).mean(), least, 1.0 - least))
    from_unbiased = TAKEN * (1.0 - biased) / (biased + TAKEN * (1.0 - biased))
    among = [0.5 * (sizes.min() + sizes.max()), 1.3 * sizes.max()] if len(sizes) > 1 else []
    for new, share in [(SMALLER * sizes.min(), from_unbiased), *((size, TAKEN) for size in among)]:
        order = np.argsort(np.r_[sizes, new])
        start = theta.copy()
        start[at.alpha] = np.r_[sizes, new][order]
        odds = np.log(np.r_[shares * (1.0 - share), share][order])
        start[at.split] = odds[1:] - odds[0]
        if new < sizes.min():
            start[at.gamma.start] += np.log1p(TAKEN * (1.0 - biased) / biased) - np.log1p(-TAKEN)
        starts.append(start)
    return starts


def _shares(odds: Array) -> Array:
    share = np.exp(odds - odds.max())
    return np.asarray(share / share.sum())


def add_component(theta: Array, law: Law, problem: Problem, new: Place) -> Array:
    """The start of a law whose last component stands at a place."""
    at, start = layout(law, problem.X.shape[1], problem.E.shape[1]), theta.copy()
    sd = float(np.exp(theta[at.log_sigma][0]))
    others = np.r_[0.0, theta[at.c][:-1]]
    start[at.d.stop - 1] = new.place * sd
    start[at.log_sigma.stop - 1] = np.log(new.width * sd)
    start[at.c.stop - 1] = float(log_sum(others)[0]) + np.log(new.weight / (1.0 - new.weight))
    return start
