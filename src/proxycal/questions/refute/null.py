"""Does the method claim a bias in tables drawn without one? How often, and how large is it.

The outcome is drawn from the best model without a bias, of whatever shape explains these rows best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import SettingsError
from proxycal.methods.exact.record import data_of
from proxycal.methods.registry import METHODS
from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Spec
from proxycal.mixture.laws import log_softmax
from proxycal.questions.refute.refutation import BIAS_FOUND, MOSTLY, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from proxycal.mixture.designs import Data
    from proxycal.mixture.laws import Shape
    from proxycal.questions.refits import KeptFit, Refit, Trial
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Once a bias is claimed, the best model without one is mostly that bias in disguise.
LEFT_OUT = (
    "The tables come from the best model that cannot imitate a bias. Models whose components depend on the "
    "environment can, and were left out: this test does not rule them out."
)


# --- the tables ---


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


def trials(kept: KeptFit, repetitions: int) -> list[Trial]:
    """The rows with outcomes drawn from the null model."""
    if METHODS[kept.settings.method].family != "normal":
        raise SettingsError(
            f"refute('null') does not apply to method='{kept.settings.method}': its tables are of measured "
            "numbers; use 'placebo', 'drop-proxy' or 'seed'"
        )
    if kept.fit.details.claim:
        raise SettingsError(
            f"refute('null') does not apply to method='{kept.settings.method}': its tables let the "
            "environment act on the true outcome, which this method rules out; use 'placebo', "
            "'drop-proxy' or 'seed'"
        )
    if kept.fit.details.by_validation:
        raise SettingsError(
            f"refute('null') does not apply to method='{kept.settings.method}': validated rows show the "
            "errors themselves, and drawn tables have none; use 'placebo', 'drop-proxy' or 'seed'"
        )
    null = fit_null(kept.arrays, kept.settings, kept.fit.verdict == BIAS_FOUND)
    unvalidated = replace(kept.arrays, truth=None)
    return [
        kept.trial(f"drawn without bias, {i + 1}", replace(unvalidated, y=null.draw(rng)))
        for i, rng in enumerate(kept.streams(repetitions))
    ]


def fit_null(arrays: Arrays, settings: Settings, claimed: bool) -> NullModel:
    """The best model without a bias; every method is questioned with the same one.

    claimed : whether a bias was. The best null is then mostly that bias in disguise, components whose weights
    follow E, and tables drawn from it do hold a bias; so the best of the others is taken.
    """
    sign = settings.sign
    data = data_of(replace(arrays, truth=None), sign)
    compared = fit_exact(data, settings.effect, seed=settings.random_state)
    nulls = [candidate for candidate in compared.candidates if not candidate.claims_bias]
    if claimed:
        best = next(candidate for candidate in nulls if not _may_mimic(candidate.model.shape))
        return NullModel(Spec(best.model.shape, best.frame, best.model.params), data, best.view.tau, sign)
    # A shift without a gate comes from the models with a bias, and shares their clusters.
    cluster_sd = compared.cluster_sd if compared.null.shape.shift else nulls[0].view.tau
    return NullModel(compared.null, data, cluster_sd, sign)


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


# --- the reading ---


def read(base: Refit, refits: Sequence[Refit]) -> Reading:
    """p-value of the result among tables drawn without a bias, and false alarms in these."""
    n = len(refits)
    by_gain = math.isfinite(base.gain)
    # A method that gives no size sees no bias; a fit that failed (its note says why) counts against.
    sizes = [0.0 if math.isnan(refit.alpha) and not refit.note else refit.alpha for refit in refits]
    p = p_value(base.gain, [refit.gain for refit in refits]) if by_gain else p_value(base.alpha, sizes)
    alarms = sum(refit.verdict == BIAS_FOUND for refit in refits)
    statistic = (
        f"p = {p:.2g} for {'the BIC gain of a bias' if by_gain else 'alpha'}; "
        f"a bias was found in {alarms} of {n} tables drawn without one"
    )
    # One alarm proves nothing, however few the tables.
    calm = alarms <= max(1.0, (1.0 - MOSTLY) * n)
    typical = float(np.nanmedian(sizes)) if np.isfinite(sizes).any() else math.nan
    noisy = (
        f"A bias was found in {alarms} of {n} tables drawn without one (median alpha {typical:.3g}): "
        "do not trust the verdict of this method on tables like this one."
    )
    if base.verdict != BIAS_FOUND:
        quiet = (
            f"No bias was found in the table; one was found in {alarms} of {n} tables drawn without a bias."
        )
        return Reading(statistic, p, quiet if calm else noisy, calm)
    beyond = p <= max(0.05, 1.0 / (n + 1))
    if not beyond:
        words = (
            f"Tables drawn without a bias show as much (p = {p:.2g}, {n} tables): "
            "do not act on this estimate."
        )
    elif not calm:
        words = noisy
    else:
        words = f"Tables drawn without a bias do not show as much (p = {p:.2g}, {n} tables)."
    return Reading(statistic, p, f"{words} {LEFT_OUT}", beyond and calm)


def p_value(seen: float, drawn: Sequence[float]) -> float:
    """Share of draws, the table itself among them, that reach what was seen.

    >>> p_value(3.0, [1.0, 2.0, 5.0])
    0.5
    """
    return (1 + sum(not value < seen for value in drawn)) / (1 + len(drawn))
