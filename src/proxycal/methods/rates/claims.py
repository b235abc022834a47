"""What may be said of a report, in two grades.

first    a report explains the outcome better than anything that the environment could do to the truth
second   a report explains it better than content, if the environment acts on the truth only through content:
         which the user states (exclusion=True), and the data can contradict but not show

Where truths are known for enough rows, or events, these say it, and neither has to be argued.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from proxycal.methods.rates.thresholds import BEYOND_P, LEAD, MOST_DRIVEN, MOST_REPORTED, PROXY_P, SHARES
from proxycal.methods.rates.validated import Validated
from proxycal.result import number

if TYPE_CHECKING:
    from proxycal.result import Verdict

Grade = Literal["validated", "first", "second", "none"]
NOTHING = Validated()
_NUMBERS = ("lead", "lead_through_content", "against_content", "direct_lead", "beyond_p", "proxy_p")


@dataclass(frozen=True, slots=True)
class Found:
    """A report as it was found. gated : whether some rows are biased and others not.

    share_biased, reported : how many, and what they report. driven : share of the variance of who is biased
    that the environment decides.
    """

    gated: bool
    share_biased: float
    reported: float
    driven: float

    @property
    def differs(self) -> bool:
        """Whether anything to speak of is missing or added."""
        return self.reported < MOST_REPORTED

    @property
    def plausible(self) -> bool:
        """Whether it is told from an effect on the truth: two kinds of rows, mixed in every environment."""
        low, high = SHARES
        mixed = low < self.share_biased < high and self.driven < MOST_DRIVEN
        return self.differs and (mixed or not self.gated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the verdict rests on.

    lead, lead_through_content : evidence for a report where the environment may act on the truth, and where
    it acts through content alone. against_content : evidence for an environment that acts on the truth and no
    report over a report and content alone. direct_lead : evidence for such an effect over content alone,
    without a report. beyond_p : of the test whether the environment moves reports beyond content. proxy_p :
    whether it moves a proxy so, NaN for a single proxy. stated : whether the user states exclusion. free,
    through_content : what was found under either assumption. validated : what is known of truths; where
    there is enough of it, nothing is compared, and the other numbers are NaN.
    """

    lead: float
    lead_through_content: float
    against_content: float
    direct_lead: float
    beyond_p: float
    proxy_p: float
    stated: bool
    free: Found
    through_content: Found
    validated: Validated = NOTHING

    @classmethod
    def known(cls, validated: Validated, found: Found, stated: bool) -> Self:
        """Of a table whose truths are known for enough rows."""
        numbers: dict[str, Any] = dict.fromkeys(_NUMBERS, math.nan)
        return cls(stated=stated, free=found, through_content=found, validated=validated, **numbers)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild it from what JSON keeps of its fields."""
        free, through_content = (Found(**values[name]) for name in ("free", "through_content"))
        numbers: dict[str, Any] = {name: number(values[name]) for name in _NUMBERS}
        validated = Validated.from_dict(values["validated"])
        stated = bool(values["stated"])
        return cls(stated=stated, free=free, through_content=through_content, validated=validated, **numbers)

    @property
    def first(self) -> bool:
        """Whether a report beats everything that the environment could do to the truth."""
        return self.lead >= LEAD and self.free.plausible

    @property
    def exclusion_stands(self) -> bool:
        """Whether the data let it stand: proxies see content alone, and no direct effect does better."""
        return self.proxy_p >= PROXY_P and self.against_content < LEAD

    @property
    def moves_beyond(self) -> bool:
        """Whether the environment moves reports beyond content, by a bias or by itself."""
        return self.beyond_p < BEYOND_P

    @property
    def second(self) -> bool:
        """Whether a report beats content alone, and the user states that nothing else is possible."""
        found = self.lead_through_content >= LEAD and self.moves_beyond
        return self.stated and self.exclusion_stands and found and self.through_content.differs

    @property
    def grade(self) -> Grade:
        """The grade of the claim."""
        if self.validated.enough:
            return "validated" if self.validated.shows_bias else "none"
        return "first" if self.first else "second" if self.second else "none"

    @property
    def verdict(self) -> Verdict:
        """The verdict: without a claim, a bias may hide in what the environment does to the truth."""
        if self.grade != "none":
            return "bias found"
        if self.validated.enough:
            return "no bias found"
        if (
            self.moves_beyond
            or self.direct_lead >= LEAD
            or self.lead >= LEAD
            or (self.stated and not self.exclusion_stands)
        ):
            return "not identified"
        return "no bias found"
