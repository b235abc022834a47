"""Rows of known truth that the tests of the wider comparison share."""

import numpy as np
import pytest
from scipy.special import expit

from proxycal.mixture.wide.compare import Setup
from proxycal.mixture.wide.law import layout
from proxycal.mixture.wide.problem import Problem


def _orthonormal(columns):
    centred = columns - columns.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    return centred @ vectors / np.sqrt(values)


def _draw(report=None, n=800, seed=0, intercepts=None):
    """A setup and the sd of its outcome; report(rng, e, z, t): what is reported for the true outcome t.

    e (n,2) environment, z (n,2) content. The outcome has noise of sd 1 around content.
    """
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.5 * e + 0.8 * rng.normal(size=(n, 2))
    p = z @ [[1.0, 0.3, 0.8], [0.2, 1.0, -0.5]] + 0.3 * rng.normal(size=(n, 3))
    t = z @ [1.5, 1.0] + rng.normal(size=n)
    y = t if report is None else report(rng, e, z, t)
    cluster = None
    if intercepts is not None:
        cluster = np.arange(n) // 10
        y = y + intercepts * rng.normal(size=n // 10)[cluster]
    X = np.column_stack([np.ones(n), _orthonormal(np.column_stack([p, e]))])
    scale = float(y.std())
    y = (y - y.mean()) / scale
    return Setup(y, X, X, p, _orthonormal(e), np.ones(n), cluster=cluster), scale


def _who(rng, e, more=0.0):
    """Who is biased: about a third of the rows, by the environment and what else moves the log odds."""
    return rng.random(len(e)) < expit(-0.8 + 1.2 * e[:, 0] - 0.7 * e[:, 1] + more)


def _problem(n=40, seed=0, q=2, weights=False, ranged=False):
    """Rows that no law fits, for identities that hold anywhere."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    y = rng.normal(size=n) * 1.3
    low = high = None
    if ranged:
        low, high = np.floor(2.0 * y) / 2.0, np.floor(2.0 * y) / 2.0 + 0.5
        low[:3], high[3:6], low[6:9] = -np.inf, np.inf, high[6:9]
        y = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2.0, y)
    w = rng.uniform(0.3, 3.0, size=n) if weights else np.ones(n)
    return Problem(y, X, rng.normal(size=(n, q)), rng.normal(size=n), w, low=low, high=high)


def _theta(law, problem, seed=0):
    """Parameters anywhere, sizes positive."""
    at = layout(law, problem.X.shape[1], problem.E.shape[1])
    theta = 0.4 * np.random.default_rng(seed).normal(size=at.size)
    theta[at.alpha] = 1.0 + 0.7 * np.arange(law.states)
    return theta


@pytest.fixture(scope="session")
def draw():
    """setup, scale = draw(report=None, n=800, seed=0, intercepts=None)."""
    return _draw


@pytest.fixture(scope="session")
def who():
    """biased = who(rng, e, more=0.0)."""
    return _who


@pytest.fixture(scope="session")
def draw_problem():
    """problem = draw_problem(n=40, seed=0, q=2, weights=False, ranged=False)."""
    return _problem


@pytest.fixture(scope="session")
def draw_theta():
    """theta = draw_theta(law, problem, seed=0)."""
    return _theta
