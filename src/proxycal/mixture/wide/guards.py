"""What may make a bias that leads untrustworthy, as numbers; the verdict reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc, ndtr

from proxycal.mixture.designs import MOST_PRODUCTS
from proxycal.mixture.features import products_of
from proxycal.mixture.laws import content_mean, decided_by_gate, posterior
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.law import pairs
from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.laws import Rows
    from proxycal.mixture.wide.compare import Wide

    Array = NDArray[np.float64]


# Share of the rows that a model without a bias expects beyond its upper tail.
TAIL = 0.002
# What the outcome says of who is biased, in rows of which it says all: less is rounding.
NOTHING_SAID = 1e-9


@dataclass(frozen=True, slots=True)
class Guards:
    """What the verdict asks of a bias that leads.

    gate_r2 : share of who is biased that the gate decides before the outcome is seen. against : share of the
    biased whose size is negative. proxies_p : p of "proxies say nothing of who is biased beyond E and
    content". spread : sd of the sizes in residual sds, 0 where they do not vary so. autocorrelation : of
    the residual along the rows. block_z : Vuong's z of the bias against the null over blocks of rows. humps
    : the best null has two places far apart. direct : the best null bends the mean by E. tail_p : p of "no
    more rows than the best null expects lie far above it".
    """

    gate_r2: float
    against: float
    proxies_p: float
    spread: float
    autocorrelation: float
    block_z: float
    humps: bool
    direct: bool
    tail_p: float


def guard(
    plain: ExactBias | None,
    rows: Rows,
    wide: Wide,
    null_loglik: Array,
    P: Array,
    cluster: NDArray[np.intp] | None,
    scores: Array | None,
    offset: Array,
    table_order: NDArray[np.intp],
) -> Guards:
    """The guards of the plain answer, or of the wider law if there is none.

    scores (n,k) : of the parameters of the wider law, or None where nothing leads. offset (n,) : what rows
    of a cluster share by the plain answer, standardised. table_order (n,) : the rows as the table has them.
    """
    weights = rows.weights
    against = spread = 0.0
    if plain is not None:
        rows = rows.shifted(offset)
        seen = posterior(plain.bias.params, rows, plain.bias.shape)
        prior, loglik, p = seen.pi[0], seen.loglik[0], seen.p_biased[0]
        content = content_mean(plain.bias.params, rows, seen)
        residual = rows.y - content - prior * seen.shift[0]
    else:
        found, bias = wide.answers, wide.bias
        likelihood = bias.likelihood
        loglik, prior, p = likelihood.seen(bias.theta).loglik, found.prior, found.p_biased
        mass = float(weights @ p)
        against = float(weights @ found.against) / max(mass, 1e-300)
        residual = bias.problem.y - found.mu - prior * float((weights * p) @ found.size / max(mass, 1e-300))
        cells = likelihood.cells(bias.theta)
        if bias.law.spread:
            omega = np.exp(bias.theta[likelihood.at.log_omega]).max()
            spread = float(omega / np.sqrt(np.mean(cells.own)))
        elif bias.law.cv:
            spread = 1.0
    return Guards(
        gate_r2=decided_by_gate(prior, weights),
        against=against,
        proxies_p=1.0 if scores is None or wide.bias.law.gate == "E y" else proxies_p(wide, P, scores),
        spread=spread,
        autocorrelation=_autocorrelation(residual[table_order], rows.y[table_order]),
        block_z=_block_z(
            (loglik - null_loglik)[table_order],
            (wide.bias.size - wide.null.size) * np.log(wide.bias.problem.n),
            None if cluster is None else cluster[table_order],
        ),
        humps=_humps(wide),
        direct=wide.null.law.columns > 0,
        tail_p=_upper_tail(wide),
    )


def _autocorrelation(residual: Array, y: Array) -> float:
    """Of neighbouring rows; 0 where the table is sorted by the outcome, whose order says nothing else."""
    steps = np.diff(y)
    if np.mean(steps >= 0.0) > 0.95 or np.mean(steps <= 0.0) > 0.95:
        return 0.0
    # Copies of one row, one after the other, are that row with a weight.
    residual = residual[np.r_[True, (steps != 0.0) | (np.diff(residual) != 0.0)]]
    left = residual - residual.mean()
    return float((left[1:] * left[:-1]).sum() / max(float((left**2).sum()), 1e-300))


def _block_z(lead: Array, price: float, cluster: NDArray[np.intp] | None) -> float:
    """Vuong's z over blocks of neighbouring rows, or clusters: dependent rows are one vote."""
    n = len(lead)
    blocks = np.arange(n) // max(round(np.sqrt(n)), 10) if cluster is None else cluster
    votes = np.bincount(blocks, lead - 0.5 * price / n)
    sd = float(np.sqrt(len(votes)) * votes.std())
    return float(votes.sum() / max(sd, 1e-300))


