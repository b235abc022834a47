"""What a fitted mixture says of rows: who is biased, what their content predicts, and the shape around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from proxycal.mixture.laws import content_mean, posterior

if TYPE_CHECKING:
    from proxycal.mixture.designs import Data, Frame, Spec
    from proxycal.mixture.laws import Params, Rows
    from proxycal.mixture.wide.widen import WideLaw

# Rows whose shares are averaged for a curve, and its places; of normal curves that differ from row to row
# VARIED_ROWS are enough for a smooth one. Means and sds that differ by less than SAME of a sd are the same.
CURVE_ROWS, CURVE_POINTS, VARIED_ROWS, SAME = 1_000, 400, 250, 1e-9


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """What a model says of n rows, in the outcome's units.

    rows : their features. p_biased : (n,) P(A=1|data). mu : (n,) the outcome without a bias.
    content : (n, d) the content that drives the outcome, each component's own linear predictor.
    size : (n,) the bias that each row has if it has one; spread : (n,) its sd where sizes vary, else 0.
    prior : (n,) P(A=1) before the outcome is seen.
    """

    rows: Rows
    p_biased: np.ndarray
    mu: np.ndarray
    content: np.ndarray
    size: np.ndarray
    spread: np.ndarray
    prior: np.ndarray


def answer_rows(
    spec: Spec,
    data: Data,
    cluster_sd: float,
    law: WideLaw | None = None,
    ranges: tuple[np.ndarray, np.ndarray] | None = None,
    noise: np.ndarray | float = 0.0,
) -> RowAnswers:
    """The answers of a model for any rows; to a row of an unknown cluster its intercept is noise.

    law : the wider law that answers in place of the model, in its features. ranges : low, high (n,) that
    the outcome stands for, or None where it is exact. noise : (n,) further variance of the outcome, which
    only the law hears of.
    """
    rows = spec.frame.rows(data)
    if law is not None:
        return _answer_widely(law, rows, spec.frame, ranges, noise)
    own = posterior(spec.params, rows, spec.shape)
    p_biased = own.p_biased[0]
    if cluster_sd > 0.0:
        p_biased = posterior(widened(spec, cluster_sd), rows, spec.shape).p_biased[0]
    return RowAnswers(
        rows=rows,
        p_biased=p_biased,
        mu=content_mean(spec.params, rows, own) * spec.frame.scale + spec.frame.centre,
        content=_content(spec, rows),
        size=rows.D @ spec.params.a[0] * spec.frame.scale,
        spread=np.zeros(len(p_biased)),
        prior=own.pi[0],
    )


def _answer_widely(
    law: WideLaw,
    rows: Rows,
    frame: Frame,
    ranges: tuple[np.ndarray, np.ndarray] | None,
    noise: np.ndarray | float,
) -> RowAnswers:
    low, high = (None, None) if ranges is None else ((end - frame.centre) / frame.scale for end in ranges)
    found = law.answers(rows, low, high, noise / frame.scale**2)
    return RowAnswers(
        rows=rows,
        p_biased=found.p_biased,
        mu=found.mu * frame.scale + frame.centre,
        content=(rows.X @ law.index * frame.scale)[:, None],
        size=found.size * frame.scale,
        spread=found.spread * frame.scale,
        prior=found.prior,
    )


def widened(spec: Spec, cluster_sd: float) -> Params:
    """The parameters for rows of unknown clusters, whose intercepts are noise to them."""
    if not cluster_sd > 0.0:
        return spec.params
    variance = np.exp(2.0 * spec.params.log_sigma) + (cluster_sd / spec.frame.scale) ** 2
    return replace(spec.params, log_sigma=0.5 * np.log(variance))


def _content(spec: Spec, rows: Rows) -> np.ndarray:
    beta = spec.params.beta[0]
    if spec.shape.means == "shared":
        beta = beta[:1]
    elif spec.shape.means == "atom":
        beta = beta[:-1]
    return np.asarray(rows.X @ beta.T) * spec.frame.scale


def residual_shares(
    spec: Spec, data: Data, cluster_sd: float, low: float, high: float, law: WideLaw | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcome minus content under the model, or under the wider law, over a range.

    Places (m,); the shares of rows below each (2, m): P(y - mu <= place, A = 0) and the same with A = 1; and
    the shares of unbiased and biased rows in all (2,).
    """
    chosen = np.arange(0, len(data.y), max(1, len(data.y) // CURVE_ROWS))
    rows = spec.frame.rows(replace(data, cluster=None).take(chosen))
    scale = spec.frame.scale
    parts = _plain_parts(spec, rows, cluster_sd / scale) if law is None else law.parts(rows)
    weights = rows.weights / rows.weights.sum()
    margin = 0.05 * (high - low) or 1.0
    at = np.linspace(low - margin, high + margin, CURVE_POINTS)
    below = [
        sum(_below(at / scale, weights * share, mean, sd) for share, mean, sd in zip(*cells, strict=True))
        for cells in parts
    ]
    return at, np.array(below), np.array([float(np.sum(weights * share)) for share, _, _ in parts])


def _below(at: np.ndarray, mass: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Mass below each place (m,), of rows that are normal around their means; all arguments (n,)."""
    if np.ptp(mean) <= SAME * sd.max() and np.ptp(sd) <= SAME * sd.max():
        return np.asarray(mass.sum() * ndtr((at - mean[0]) / sd[0]))
    few = slice(None, None, max(1, len(mass) // VARIED_ROWS))
    kept = mass[few] * (mass.sum() / max(float(mass[few].sum()), 1e-300))
    return np.asarray(ndtr((at[:, None] - mean[few]) / sd[few]) @ kept)


def _plain_parts(
    spec: Spec, rows: Rows, cluster_sd: float
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Share, mean around the content and sd of each component (J, n), of the unbiased and of the biased."""
    post = posterior(spec.params, rows, spec.shape)
    mean = spec.params.beta[0] @ rows.X.T - content_mean(spec.params, rows, post)
    sd = np.exp(spec.params.log_sigma[0])[:, None] * np.ones(len(rows.y))
    if post.precision is not None:
        sd = sd / np.sqrt(post.precision[0])
    # What rows of a cluster share is part of what is seen around the content.
    sd = np.hypot(sd, cluster_sd)
    share = np.exp(post.log_w[0])
    return [(share * (1.0 - post.pi[0]), mean, sd), (share * post.pi[0], mean + post.shift[0], sd)]
