"""From the plain answer to the wider comparison: it stands, or a wider law wins, or nothing does.

plain best with and without a bias, on the rows of the comparison -> the wider ones beside them -> the answer
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.mixture.criterion import size_of, undercharged
from proxycal.mixture.designs import canonical_order, spaced
from proxycal.mixture.laws import posterior
from proxycal.mixture.maximise import maximise, valued
from proxycal.mixture.one_size import SHAPE, to_law
from proxycal.mixture.wide.answer import STEP, Answers, Errors, answers, errors, mean_size, mean_size_of
from proxycal.mixture.wide.biases import ratio_margin
from proxycal.mixture.wide.compare import Setup, compare_widely
from proxycal.mixture.wide.detectable import detectable
from proxycal.mixture.wide.guards import Guards, guard
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.criterion import Model
    from proxycal.mixture.designs import Data, Spec
    from proxycal.mixture.laws import Rows
    from proxycal.mixture.wide.compare import Wide
    from proxycal.mixture.wide.fit import Fitted

    Array = NDArray[np.float64]

# Rows of the wider comparison: its models are not sums over rows, so that each step needs them in memory.
WIDE_ROWS = 6_000
# The same for outcomes known as ranges, whose probabilities cost three times as much.
RANGED_ROWS = 2_000
# BIC by which a wider model must lead the plain one to take its place, odds of 20 to 1, unless a test rejects
# that all sizes are one. A dozen laws are tried, and by chance one of them leads by a little in every tenth
# table; what it says then widens the interval only.
LEAVE_PLAIN = 6.0
# Rows of a table, in those compared, from which on the comparison saw a part of it only.
PART_ONLY = 1.0 + 1e-6


@dataclass(frozen=True, slots=True)
class WideLaw:
    """A wider model of the rows of a frame, ready to answer for any rows; standardised like them.

    theta (k,), covariance (k,k) : its parameters. index (p,), index_mean, index_sd : the content index m of
    features X. tau : sd of what a cluster shares.
    """

    law: Law
    theta: Array
    covariance: Array
    index: Array
    index_mean: float
    index_sd: float
    tau: float = 0.0

    def answers(
        self, rows: Rows, low: Array | None = None, high: Array | None = None, noise: Array | float = 0.0
    ) -> Answers:
        """What it says of rows; low, high, noise : as in `Problem`.

        To rows of unknown clusters an intercept is noise.
        """
        return answers(self._likelihood(rows, low, high, noise), self.theta)

    def parts(self, rows: Rows) -> list[tuple[Array, Array, Array]]:
        """Share, mean around the content and sd of each cell (cells, n): of the unbiased, of the biased."""
        likelihood = self._likelihood(rows)
        cells, mu = likelihood.cells(self.theta), answers(likelihood, self.theta).mu
        share = np.exp(cells.log_prior)
        share /= share.sum(axis=(0, 1))
        sd, mean = np.broadcast_to(np.sqrt(cells.variance), share.shape), rows.y - cells.left - mu
        n = len(mu)
        biased = (share[1:].reshape(-1, n), mean[1:].reshape(-1, n), sd[1:].reshape(-1, n))
        return [(share[0], mean[0], sd[0]), biased]

    def _likelihood(
        self, rows: Rows, low: Array | None = None, high: Array | None = None, noise: Array | float = 0.0
    ) -> Likelihood:
        m = (rows.X @ self.index - self.index_mean) / self.index_sd
        noise = noise + self.tau**2
        problem = Problem(
            rows.y,
            rows.X,
            rows.G[:, 1:],
            m,
            rows.weights,
            low=low,
            high=high,
            noise=noise,
            trusted=rows.trusted,
        )
        return Likelihood(problem, self.law)

    def slopes(self, rows: Rows, low: Array | None = None, high: Array | None = None) -> tuple[Array, Array]:
        """How p_biased and size of rows move with the parameters, (n,k) each."""
        p, size = np.empty((len(rows.y), len(self.theta))), np.empty((len(rows.y), len(self.theta)))
        for i in range(len(self.theta)):
            step = np.zeros(len(self.theta))
            step[i] = STEP
            up, down = (replace(self, theta=self.theta + by).answers(rows, low, high) for by in (step, -step))
            p[:, i] = (up.p_biased - down.p_biased) / (2.0 * STEP)
            size[:, i] = (up.size - down.size) / (2.0 * STEP)
        return p, size

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """JSON values and arrays that rebuild it."""
        values = {"law": asdict(self.law), "mean": self.index_mean, "sd": self.index_sd, "tau": self.tau}
        return values, {"theta": self.theta, "covariance": self.covariance, "index": self.index}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Array]) -> WideLaw:
        """The inverse of `state`."""
        return cls(
            Law(**values["law"]),
            arrays["theta"],
            arrays["covariance"],
            arrays["index"],
            float(values["mean"]),
            float(values["sd"]),
            float(values["tau"]),
        )


@dataclass(frozen=True, slots=True)
class Widened:
    """The outcome of the wider comparison, in the outcome's units.

    law : the wider law that won, or None where the plain answer stands, whose mean size is the same. gain :
    BIC of the best model without a bias less that of the best with one. labels : of the two. size, se : of
    the mean bias, and lowest, highest : sizes of the models that explain the table about as well; NaN where
    the plain answer stands. share, sigma : of the law. rows : compared. detectable : size of a bias, in
    residual sds, that nine of ten such tables would show; NaN where a bias leads.
    """

    law: WideLaw | None
    gain: float
    labels: tuple[str, str]
    size: float
    se: float
    lowest: float
    highest: float
    share: float
    sigma: float
    cluster_sd: float
    rows: int
    guards: Guards
    detectable: float = float("nan")


def widen(
    plain: ExactBias,
    data: Data,
    intervals: tuple[Array, Array] | None = None,
    total: float | None = None,
    one_size: bool = False,
    always: bool = False,
) -> Widened:
    """Compare widely; the bias upward.

    data : all rows in the order of the table. intervals : low, high of the outcome. total : weight of the
    table that the rows are a sample of. one_size : the plain bias stands, whatever its rivals; always : the
    wider law answers, whatever its rivals.
    """
    frame = plain.bias.frame
    # By value, not by place: sums, and so every digit, are then the same however the table was sorted.
    few = spaced(len(data.y), WIDE_ROWS if intervals is None else RANGED_ROWS)
    part = canonical_order(data)[few]
    seen = data.take(part)
    rows, null_rows = frame.rows(seen), plain.null.frame.rows(seen)
    ranges = None if intervals is None else (intervals[0][part], intervals[1][part])
    setup = _setup(plain, rows, null_rows, seen, ranges)
    wide, cluster = compare_widely(setup), setup.cluster
    comparable = intervals is None and cluster is None
    own, bias_bic, null_bic = None, np.inf, np.inf
    weight = max(total or 0.0, float(data.weights.sum()))
    if comparable:
        # Plain models are at the maximum of all rows; a part of them has its own.
        whole = float(rows.weights.sum()) > (1.0 - 1e-9) * weight
        own = _on_rows(plain.bias, rows, plain.floor, refit=not whole)
        bias_bic = own.bic
        null_bic = _on_rows(plain.null, null_rows, plain.floor, refit=not whole).bic
    elif cluster is not None and plain.bias.shape.J == 1 and not _differs(wide.bias.law):
        bias_bic = wide.bias_bic
    times = weight / float(rows.weights.sum()) if comparable else 1.0
    stands, gain = _meet(plain, wide, own, (bias_bic, null_bic), weight, times, one_size)
    stands = stands and not always
    labels = (
        plain.labels[0] if stands else wide.bias.law.label,
        plain.labels[1] if null_bic <= wide.null_bic else wide.null.law.label,
    )
    null_loglik = (
        posterior(plain.null.params, null_rows, plain.null.shape).loglik[0]
        if null_bic <= wide.null_bic
        else wide.null.likelihood.seen(wide.null.theta).loglik
    )
    likelihood = wide.bias.likelihood
    scores = likelihood.scores(wide.bias.theta)[1] if gain > 0.0 or not stands else None
    sure = None
    if scores is not None and not stands:
        sure = errors(likelihood, wide.bias.theta, scores, cluster, partial(mean_size_of, likelihood.problem))
    guards = guard(
        plain if stands else None,
        rows,
        wide,
        null_loglik,
        seen.P,
        cluster,
        scores,
        np.zeros(len(part)) if cluster is None else plain.offset[part] / frame.scale,
        np.argsort(part),
    )
    least = float("nan")
    if gain <= 0.0 and wide.mixture is not None:
        least = detectable(wide.mixture, wide.bias.problem)
    answer = _answer(wide, sure, gain, labels, frame.scale, len(part), guards)
    return replace(answer, law=None if stands else answer.law, detectable=least)


def _setup(
    plain: ExactBias,
    rows: Rows,
    null_rows: Rows,
    seen: Data,
    ranges: tuple[Array, Array] | None,
) -> Setup:
    """The rows as the wider comparison takes them, with who is biased by the plain one.

    seen : these rows, with codes of clusters not all of which need occur. ranges : low, high (n,) of the
    outcome, in its units.
    """
    frame = plain.bias.frame
    own = posterior(plain.bias.params, rows, plain.bias.shape)
    low, high = (None, None) if ranges is None else ((end - frame.centre) / frame.scale for end in ranges)
    codes = None if seen.cluster is None else np.unique(seen.cluster, return_inverse=True)[1]
    return Setup(
        rows.y,
        rows.X,
        null_rows.X,
        seen.P,
        rows.G[:, 1:],
        rows.weights,
        own.p_biased[0],
        _one_size(plain) if ranges is None and codes is None else None,
        low,
        high,
        codes,
        rows.trusted,
    )


def _one_size(plain: ExactBias) -> Array | None:
    """Parameters of a bias of one size and one component by the plain comparison, where it has one."""
    tried = [(plain.bias.shape, plain.bias.frame, plain.bias.params)]
    tried += [(one.model.shape, one.frame, one.model.params) for one in plain.candidates]
    for shape, frame, params in tried:
        same = shape == SHAPE and frame is plain.bias.frame
        if same and frame.effect == "constant" and params.a[0, 0] > 0.0:
            return to_law(params)
    return None


def _differs(law: Law) -> bool:
    """Whether a law answers differently from one size with a gate by E."""
    return law.varies or law.gate != "E"


def _meet(
    plain: ExactBias,
    wide: Wide,
    own: Model | None,
    bics: tuple[float, float],
    weight: float,
    times: float,
    one_size: bool,
) -> tuple[bool, float]:
    """Whether the plain bias stands, and the lead (in BIC) of the best bias over the best model without one.

    own : the plain bias on the rows compared; None, and bics (of the plain models with and without a bias)
    inf, where they cannot be compared. weight : of the table. times : the table's weight in that of the rows
    compared. one_size : the plain bias stands in any case.
    """
    bias_bic, null_bic = bics
    # With another shape of noise one size may explain what sizes that vary explain.
    fewer = 0 if own is None else size_of(own.shape, own.params)
    rejected = own is None or ratio_margin(wide.bias.loglik - own.loglik, wide.bias.size - fewer) > 0.0
    one_size_fails = rejected and wide.rejected <= bias_bic + LEAVE_PLAIN
    stands = one_size or (bias_bic <= wide.bias_bic + LEAVE_PLAIN and not one_size_fails)
    by_plain = bias_bic <= wide.bias_bic or (stands and np.isfinite(bias_bic))
    # Another shape of the content is no reason to tell the same size from a part of the rows.
    stands = stands or (times > PART_ONLY and not _differs(wide.bias.law))
    gain = min(null_bic, wide.null_bic) - (bias_bic if by_plain else wide.bias_bic)
    gain *= times if gain > 0.0 else 1.0
    size = size_of(plain.bias.shape, plain.bias.params) if by_plain else wide.bias.size
    rival = wide.null.size
    if null_bic <= wide.null_bic:
        rival = size_of(plain.null.shape, plain.null.params)
    return stands, gain - max(undercharged(size, weight) - undercharged(rival, weight), 0.0)


def _on_rows(spec: Spec, rows: Rows, floor: float, refit: bool) -> Model:
    """A plain model on some rows, brought to its maximum there where it comes from other rows."""
    n = float(rows.weights.sum())
    model = valued(spec.shape, spec.params, [rows], n)
    return maximise(model, [rows], floor, n) if refit else model


def _answer(
    wide: Wide,
    sure: Errors | None,
    gain: float,
    labels: tuple[str, str],
    scale: float,
    n: int,
    guards: Guards,
) -> Widened:
    """The wider law as the answer; sure : how sure it is of its parameters, or None where nobody asks."""
    bias, found = wide.bias, wide.answers
    weights, at = bias.problem.weights, bias.likelihood
    size = mean_size(at, bias.theta)
    se, covariance = (float("nan"), np.zeros((0, 0))) if sure is None else (sure.se, sure.covariance)
    sizes = [size, *(mean_size(one.likelihood, one.theta) for one in wide.alike)]
    sigma = float(np.sqrt(np.average(_content_variance(bias), weights=weights)))
    law = WideLaw(bias.law, bias.theta, covariance, wide.index, wide.index_mean, wide.index_sd, wide.tau)
    return Widened(
        law=law,
        gain=gain,
        labels=labels,
        size=size * scale,
        se=se * scale,
        lowest=min(sizes) * scale,
        highest=max(sizes) * scale,
        share=float(np.average(found.p_biased, weights=weights)),
        sigma=sigma * scale,
        cluster_sd=wide.tau * scale,
        rows=n,
        guards=guards,
    )


def _content_variance(bias: Fitted) -> Array:
    """Variance of the outcome around its content, row by row."""
    seen = bias.likelihood.seen(bias.theta)
    return np.asarray((seen.r * seen.cells.own).sum(axis=(0, 1)))
