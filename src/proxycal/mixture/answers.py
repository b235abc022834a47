"""What a fitted mixture says of rows: who is biased, what their content predicts, and the shape around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from proxycal.mixture.laws import content_mean, posterior

if TYPE_CHECKING:
    from proxycal.mixture.designs import Data, Spec
    from proxycal.mixture.laws import Params, Rows

# A curve is smooth long before this many rows are averaged, at this many places.
CURVE_ROWS, CURVE_POINTS = 2_000, 400


@dataclass(frozen=True, slots=True)
class RowAnswers:
    """What a model says of n rows, in the outcome's units.

    rows : their features. p_biased : (n,) P(A=1|data). mu : (n,) the outcome without a bias.
    content : (n, d) the content that drives the outcome, each component's own linear predictor.
    size : (n,) the bias that each row has if it has one.
    """

    rows: Rows
    p_biased: np.ndarray
    mu: np.ndarray
    content: np.ndarray
    size: np.ndarray


def answer_rows(spec: Spec, data: Data, cluster_sd: float) -> RowAnswers:
    """The answers of a model for any rows; to a row of an unknown cluster its intercept is noise."""
    rows = spec.frame.rows(replace(data, truth=None))
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
    spec: Spec, data: Data, cluster_sd: float, low: float, high: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcome minus content under the model, over a range.

    Places (m,); the shares of rows below each (2, m): P(y - mu <= place, A = 0) and the same with A = 1; and
    the shares of unbiased and biased rows in all (2,).
    """
    chosen = np.arange(0, len(data.y), max(1, len(data.y) // CURVE_ROWS))
    rows = spec.frame.rows(replace(data, truth=None, cluster=None).take(chosen))
    post = posterior(spec.params, rows, spec.shape)
    scale = spec.frame.scale
    mean = spec.params.beta[0] @ rows.X.T - content_mean(spec.params, rows, post)
    sd = np.exp(spec.params.log_sigma[0])[:, None] * np.ones(len(chosen))
    if post.precision is not None:
        sd = sd / np.sqrt(post.precision[0])
    # What rows of a cluster share is part of what is seen around the content.
    sd = np.hypot(sd, cluster_sd / scale)
    share = np.exp(post.log_w[0]) * (rows.weights / rows.weights.sum())
    margin = 0.05 * (high - low) or 1.0
    at = np.linspace(low - margin, high + margin, CURVE_POINTS)
    below, total = [], []
    for moved, part in ((0.0, 1.0 - post.pi[0]), (post.shift[0], post.pi[0])):
        # One place at a time: (J, rows) numbers, not (places, J, rows).
        below.append([float(np.sum(share * part * ndtr((t / scale - mean - moved) / sd))) for t in at])
        total.append(float(np.sum(share * part)))
    return at, np.array(below), np.array(total)
