"""What is found of each reporter, and when a bias may be claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from proxycal.methods.reporters.thresholds import (
    DETECTABLE,
    FALLS,
    GRADED,
    LEAD,
    LEAD_APART,
    LEAST_SHARE_APART,
    LEAST_SIZE,
    LEAST_SIZE_APART,
    MOST_DRIVEN,
    SHARES,
)
from proxycal.result import number

if TYPE_CHECKING:
    from proxycal.result import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """A bias of one reporter as the model has it, in the units of the reports and in the stated direction.

    share : of biased reports. size, se, low, high : how large it is in these. driven, alone : evidence for
    it, with the environment that drives it and without. separation : size in sds of what is left of the
    report beside the others. by : part of who is biased that the environment decides.
    """

    share: float
    size: float
    se: float
    low: float
    high: float
    driven: float
    alone: float
    separation: float
    by: float

    @property
    def told(self) -> bool:
        """Whether the environment tells which reports are biased, and so a bias from a tail of errors."""
        return self.driven >= LEAD and self.separation >= LEAST_SIZE and self.by <= MOST_DRIVEN

    @property
    def apart(self) -> bool:
        """Whether the reports alone tell it: biased ones stand far apart."""
        large = self.separation >= LEAST_SIZE_APART and self.share >= LEAST_SHARE_APART
        return self.alone >= LEAD_APART and large

    @property
    def claimable(self) -> bool:
        """Whether it may be claimed, as the differences of the reports have it."""
        return SHARES[0] <= self.share <= SHARES[1] and (self.told or self.apart)

    @property
    def strange(self) -> bool:
        """Whether something is there, be it a bias or not."""
        return self.driven >= LEAD or self.alone >= LEAD_APART

    @property
    def by_environment(self) -> bool:
        """Whether a claim rests, or fails, on the rows that the environment tells."""
        return self.told or (not self.apart and self.driven > -math.inf)

    @property
    def lead(self) -> float:
        """The evidence that a claim rests on."""
        return self.driven if self.by_environment else self.alone

    @property
    def needed(self) -> float:
        """The evidence that it needs."""
        return LEAD if self.by_environment else LEAD_APART


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """What is found of one reporter, in the units of the reports.

    n : reports made. error : sd of the errors beside a bias. above, above_se : mean of the report minus that
    of the others in its row, and its standard error; NaN without rows that have both. bias : None where the
    model has none. found : whether it may be claimed.
    """

    name: str
    n: int
    error: float
    above: float
    above_se: float
    bias: Bias | None = None
    found: bool = False

    def answered(self, answer: Reporter) -> Reporter:
        """The same reporter as the model that rows are answered with has it: the claim stays as it was."""
        if self.bias is None or answer.bias is None:
            return replace(answer, found=self.found)
        kept = replace(answer.bias, separation=self.bias.separation, by=self.bias.by)
        return replace(answer, bias=kept, found=self.found)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild it from what JSON keeps of its fields."""
        numbers = {name: number(values[name]) for name in ("error", "above", "above_se")}
        bias = values["bias"]
        made = None if bias is None else Bias(**{name: number(value) for name, value in bias.items()})
        found = bool(values["found"])
        return cls(name=str(values["name"]), n=int(values["n"]), bias=made, found=found, **numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the verdict rests on beside the reporters.

    graded : evidence for a difference of the reports that follows the environment gradually. level : whether
    reporters differ by a level in all rows. agreed : share of rows in which all reports made are equal.
    exact : whether exact agreement is a state of its own. known : whether proxies tell of the truth. effect :
    how many rows count as one, of rows that belong together. rows : that have two reports or more, so
    counted.
    """

    graded: float
    level: bool
    agreed: float
    exact: bool
    known: bool
    effect: float
    rows: float

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild it from what JSON keeps of its fields."""
        return cls(
            graded=number(values["graded"]),
            level=bool(values["level"]),
            agreed=number(values["agreed"]),
            exact=bool(values["exact"]),
            known=bool(values["known"]),
            effect=number(values["effect"]),
            rows=number(values["rows"]),
        )


def detectable(reporters: tuple[Reporter, ...], evidence: Evidence) -> float:
    """The size that would have been found in nine tables of ten, in the units of the reports, about."""
    biases = [one.bias for one in reporters if one.bias is not None]
    if not biases:
        return math.nan
    noise = max(bias.size / bias.separation for bias in biases)
    size = max(DETECTABLE * (500.0 / evidence.rows) ** FALLS, LEAST_SIZE)
    told = any(bias.driven > -math.inf for bias in biases)
    return noise * (size if told else size + LEAST_SIZE_APART - LEAST_SIZE)


def verdict_of(reporters: tuple[Reporter, ...], evidence: Evidence) -> Verdict:
    """The verdict: reports that differ otherwise than by errors and a level are not identified."""
    if any(reporter.found for reporter in reporters):
        return "bias found"
    strange = any(reporter.bias.strange for reporter in reporters if reporter.bias is not None)
    return "not identified" if strange or evidence.graded >= GRADED else "no bias found"
