"""The examples of the demo and of the app: real tables with a bias of known size.

Neither has a known bias of its own, so one is injected: A ~ Bernoulli(logistic(w'E)), the outcome
standardised, then + or - alpha * A.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.datasets import load_jobs, load_nhanes
from proxycal.testing.simulation import inject_bias

if TYPE_CHECKING:
    from proxycal.testing.simulation import Simulation

EXAMPLE_ALPHA = 1.0
# Adults of the demo: enough to find the bias, few enough for seconds.
ADULTS = 1500


def biased_jobs(alpha: float = EXAMPLE_ALPHA, seed: int = 0) -> Simulation:
    """JOBS, over-reported by `alpha` (in standard deviations of the outcome), and its truth.

    >>> biased_jobs(alpha=2.0).table.shape
    (614, 12)
    """
    jobs = load_jobs()
    return inject_bias(jobs.table, jobs.roles, alpha=alpha, random_state=seed)


def biased_weights(alpha: float = EXAMPLE_ALPHA, seed: int = 0) -> Simulation:
    """Weights of NHANES adults as measured, then under-reported by `alpha` (in standard deviations).

    Waist and blood tell what somebody weighs, so that the answer comes from content; no value repeats.

    >>> sim = biased_weights()
    >>> sim.roles.outcome, len(sim.table)
    ('weight_kg', 1500)
    """
    nhanes = load_nhanes("weight")
    roles = replace(nhanes.roles, outcome="weight_kg")
    table = nhanes.table[list(roles.columns)].sample(ADULTS, random_state=0).reset_index(drop=True)
    return inject_bias(table, roles, alpha=alpha, random_state=seed, direction="under")
