"""What the verdict of an exact fit rests on: the evidence as numbers, and what may be said because of it.

A wrong number is worse than none. "bias found" needs a shift that beats every other explanation, and nothing
that makes the answer untrustworthy; "no bias found" needs data that could have shown one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.methods.checks.instruments import any_moved, direct_p, moved_proxies
from proxycal.methods.checks.outcome import content_gap
from proxycal.methods.checks.wald import wald_p
from proxycal.methods.crosschecks import apart
from proxycal.methods.exact.measures import (
    constancy_of,
    is_two_humped,
    overlap_of,
    relevance_of,
    residual_sd,
    size_cv,
)
from proxycal.methods.exact.truths import Truths
from proxycal.mixture.designs import spaced
from proxycal.mixture.laws import content_mean, posterior
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Estimate, number

if TYPE_CHECKING:
    from proxycal.methods.moments.estimate import MomentsFit
    from proxycal.mixture.answers import RowAnswers
    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data, Spec
    from proxycal.mixture.wide.widen import Widened
    from proxycal.result import Verdict

# Rows that are enough for what may hide a bias.
CHECKED_ROWS = 20_000
# Coefficient of variation from which on sizes are said to differ from row to row.
SIZES_VARY = 0.05


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
    NaN otherwise. sampled : rows that matching, moments and checks saw, where not all of them. stand_for :
    rows that those compared stand for.

    Of the wider comparison: law : what its winner says of the bias, sentences joined by "; ", or "" where
    the plain answer stands; cv : coefficient of variation of the sizes then. gate_r2 : share of who is
    biased that the environment decides before the outcome is seen. against : share of the biased whose size
    is negative. proxies_p : p of "the proxies say nothing of who is biased beyond E and content". spread :
    sd of the sizes, in residual sds. autocorrelation : of the residual along the rows; block_z : z of the
    bias against the best model without one over blocks of rows. bent : the best model without a bias bends
    the mean by E. columns : of the encoded environment. truths : what validated rows say of the answer.
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
    n_compared: int
    exact: Estimate
    moments: Estimate
    match: Estimate
    sampled: int = 0
    law: str = ""
    cv: float = 0.0
    gate_r2: float = 0.0
    against: float = 0.0
    proxies_p: float = 1.0
    spread: float = 0.0
    autocorrelation: float = 0.0
    block_z: float = math.inf
    bent: bool = False
    tail_p: float = 1.0
    whole_clusters: bool = False
    clusters_unclear: bool = False
    kind: str = "continuous"
    detectable: float = math.nan
    detectable_size: float = math.nan
    spike_p: float = math.nan
    rounding_p: float = math.nan
    columns: int = 0
    stand_for: float = math.inf
    truths: Truths = field(default_factory=Truths)

    @property
    def leads(self) -> bool:
        """Whether a model with a bias leads: BIC already charges for its parameters."""
        return self.gain > 0.0

    @property
    def hint(self) -> bool:
        """Whether a bias that does not lead trails too narrowly to be ruled out."""
        return not self.leads and self.gain > -THRESHOLDS.hint_part * self.cost

    @property
    def spiked(self) -> bool:
        """Whether the bias is one that moved a spike, such as zeros, too."""
        return "one spike" in self.shape

    @property
    def strong(self) -> bool:
        """Whether E is a strong instrument."""
        return self.first_stage_f >= THRESHOLDS.weak_f

    @property
    def told_by_environment(self) -> bool:
        """Whether E tells a bias of two values: it is strong, and the moments, which use nothing else, agree.

        Where they contradict one, the bias must lead over blocks of rows.
        """
        contradicted = self.two_valued_p < THRESHOLDS.moments_contradicted_p
        agreed = math.isfinite(self.moments.alpha) and not contradicted
        return self.strong and (agreed or self.block_z >= THRESHOLDS.block_z)

    @property
    def humps_apart(self) -> bool:
        """Whether the best model without a bias has two humps as far apart as a plain bias."""
        return self.two_humps and self.separation >= THRESHOLDS.apart

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Evidence:
        """The evidence from what JSON keeps of it."""
        kept = dict(values)
        # A run that is older than a field has its default.
        floats = {item.name for item in fields(cls) if item.type == "float"} & kept.keys()
        kept |= {name: number(values[name]) for name in floats}
        kept |= {name: Estimate.from_dict(values[name]) for name in ("exact", "moments", "match")}
        if "truths" in kept:
            kept["truths"] = Truths.from_dict(kept["truths"])
        return cls(**kept)


def collect(
    answer: ExactBias,
    data: Data,
    answers: RowAnswers,
    estimates: tuple[Estimate, ...],
    moments: MomentsFit,
    widened: Widened | None,
    checked: Data | None = None,
) -> Evidence:
    """The evidence of one fit; estimates are exact, moments, match, ...

    checked : rows in which to look for what may hide a bias, where data are a sample.
    """
    exact, rows, p_biased = estimates[0], answers.rows, answers.p_biased
    law = widened if widened is not None and widened.law is not None else None
    gain = answer.gain if widened is None else widened.gain
    if widened is not None and law is None and data.cluster is None:
        # Both were compared on all rows, or the wider on a part of them; with clusters only the wider
        # comparison has the same intercepts on both sides.
        gain = min(answer.gain, gain)
    sigma, share = (answer.sigma, answer.share) if law is None else (law.sigma, law.share)
    frame = answer.bias.frame
    L = len(answer.shift)
    gamma = answer.bias.params.gamma[0, 1:]
    # A bias that does not lead is left in: its p_biased goes with the proxies by chance.
    leads = gain > 0.0
    y_cal = data.y - p_biased * answers.size if leads else data.y
    moved_p, direct, gap = (math.nan,) * 3 if leads else _hidden(answer.null, checked or data)
    return Evidence(
        gain=gain,
        cost=(rows.G.shape[1] + L) * math.log(float(data.weights.sum())),
        separation=abs(exact.alpha) / max(sigma, 1e-300),
        share=share,
        converged=answer.converged or law is not None,
        decrement=answer.decrement if law is None else 0.0,
        # A column of the gate without information counts as one that was tested.
        gate_p=wald_p(gamma, answer.gate_cov[1:, 1:], df=len(gamma)),
        relevance=relevance_of(y_cal, data),
        overlap=overlap_of(rows.X @ answer.bias.params.beta[0, 0], p_biased),
        two_humps=is_two_humped(answer.null) or (widened is not None and widened.guards.humps),
        first_stage_f=moments.first_stage_f_robust,
        two_valued_p=moments.two_valued_p,
        constancy_p=constancy_of(answer),
        by_level_gain=answer.by_level_gain,
        moved_p=moved_p,
        direct_p=direct,
        gap=gap,
        shape=answer.labels[0] if widened is None else widened.labels[0],
        null_shape=answer.labels[1] if widened is None else widened.labels[1],
        features=frame.features,
        effect=frame.effect,
        n=len(data.y),
        stand_for=float(data.weights.sum()),
        n_compared=answer.n_compared,
        exact=exact,
        moments=estimates[1],
        match=estimates[2],
        law="" if law is None or law.law is None else "; ".join(law.law.law.says),
        cv=0.0 if law is None else size_cv(answers, data.weights),
        columns=rows.G.shape[1] - 1,
        detectable=math.nan if widened is None else widened.detectable,
        detectable_size=math.nan if widened is None else widened.detectable * residual_sd(answer.null, data),
        **({} if widened is None else _guards(widened)),
    )


def _guards(widened: Widened) -> dict[str, Any]:
    guards = widened.guards
    return {
        "gate_r2": guards.gate_r2,
        "against": guards.against,
        "proxies_p": guards.proxies_p,
        "spread": guards.spread,
        "autocorrelation": guards.autocorrelation,
        "block_z": guards.block_z,
        "bent": guards.direct,
        "tail_p": guards.tail_p,
    }


def _hidden(null: Spec, data: Data) -> tuple[float, float, float]:
    """What could hide a bias: a proxy that contains it, E beside content, groups without common content."""
    part = data.take(spaced(len(data.y), CHECKED_ROWS))
    moved_p = any_moved(moved_proxies(part.P, part.E, part.weights, part.cluster))
    nobody = np.zeros(len(part.y))
    direct = direct_p(part.y, part.P, part.E, nobody, 0.0, 0.0, part.weights, part.cluster)
    rows = null.frame.rows(part)
    content = content_mean(null.params, rows, posterior(null.params, rows, null.shape))
    gap, told = content_gap(content, part.E, part.weights)
    return moved_p, direct, gap if told >= THRESHOLDS.told else 0.0


def reasons_for_doubt(evidence: Evidence) -> tuple[str, ...]:
    """Topics of the findings that make the answer untrustworthy, whatever the model comparison says."""
    e = evidence
    most = THRESHOLDS.nearly_all_loose if e.spread > THRESHOLDS.loose_sizes else THRESHOLDS.nearly_all
    plain_and_apart = not e.law and e.separation >= THRESHOLDS.rare_apart and e.gain >= THRESHOLDS.narrow_gain
    doubtful = {
        "convergence": not e.converged,
        "relevance": e.relevance < THRESHOLDS.relevance,
        "overlap": e.overlap < THRESHOLDS.overlap,
        # Two copies of a spike, a bias apart, are told apart whatever the noise of the other rows.
        "separation": e.separation < THRESHOLDS.separation and not e.told_by_environment and not e.spiked,
        "agreement": _disagree(e),
        "share": e.share > most,
        "rare": e.share < THRESHOLDS.rare and not plain_and_apart,
        "narrow": _is_narrow(e),
        "vague": e.leads and e.exact.se > THRESHOLDS.vague * abs(e.exact.alpha),
        "gate-alone": e.gate_r2 > THRESHOLDS.gate_alone,
        "sign": e.against > THRESHOLDS.against,
        "proxies": e.proxies_p < THRESHOLDS.gate_proxies_p,
        "dependence": depends(e) and e.block_z < THRESHOLDS.block_z,
        "rounding": e.rounding_p < THRESHOLDS.rounding_p,
        "direction": e.exact.alpha <= 0.0,
        "truths": e.leads and e.truths.contradict,
    }
    return tuple(topic for topic, doubt in doubtful.items() if doubt)


def _is_narrow(evidence: Evidence) -> bool:
    """Whether a bias leads by what may be luck, and is not so far away that luck does not matter."""
    plain_and_far = not evidence.law and evidence.separation >= THRESHOLDS.narrow_apart
    return evidence.leads and evidence.gain <= narrow_gain(evidence) and not plain_and_far


def narrow_gain(evidence: Evidence) -> float:
    """The lead in BIC up to which a bias may be luck: more in few rows, of which a wide search makes much."""
    return THRESHOLDS.narrow_gain * max(1.0, THRESHOLDS.few_rows / evidence.stand_for)


def _disagree(evidence: Evidence) -> bool:
    """Moments far from the exact answer, beyond errors and beyond a third of its size.

    They are heard only where their own test of a two-valued bias does not reject, and E is a strong
    instrument; with a size that varies they have no single size to find. Beside a spike that the bias moved
    content is of two kinds, which they do not know. Matching is not heard: it takes rows by what they report,
    so that it overstates a size of one or two residual sds in any number of rows (0.67 for 0.51).
    """
    if evidence.effect != "constant" or evidence.law or evidence.spiked:
        return False
    if not (evidence.strong and evidence.two_valued_p > THRESHOLDS.moments_heard_p):
        return False
    far = abs(evidence.exact.alpha - evidence.moments.alpha)
    beyond_errors = apart(evidence.exact, evidence.moments) > THRESHOLDS.disagree_se
    return beyond_errors and far > THRESHOLDS.disagree_part * abs(evidence.exact.alpha)


def depends(evidence: Evidence) -> bool:
    """Whether neighbouring rows of the table are alike beyond content and bias."""
    n = evidence.sampled or evidence.n
    least = max(THRESHOLDS.autocorrelation, THRESHOLDS.autocorrelation_se / math.sqrt(n))
    return abs(evidence.autocorrelation) > least


def hides_bias(evidence: Evidence) -> str:
    """Why these rows could not show a bias: the topic, or nothing that is known."""
    if evidence.truths.show_error:
        return "truths"
    if evidence.columns * math.log(evidence.n) > THRESHOLDS.columns_part * evidence.n:
        return "columns"
    if depends(evidence) and evidence.gain > -evidence.cost:
        return "dependence"
    if evidence.clusters_unclear:
        return "clusters"
    if evidence.detectable > THRESHOLDS.detectable:
        return "power"
    if evidence.bent:
        return "direct"
    if evidence.moved_p < THRESHOLDS.moved_p:
        return "exclusion"
    if evidence.gap >= THRESHOLDS.gap:
        return "gap"
    if evidence.direct_p < THRESHOLDS.outcome_p:
        return "direct"
    if evidence.rounding_p < THRESHOLDS.rounding_p:
        return "rounding"
    if evidence.spike_p < THRESHOLDS.spike_p:
        return "spike"
    return "tail" if evidence.tail_p < THRESHOLDS.tail_p else ""


def verdict(evidence: Evidence) -> Verdict:
    """What may be said: "bias found", "no bias found" or "not identified"."""
    doubt = reasons_for_doubt(evidence)
    if math.isnan(evidence.gain):
        return "not identified"
    if evidence.leads:
        return "not identified" if doubt else "bias found"
    blind = "relevance" in doubt or "convergence" in doubt or hides_bias(evidence) != ""
    return "not identified" if evidence.hint or evidence.humps_apart or blind else "no bias found"
