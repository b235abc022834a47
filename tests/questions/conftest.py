"""Fits that the questions are asked of, made once."""

from __future__ import annotations

import pytest

import proxycal
from proxycal import PaperSettings
from proxycal.model import ProxyCalibrator


@pytest.fixture(scope="session")
def biased() -> ProxyCalibrator:
    """The exact method on 400 rows with a bias of 3."""
    sim = proxycal.simulate(n=400, d_z=2, d_e=3, n_proxies=3, alpha=3.0, random_state=1)
    return ProxyCalibrator(sim.roles, direction="over").fit(sim.table)


@pytest.fixture(scope="session")
def sim():
    """300 rows with a bias of 5."""
    return proxycal.simulate(n=300, d_z=2, d_e=3, alpha=5.0, random_state=1)


@pytest.fixture(scope="session")
def moments(sim) -> ProxyCalibrator:
    """Moments, for questions that must be asked of many refits."""
    return ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)


@pytest.fixture(scope="session")
def paper(sim) -> ProxyCalibrator:
    """The paper's networks, hardly trained: what they answer is not asked here."""
    tiny = PaperSettings(d_z=2, width=8, restarts=1, epochs=2, min_steps=20)
    return ProxyCalibrator(sim.roles, direction="over", method="paper", paper=tiny).fit(sim.table)
