"""What a bias of the one model must be like to be claimed; cut-offs of checks are the exact method's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """What a bias must be like to be claimed, beside its evidence."""

    # Evidence by which a bias must lead every model without one: odds of 3,000 to 1.
    lead: float = 8.0
    # Evidence from which on a bias that does not lead is a hint of one: odds of 20 to 1.
    hint: float = 3.0
    # In sds of the noise; a smaller one is a shape of the noise.
    size: float = 1.15
    # A rarer second state is a tail, and one of nearly all rows a tail of the rest.
    least_share: float = 0.03
    most_share: float = 0.93
    # Part of who is biased that the environment decides before the outcome is seen; above, a bias cannot be
    # told from an effect of the environment on the true outcome.
    alone: float = 0.85
    # A standard error above this part of the size leaves open whether it is twice or half of what is said.
    vague: float = 0.25


RULES = Rules()
