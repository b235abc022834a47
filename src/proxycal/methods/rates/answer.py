"""What a fitted model says of the truth of each row, given its report, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.engine.covariates import Covariates
    from proxycal.engine.families.binary import Binary
    from proxycal.engine.families.counts import Counts
    from proxycal.engine.model import Model

_STEP = 1e-4
# Share of the rows, those who report best, that the level of a graded report is relative to.
BEST = 0.1


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """The truth of n rows, given their reports, in the units of the reports.

    mean, variance : (n,) of the truth. p : (n,) P(the report is biased). moved, own : (n,) mean and variance
    of truth minus report of a row that is. expected : (n,) mean of the truth before the report is known.
    share : (n,) what is reported of the truth of a biased row, or what is true of its reports.
    """

    mean: np.ndarray
    variance: np.ndarray
    p: np.ndarray
    moved: np.ndarray
    own: np.ndarray
    expected: np.ndarray
    share: np.ndarray


class Answerer(Protocol):
    """What turns predictors into answers: a family, with the level of its report."""

    def rows(self, outcome: dict[str, np.ndarray], eta: np.ndarray, top: float) -> RowAnswer:
        """The answer for rows; top : the share that counts as all."""


@dataclass(frozen=True, slots=True)
class CountAnswers:
    """Answers of a count."""

    family: Counts

    def rows(self, outcome: dict[str, np.ndarray], eta: np.ndarray, top: float) -> RowAnswer:
        """The answer for rows; of a graded report, a share of `top` counts as all."""
        family, y = self.family, outcome["y"]
        if family.report == "graded":
            eta = relative(eta, family.names.index("share"), top, -family.sign)
        known = family.truth(outcome, eta)
        p = known.p
        if family.report == "graded":
            # Every row is reported in part; biased is one of which something is missed, or added.
            p = np.where(known.share < 1.0 - 1e-6, known.p, 0.0)
        mean = y + p * known.moved
        variance = p * known.variance + p * (1.0 - p) * known.moved**2
        return RowAnswer(mean, variance, p, known.moved, known.variance, known.expected, known.share)


@dataclass(frozen=True, slots=True)
class YesNoAnswers:
    """Answers of a yes/no outcome; turned : whether it is the no that is denied."""

    family: Binary
    turned: bool

    def rows(self, outcome: dict[str, np.ndarray], eta: np.ndarray, top: float) -> RowAnswer:
        """The answer for rows; a share of `top` counts as all."""
        if "share" in self.family.names:
            F = self.family.truth(outcome, eta)[1]
            r = expit(eta[1])
            level = np.maximum(top, r)
            eta = eta.copy()
            eta[0] = _probit(F * level)
            eta[1] = logit(np.minimum(r / level, 1.0 - 1e-9))
        given, before = self.family.truth(outcome, eta)
        y = outcome["y"]
        p = np.where(y > 0.0, 1.0 - given, given)
        share = expit(eta[1]) if "share" in self.family.names else np.ones_like(y)
        if self.turned:
            given, before, y = 1.0 - given, 1.0 - before, 1.0 - y
        moved = 1.0 - 2.0 * y
        return RowAnswer(given, given * (1.0 - given), p, moved, np.zeros_like(y), before, share)


def _probit(p: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(p, 1e-15, 1.0 - 1e-15)))


def relative(eta: np.ndarray, place: int, top: float, power: float) -> np.ndarray:
    """Predictors with the share at `place` relative to `top`, the mean of the truth moved with it.

    Shares above top count as all. power : +1 where the share is of the truth, -1 where it is of the reports.
    """
    r = expit(eta[place])
    level = np.maximum(top, r)
    out = eta.copy()
    out[0] = eta[0] + power * np.log(level)
    out[place] = logit(np.minimum(r / level, 1.0 - 1e-9))
    return out


@dataclass(frozen=True)
class Fitted:
    """A model at its maximum as rows are answered with it.

    theta : (k,). covariance : (k + t, k + t) of theta, then of the parameters of the content. top : share
    that counts as all, with its slope (k + t,) by the same parameters.
    """

    model: Model
    content: Content
    answers: Answerer
    theta: np.ndarray
    covariance: np.ndarray
    top: float = 1.0
    top_slope: np.ndarray | None = None

    def predictors(self, rows: Covariates) -> np.ndarray:
        """The values (q, n) of the predictors for rows with their content."""
        ends = self.model.ends
        designs = self.model.designs(rows)
        return np.stack([X @ self.theta[ends[at] : ends[at + 1]] for at, X in enumerate(designs)])

    def scored(self, rows: Covariates) -> Covariates:
        """Rows with their content."""
        return rows.with_content(self.content.score(rows))

    def rows(self, rows: Covariates, outcome: dict[str, np.ndarray]) -> RowAnswer:
        """The answer for rows that know their content."""
        return self.answers.rows(outcome, self.predictors(rows), self.top)

    def slopes(self, rows: Covariates, outcome: dict[str, np.ndarray], what: str = "mean") -> np.ndarray:
        """How a field of the answer moves with all parameters, (n, k + t)."""
        eta = self.predictors(rows)

        def value(at: np.ndarray, top: float = self.top) -> np.ndarray:
            return np.asarray(getattr(self.answers.rows(outcome, at, top), what))

        designs, parts = self.model.designs(rows), []
        for place, X in enumerate(designs):
            move = np.zeros((len(eta), 1))
            move[place] = _STEP
            by_eta = (value(eta + move) - value(eta - move)) / (2.0 * _STEP)
            parts.append(X * by_eta[:, None])
        parts.append(self._by_content(rows, value))
        slopes = np.hstack(parts)
        if self.top_slope is not None:
            step = 1e-4 * self.top
            by_top = (value(eta, self.top + step) - value(eta, self.top - step)) / (2.0 * step)
            slopes += by_top[:, None] * self.top_slope
        return slopes

    def _by_content(self, rows: Covariates, value: object) -> np.ndarray:
        """(n, t)."""
        slopes = self.content.slopes(rows)
        total = np.zeros((rows.n, slopes.shape[2]))
        for kind in range(self.content.d):
            move = np.zeros(self.content.d)
            move[kind] = _STEP
            up, down = (value(self.predictors(rows.with_content(rows.m + by))) for by in (move, -move))  # type: ignore[operator]
            total += ((up - down) / (2.0 * _STEP))[:, None] * slopes[:, kind]
        return total


def anchored(fitted: Fitted, rows: Covariates, weights: np.ndarray) -> Fitted:
    """The same with its level: the mean share of the tenth of the rows that report best counts as all."""
    place = fitted.model.names.index("share")
    r = expit(fitted.predictors(rows)[place])
    order = np.argsort(-r, kind="stable")
    inside = order[np.cumsum(weights[order]) <= BEST * weights.sum()]
    inside = order[:1] if not len(inside) else inside
    w = weights[inside] / weights[inside].sum()
    slope = np.zeros(len(fitted.covariance))
    X = fitted.model.predictors[place].columns(rows.take(inside))
    slope[fitted.model.at("share")] = (w * r[inside] * (1.0 - r[inside])) @ X
    return replace(fitted, top=float(w @ r[inside]), top_slope=slope)
