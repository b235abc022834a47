"""One wider model brought to its maximum, and larger ones started from smaller ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.wide.curvature import curvature
from proxycal.mixture.wide.law import Law, gate_columns, layout, n_paid, pairs, scale_columns
from proxycal.mixture.wide.likelihood import Likelihood, Problem
from proxycal.mixture.wide.minimise import minimise, within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Steps of the optimiser that show whether an extension is worth finishing, and most of them all.
TRIAL_STEPS, MOST_STEPS = 12, 150
# Steps and precision of a model that answers: its digits must not depend on the way that led to it.
POLISH_STEPS, POLISHED = 500, 1e-14
# Largest slope of the log likelihood at a maximum.
GRADIENT = 1e-6
# A size below this, in sds of the outcome, is no bias.
LEAST_SIZE = 1e-3
WIDEST = 1.5


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model at (or on the way to) its maximum: its law, its problem, theta, loglik without penalty, bic."""

    law: Law
    problem: Problem
    theta: Array
    loglik: float
    bic: float

    @property
    def likelihood(self) -> Likelihood:
        """The function that theta maximises."""
        return Likelihood(self.problem, self.law)

    @property
    def size(self) -> int:
        """Parameters that BIC charges for."""
        return n_paid(self.law, self.problem.X.shape[1], self.problem.E.shape[1])


def fit(
    problem: Problem,
    law: Law,
    start: Array,
    steps: int = MOST_STEPS,
    extra: float = 0.0,
    precision: float = 1e-8,
) -> Fitted:
    """Maximise from a start; extra : added to BIC, for what the law does not count itself.

    precision : relative gain of a step below which the maximum is reached.
    """
    likelihood = Likelihood(problem, law)
    lower, upper = widths(likelihood)
    lower[likelihood.at.alpha] = LEAST_SIZE
    start = within(start, lower, upper)
    seen, value, slopes = likelihood.evaluate(start)
    bend = curvature(likelihood, start, seen)
    theta, value = minimise(
        likelihood, start, lower, upper, bend, steps, precision, GRADIENT, (value, slopes)
    )
    return _worth(problem, law, theta, likelihood.penalty(theta)[0] - value, extra)


def widths(likelihood: Likelihood) -> tuple[Array, Array]:
    """Bounds of the parameters: of widths, which a likelihood would drive to nothing, and of no others."""
    at = likelihood.at
    lower, upper = np.full(at.size, -np.inf), np.full(at.size, np.inf)
    lower[at.log_sigma], upper[at.log_sigma] = np.log(likelihood.problem.floor), WIDEST
    lower[at.log_omega], upper[at.log_omega] = -6.0, WIDEST
    return lower, upper


def polished(one: Fitted) -> Fitted:
    """The model at its maximum as exactly as numbers allow."""
    extra = one.bic + 2.0 * one.loglik - one.size * float(np.log(one.problem.n))
    return fit(one.problem, one.law, one.theta, POLISH_STEPS, extra, POLISHED)


def valued(problem: Problem, law: Law, theta: Array, extra: float = 0.0) -> Fitted:
    """The model at given parameters with what it is worth."""
    loglik = Likelihood(problem, law).seen(theta).loglik
    return _worth(problem, law, theta, float(loglik @ problem.weights), extra)


def _worth(problem: Problem, law: Law, theta: Array, total: float, extra: float) -> Fitted:
    paid = n_paid(law, problem.X.shape[1], problem.E.shape[1]) * float(np.log(problem.n))
    return Fitted(law, problem, theta, total, paid - 2.0 * total + extra)


def plain_start(problem: Problem, law: Law) -> Array:
    """Least squares: the start of a law without a bias and with one component."""
    at = layout(law, problem.X.shape[1], problem.E.shape[1])
    theta = np.zeros(at.size)
    theta[at.b], sd = _least_squares(problem, problem.y)
    theta[at.log_sigma] = np.log(max(sd, problem.floor))
    return theta


def starts_from_guesses(problem: Problem, law: Law, guesses: Sequence[Array]) -> list[Array]:
    """Parameters of a law with one size and one component, from guesses of who is biased, (n,) each.

    All guesses share their least squares: what takes long is the factor of X, not one more outcome.
    """
    at = layout(law, problem.X.shape[1], problem.E.shape[1])
    gate = Likelihood(problem, law).G
    assert gate is not None
    tau = np.column_stack(guesses)
    sure = np.clip(tau, 0.05, 0.95)
    gates = least_squares(gate, np.log(sure / (1.0 - sure)), problem.weights)
    outcomes = np.column_stack([problem.y, tau])
    slopes = least_squares(problem.X, outcomes, problem.weights)
    residual, starts = outcomes - problem.X @ slopes, []
    y, sd = residual[:, 0], _sd(problem, residual[:, 0])
    for i, biased in enumerate(residual.T[1:], start=1):
        theta = np.zeros(at.size)
        # The slope of tau beside X is that of what X leaves of both.
        size = (problem.weights * biased) @ y / max(float((problem.weights * biased) @ biased), 1e-300)
        alpha = max(float(size), 0.5 * sd)
        theta[at.b] = slopes[:, 0] - alpha * slopes[:, i]
        left = _sd(problem, y - alpha * biased)
        theta[at.log_sigma] = np.log(max(left, 0.3 * sd, problem.floor))
        theta[at.alpha], theta[at.gamma] = alpha, gates[:, i - 1]
        starts.append(theta)
    return starts


