"""A result whose every number is known, so that words and pictures can be checked against it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from proxycal.report.data import (
    EnvironmentColumn,
    EstimateRow,
    GateRow,
    MixtureCurve,
    PowerCurve,
    RefitRow,
    RefutationRow,
    ReportData,
)
from scipy.special import ndtr

from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Callable


def _example(n: int = 400) -> ReportData:
    rng = np.random.default_rng(0)
    hazard = rng.integers(0, 3, n).astype(float)
    biased = rng.random(n) < 0.2 + 0.3 * (hazard / 2)
    mu = rng.normal(10.0, 2.0, n)
    y_obs = mu + 5.0 * biased + rng.normal(0.0, 0.5, n)
    p_biased = np.where(biased, 0.98, 0.03)
    y_cal = y_obs - 5.0 * p_biased
    match = EstimateRow("match", 5.021, 0.05, 4.923, 5.119, "nearest neighbours in content")
    nothing = float("nan")
    return ReportData(
        verdict="bias found",
        method="paper",
        direction="over",
        level=0.95,
        outcome="loss",
        proxies=("built_to_water", "veg_to_water"),
        estimate=match,
        estimates=(
            EstimateRow("exact", nothing, nothing, nothing, nothing, "not part of this method"),
            EstimateRow("moments", 4.87, 0.3, 4.28, 5.46, "first-stage F 41"),
            match,
        ),
        share_biased=float(p_biased.mean()),
        findings=(
            Finding("Do the scores form two groups?", "BIC gain 212", "Yes, clearly.", "", ok=True),
            Finding(
                "Do the proxies see the content?",
                "R2 0.04",
                "Hardly.",
                "Add a proxy of the outcome.",
                ok=False,
            ),
        ),
        y_obs=y_obs,
        y_cal=y_cal,
        y_low=y_cal - 1.0,
        y_high=y_cal + 1.0,
        mu=mu,
        p_biased=p_biased,
        weights=np.ones(n),
        environment=(
            EnvironmentColumn("hazard", hazard, ("flood", "tornado", "wildfire")),
            EnvironmentColumn("income", rng.lognormal(10.5, 0.4, n)),
        ),
        n_fitted=n,
        random_state=7,
        sources={"cluster": "county"},
        settings={"method": "paper", "missing": "raise", "effect": "constant"},
        versions={"proxycal": "0.1.0", "numpy": "2.0"},
        seconds=3.2,
        mixture=_mixture(),
        gate=(
            GateRow("hazard", "tornado", "flood", 1.9, 1.2, 3.0),
            GateRow("hazard", "wildfire", "flood", 4.1, 2.2, 7.6),
            GateRow("income", None, None, 0.97, 0.8, 1.2),
        ),
        refutations=(
            RefutationRow(
                "leak",
                False,
                "with 10% of it in 'built_to_water', alpha changes by -9%",
                "The verdict changes once a proxy carries 25% of the bias.",
                (RefitRow("as fitted", 5.021, 0.05, "bias found"), RefitRow("with 10%", 4.6, 0.1, "no")),
            ),
        ),
        power=PowerCurve(
            alphas=np.array([0.0, 0.5, 2.0]),
            sizes=np.array([0.0, 1.25, 5.0]),
            chance=np.array([0.05, 0.4, 1.0]),
            low=np.array([0.01, 0.2, 0.9]),
            high=np.array([0.2, 0.6, 1.0]),
            detectable=1.5,
            reading="With your data you would detect a bias of 1.5 sd in 90% of cases.",
        ),
    )


def _mixture() -> MixtureCurve:
    """N(0, 0.5) and the same moved by 5, in equal parts."""
    at = np.linspace(-10.0, 20.0, 601)
    return MixtureCurve(at, 0.5 * ndtr(at / 0.5), 0.5 * ndtr((at - 5.0) / 0.5))


@pytest.fixture(scope="session")
def example() -> Callable[..., ReportData]:
    """`example(n=400, field=value, ...)`: the known result with some fields replaced."""

    def make(n: int = 400, **changes: Any) -> ReportData:
        return replace(_example(n), **changes)

    return make
