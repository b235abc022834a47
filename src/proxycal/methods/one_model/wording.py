"""What a fitted model says, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.engine.maximise import CEILING
from proxycal.engine.search import family_of

if TYPE_CHECKING:
    from proxycal.engine.families.normal import Normal
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Group

# Effective columns from which on a term is worth a clause.
SAID = 0.5


def model_in_words(family: Normal) -> str:
    """The noise and the sizes of a model.

    >>> from proxycal.engine.families.normal import Normal
    >>> model_in_words(Normal(1, 1)), model_in_words(Normal(2, 0))
    ('normal noise, one size', 'noise of 2 components')
    """
    noise = "normal noise" if family.components == 1 else f"noise of {family.components} components"
    if not family.states:
        return noise
    sizes = "two sizes" if family.states == 2 else "sizes that vary" if family.spread else "one size"
    return f"{noise}, {sizes}"


def law_in_words(fit: Maximum) -> str:
    """What the model says of the bias beyond one size and straight lines of E; "" if nothing."""
    family = family_of(fit)
    clauses = []
    if family.states == 2:
        clauses.append("biased rows have one of two sizes")
    if family.spread:
        clauses.append("sizes vary from row to row")
    sizes = [group.about for group in _there(fit, "size")]
    if sizes:
        clauses.append(f"the size depends on {_listed(sizes)}")
    who = [group.about for group in _there(fit, "who") if not group.about.endswith("straight lines")]
    if who:
        clauses.append(f"who is biased depends on {_listed(who)}")
    return "; ".join(clauses)


def _there(fit: Maximum, predictor: str) -> list[Group]:
    """Terms of a predictor that the data use."""
    return [
        group
        for group, edf, ridge in zip(fit.model.groups, fit.edf, fit.ridges, strict=True)
        if group.predictor == predictor and ridge < CEILING and edf >= SAID
    ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
