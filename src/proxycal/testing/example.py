"""The example of the demo and of the app: the real table JOBS with a bias of known size.

JOBS has no known bias of its own, so one is injected: A ~ Bernoulli(logistic(w'E)), the outcome standardised,
then + alpha * A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.datasets import load_jobs
from proxycal.testing.simulation import inject_bias

if TYPE_CHECKING:
    from proxycal.testing.simulation import Simulation

EXAMPLE_ALPHA = 1.0


def biased_jobs(alpha: float = EXAMPLE_ALPHA, seed: int = 0) -> Simulation:
    """JOBS with a bias of size `alpha` (in standard deviations of the outcome), and its truth.

    >>> biased_jobs(alpha=2.0).table.shape
    (614, 12)
    """
    jobs = load_jobs()
    return inject_bias(jobs.table, jobs.roles, alpha=alpha, random_state=seed)
