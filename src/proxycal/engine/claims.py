"""The few rules of a claim, each with what it is for.

Measured on the worlds of `proxycal bench worlds` with tuning seeds; benchmarks/one-model.md has the counts:
false claims that a rule stops, and true ones that it costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxycal.engine.inference import Sizes


@dataclass(frozen=True, slots=True)
class Rules:
    """Every number that decides a claim.

    lead : evidence by which a bias must beat every model without one: odds of 3,000 to 1.
    size : in sds of the noise; a smaller one is a shape of the noise.
    least_share, most_share : a rarer second state is a tail, and one of nearly all rows a tail of the rest.
    alone : part of who is biased that the environment decides; above, a bias is an effect of the
    environment on the truth.
    """

    lead: float = 8.0
    size: float = 1.15
    least_share: float = 0.03
    most_share: float = 0.93
    alone: float = 0.85


RULES = Rules()


def broken(lead: float, found: Sizes, rules: Rules = RULES) -> tuple[str, ...]:
    """The rules that stand against a claim, by name; none where the bias may be claimed.

    >>> from proxycal.engine.inference import Sizes
    >>> broken(20.0, Sizes(alpha=3.0, se=0.1, noise=1.0, share=0.3, alone=0.2))
    ()
    >>> broken(2.0, Sizes(alpha=0.9, se=0.4, noise=1.0, share=0.3, alone=0.2))
    ('lead', 'size')
    """
    kept = {
        "lead": lead >= rules.lead,
        "size": found.separation >= rules.size,
        "share": rules.least_share <= found.share <= rules.most_share,
        "alone": found.alone <= rules.alone,
    }
    return tuple(name for name, holds in kept.items() if not holds)
