"""Fits of the exact method to worlds of known truth, each made once and shared."""

import functools

import pytest

from proxycal import ProxyCalibrator
from proxycal.experiments.worlds import draw_world


def _fit(world, table=None, roles=None, **arguments):
    model = ProxyCalibrator(roles or world.roles, method="exact", **arguments)
    return model.fit(world.table() if table is None else table)


@functools.cache
def _drawn(kind, n, alpha_sd, seed):
    world = draw_world(kind, n, alpha_sd, seed)
    return world, _fit(world)


@pytest.fixture(scope="session")
def fit():
    """model = fit(world, table=None, roles=None, **arguments of ProxyCalibrator)."""
    return _fit


@pytest.fixture(scope="session")
def drawn():
    """world, model = drawn(kind, n, alpha_sd, seed)."""
    return _drawn
