"""A model with a report in numbers: who is biased, what they report, how much is missing, with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtri

from proxycal.methods.rates.answer import Fitted, anchored
from proxycal.methods.rates.claims import Found
from proxycal.methods.rates.climb import as_it_is
from proxycal.methods.rates.inference import joint_covariance
from proxycal.methods.rates.terms import settled
from proxycal.result import Estimate

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.engine.maximise import Maximum
    from proxycal.methods.rates.answer import RowAnswer
    from proxycal.methods.rates.climb import Table
    from proxycal.methods.rates.inference import Independent
    from proxycal.methods.rates.kinds import Kind
    from proxycal.methods.rates.record import Name
    from proxycal.table.encode import Arrays


@dataclass(frozen=True, slots=True)
class Sized:
    """A model as rows are answered with it, their answers, what was found, and the size of it.

    scale : how the size moves with the share that is reported, or with the total of the truth.
    """

    fitted: Fitted
    rows: RowAnswer
    found: Found
    alpha: float
    scale: float


@dataclass(frozen=True, slots=True)
class Answered:
    """The model with its errors, and the report in numbers."""

    fitted: Fitted
    found: Found
    estimate: Estimate


def sized(
    name: Name,
    kind: Kind,
    table: Table,
    content: Content,
    fit: Maximum,
    arrays: Arrays,
    covariance: np.ndarray | None = None,
) -> Sized:
    """A model with a report in numbers. covariance : of all its parameters; zeros without it."""
    model, w = fit.model, table.weights
    if covariance is None:
        covariance = np.zeros((model.width + len(content.theta),) * 2)
    fitted = Fitted(model, content, kind.answers(model.family), fit.theta.dense, covariance)
    gated = "who" in model.names
    if not gated and arrays.trusted is None and not {"truth", "checked"} & set(table.outcome):
        fitted = anchored(fitted, table.rows, w)
    rows = fitted.rows(table.rows, kind.outcome(arrays))
    share = float(w @ rows.p / w.sum())
    if gated:
        weight = w * rows.p / max(float(w @ rows.p), 1e-12)
        reported = float(weight @ rows.share)
        alpha, scale = -math.log(max(reported, 1e-9)), 1.0 / max(reported, 1e-9)
    else:
        alpha, scale = _overall(name, kind.sign, w, arrays.y, rows.mean)
        reported = math.exp(-alpha) if name == "counts" else 1.0 - alpha
    return Sized(fitted, rows, Found(gated, share, reported, _driven(fit, table)), alpha, scale)


def answer(
    name: Name,
    kind: Kind,
    table: Table,
    content: Content,
    fit: Maximum,
    independent: Independent,
    arrays: Arrays,
    level: float,
) -> Answered:
    """The model with a report, its slopes free, in numbers with their errors."""
    w = table.weights
    fit = table.climb(settled(fit.model), [as_it_is], fit) or fit
    covariance = joint_covariance(fit, table, content, independent)
    made = sized(name, kind, table, content, fit, arrays, covariance)
    fitted, rows, outcome = made.fitted, made.rows, kind.outcome(arrays)
    if made.found.gated:
        weight = w * rows.p / max(float(w @ rows.p), 1e-12)
        slope, own = weight @ fitted.slopes(table.rows, outcome, "share"), 0.0
    else:
        slope, own = w @ fitted.slopes(table.rows, outcome), float(w**2 @ rows.variance)
    se = made.scale * math.sqrt(max(float(slope @ covariance @ slope), 0.0) + own)
    wide = float(ndtri(0.5 + 0.5 * level)) * se
    alpha = max(made.alpha, 0.0)
    high = alpha + wide if name == "counts" else min(alpha + wide, 1.0)
    return Answered(fitted, made.found, Estimate(name, alpha, se, max(alpha - wide, 0.0), high))


def _overall(
    name: Name, sign: float, w: np.ndarray, y: np.ndarray | None, mean: np.ndarray
) -> tuple[float, float]:
    """Size of a graded bias and how it moves with the total of the truth.

    Of a count, the log of what is reported of the truth; of a yes or no, the share of the kind that is
    denied.
    """
    assert y is not None
    total, reported = float(w @ mean), float(w @ y)
    if name == "counts":
        return -sign * math.log(max(total, 1e-9) / max(reported, 1e-9)), 1.0 / max(total, 1e-9)
    if sign > 0.0:
        total, reported = float(w.sum()) - total, float(w.sum()) - reported
    return 1.0 - reported / max(total, 1e-9), reported / max(total, 1e-9) ** 2


def _driven(fit: Maximum, table: Table) -> float:
    """Share of the variance of who is biased that the environment and content decide."""
    if "who" not in fit.model.names:
        return 0.0
    sample = table.sample(fit.model)
    place = fit.model.names.index("who")
    p, w = expit(sample.designs[place] @ fit.coefficients("who")), table.weights / table.weights.sum()
    average = float(w @ p)
    return 1.0 - float(w @ (p * (1.0 - p))) / max(average * (1.0 - average), 1e-12)
