import numpy as np
import pytest

from proxycal.engine.curvature import Bordered


def example(k=4, units=5, r=2):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(k + units * r, 60))
    whole = root @ root.T
    # Units are independent of each other, given the dense part.
    for u in range(units):
        for v in range(units):
            if u != v:
                whole[k + u * r : k + (u + 1) * r, k + v * r : k + (v + 1) * r] = 0.0
    whole += 20.0 * np.eye(len(whole))
    D = np.stack([whole[k + u * r : k + (u + 1) * r, k + u * r : k + (u + 1) * r] for u in range(units)])
    return whole, Bordered(whole[:k, :k], whole[:k, k:].reshape(k, units, r), D)


def test_the_bordered_system_is_the_whole_matrix():
    whole, bordered = example()
    factored = bordered.factored()
    inverse = np.linalg.inv(whole)
    dense, units = factored.solve(np.arange(4.0), np.ones((5, 2)))
    np.testing.assert_allclose(np.r_[dense, units.ravel()], inverse @ np.r_[np.arange(4.0), np.ones(10)])
    np.testing.assert_allclose(factored.dense, inverse[:4, :4])
    blocks = [inverse[4 + 2 * u : 6 + 2 * u, 4 + 2 * u : 6 + 2 * u] for u in range(5)]
    np.testing.assert_allclose(factored.units(factored.dense), blocks)
    assert factored.logdet == pytest.approx(np.linalg.slogdet(whole)[1])


def test_what_is_not_positive_definite_has_no_factors():
    _, bordered = example()
    assert bordered.plus(np.array([-1e3, 0.0, 0.0, 0.0]), np.zeros(2)).factored() is None
    assert bordered.plus(np.zeros(4), np.array([-1e3, 0.0])).factored() is None


def test_a_system_without_units_is_a_plain_matrix():
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    factored = Bordered(A, np.zeros((2, 0, 0)), np.zeros((0, 0, 0))).factored()
    np.testing.assert_allclose(
        factored.solve(np.ones(2), np.zeros((0, 0)))[0], np.linalg.solve(A, np.ones(2))
    )
