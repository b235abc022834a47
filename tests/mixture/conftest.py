"""Small random rows and models that the tests of the mixture share."""

import numpy as np
import pytest

from proxycal.mixture.laws import Params, Rows


def _orthonormal(columns):
    centred = columns - columns.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    return np.column_stack([np.ones(len(columns)), centred @ vectors / np.sqrt(values)])


def _rows(n=60, seed=0, p=3, q=3, levels=1, weights=False):
    """Rows with a shift of 1.5 for those that the gate picks: X (n,p), G (n,q), D ones or one-hot levels."""
    rng = np.random.default_rng(seed)
    X = _orthonormal(rng.normal(size=(n, p - 1)))
    G = _orthonormal(rng.normal(size=(n, q - 1)))
    codes = np.arange(n) % levels
    D = (codes[:, None] == np.arange(levels)).astype(float)
    a = rng.random(n) < 1.0 / (1.0 + np.exp(-G[:, 1]))
    content = X @ np.r_[0.2, np.full(p - 1, 0.5)] + 0.5 * rng.normal(size=n)
    shift = np.where(a, 1.5 + 0.3 * codes, 0.0)
    y = content + shift
    w = rng.uniform(0.3, 3.0, size=n) if weights else np.ones(n)
    return Rows(y, X, G, D, w)


def _params(shape, rows, B=1, seed=0):
    """Parameters of B models, anywhere: not at a maximum, with every constraint of the shape kept."""
    rng = np.random.default_rng(seed)
    J, p, q, L = shape.J, rows.X.shape[1], rows.G.shape[1], rows.D.shape[1]
    beta = 0.6 * rng.normal(size=(B, J, p))
    if shape.means == "shared":
        beta[:, :, 1:] = beta[:, :1, 1:]
    if shape.means == "atom":
        beta[:, -1, 1:] = 0.0
    omega = 0.5 * rng.normal(size=(B, J, p))
    omega[:, 0] = 0.0
    if shape.weights == "constant":
        omega[:, :, 1:] = 0.0
    scale = 0.3 * rng.normal(size=(B, q)) * (shape.scale == "environment")
    scale[:, 0] = 0.0
    log_sigma = np.log(0.6) + 0.2 * rng.normal(size=(B, J))
    if not shape.shift:
        return Params(beta, log_sigma, omega, scale)
    gamma = rng.normal(size=(B, q))
    if shape.gate == "constant":
        gamma[:, 1:] = 0.0
    return Params(beta, log_sigma, omega, scale, 1.2 + 0.3 * rng.normal(size=(B, L)), gamma)


@pytest.fixture(scope="session")
def draw_rows():
    """rows = draw_rows(n=60, seed=0, p=3, q=3, levels=1, weights=False)."""
    return _rows


@pytest.fixture(scope="session")
def draw_params():
    """params = draw_params(shape, rows, B=1, seed=0)."""
    return _params
