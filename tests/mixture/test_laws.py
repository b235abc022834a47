"""The posterior of the gated shift mixture against enumeration, row by row and class by class."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import norm

from proxycal.mixture import laws
from proxycal.mixture.laws import Params, Rows, Shape, log_softmax, posterior, unpack

SHAPES = [
    Shape(1),
    Shape(1, scale="environment"),
    Shape(3, "shared"),
    Shape(2, "own", "content"),
    Shape(2, "atom", "content"),
    Shape(1, shift=True),
    Shape(1, scale="environment", shift=True),
    Shape(1, shift=True, gate="constant"),
    Shape(3, "shared", shift=True),
    Shape(2, "own", shift=True),
    Shape(3, "own", "content", shift=True),
    Shape(2, "atom", "content", shift=True),
    Shape(2, "own", "content", "environment", shift=True),
]
SHIFTED = [shape for shape in SHAPES if shape.shift]


def name(shape):
    return f"{shape.label}{', with a bias' if shape.shift else ''}"


def enumerate_row(params, rows, shape, b, i):
    """log of the joint density of each class (A, j) of row i under model b, {(a, j): value}."""
    x, g = rows.X[i], rows.G[i]
    weights = softmax([params.omega[b, j] @ x for j in range(shape.J)])
    pi = expit(params.gamma[b] @ g) if shape.shift else 0.0
    joint = {}
    for a, j in itertools.product((0, 1) if shape.shift else (0,), range(shape.J)):
        sd = np.exp(params.log_sigma[b, j] + params.scale[b] @ g)
        moved = a * float(params.a[b] @ rows.D[i]) if shape.shift else 0.0
        value = np.log(weights[j])
        if shape.shift:
            value += np.log(pi if a else 1.0 - pi)
        value += norm.logpdf(rows.y[i], params.beta[b, j] @ x + moved, sd)
        joint[a, j] = value
    return joint


@pytest.mark.parametrize("shape", SHAPES, ids=name)
@pytest.mark.parametrize("levels", [1, 3])
def test_posterior_is_bayes_by_enumeration(shape, levels, draw_rows, draw_params):
    rows = draw_rows(n=12, levels=levels)
    params = draw_params(shape, rows, B=2)
    post = posterior(params, rows, shape)
    for b, i in itertools.product(range(2), range(12)):
        joint = enumerate_row(params, rows, shape, b, i)
        total = np.logaddexp.reduce(list(joint.values()))
        assert post.loglik[b, i] == pytest.approx(total, abs=1e-11)
        for (a, j), value in joint.items():
            found = (post.r1 if a else post.r0)[b, j, i]
            assert found == pytest.approx(np.exp(value - total), abs=1e-12)


@pytest.mark.parametrize("shape", SHIFTED, ids=name)
def test_p_biased_and_pi_are_the_two_sides_of_bayes(shape, draw_rows, draw_params):
    rows = draw_rows(n=25)
    params = draw_params(shape, rows)
    post = posterior(params, rows, shape)
    np.testing.assert_allclose(post.pi[0], expit(rows.G @ params.gamma[0]), atol=1e-14)
    np.testing.assert_allclose(post.p_biased, post.r1.sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(post.r0.sum(axis=1) + post.r1.sum(axis=1), 1.0, atol=1e-13)


@pytest.mark.parametrize("shape", SHIFTED, ids=name)
def test_swapping_the_labels_fits_alike(shape, draw_rows, draw_params):
    # (alpha, A) and (-alpha, 1-A): the content takes up the shift. This is why a direction must be stated.
    rows = draw_rows(n=30)
    params = draw_params(shape, rows)
    beta = params.beta.copy()
    beta[:, :, 0] += params.a
    swapped = replace(params, beta=beta, a=-params.a, gamma=-params.gamma)
    one, other = posterior(params, rows, shape), posterior(swapped, rows, shape)
    np.testing.assert_allclose(one.loglik, other.loglik, atol=1e-11)
    np.testing.assert_allclose(one.p_biased, 1.0 - other.p_biased, atol=1e-11)


def test_rows_far_from_everything_still_have_a_posterior(draw_rows, draw_params):
    shape = Shape(2, "own", "content", shift=True)
    rows = draw_rows(n=4)
    rows = Rows(np.array([1e6, -1e6, 1e9, 0.0]), 1e3 * rows.X, 1e3 * rows.G, rows.D, rows.weights)
    post = posterior(draw_params(shape, rows), rows, shape)
    assert np.isfinite(post.loglik).all()
    np.testing.assert_allclose(post.r0.sum(axis=1) + post.r1.sum(axis=1), 1.0, atol=1e-12)
    assert ((post.p_biased >= 0.0) & (post.p_biased <= 1.0)).all()


def test_p_biased_is_never_above_one(draw_rows, draw_params):
    shape = Shape(4, "own", "content", shift=True)
    rows = draw_rows(n=20_000)
    params = replace(draw_params(shape, rows), gamma=np.array([[30.0, 0.0, 0.0]]))
    assert posterior(params, rows, shape).p_biased.max() <= 1.0


def test_log_softmax_agrees_with_scipy_and_does_not_overflow():
    x = np.random.default_rng(0).normal(scale=400.0, size=(3, 4, 5))
    np.testing.assert_allclose(np.exp(log_softmax(x)), softmax(x, axis=1), atol=1e-14)


def test_column_products_give_the_sums_they_stand_for(draw_rows):
    rows = draw_rows(n=20, levels=2, weights=True)
    X, G, D, y, w = rows.X, rows.G, rows.D, rows.y, rows.weights
    np.testing.assert_allclose(unpack(w @ rows.XX, 3), X.T @ np.diag(w) @ X, atol=1e-12)
    np.testing.assert_allclose(unpack(w @ rows.GG, 3), G.T @ np.diag(w) @ G, atol=1e-12)
    np.testing.assert_allclose(w @ rows.XY, np.r_[X.T @ (w * y), w @ y**2], atol=1e-12)
    np.testing.assert_allclose(
        w @ rows.DX, np.r_[(X.T @ (w[:, None] * D)).ravel(), D.T @ (w * y)], atol=1e-12
    )
    np.testing.assert_allclose((w @ rows.DD).reshape(2, 2), D.T @ np.diag(w) @ D, atol=1e-12)
    np.testing.assert_allclose(rows.gram[0], X.T @ np.diag(w) @ X, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_parameters_survive_flattening_taking_and_stacking(shape, draw_rows, draw_params):
    rows = draw_rows(n=30, levels=2)
    params = draw_params(shape, rows, B=3)
    again = params.unflat(params.flat())
    parts = Params.stack([params.take(np.array([0])), params.take(np.array([1, 2]))])
    for field in fields(Params):
        kept, one, other = (getattr(made, field.name) for made in (params, again, parts))
        assert (kept is None) == (one is None) == (other is None)
        if kept is not None:
            np.testing.assert_array_equal(kept, one)
            np.testing.assert_array_equal(kept, other)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (Shape(1), 4 + 1),
        (Shape(1, scale="environment"), 4 + 1 + 2),
        (Shape(3, "shared"), 3 + 3 + 2 + 3),
        (Shape(3, "own", "content"), 12 + 2 * 4 + 3),
        (Shape(3, "atom", "content"), 2 * 4 + 1 + 2 * 4 + 3),
        (Shape(1, shift=True), 4 + 1 + 3 + 2),
        (Shape(1, shift=True, gate="constant"), 4 + 1 + 1 + 2),
        (Shape(2, "own", shift=True), 8 + 1 + 2 + 3 + 2),
    ],
    ids=lambda value: name(value) if isinstance(value, Shape) else str(value),
)
def test_size_counts_the_free_parameters(shape, size):
    # p = 4 content columns, q = 3 gate columns, two levels of the shift
    assert shape.size(4, 3, 2) == size


def test_a_shift_without_a_gate_claims_nothing():
    assert Shape(1, shift=True).claims_bias
    assert not Shape(1, shift=True, gate="constant").claims_bias
    assert not Shape(3, "own").claims_bias


def test_labels_tell_shapes_apart():
    labels = [name(shape) for shape in SHAPES]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("shape", SHIFTED, ids=name)
def test_trusted_rows_are_unbiased_and_the_gate_does_not_count_them(shape, draw_rows, draw_params):
    rows = draw_rows(n=25)
    params = draw_params(shape, rows)
    trusted = np.arange(25) % 3 == 0
    post = posterior(params, replace(rows, trusted=trusted), shape)
    null = posterior(replace(params, a=None, gamma=None), rows, replace(shape, shift=False))
    assert post.p_biased[:, trusted].max() < 1e-200
    assert post.pi[:, trusted].max() < 1e-200
    np.testing.assert_allclose(post.loglik[:, trusted], null.loglik[:, trusted], rtol=1e-12)
    np.testing.assert_array_equal(
        post.p_biased[:, ~trusted], posterior(params, rows, shape).p_biased[:, ~trusted]
    )


@pytest.mark.parametrize("signed", [False, True])
def test_sums_without_the_products_of_the_columns_are_the_same(monkeypatch, signed):
    rng = np.random.default_rng(3)
    X, G = rng.normal(size=(50, 7)), rng.normal(size=(50, 4))
    rows = Rows(rng.normal(size=50), X, G, np.ones((50, 1)), np.ones(50))
    weights = rng.normal(size=(2, 3, 50)) if signed else rng.random((2, 3, 50))
    plain = np.einsum("bkn,ni,nj->bkij", weights, X, X)
    packed = rows.grams(weights), rows.gate_grams(weights[0])
    monkeypatch.setattr(laws, "MULTIPLICATIONS", 10 * weights.size)
    in_parts = rows.grams(weights)
    monkeypatch.setattr(laws, "PRODUCTS", 0)
    monkeypatch.setattr(laws, "BLOCK", 16)
    direct = rows.grams(weights), rows.gate_grams(weights[0])
    np.testing.assert_allclose(packed[0], plain, atol=1e-12)
    np.testing.assert_allclose(in_parts, plain, atol=1e-12)
    np.testing.assert_allclose(direct[0], plain, atol=1e-12)
    np.testing.assert_allclose(direct[1], packed[1], atol=1e-12)


def test_a_wide_table_keeps_no_products():
    wide = Rows(np.zeros(2000), np.ones((2000, 200)), np.ones((2000, 2)), np.ones((2000, 1)), np.ones(2000))
    assert wide.grams(np.ones((1, 2000))).shape == (1, 200, 200)
    assert "XX" not in vars(wide)
