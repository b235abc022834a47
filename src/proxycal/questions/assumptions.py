"""The further checks of a finished fit, put to its own rows: what `ProxyCalibrator.check` adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.checks.instruments import moved_proxies
from proxycal.methods.checks.outcome import direct_environment, gap_in_content, noise_shape
from proxycal.methods.exact.findings import unclaimed
from proxycal.methods.parts import outcome_of
from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Data
from proxycal.questions.assumption_tests import (
    agreement_of_models,
    even_noise,
    exclusion,
    leverage,
    multiplicity,
)

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.result import Finding, Prediction
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def further_findings(
    fit: MethodFit, arrays: Arrays, settings: Settings, before: tuple[Finding, ...]
) -> list[Finding]:
    """Findings that take more work than a fit should; before: those already made."""
    y, made = outcome_of(arrays), fit.predict(arrays)
    design = (arrays.weights, arrays.cluster)
    found = [
        exclusion(
            arrays.P,
            arrays.proxy_names,
            arrays.E,
            made.p_biased,
            _own_bias(arrays, settings),
            moved_proxies(arrays.P, arrays.E, *design),
            *design,
        ),
        even_noise(_noise(y, made), arrays.E, arrays.weights, fit.details.models_noise, arrays.cluster),
        _direct(fit, y, made, arrays),
        noise_shape(
            y - made.mu, made.p_biased, _bias(made), arrays.weights, fit.details.models_shape, arrays.cluster
        ),
        gap_in_content(made.mu, arrays.E, arrays.weights),
        leverage(y, arrays.P, arrays.E, made.p_biased, *design),
    ]
    if fit.details.sizes and fit.verdict == "bias found":
        found.append(agreement_of_models(fit.details.sizes, fit.estimate.se))
    if fit.verdict == "no bias found":
        found = [unclaimed(one) for one in found]
    return [*found, multiplicity([*before, *found])]


def _noise(y: np.ndarray, made: Prediction) -> np.ndarray:
    """E[(y - mu - bias)^2 | data] of each row: calibration takes off p * bias."""
    p = made.p_biased
    return (1.0 - p) * (y - made.mu) ** 2 + p * (y - made.mu - _bias(made)) ** 2


def _bias(made: Prediction) -> np.ndarray:
    """The bias that each row has if it has one, signed."""
    return made.shift / made.p_biased.clip(1e-12)


def _direct(fit: MethodFit, y: np.ndarray, made: Prediction, arrays: Arrays) -> Finding:
    """Where no bias was claimed, what was reported is taken as it is."""
    claimed = fit.verdict == "bias found"
    return direct_environment(
        y - made.shift if claimed else y,
        arrays.P,
        arrays.E,
        made.p_biased,
        fit.estimate.alpha if claimed else 0.0,
        fit.estimate.se if claimed else 0.0,
        arrays.weights,
        fit.details.models_direct,
        arrays.cluster,
    )


def _own_bias(arrays: Arrays, settings: Settings) -> np.ndarray:
    """BIC gain of a bias in each numeric proxy, with the proxies of other columns as its own, (p,).

    Where normal noise shows no sign of one, the race of other shapes, which take it for noise, is not run.
    """
    gains = np.full(arrays.P.shape[1], np.nan)
    for k, source in enumerate(arrays.proxy_source):
        others = [j for j, other in enumerate(arrays.proxy_source) if other != source]
        if arrays.proxy_categorical[k] or not others:
            continue
        numeric = [not arrays.proxy_categorical[j] for j in others]
        curved = np.array([*numeric, *(not flag for flag in arrays.categorical)])
        one = Data(arrays.P[:, k], arrays.P[:, others], arrays.E, arrays.weights, curved, arrays.cluster)
        gains[k] = fit_exact(one, max_j=1, seed=settings.random_state).gain
        if gains[k] > 0.0:
            gains[k] = fit_exact(one, seed=settings.random_state).gain
    return gains