def proxies_p(wide: Wide, P: Array, scores: Array) -> float:
    """Score test of the proxies in the gate of the wider bias, beside E and the content index.

    scores (n,k) : of the parameters of the law, which the proxies' own scores are freed of.
    """
    left = wide.answers.p_biased - wide.answers.prior
    if left @ left < NOTHING_SAID:
        return 1.0
    standard = (P - P.mean(axis=0)) / np.maximum(P.std(axis=0), 1e-12)
    E = wide.bias.problem.E
    # A gate that bends with E is no matter of the proxies, which go with E.
    every = pairs(E.shape[1])
    bends = products_of(E, every if len(every) <= MOST_PRODUCTS else [(i, i) for i in range(E.shape[1])])
    known = np.column_stack([scores, left * wide.bias.problem.m, left[:, None] * bends])
    of_proxies = left[:, None] * standard
    free = of_proxies - known @ least_squares(known, of_proxies)
    total = free.sum(axis=0)
    values, vectors = np.linalg.eigh(free.T @ free)
    # What is left of a proxy that E and content determine is rounding.
    keep = values > 1e-6 * float((of_proxies**2).sum())
    if not keep.any():
        return 1.0
    statistic = float((((vectors[:, keep].T @ total) ** 2) / values[keep]).sum())
    return float(chi2_sf(statistic * _variance_left(left, 2 + E.shape[1] + bends.shape[1]), int(keep.sum())))


def _variance_left(left: Array, columns: int) -> float:
    """The part of the variance of scores that is left of them once they are freed of columns of the gate.

    Each takes one out of the rows that the outcome decides, and not the gate; left (n,) : what it decides. In
    1,000 rows with 40 columns of E those are 200, and the test without this part is 1.8 times too large.
    """
    square = left * left
    rows = float(square.sum()) ** 2 / max(float((square * square).sum()), 1e-300)
    return max(1.0 - columns / max(rows, 1.0), 0.0)


def _upper_tail(wide: Wide) -> float:
    """The p-value of "no more rows lie far above the best null than it expects"; small with a rare bias."""
    null = wide.null
    likelihood = null.likelihood
    cells = likelihood.cells(null.theta)
    share = np.exp(
        cells.log_prior - np.logaddexp.reduce(cells.log_prior.reshape(-1, cells.log_prior.shape[-1]), axis=0)
    )
    above = (share * ndtr(-cells.left / np.sqrt(cells.variance))).sum(axis=(0, 1))
    seen, n = int((above < TAIL).sum()), len(above)
    # P(Poisson >= seen); without scipy.stats, see `tails`.
    return float(gammainc(seen, TAIL * n))


def _humps(wide: Wide) -> bool:
    """Whether the best null has two places, each with its share of rows, far apart beside their widths."""
    null = wide.null
    if null.law.states:
        return True
    if null.law.components == 1 or null.law.own_slopes:
        return False
    at = null.likelihood.at
    cells = null.likelihood.cells(null.theta)
    share = np.exp(cells.log_weight).mean(axis=1)
    heavy = share > THRESHOLDS.hump_share
    places, widths = cells.place[heavy], np.exp(null.theta[at.log_sigma])[heavy]
    return bool(len(places) > 1 and np.ptp(places) > THRESHOLDS.apart * widths.max())