def _sd(problem: Problem, residual: Array) -> float:
    return float(np.sqrt(np.average(residual**2, weights=problem.weights)))


def _least_squares(problem: Problem, y: Array) -> tuple[Array, float]:
    slopes = least_squares(problem.X, y, problem.weights)
    return slopes, _sd(problem, y - problem.X @ slopes)


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
        theta[at.b] = _least_squares(problem, mean)[0]
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
            mine[:, new] = others[:, had] if len(others) == len(mine) else others[:1, had]


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
    names, old_names = _gate_names(law, q), _gate_names(old.law, q)
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


def _gate_names(law: Law, q: int) -> list[str]:
    names = ["1", *(f"e{i}" for i in range(q))] if "E" in law.gate else ["1"]
    names += [f"e{i}e{j}" for i, j in pairs(q)] if "Q" in law.gate else []
    names += ["m"] if "m" in law.gate else []
    assert len(names) == gate_columns(law, q)
    return names


# Ways to begin one more component: place and width of the new one and width of the old, in sds of the old
# one, and log weight.
SPLITS = ((1.2, 1.2, 0.8, -1.0), (-1.2, 1.2, 0.8, -1.0), (0.0, 2.2, 0.8, -1.5), (1.5, 1.0, 0.7, -0.3))
# One more size of the bias begins at this part of the smallest, with this share of those called unbiased so
# far. It takes more steps than other extensions to show its worth.
SMALLER, TAKEN, SIZE_STEPS = 0.3, 0.2, 40


def extend(old: Fitted, law: Law, steps: int = MOST_STEPS, problem: Problem | None = None) -> Fitted:
    """A larger law from the maximum of a smaller one; one more component or size begins in several ways."""
    problem = old.problem if problem is None else problem
    theta = grown(old, law, problem)
    starts = [theta]
    if law.components > old.law.components:
        starts = _split_components(theta, law, problem)
    elif law.states > old.law.states:
        starts = _split_sizes(theta, law, problem)
        steps = max(steps, SIZE_STEPS)
    if len(starts) == 1:
        return fit(problem, law, starts[0], steps)
    trial = TRIAL_STEPS if law.components > old.law.components else SIZE_STEPS
    best = min((fit(problem, law, start, trial) for start in starts), key=lambda one: one.bic)
    return best if steps <= trial else fit(problem, law, best.theta, steps)


def _split_sizes(theta: Array, law: Law, problem: Problem) -> list[Array]:
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


def _split_components(theta: Array, law: Law, problem: Problem) -> list[Array]:
    """Starts with one more component."""
    at, starts = layout(law, problem.X.shape[1], problem.E.shape[1]), []
    sd = float(np.exp(theta[at.log_sigma][0]))
    for place, width, rest, weight in SPLITS:
        start = theta.copy()
        start[at.d.stop - 1], start[at.c.stop - 1] = place * sd, weight
        start[at.log_sigma.stop - 1] = np.log(width * sd)
        start[at.log_sigma.start] = np.log(rest * sd)
        starts.append(start)
    return starts


@dataclass(frozen=True, slots=True)
class Search:
    """What a search saw: models on the way, the last one the best; (model, extension after trial steps)."""

    models: list[Fitted]
    tried: list[tuple[Fitted, Fitted]]

    def __add__(self, other: Search) -> Search:
        """Two searches as one."""
        return Search(self.models + other.models, self.tried + other.tried)


def greedy(first: Fitted, extensions: dict[str, Callable[[Law], Law | None]], rounds: int) -> Search:
    """Add the extension that lowers BIC most until none does.

    Extensions are tried with a few steps each; the best is finished. One that is far from paying for itself
    is not tried again.
    """
    best, seen, dead = first, [first], set[str]()
    every: list[tuple[Fitted, Fitted]] = []
    for _ in range(rounds):
        tried: list[Fitted] = []
        for name, extension in extensions.items():
            # "gamma sizes: cv 0.4" is one way to be "gamma sizes": where those are far off, it is too.
            law = None if name in dead or name.partition(":")[0] in dead else extension(best.law)
            if law is None or law == best.law:
                continue
            one = extend(best, law, TRIAL_STEPS)
            if one.bic > best.bic + FAR_FROM_PAYING:
                dead.add(name)
            tried.append(one)
        every += [(best, one) for one in tried]
        tried = sorted((one for one in tried if one.bic < best.bic + NEARLY_PAYS), key=lambda one: one.bic)
        finished = [fit(one.problem, one.law, one.theta) for one in tried[:2]]
        seen += finished
        if not finished or min(one.bic for one in finished) >= best.bic - LEAST_GAIN:
            break
        best = min(finished, key=lambda one: one.bic)
    return Search([*seen, best], every)


# BIC, after the trial steps, behind the model it extends: above the first an extension is not tried again,
# below the second it is finished, since the last steps may make it pay; and what it must gain to be taken.
FAR_FROM_PAYING, NEARLY_PAYS, LEAST_GAIN = 25.0, 6.0, 0.5


def replaced(old: Fitted, problem: Problem, steps: int = MOST_STEPS) -> Fitted:
    """The same law from the same parameters on other rows, or on the same rows with another outcome."""
    extra = old.bic + 2.0 * old.loglik - old.size * float(np.log(old.problem.n))
    return fit(problem, old.law, old.theta, steps, extra)


def with_extra(one: Fitted, extra: float) -> Fitted:
    """The same model, charged more."""
    return replace(one, bic=one.bic + extra)
