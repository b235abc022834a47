"""Outcomes drawn from the best model without a bias, of whatever shape won the race on these rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.exact.record import data_of
from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Spec
from proxycal.mixture.laws import log_softmax

if TYPE_CHECKING:
    from numpy.random import Generator

    from proxycal.mixture.designs import Data
    from proxycal.mixture.laws import Shape
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


@dataclass(frozen=True, slots=True)
class NullModel:
    """The fitted model without a bias and the rows it speaks of; sign : +1 over-, -1 under-reporting."""

    spec: Spec
    data: Data
    cluster_sd: float
    sign: float

    def draw(self, rng: Generator) -> np.ndarray:
        """One outcome per row, (n,), in the outcome's own units."""
        return self.sign * draw_outcome(self.spec, self.data, self.cluster_sd, rng)


def fit_null(arrays: Arrays, settings: Settings, claimed: bool) -> NullModel:
    """The null side of the race; every method is questioned with the same one.

    claimed : whether a bias was. The best null then mostly is that bias in disguise, components whose weights
    follow E, and tables drawn from it do hold a bias; so the best of the others is taken.
    """
    sign = settings.sign
    data = data_of(replace(arrays, truth=None), sign)
    found = fit_exact(data, settings.effect, seed=settings.random_state)
    nulls = [r for r in found.runners if not r.entrant.shape.claims_bias]
    if claimed:
        best = next(r for r in nulls if not _may_mimic(r.entrant.shape))
        return NullModel(Spec(best.entrant.shape, best.frame, best.entrant.params), data, best.side.tau, sign)
    # A shift without a gate comes from the side with a bias, and shares its clusters.
    cluster_sd = found.cluster_sd if found.null.shape.shift else nulls[0].side.tau
    return NullModel(found.null, data, cluster_sd, sign)


def _may_mimic(shape: Shape) -> bool:
    """Two components or more, besides an atom, that E can choose between."""
    return shape.weights == "content" and shape.J - (shape.means == "atom") > 1


def draw_outcome(spec: Spec, data: Data, cluster_sd: float, rng: Generator) -> np.ndarray:
    """Draw y ~ sum_j w_j(x) N(x' beta_j, (sigma_j exp(G h))^2), moved for some if the null has two humps."""
    rows, params, shape = spec.frame.rows(data), spec.params, spec.shape
    n = len(data.y)
    scores = params.omega @ rows.X.T if shape.weights == "content" else params.omega[:, :, :1]
    chances = np.broadcast_to(np.exp(log_softmax(scores))[0], (shape.J, n))
    which = (rng.random(n) > np.cumsum(chances, axis=0)[:-1]).sum(axis=0)
    mean = (params.beta[0] @ rows.X.T)[which, np.arange(n)]
    sd = np.exp(params.log_sigma[0])[which]
    if shape.scale == "environment":
        sd = sd * np.exp(params.scale[0] @ rows.G.T)
    y = mean + sd * rng.normal(size=n)
    if shape.shift:
        chance = 1.0 / (1.0 + np.exp(-(rows.G @ params.gamma[0])))
        y = y + (rng.random(n) < chance) * (rows.D @ params.a[0])
    y = y * spec.frame.scale + spec.frame.centre
    if data.cluster is not None and cluster_sd > 0.0:
        y = y + cluster_sd * rng.normal(size=int(data.cluster.max()) + 1)[data.cluster]
    return np.asarray(y)
