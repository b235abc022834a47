"""What the verdict of an exact fit rests on: the evidence as numbers, and what may be said because of it.

A wrong number is worse than none. "bias found" needs a shift that beats every other explanation, and nothing
that makes the answer untrustworthy; "no bias found" needs data that could have shown one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import f as f_distribution

from proxycal.methods.checks.instruments import any_moved, direct_p, moved_proxies
from proxycal.methods.checks.outcome import GAP, SURPRISING, TOLD, content_gap
from proxycal.methods.checks.wald import wald_p
from proxycal.methods.crosschecks import WEAK_F, apart
from proxycal.mixture.designs import spaced
from proxycal.mixture.laws import content_mean, posterior
from proxycal.result import Estimate, number

if TYPE_CHECKING:
    from proxycal.methods.moments.estimate import MomentsFit
    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data, Spec
    from proxycal.mixture.laws import Rows
    from proxycal.result import Verdict

# Below this share of the outcome's remaining variance the proxies say nothing about its content.
IRRELEVANT = 0.01
# Share of biased rows inside the central 98% of the unbiased rows' content, below which nothing compares.
OVERLAP = 0.5
# Two estimators this many standard errors and this much apart cannot both be right.
DISAGREE_SE, DISAGREE_PART = 4.0, 0.3
# With more of the rows than this called biased, the few others are no yardstick: outliers look the same.
NEARLY_ALL = 0.95
# A shift below this many residual sds is told from noise by E alone.
SEPARATED = 1.0
# Below this p a proxy is moved by the environment other than through content. Laxer than the finding of
# check(), which accuses a proxy: here a false alarm costs no more than "no bias found".
MOVED = 0.01
# Rows that are enough for what may hide a bias.
CHECKED_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """Numbers only, so that a saved run can say the same things again.

    gain : BIC of the best model without a bias less that of the best with one. cost : what the bias model's
    extra parameters cost in BIC. separation : alpha in residual sds. gate_p : p of "E does not drive who
    is biased". relevance : share of what E leaves of the outcome that the proxies explain. overlap : share of
    the biased inside the unbiased rows' content. two_humps : the best model without a bias is a shift that E
    does not drive. constancy_p : p-value of "one size for all levels" where alpha varies, else NaN.
    by_level_gain : BIC gain of alpha by level over a constant one, NaN where not tried. moved_p : p of "E
    moves every proxy through content only", direct_p : p of "E moves the outcome through content only", gap :
    between groups of content that E tells apart, in sds within; all three asked only where no bias leads, and
    NaN otherwise. sampled : rows that matching, moments and checks saw, where not all of them.
    """

    gain: float
    cost: float
    separation: float
    share: float
    converged: bool
    decrement: float
    gate_p: float
    relevance: float
    overlap: float
    two_humps: bool
    first_stage_f: float
    two_valued_p: float
    constancy_p: float
    by_level_gain: float
    moved_p: float
    direct_p: float
    gap: float
    shape: str
    null_shape: str
    features: str
    effect: str
    n: int
    n_race: int
    exact: Estimate
    moments: Estimate
    match: Estimate
    sampled: int = 0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Evidence:
        """The evidence from what JSON keeps of it."""
        kept = dict(values)
        kept |= {item.name: number(values[item.name]) for item in fields(cls) if item.type == "float"}
        kept |= {name: Estimate.from_dict(values[name]) for name in ("exact", "moments", "match")}
        return cls(**kept)


def collect(
    found: ExactBias,
    data: Data,
    rows: Rows,
    p_biased: np.ndarray,
    estimates: tuple[Estimate, ...],
    moments: MomentsFit,
) -> Evidence:
    """The evidence of one fit; estimates are exact, moments, match, ..."""
    exact = estimates[0]
    frame = found.bias.frame
    L = len(found.shift)
    gamma = found.bias.params.gamma[0, 1:]
    # A bias that does not lead is left in: its p_biased goes with the proxies by chance.
    leads = found.gain > 0.0
    y_cal = data.y - p_biased * (rows.D @ found.shift) if leads else data.y
    moved_p, direct, gap = (math.nan,) * 3 if leads else _hidden(found.null, data)
    return Evidence(
        gain=found.gain,
        cost=(rows.G.shape[1] + L) * math.log(float(data.weights.sum())),
        separation=abs(exact.alpha) / max(found.sigma, 1e-300),
        share=found.share,
        converged=found.converged,
        decrement=found.decrement,
        # A column of the gate without information counts as one that was tested.
        gate_p=wald_p(gamma, found.gate_cov[1:, 1:], df=len(gamma)),
        relevance=_relevance(y_cal, data),
        overlap=_overlap(rows.X @ found.bias.params.beta[0, 0], p_biased),
        two_humps=_two_humps(found.null),
        first_stage_f=moments.first_stage_f_robust,
        two_valued_p=moments.two_valued_p,
        constancy_p=_constancy(found),
        by_level_gain=found.by_level_gain,
        moved_p=moved_p,
        direct_p=direct,
        gap=gap,
        shape=found.labels[0],
        null_shape=found.labels[1],
        features=frame.features,
        effect=frame.effect,
        n=len(data.y),
        n_race=found.n_race,
        exact=exact,
        moments=estimates[1],
        match=estimates[2],
    )


def _hidden(null: Spec, data: Data) -> tuple[float, float, float]:
    """What could hide a bias: a proxy that carries it, E beside content, groups without common content.

    Validated rows show a bias whatever E does, so that with them the second is not asked.
    """
    part = data.take(spaced(len(data.y), CHECKED_ROWS))
    moved_p = any_moved(moved_proxies(part.P, part.E, part.weights, part.cluster))
    direct, nobody = math.nan, np.zeros(len(part.y))
    if data.truth is None:
        direct = direct_p(part.y, part.P, part.E, nobody, 0.0, 0.0, part.weights, part.cluster)
    rows = null.frame.rows(replace(part, truth=None))
    content = content_mean(null.params, rows, posterior(null.params, rows, null.shape))
    gap, told = content_gap(content, part.E, part.weights)
    return moved_p, direct, gap if told >= TOLD else 0.0


def _two_humps(null: Spec) -> bool:
    """Whether the best model without a bias is a residual with two places, two of their sds apart."""
    if null.shape.shift:
        return True
    if null.shape.J == 1 or null.shape.means != "shared":
        return False
    omega = null.params.omega[0, :, 0]
    share = np.exp(omega - omega.max())
    heavy = share / share.sum() > 0.15
    place, sd = null.params.beta[0, heavy, 0], np.exp(null.params.log_sigma[0, heavy])
    return bool(len(place) > 1 and np.ptp(place) > 2.0 * sd.max())


def _constancy(found: ExactBias) -> float:
    """p-value of "all shift coefficients are the same" (by level), or "all slopes are zero" (linear)."""
    L = len(found.shift)
    if L < 2:
        return math.nan
    if found.bias.frame.effect == "linear":
        return wald_p(found.shift[1:], found.shift_cov[1:, 1:], df=L - 1)
    contrast = np.eye(L)[1:] - np.eye(L)[:1]
    return wald_p(contrast @ found.shift, contrast @ found.shift_cov @ contrast.T, df=L - 1)


def _relevance(y: np.ndarray, data: Data) -> float:
    """Partial R2 of the proxies given E."""
    root = np.sqrt(data.weights)
    E = np.column_stack([np.ones(len(y)), data.E])

    def left(X: np.ndarray) -> float:
        residual = y - X @ np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0]
        return float(data.weights @ residual**2)

    alone, both = left(E), left(np.column_stack([E, data.P]))
    n, k = float(data.weights.sum()), data.P.shape[1]
    rest = max(n - k - E.shape[1], 1.0)
    p_value = f_distribution.sf((alone - both) / k / max(both / rest, 1e-300), k, rest)
    # k columns explain k/n by chance: what they explain must be no accident, and is counted beyond it.
    return max(0.0, 1.0 - (both / rest) / max(alone / (rest + k), 1e-300)) if p_value < 0.01 else 0.0


def _overlap(content: np.ndarray, p_biased: np.ndarray) -> float:
    biased = p_biased > 0.5
    if not biased.any() or biased.all():
        return math.nan
    low, high = np.quantile(content[~biased], [0.01, 0.99])
    inside = (content[biased] >= low) & (content[biased] <= high)
    return float(inside.mean())


def reasons_for_doubt(evidence: Evidence) -> tuple[str, ...]:
    """Topics of the findings that make the answer untrustworthy, whatever the race says."""
    out = []
    if not evidence.converged:
        out.append("convergence")
    if evidence.relevance < IRRELEVANT:
        out.append("relevance")
    if evidence.overlap < OVERLAP:
        out.append("overlap")
    weak = not evidence.first_stage_f >= WEAK_F
    if evidence.separation < SEPARATED and weak:
        out.append("separation")
    if _disagree(evidence):
        out.append("agreement")
    if evidence.share > NEARLY_ALL:
        out.append("share")
    if evidence.exact.alpha <= 0.0:
        out.append("direction")
    return tuple(out)


def _disagree(evidence: Evidence) -> bool:
    """Moments or matching far from the exact answer, beyond errors and beyond a third of its size.

    The moments are heard only where their own test of a two-valued bias does not reject, and E is a strong
    instrument; with a size that varies they have no single size to find.
    """
    if evidence.effect != "constant":
        return False
    voices = [evidence.match]
    if evidence.first_stage_f >= WEAK_F and evidence.two_valued_p > 0.05:
        voices.append(evidence.moments)
    far = [
        apart(evidence.exact, other) > DISAGREE_SE
        and abs(evidence.exact.alpha - other.alpha) > DISAGREE_PART * abs(evidence.exact.alpha)
        for other in voices
    ]
    return any(far)


def hides_bias(evidence: Evidence) -> str:
    """Why these rows could not show a bias: "exclusion", "gap", "direct", or nothing that is known."""
    if evidence.moved_p < MOVED:
        return "exclusion"
    if evidence.gap >= GAP:
        return "gap"
    return "direct" if evidence.direct_p < SURPRISING else ""


def verdict(evidence: Evidence) -> Verdict:
    """What may be said: "bias found", "no bias found" or "not identified"."""
    doubt = reasons_for_doubt(evidence)
    if math.isnan(evidence.gain):
        return "not identified"
    if evidence.gain > 0.0:
        return "not identified" if doubt else "bias found"
    hint = evidence.gain > -0.25 * evidence.cost
    humps = evidence.two_humps and evidence.separation >= 2.0
    blind = "relevance" in doubt or "convergence" in doubt or hides_bias(evidence) != ""
    return "not identified" if hint or humps or blind else "no bias found"
