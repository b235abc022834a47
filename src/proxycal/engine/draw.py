"""Outcomes drawn from a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.likelihood import predictors
from proxycal.engine.search import family_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from proxycal.engine.likelihood import Sample
    from proxycal.engine.maximise import Maximum


def draw_unbiased(fit: Maximum, sample: Sample, rng: Generator) -> np.ndarray:
    """One outcome (n,) of each row by a model, as it would be without a bias; clusters are drawn anew."""
    eta = predictors(fit.model, sample, fit.theta)
    if sample.units is not None and len(fit.unit_ridges):
        own = fit.theta.units[sample.units, 0]
        eta[0] += rng.normal(size=sample.unit_count)[sample.units] / np.sqrt(fit.unit_ridges[0]) - own
    parts = family_of(fit).states_of(eta)[0]
    chance = np.cumsum([share for share, _, _ in parts], axis=0)
    which = (rng.random(sample.n) * chance[-1] > chance[:-1]).sum(axis=0)
    rows = np.arange(sample.n)
    centre = np.stack([centre for _, centre, _ in parts])[which, rows]
    variance = np.stack([variance for _, _, variance in parts])[which, rows]
    return np.asarray(centre + np.sqrt(variance) * rng.normal(size=sample.n))
