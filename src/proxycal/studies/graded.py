"""What the gradual method says of a table that a study fits by another method, for the page of the study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.errors import ProxycalError, ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.studies.tables import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from proxycal.result import Estimate
    from proxycal.table.roles import Roles

_PREFIX = "gradual, "
# The topic of the finding that states the claim and its condition.
_CLAIM = "beyond-content"
# Topics of findings that leave the answer standing and doubt its intervals.
_AGAINST = ("form", "few-clusters")
_NO_ANSWER = float("nan")


@dataclass(frozen=True, slots=True)
class Graded:
    """The answer of `method="gradual"` to one table.

    alpha, low, high : mean size over the rows that are not the reference, where an answer is given
    reading : what the claim rests on and how strong a violation would undo it, or why there is no answer
    along : the bias by level, or its change from the 10th to the 90th percentile of a column
    cautions : findings that speak against the intervals of an answer
    claim : what a size would be relative to and rest on, also where none is given; empty without an estimate
    change_pct : calibrated over reported total, in percent; NaN where it was not asked for
    """

    verdict: str
    alpha: float
    low: float
    high: float
    reading: str
    along: tuple[Estimate, ...]
    change_pct: float = _NO_ANSWER
    cautions: tuple[str, ...] = ()
    claim: str = ""

    @property
    def size(self) -> str:
        """Mean size with its interval; a dash where there is no answer."""
        if self.verdict == "not identified" or not np.isfinite(self.alpha):
            return "-"
        return f"{self.alpha:.2f} ({self.low:.2f} to {self.high:.2f})"


def ask_graded(table: pd.DataFrame, roles: Roles, with_total: bool = False, **settings: Any) -> Graded:
    """Fit the gradual method. settings : of `ProxyCalibrator`, direction among them."""
    try:
        with warnings.catch_warnings():
            # What a warning would say stands in the verdict and its reading.
            warnings.simplefilter("ignore", ProxycalWarning)
            model = ProxyCalibrator(roles, method="gradual", **settings).fit(table)
            change = float(model.totals(table)["change_pct"].iloc[0]) if with_total else _NO_ANSWER
    except ProxycalError as error:
        return Graded("not identified", _NO_ANSWER, _NO_ANSWER, _NO_ANSWER, str(error), ())
    refused = model.verdict_ == "not identified"
    against = tuple(one.reading for one in model.findings_ if not one.ok and one.topic in _AGAINST)
    claims = [one.reading for one in model.findings_ if one.topic == _CLAIM]
    reading = (
        next(one.reading for one in model.result_.method_fit.findings if not one.ok) if refused else claims[0]
    )
    low, high = model.alpha_interval_
    along = tuple(row for row in model.result_.estimates if row.name.startswith(_PREFIX))
    return Graded(
        model.verdict_,
        model.alpha_,
        low,
        high,
        reading,
        along,
        change,
        () if refused else against,
        model.result_.method_fit.details.claim,
    )


def why(model: ProxyCalibrator) -> str:
    """What decided a verdict of the exact method: how models compare, and whatever forbids a claim."""
    decided = [one for one in model.findings_ if one.topic == "comparison"]
    decided += [one for one in model.findings_ if not one.ok and one.topic != "comparison"]
    return " ".join(one.reading for one in decided)


def beside_grid(rows: Sequence[tuple[str, str, Graded]], title: str) -> Grid:
    """A row for each table: its label, the verdict of the exact method, and what the gradual method says."""
    cells = [(label, exact, own.verdict, own.size, own.reading) for label, exact, own in rows]
    names = ("asked how", "exact", "gradual", "mean size, log dollars (95%)", "what it rests on, or why not")
    return Grid("gradual", title, tuple(("", name) for name in names), tuple(cells))


def along_grid(graded: Graded, title: str) -> Grid:
    """The bias along each environment column."""
    cells = []
    for row in graded.along:
        clear = "yes" if row.low > 0.0 or row.high < 0.0 else "no"
        size = f"{row.alpha:+.2f} ({row.low:+.2f} to {row.high:+.2f})"
        cells.append((row.name.removeprefix(_PREFIX), size, clear))
    names = ("column", "under-reporting changes by, log dollars (95%)", "interval excludes 0")
    return Grid("along", title, tuple(("", name) for name in names), tuple(cells))


def in_words(graded: Graded) -> list[str]:
    """What can be said about counties, under which assumption, and what would undo it: points of a list."""
    condition = (
        "The county acts on the true loss only through content, that is, through what the proxies see."
    )
    if graded.verdict == "not identified":
        held_back = (
            f"There is no answer to undo. A size, had one been given, would hold {graded.claim}."
            if graded.claim
            else "There is no answer to undo."
        )
        return [
            f"**About counties:** nothing. The method refuses: {graded.reading}",
            f"**Under which assumption it would speak:** {condition}",
            f"**What would undo it:** {held_back}",
        ]
    if graded.verdict == "no bias found":
        return [
            f"**About counties:** no bias that grades with them is found. {graded.reading}",
            f"**Under which assumption:** {condition}",
        ]
    cautions = [f"**Its intervals:** {caution}" for caution in graded.cautions]
    return [
        f"**About counties, taken at its word:** losses are under-reported by {graded.alpha:.2f} log points "
        f"on average (95% interval {graded.low:.2f} to {graded.high:.2f}), a factor of "
        f"{np.exp(graded.alpha):.1f}: {_where(graded)}.",
        f"**Under which assumption, and what would undo it:** {condition} {graded.reading}",
        *cautions,
    ]


def _where(graded: Graded) -> str:
    """The columns along which the bias changes beyond its interval."""
    clear = [row for row in graded.along if row.low > 0.0 or row.high < 0.0]
    listed = []
    for row in clear:
        name, side = row.name.removeprefix(_PREFIX), "more" if row.alpha > 0.0 else "less"
        size = f"by {abs(row.alpha):.1f} log points"
        listed.append(
            f"{side} under-reporting at {name}, {size} beside the commonest level"
            if "=" in name
            else f"{side} under-reporting where {name} is high, {size} from its 10th to its 90th percentile"
        )
    return "; ".join(listed) or "no single column stands out"
