"""The example of the demo and of the app: a real table with a bias of known size.

Weights from scales have no reporting bias, so one is added: who under-reports is drawn by
A ~ Bernoulli(logistic(w'E)).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.datasets import load_nhanes
from proxycal.testing.simulation import inject_bias

if TYPE_CHECKING:
    from proxycal.testing.simulation import Simulation

# Kilograms, and adults: enough to find the bias whoever is drawn to be biased, few enough for seconds.
EXAMPLE_ALPHA = 20.0
ADULTS = 2000


def biased_weights(alpha: float = EXAMPLE_ALPHA, seed: int = 0) -> Simulation:
    """Weights of NHANES adults as measured, some of them then lowered by `alpha` kilograms.

    Waist and blood tell what somebody weighs, so that the answer comes from content; no value repeats.

    >>> sim = biased_weights()
    >>> sim.roles.outcome, len(sim.table)
    ('weight_kg', 2000)
    """
    nhanes = load_nhanes("weight")
    roles = replace(nhanes.roles, outcome="weight_kg")
    table = nhanes.table[list(roles.columns)].sample(ADULTS, random_state=0).reset_index(drop=True)
    return inject_bias(table, roles, alpha=alpha, random_state=seed, direction="under", standardise=False)
