"""A fit whose every number is known, so that words and pictures can be checked against it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr

from proxycal.effect.grouped import Totals
from proxycal.methods.paper.settings import PaperSettings
from proxycal.questions.power import Power, PowerPoint
from proxycal.questions.refits import Refit
from proxycal.questions.refute.refutation import Refutation
from proxycal.result import (
    Curve,
    Details,
    EnvironmentColumn,
    Estimate,
    Finding,
    Fit,
    FittedRows,
    GateTerm,
    Prediction,
)
from proxycal.settings import Settings
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class ShownFit:
    """As much of a method's fit as a page reads."""

    details: Details
    findings: tuple[Finding, ...] = ()


def _example(n: int = 400) -> Fit:
    rng = np.random.default_rng(0)
    hazard = rng.integers(0, 3, n).astype(float)
    biased = rng.random(n) < 0.2 + 0.3 * (hazard / 2)
    mu = rng.normal(10.0, 2.0, n)
    y_obs = mu + 5.0 * biased + rng.normal(0.0, 0.5, n)
    p_biased = np.where(biased, 0.98, 0.03)
    y_cal = y_obs - 5.0 * p_biased
    match = Estimate("match", 5.021, 0.05, 4.923, 5.119, "nearest neighbours in content")
    predicted = Prediction(
        y_cal=y_cal,
        y_cal_low=y_cal - 1.0,
        y_cal_high=y_cal + 1.0,
        p_biased=p_biased,
        shift=5.0 * p_biased,
        mu=mu,
        z=mu[:, None],
        a=p_biased,
    )
    environment = (
        EnvironmentColumn("hazard", hazard, ("flood", "tornado", "wildfire")),
        EnvironmentColumn("income", rng.lognormal(10.5, 0.4, n)),
    )
    said = (
        Finding("Do the scores form two groups?", "BIC gain 212", "Yes, clearly.", "", ok=True),
        Finding(
            "Do the proxies see the content?",
            "R2 0.04",
            "Hardly.",
            "Add a proxy of the outcome.",
            ok=False,
        ),
    )
    return Fit(
        verdict="bias found",
        settings=Settings(
            direction="over", method="paper", random_state=7, sections={"paper": PaperSettings()}
        ),
        roles=Roles("loss", ("built_to_water", "veg_to_water"), ("hazard", "income"), cluster="county"),
        estimate=match,
        estimates=(
            Estimate.missing("exact", "not part of this method"),
            Estimate("moments", 4.87, 0.3, 4.28, 5.46, "first-stage F 41"),
            match,
        ),
        share_biased=float(p_biased.mean()),
        findings=said,
        n=n,
        versions={"proxycal": "0.1.0", "numpy": "2.0"},
        encoder=None,
        method_fit=ShownFit(Details(curve=_mixture(), gate=_gate()), said),
        rows=FittedRows(y_obs, np.ones(n), predicted, environment),
        labels=np.arange(n).astype(str),
        training=None,
        support=None,
        totals=_totals(),
        questions={"leak": _leak(), "power": _power()},
    )


def _totals() -> tuple[Totals, ...]:
    rows, nothing = np.array([300, 100, 400]), np.zeros(3)
    reported, calibrated = np.array([900.0, 100.0, 1000.0]), np.array([990.0, 150.0, 1140.0])
    by = Totals(
        "hazard", "total", ("flood", "fire", "overall"), rows, reported, calibrated,
        calibrated - 20.0, calibrated + 30.0, np.array([10.0, 50.0, 14.0]) + nothing,
        np.array([2, 1, 3]), np.array([5.0, 2.5, 7.5]),
    )  # fmt: skip
    last = {name: values[-1:] for name, values in by.columns().items()}
    return Totals(None, "total", ("overall",), **last), by


def _gate() -> tuple[GateTerm, ...]:
    return (
        GateTerm("hazard", "tornado", "flood", 1.9, 1.2, 3.0),
        GateTerm("hazard", "wildfire", "flood", 4.1, 2.2, 7.6),
        GateTerm("income", None, None, 0.97, 0.8, 1.2),
    )


def _refutation(kind: str, ok: bool, statistic: str, reading: str, changes: dict[str, str]) -> Refutation:
    """A refutation with a refit per change, each of alpha 4.6 and with the verdict given."""
    refits = tuple(
        Refit(change, np.nan, 4.6, 0.1, 4.4, 4.8, 40.0, 0.5, verdict) for change, verdict in changes.items()
    )
    return Refutation(kind, refits, statistic, float("nan"), reading, ok)


@pytest.fixture(scope="session")
def refutation() -> Callable[..., Refutation]:
    """`refutation(kind, ok, statistic, reading, {change: verdict})`."""
    return _refutation


def _leak() -> Refutation:
    return _refutation(
        "leak",
        False,
        "with 10% of it in 'built_to_water', alpha changes by -9%",
        "The verdict changes once a proxy carries 25% of the bias.",
        {"as fitted": "bias found", "with 10%": "no"},
    )


def _power() -> Power:
    points = (
        _point(0.0, 0.05, 0.01, 0.2),
        _point(0.5, 0.4, 0.2, 0.6),
        _point(2.0, 1.0, 0.9, 1.0),
    )
    return Power(points, 1.5, 2.5, "With your data you would detect a bias of 1.5 sd in 90% of cases.")


def _point(alpha: float, chance: float, low: float, high: float) -> PowerPoint:
    return PowerPoint(alpha, chance, low, high, alpha, 0.1, 0.95, 20)


def _mixture() -> Curve:
    """N(0, 0.5) and the same moved by 5, in equal parts."""
    at = np.linspace(-10.0, 20.0, 601)
    return Curve(at, 0.5 * ndtr(at / 0.5), 0.5 * ndtr((at - 5.0) / 0.5))


def changed(fit: Fit, **changes: Any) -> Fit:
    """The fit with fields of itself or of one of its parts replaced, each by its own name."""
    for name, value in changes.items():
        if name in {field.name for field in fields(Fit)}:
            fit = replace(fit, **{name: value})
            continue
        part = next(part for part in ("settings", "rows", "roles") if hasattr(getattr(fit, part), name))
        fit = replace(fit, **{part: replace(getattr(fit, part), **{name: value})})
    return fit


@pytest.fixture(scope="session")
def example() -> Callable[..., Fit]:
    """`example(n=400, field=value, ...)`: the known fit with some fields replaced; `of` rows in its fit."""

    def make(n: int = 400, of: int | None = None, **changes: Any) -> Fit:
        fit = _example(n)
        fit = fit if of is None else replace(fit, n=of)
        detailed = {field.name for field in fields(Details)}
        details = {name: changes.pop(name) for name in detailed & set(changes)}
        predicted = {name: changes.pop(name) for name in ("mu", "p_biased") if name in changes}
        fit = replace(
            fit, method_fit=replace(fit.method_fit, details=replace(fit.method_fit.details, **details))
        )
        rows = replace(fit.rows, predicted=replace(fit.rows.predicted, **predicted))
        if "environment" in changes:
            names = tuple(column.name for column in changes["environment"])
            fit = replace(fit, roles=replace(fit.roles, environment=names))
        return changed(replace(fit, rows=rows), **changes)

    return make
