"""Curvature and Jacobian of the system, against differences of the likelihood and of the moments."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from proxycal.methods.gradual.curvature import curvature_at, jacobian
from proxycal.methods.gradual.structure import Structure

LOWER = np.tril_indices(4)


def structure_of(d=2, width=3, seed=0):
    rng = np.random.default_rng(seed)
    loadings, gamma = rng.normal(size=(4, d)), rng.normal(size=(d, width))
    return Structure(loadings, rng.uniform(0.5, 1.5, size=4), gamma, rng.normal(size=width), 0.0, True)


def moments_of(values, d, width):
    """(slopes, lower triangle of resid) of the parameters (Lambda, Psi, Gamma, b)."""
    loadings, errors, gamma, bias = np.split(values, np.cumsum([4 * d, 4, d * width]))
    loadings, gamma = loadings.reshape(4, d), gamma.reshape(d, width)
    slopes = loadings @ gamma
    slopes[-1] += bias
    return np.append(slopes.ravel(), (loadings @ loadings.T + np.diag(errors))[LOWER])


@pytest.mark.parametrize("d", [0, 1, 2])
def test_the_jacobian_is_that_of_the_moments(d):
    at = structure_of(d)
    start = np.concatenate([at.loadings.ravel(), at.errors, at.gamma.ravel(), at.bias])
    steps = 1e-5 * np.eye(len(start))
    numeric = [(moments_of(start + h, d, 3) - moments_of(start - h, d, 3)) / 2e-5 for h in steps]
    np.testing.assert_allclose(jacobian(at), np.transpose(numeric), atol=1e-8)


def test_the_curvature_is_that_of_the_likelihood_in_the_moments():
    at = structure_of()
    curvature = curvature_at(at)
    observed = at.implied

    def distance(values):
        """Minus the log-likelihood of a row with the observed moments, if the true ones were these."""
        slopes, lower = values[:12].reshape(4, 3), values[12:]
        resid = np.zeros((4, 4))
        resid[LOWER] = lower
        resid += np.tril(resid, -1).T
        spread = observed + slopes @ slopes.T
        return 0.5 * (np.linalg.slogdet(resid)[1] + np.trace(np.linalg.solve(resid, spread)))

    start, step = np.append(np.zeros(12), observed[LOWER]), 1e-4 * np.eye(22)
    numeric = [
        [distance(start + a + b) - distance(start + a - b) - distance(start - a + b) + distance(start - a - b)
         for b in step]
        for a in step
    ]  # fmt: skip
    whole = block_diag(np.kron(curvature.of_slopes, np.eye(3)), curvature.of_resid)
    np.testing.assert_allclose(whole, np.array(numeric) / 4e-8, atol=2e-5 * np.abs(whole).max())
    values = np.random.default_rng(1).normal(size=(22, 5))
    np.testing.assert_allclose(curvature.times(values), whole @ values, atol=1e-12)
    np.testing.assert_allclose(curvature.weighted, whole @ curvature.jacobian, atol=1e-12)
