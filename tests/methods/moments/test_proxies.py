"""What each proxy is worth: instrumental variables against known loadings and against the formula."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.methods.moments.instrument import environment_basis, partial_out, standardised
from proxycal.methods.moments.proxies import remove_content
from proxycal.mixture.thresholds import THRESHOLDS


def drawn(loadings, n=20_000, noise=0.7, bias=0.0, seed=0):
    """y = truth + bias + noise and proxies c_k truth + noise, with the truth driven by E in part."""
    rng = np.random.default_rng(seed)
    w = np.ones(n)
    E, _ = standardised(rng.normal(size=(n, 2)), w)
    truth = 0.5 * E[:, 0] + rng.normal(size=n)
    P = truth[:, None] * loadings + noise * rng.normal(size=(n, len(loadings)))
    a = E[:, 1] + rng.normal(size=n) > 0
    y = truth + bias * a + 0.3 * rng.normal(size=n)
    return y - y.mean(), P - P.mean(axis=0), environment_basis(E, w), w


@pytest.mark.parametrize("bias", [0.0, 4.0])
def test_noisy_proxies_are_taken_out_with_their_content(bias):
    loadings = np.array([2.0, -0.5, 1.0])
    y, P, basis, w = drawn(loadings, bias=bias)
    made = remove_content(y, P, basis, w)
    assert made.usable
    assert made.note == ""
    assert (made.f > THRESHOLDS.weak_f).all()
    # Sum of v_k is 1: what is left of the truth in u is 1 - sum b_k c_k = 0, within five standard errors.
    left = 1.0 - made.b @ loadings
    error = np.sqrt(np.sum((made.psi @ loadings) ** 2))
    assert abs(left) < 5 * error
    assert error < 0.02
    # Least squares, which takes the noise of proxies for content, leaves far more.
    plain = np.linalg.lstsq(P, y, rcond=None)[0]
    assert abs(1.0 - plain @ loadings) > 5 * abs(left)


def test_a_proxy_that_sees_nothing_is_left_out():
    y, P, basis, w = drawn(np.array([1.0, 1.0, 0.0]), n=2000)
    made = remove_content(y, P, basis, w)
    assert made.f[2] < THRESHOLDS.weak_f
    assert made.b[2] == 0.0
    assert not made.psi[:, 2].any()
    assert made.b[0] != 0.0


def test_proxies_without_common_content_are_not_usable():
    rng = np.random.default_rng(3)
    y, _, basis, w = drawn(np.array([1.0]), n=500)
    made = remove_content(y, rng.normal(size=(500, 2)), basis, w)
    assert not made.usable
    assert not made.b.any()
    assert "hardly agree" in made.note


def test_a_single_proxy_is_least_squares_given_the_environment():
    y, P, basis, w = drawn(np.array([1.5]), n=300)
    made = remove_content(y, P, basis, w)
    x, left = partial_out(P[:, 0], basis.rich, w), partial_out(y, basis.rich, w)
    assert made.b == pytest.approx([x @ left / (x @ x)], rel=1e-12)
    assert np.isnan(made.f).all()
    assert "single proxy" in made.note
    # Influences of least squares add up to nothing.
    assert made.psi.sum() == pytest.approx(0.0, abs=1e-10)


def test_a_single_proxy_that_the_environment_gives_is_not_usable():
    y, _, basis, w = drawn(np.array([1.0]), n=300)
    made = remove_content(y, basis.linear[:, :1] * 10.0, basis, w)
    assert not made.usable
    assert "function of the environment" in made.note


def test_whole_weights_are_repeated_rows():
    y, P, basis, _ = drawn(np.array([1.0, 0.8]), n=200)
    times = np.random.default_rng(1).integers(1, 4, 200)
    E = basis.linear
    w = times.astype(float)
    again = [np.repeat(v, times, axis=0) for v in (y, P, E)]
    ones = np.ones(times.sum())
    weighted = remove_content(y, P, environment_basis(standardised(E, w)[0], w), w)
    repeated = remove_content(*again[:2], environment_basis(standardised(again[2], ones)[0], ones), ones)
    np.testing.assert_allclose(weighted.b, repeated.b, rtol=1e-8)
    np.testing.assert_allclose(weighted.f, repeated.f, rtol=1e-8)
