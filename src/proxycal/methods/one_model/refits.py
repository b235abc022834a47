"""The error of the size by refits under random weights of the rows, or of whole clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.uncertainty import bootstrap_weights
from proxycal.engine.inference import sizes
from proxycal.engine.maximise import maximise

if TYPE_CHECKING:
    from proxycal.engine.search import Comparison
    from proxycal.methods.one_model.compare import Compared

DRAWS = 200
# Rounds of a refit: it starts at the fit of all rows.
ROUNDS = 6


def refitted_error(compared: Compared, comparison: Comparison, seed: int) -> float:
    """Standard deviation of the mean size over reweighted refits, in the engine's units."""
    fit = comparison.biased.awake()
    sample = compared.sample(fit)
    found = []
    for weights in bootstrap_weights(compared.weights, compared.clusters, DRAWS, seed):
        drawn = replace(sample, weights=weights)
        again = maximise(fit.model, drawn, fit.theta, fit.ridges, ROUNDS)
        if again is not None:
            found.append(sizes(again, drawn).alpha)
    return float(np.std(found, ddof=1)) if len(found) > 1 else float("nan")
