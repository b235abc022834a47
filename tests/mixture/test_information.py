"""Scores and Hessians against numerical derivatives; the sandwich against White and the cluster formula."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from proxycal.mixture.em import Rules, penalty, run
from proxycal.mixture.information import (
    curvature,
    from_vector,
    information,
    newton,
    robust_information,
    sandwich,
    to_vector,
    uphill,
)
from proxycal.mixture.laws import Rows, Shape, posterior
from proxycal.mixture.scores import Layout

SHAPES = [
    Shape(1),
    Shape(1, scale="environment"),
    Shape(3, "own"),
    Shape(2, "own", "content"),
    Shape(1, shift=True),
    Shape(1, shift=True, gate="constant"),
    Shape(1, scale="environment", shift=True),
    Shape(3, "own", shift=True),
    Shape(3, "own", "content", shift=True),
    Shape(2, "atom", "content", shift=True),
    Shape(2, "own", "content", "environment", shift=True),
]
FLOOR = 0.02


def name(shape):
    return f"{shape.label}{', with a bias' if shape.shift else ''}"


def layout_of(shape, rows):
    p, q, L = rows.X.shape[1], rows.G.shape[1], rows.D.shape[1]
    return Layout.of(shape, p, q, L)


def slopes(function, at, step):
    """Central differences of a function of a vector, one column per coordinate."""
    return np.array(
        [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    )


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_score_and_hessian_are_the_derivatives_of_the_log_likelihood(shape, draw_rows, draw_params):
    rows = draw_rows(n=40, levels=2, weights=True)
    layout = layout_of(shape, rows)
    like = draw_params(shape, rows)
    theta = to_vector(like, shape, layout)

    def loglik(at):
        return posterior(from_vector(at, like, shape, layout), rows, shape).loglik[0] @ rows.weights

    def score(at):
        return information(from_vector(at, like, shape, layout), [rows], shape).score

    info = information(like, [rows], shape)
    np.testing.assert_allclose(info.score, slopes(loglik, theta, 1e-6), atol=1e-5 * np.abs(info.score).max())
    np.testing.assert_allclose(
        info.hessian, slopes(score, theta, 1e-6), atol=1e-6 * np.abs(info.hessian).max()
    )


def test_meat_is_the_sum_of_outer_products_of_row_scores(draw_rows, draw_params):
    shape = Shape(2, "own", "content", shift=True)
    rows = draw_rows(n=30, weights=True)
    params = draw_params(shape, rows)
    parts = (rows.y, rows.X, rows.G, rows.D, np.ones(30))
    single = [Rows(*(v[i : i + 1] for v in parts)) for i in range(30)]
    scores = np.array([information(params, [row], shape).score for row in single])
    info = robust_information(params, [rows], shape)
    np.testing.assert_allclose(info.meat, (scores.T * rows.weights) @ scores, atol=1e-9)
    np.testing.assert_allclose(info.score, rows.weights @ scores, atol=1e-9)
    clusters = np.arange(30) % 7
    by_cluster = np.array([(rows.weights[:, None] * scores)[clusters == c].sum(axis=0) for c in range(7)])
    clustered = robust_information(params, [rows], shape, [clusters])
    np.testing.assert_allclose(clustered.meat, by_cluster.T @ by_cluster, atol=1e-8)
    np.testing.assert_allclose(clustered.hessian, info.hessian, atol=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
def test_chunks_add_up(clustered, draw_rows, draw_params):
    shape = Shape(2, "own", "content", "environment", shift=True)
    rows = draw_rows(n=50, weights=True)
    params = draw_params(shape, rows)
    codes = np.arange(50) % 6
    parts = [slice(0, 20), slice(20, 21), slice(21, 50)]
    values = (rows.y, rows.X, rows.G, rows.D, rows.weights)
    chunks = [Rows(*(v[part] for v in values)) for part in parts]
    one = robust_information(params, [rows], shape, [codes] if clustered else None)
    many = robust_information(params, chunks, shape, [codes[part] for part in parts] if clustered else None)
    for part in ("score", "hessian", "meat"):
        np.testing.assert_allclose(getattr(one, part), getattr(many, part), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_a_vector_and_parameters_are_the_same_thing(shape, draw_rows, draw_params):
    rows = draw_rows(n=30, levels=2)
    params = draw_params(shape, rows)
    layout = layout_of(shape, rows)
    again = from_vector(to_vector(params, shape, layout), params, shape, layout)
    np.testing.assert_array_equal(again.flat(), params.flat())
    blocks = [layout.mean, layout.shift, layout.scale, layout.weight, layout.gate]
    covered = np.concatenate([np.arange(layout.size)[block] for block in blocks])
    np.testing.assert_array_equal(np.sort(covered), np.arange(layout.size))


@pytest.mark.parametrize("shape", [*SHAPES, Shape(3, "shared"), Shape(3, "shared", shift=True)], ids=name)
def test_free_parameters_are_those_that_bic_counts(shape, draw_rows, draw_params):
    rows = draw_rows(n=40, levels=2)
    params = draw_params(shape, rows)
    at = curvature(params, information(params, [rows], shape), Rules.of([shape], 3, FLOOR))
    assert at.to_full.shape[1] == shape.size(3, 3, 2)
    assert np.linalg.matrix_rank(at.to_full) == at.to_full.shape[1]


def test_a_width_at_its_floor_is_not_free(draw_rows, draw_params):
    shape = Shape(2, "own", shift=True)
    rows = draw_rows(n=40)
    params = draw_params(shape, rows)
    params.log_sigma[0, 1] = np.log(FLOOR)
    at = curvature(params, information(params, [rows], shape), Rules.of([shape], 3, FLOOR))
    assert at.to_full.shape[1] == shape.size(3, 3, 1) - 1


# --- known covariances --------------------------------------------------------------------------------------


def known_bias(draw_rows, draw_params, weights=False):
    """Rows whose bias is so large that A is plain to see, fitted; and A."""
    rows = draw_rows(n=150, levels=2, weights=weights)
    rng = np.random.default_rng(1)
    a = (rng.random(150) < 1.0 / (1.0 + np.exp(-rows.G[:, 1]))).astype(float)
    noise = np.exp(0.5 * rows.X[:, 1]) * rng.normal(size=150)
    rows = replace(rows, y=rows.X @ [0.3, 1.0, -0.5] + noise + 80.0 * a)
    shape = Shape(1, shift=True)
    start = replace(draw_params(shape, rows), a=np.full((1, 2), 80.0))
    fitted = run(start, [rows], Rules.of([shape], 3, FLOOR), 500, 1e-12)
    assert fitted.converged.all()
    return rows, a, shape, fitted.params


def test_without_a_shift_the_sandwich_is_whites(draw_rows, draw_params):
    rows = draw_rows(n=120)
    shape = Shape(1)
    rules = Rules.of([shape], 3, FLOOR)
    params = run(draw_params(shape, rows), [rows], rules, 200, 1e-12).params
    info = robust_information(params, [rows], shape)
    at = curvature(params, info, rules)
    cov = at.to_full @ at.inverse @ (at.to_full.T @ info.meat @ at.to_full) @ at.inverse @ at.to_full.T
    left = rows.y - rows.X @ np.linalg.lstsq(rows.X, rows.y, rcond=None)[0]
    bread = np.linalg.inv(rows.X.T @ rows.X)
    white = bread @ (rows.X.T * left**2) @ rows.X @ bread
    at_mean = layout_of(shape, rows).mean
    np.testing.assert_allclose(cov[at_mean, at_mean], white, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("weights", [False, True])
def test_with_a_plain_bias_the_shift_has_whites_covariance(weights, draw_rows, draw_params):
    rows, a, shape, params = known_bias(draw_rows, draw_params, weights)
    X, w = np.column_stack([rows.X, a[:, None] * rows.D]), rows.weights
    root = np.sqrt(w)
    left = rows.y - X @ np.linalg.lstsq(X * root[:, None], rows.y * root, rcond=None)[0]
    bread = np.linalg.inv((X.T * w) @ X)
    n = float(w.sum())
    white = bread @ (X.T * (w * left**2)) @ X @ bread * n / (n - shape.size(3, 3, 2))
    made = sandwich(params, robust_information(params, [rows], shape), Rules.of([shape], 3, FLOOR), n)
    np.testing.assert_allclose(made.shift_gate_cov[:2, :2], white[3:, 3:], rtol=1e-6)
    assert made.definite
    assert made.decrement < 1e-10


def test_with_a_plain_bias_and_clusters_the_shift_has_the_cluster_covariance(draw_rows, draw_params):
    rows, a, shape, params = known_bias(draw_rows, draw_params)
    codes = np.arange(150) // 6
    X = np.column_stack([rows.X, a[:, None] * rows.D])
    left = rows.y - X @ np.linalg.lstsq(X, rows.y, rcond=None)[0]
    bread = np.linalg.inv(X.T @ X)
    sums = np.array([(X * left[:, None])[codes == c].sum(axis=0) for c in range(25)])
    wanted = bread @ sums.T @ sums @ bread * 150 / (150 - shape.size(3, 3, 2))
    info = robust_information(params, [rows], shape, [codes])
    made = sandwich(params, info, Rules.of([shape], 3, FLOOR), 150.0)
    np.testing.assert_allclose(made.shift_gate_cov[:2, :2], wanted[3:, 3:], rtol=1e-6)
    alone = sandwich(params, robust_information(params, [rows], shape), Rules.of([shape], 3, FLOOR), 150.0)
    assert not np.allclose(alone.shift_gate_cov[:2, :2], wanted[3:, 3:], rtol=1e-2)


def test_with_a_plain_bias_the_gate_has_the_covariance_of_a_ridge_logistic(draw_rows, draw_params):
    rows, a, shape, params = known_bias(draw_rows, draw_params)
    pi = 1.0 / (1.0 + np.exp(-rows.G @ params.gamma[0]))
    bread = np.linalg.inv((rows.G.T * (pi * (1.0 - pi))) @ rows.G + np.diag([0.0, 0.04, 0.04]))
    wanted = bread @ (rows.G.T * (a - pi) ** 2) @ rows.G @ bread * 150 / (150 - shape.size(3, 3, 2))
    made = sandwich(params, robust_information(params, [rows], shape), Rules.of([shape], 3, FLOOR), 150.0)
    np.testing.assert_allclose(made.shift_gate_cov[2:, 2:], wanted, rtol=1e-5)


# --- Newton -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        Shape(1, shift=True),
        Shape(1, scale="environment", shift=True),
        Shape(2, "shared"),
        Shape(2, "own", "content"),
    ],
    ids=name,
)
def test_newton_ends_where_em_ends(shape, draw_rows, draw_params):
    rows = draw_rows(n=150, weights=True)
    rules = Rules.of([shape], 3, FLOOR)
    near = run(draw_params(shape, rows), [rows], rules, 60, 1e-4).params
    far = run(near, [rows], rules, 6000, 1e-13).params
    made, converged = newton(near, [rows], rules)
    assert converged
    at = curvature(made, information(made, [rows], shape), rules)
    assert np.abs(at.score).max() < 1e-4
    np.testing.assert_allclose(made.flat(), far.flat(), atol=2e-4)


def test_newton_says_when_there_is_no_maximum_next_to_it(draw_rows, draw_params):
    shape = Shape(2, "own", "content", shift=True)
    rows = draw_rows(n=60)
    far_off = draw_params(shape, rows, seed=3)
    far_off.beta[:] *= 5.0
    made, converged = newton(far_off, [rows], Rules.of([shape], 3, FLOOR), max_steps=1)
    assert not converged
    assert np.isfinite(made.flat()).all()


def test_where_there_is_no_maximum_the_errors_are_still_of_the_size_of_the_outcome(draw_rows, draw_params):
    """A direction that curves upward is not a flat one, of which nobody would know anything."""
    shape = Shape(2, "own", "content", shift=True)
    rows = draw_rows(n=300)
    rules = Rules.of([shape], 3, FLOOR)
    seen = 0
    for seed in range(20):
        params = draw_params(shape, rows, seed=seed)
        robust = sandwich(params, robust_information(params, [rows], shape), rules, 300.0)
        if not robust.definite:
            seen += 1
            assert np.sqrt(robust.shift_gate_cov[0, 0]) < 5.0
    assert seen > 0


def test_newton_goes_past_a_saddle_to_the_maximum_that_em_creeps_to(draw_rows, draw_params):
    """Two components are nearly the same: the likelihood curves the wrong way in what tells them apart."""
    shape = Shape(2, "shared")
    rows = draw_rows(n=400)
    noise = np.random.default_rng(1).normal(size=400) * np.repeat([0.3, 2.0], 200)
    rows = replace(rows, y=rows.X.sum(axis=1) + noise)
    start = draw_params(shape, rows)
    start.beta[:], start.omega[:], start.log_sigma[:] = 1.0, 0.0, [[0.3, 0.4]]
    rules = Rules.of([shape], 3, FLOOR)
    assert not newton(start, [rows], rules)[1]
    made, converged = newton(start, [rows], rules, max_steps=30, past_saddles=True)
    assert converged
    far = run(start, [rows], rules, max_steps=3000, tol=1e-12)
    assert information(made, [rows], shape).loglik == pytest.approx(far.loglik[0], abs=1e-4)


def test_every_step_leads_up_and_knows_the_sums_of_where_it_led(draw_rows, draw_params):
    shape = Shape(2, "shared", shift=True)
    rows = [draw_rows(n=120, seed=seed, weights=True) for seed in (0, 1)]
    rules = Rules.of([shape], 3, FLOOR)
    steps = list(islice(uphill(draw_params(shape, rows[0]), rows, rules), 12))
    values = [step.info.loglik - float(penalty(step.params)[0]) for step in steps]
    assert len(steps) > 3
    assert (np.diff(values) > -1e-6).all()
    assert not steps[0].near.definite
    for step in steps:
        here = information(step.params, rows, shape)
        assert step.info.loglik == here.loglik
        np.testing.assert_array_equal(step.info.hessian, here.hessian)
