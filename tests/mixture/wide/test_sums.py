"""Sums over cells against numpy's and scipy's own."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from proxycal.mixture.wide.sums import after_zero, log_sum, normalised, summed


@pytest.mark.parametrize("shape", [(1, 1, 7), (1, 3, 7), (2, 1, 7), (3, 2, 7)])
def test_sums_and_posteriors_are_those_of_all_cells(shape):
    joint = 30.0 * np.random.default_rng(0).normal(size=shape)
    for axis in (0, 1):
        np.testing.assert_array_equal(summed(joint, axis), joint.sum(axis=axis))
    np.testing.assert_allclose(log_sum(joint), logsumexp(joint, axis=0, keepdims=True))
    expected = logsumexp(joint, axis=(0, 1)), softmax(joint, axis=(0, 1))
    for made, wanted in zip(normalised(joint.copy()), expected, strict=True):
        np.testing.assert_allclose(made, wanted, atol=1e-12)


def test_the_first_is_what_the_others_are_relative_to():
    np.testing.assert_array_equal(after_zero(np.array([3.0, 4.0])), [0.0, 3.0, 4.0])
