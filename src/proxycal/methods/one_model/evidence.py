"""The evidence of an exact fit as numbers, and the verdict that they allow.

collect (model, matching, moments) -> Evidence -> reasons_for_doubt -> verdict
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from proxycal.methods.exact.truths import Truths
from proxycal.methods.one_model.thresholds import RULES
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Estimate, number

if TYPE_CHECKING:
    from proxycal.result import Verdict

# Coefficient of variation from which on sizes are said to differ from row to row.
SIZES_VARY = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """Numbers only, so that a saved run can say the same things again.

    lead : evidence of the best model with a bias less that of the best without one; NaN where none could be
    fitted. price : what evidence takes off the lead in log likelihood. alike : the same with a second state
    that the environment does not drive. separation : alpha in sds of the noise. share : of biased rows.
    alone : part of who is biased that the environment decides before the outcome is seen. gate_p : p of "E
    does not drive who is biased". relevance : share of what E leaves of the outcome that the proxies
    explain. overlap : share of the biased inside the unbiased rows' content. proxies_p : p of "the proxies
    say nothing of who is biased beyond E and content". autocorrelation : of the residual along the rows;
    block_z : z of the bias against the best model without one over blocks of rows. constancy_p : p of "one
    size for all" where a size that varies was asked for. moved_p : p of "E moves every proxy through
    content only"; gap : between groups of content that E tells apart, in sds within; both asked only where
    no bias leads. spike_p, rounding_p : p of "the environment does not say who is on a spike, or who
    rounds". detectable : size of a bias that would have been found in nine tables of ten, in sds of the
    noise; detectable_size : in the outcome's units.

    with_bias, without : the two models in words. law : what the best says of the bias beyond one size. cv :
    coefficient of variation of the sizes. n, stand_for : rows, and rows that they stand for. chosen_on : rows
    on which the models were chosen. sampled : rows that matching, moments and checks saw, where not all.
    columns : of the environment. whole_clusters : clusters are biased, not rows; clusters_unclear : they may
    be. truths : what validated rows say of the answer.
    """

    lead: float
    separation: float
    share: float
    alone: float
    relevance: float
    overlap: float
    exact: Estimate
    moments: Estimate
    match: Estimate
    n: int
    chosen_on: int
    with_bias: str = ""
    without: str = ""
    law: str = ""
    effect: str = "constant"
    price: float = 0.0
    alike: float = math.nan
    gate_p: float = math.nan
    proxies_p: float = 1.0
    autocorrelation: float = 0.0
    block_z: float = math.inf
    constancy_p: float = math.nan
    cv: float = 0.0
    first_stage_f: float = math.nan
    two_valued_p: float = math.nan
    moved_p: float = math.nan
    gap: float = math.nan
    detectable: float = math.nan
    detectable_size: float = math.nan
    spike_p: float = math.nan
    rounding_p: float = math.nan
    kind: str = "continuous"
    stand_for: float = math.inf
    sampled: int = 0
    columns: int = 0
    whole_clusters: bool = False
    clusters_unclear: bool = False
    truths: Truths = field(default_factory=Truths)

    @property
    def leads(self) -> bool:
        """Whether a model with a bias explains the table clearly better than every one without."""
        return self.lead >= RULES.lead

    @property
    def hint(self) -> bool:
        """Whether a bias is neither clear nor ruled out."""
        return RULES.hint < self.lead < RULES.lead

    @property
    def humps(self) -> bool:
        """Whether a second state that the environment does not drive explains the table clearly better."""
        return self.alike >= RULES.lead and self.separation >= THRESHOLDS.apart

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Evidence:
        """The evidence from what JSON keeps of it."""
        kept = dict(values)
        floats = {item.name for item in fields(cls) if item.type == "float"} & kept.keys()
        kept |= {name: number(values[name]) for name in floats}
        kept |= {name: Estimate.from_dict(values[name]) for name in ("exact", "moments", "match")}
        return cls(**kept | {"truths": Truths.from_dict(kept["truths"])})


def reasons_for_doubt(evidence: Evidence) -> tuple[str, ...]:
    """Topics of the findings that make a bias that leads untrustworthy."""
    e = evidence
    doubtful = {
        "separation": e.separation < RULES.size,
        "share": e.share > RULES.most_share,
        "rare": e.share < RULES.least_share,
        "gate-alone": e.alone > RULES.alone,
        "relevance": e.relevance < THRESHOLDS.relevance,
        "overlap": e.overlap < THRESHOLDS.overlap,
        "vague": e.leads and not e.exact.se <= RULES.vague * abs(e.exact.alpha),
        "proxies": e.proxies_p < THRESHOLDS.gate_proxies_p,
        "dependence": depends(e) and e.block_z < THRESHOLDS.block_z,
        "rounding": e.rounding_p < THRESHOLDS.rounding_p,
        "truths": e.leads and e.truths.contradict,
    }
    return tuple(topic for topic, doubt in doubtful.items() if doubt)


def depends(evidence: Evidence) -> bool:
    """Whether neighbouring rows of the table are alike beyond content and bias."""
    n = evidence.sampled or evidence.n
    least = max(THRESHOLDS.autocorrelation, THRESHOLDS.autocorrelation_se / math.sqrt(n))
    return abs(evidence.autocorrelation) > least


def hides_bias(evidence: Evidence) -> str:
    """Why these rows could not show a bias: the topic, or nothing that is known."""
    topics = {
        "truths": evidence.truths.show_error,
        "dependence": depends(evidence) and evidence.lead > -RULES.lead,
        "clusters": evidence.clusters_unclear,
        "power": evidence.detectable > THRESHOLDS.detectable,
        "exclusion": evidence.moved_p < THRESHOLDS.moved_p,
        "gap": evidence.gap >= THRESHOLDS.gap,
        "rounding": evidence.rounding_p < THRESHOLDS.rounding_p,
        "spike": evidence.spike_p < THRESHOLDS.spike_p,
    }
    return next((topic for topic, hidden in topics.items() if hidden), "")


def verdict(evidence: Evidence) -> Verdict:
    """What may be said: "bias found", "no bias found" or "not identified"."""
    if math.isnan(evidence.lead):
        return "not identified"
    doubt = reasons_for_doubt(evidence)
    if evidence.leads:
        return "not identified" if doubt else "bias found"
    blind = "relevance" in doubt or hides_bias(evidence) != ""
    return "not identified" if evidence.hint or evidence.humps or blind else "no bias found"
