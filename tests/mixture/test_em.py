"""EM against closed forms, scikit-learn and scipy; batches, chunks and weights against one model alone."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from proxycal.mixture.em import MANY_SETS, Rules, mean_map, penalty, run, statistics, total, update
from proxycal.mixture.information import curvature, information, robust_information, sandwich
from proxycal.mixture.laws import RIDGE, Params, Rows, Shape, posterior
from proxycal.mixture.starts import begin

SHAPES = [
    Shape(1),
    Shape(1, scale="environment"),
    Shape(2, "shared"),
    Shape(2, "own", "content"),
    Shape(2, "atom", "content"),
    Shape(1, shift=True),
    Shape(1, scale="environment", shift=True),
    Shape(1, shift=True, gate="constant"),
    Shape(3, "shared", shift=True),
    Shape(2, "own", shift=True),
    Shape(2, "own", "content", shift=True),
    Shape(2, "atom", "content", shift=True),
]
FLOOR = 0.05


def name(shape):
    return f"{shape.label}{', with a bias' if shape.shift else ''}"


def rules_of(shape, rows, B=1):
    return Rules.of([shape] * B, rows.X.shape[1], FLOOR)


def fit(shape, rows, params, tol=1e-11, max_steps=4000):
    fitted = run(params, [rows], rules_of(shape, rows, params.size), max_steps, tol)
    assert fitted.converged.all()
    return fitted


def some(rows, index):
    parts = (rows.y, rows.X, rows.G, rows.D, rows.weights)
    return Rows(*(part[index] for part in parts))


def assert_close(one, other, atol):
    for field in fields(Params):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=0, atol=atol, err_msg=field.name)


# --- every step climbs, and it ends where the score is zero -------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_every_step_climbs(shape, draw_rows, draw_params):
    rows = draw_rows(n=120, levels=2, weights=True)
    rules = rules_of(shape, rows)
    params = draw_params(shape, rows)
    if shape.scale == "environment":
        # Slopes of the sd move by Newton steps, which climb from where a fit begins, not from anywhere.
        tau = (rows.y > 1.0)[None] * 1.0 if shape.shift else None
        params = begin([shape], rows, np.ones((1, 1, 120)), tau, FLOOR)
    reached = []
    for _ in range(40):
        sums = total(params, [rows], shape)
        reached.append(float((sums.loglik - penalty(params))[0]))
        params = update(params, sums, rules)
    assert np.diff(reached).min() > -1e-8
    assert reached[-1] > reached[0] + 0.1


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_the_fixed_point_has_no_score(shape, draw_rows, draw_params):
    rows = draw_rows(n=150, weights=True)
    rules = rules_of(shape, rows)
    params = fit(shape, rows, draw_params(shape, rows)).params
    start = draw_params(shape, rows)
    before = curvature(start, information(start, [rows], shape), rules)
    after = curvature(params, information(params, [rows], shape), rules)
    assert np.abs(after.score).max() < 1e-3 * np.abs(before.score).max()
    assert after.decrement < 1e-6


def test_acceleration_ends_where_plain_steps_end_but_sooner(draw_rows, draw_params):
    shape = Shape(1, shift=True)
    rows = draw_rows(n=300, seed=1)
    rows = replace(rows, y=rows.y + 0.4 * np.random.default_rng(0).normal(size=300))
    start = draw_params(shape, rows)
    rules = rules_of(shape, rows)
    plain, steps, reached = start, 0, [-np.inf]
    while len(reached) < 3 or reached[-1] - reached[-2] > 1e-11:
        sums = total(plain, [rows], shape)
        reached.append(float((sums.loglik - penalty(plain))[0]))
        plain, steps = update(plain, sums, rules), steps + 1
    quick = fit(shape, rows, start)
    assert_close(quick.params, plain, 1e-4)
    assert quick.n_steps < 0.5 * steps


def test_reported_objective_is_that_of_the_parameters(draw_rows, draw_params):
    shape = Shape(2, "own", "content", shift=True)
    rows = draw_rows(n=150, weights=True)
    fitted = fit(shape, rows, draw_params(shape, rows))
    loglik = posterior(fitted.params, rows, shape).loglik @ rows.weights
    np.testing.assert_allclose(fitted.loglik, loglik - penalty(fitted.params), atol=1e-7)


def test_too_few_steps_is_not_convergence(draw_rows, draw_params):
    shape = Shape(1, shift=True)
    rows = draw_rows(n=150)
    fitted = run(draw_params(shape, rows), [rows], rules_of(shape, rows), max_steps=6, tol=1e-9)
    assert not fitted.converged.any()
    assert fitted.n_steps == 6


# --- closed forms and other people's code -------------------------------------------------------------------


def test_one_component_without_a_shift_is_least_squares(draw_rows, draw_params):
    shape = Shape(1)
    rows = draw_rows(n=80)
    fitted = fit(shape, rows, draw_params(shape, rows))
    beta = np.linalg.lstsq(rows.X, rows.y, rcond=None)[0]
    sd = np.sqrt(np.mean((rows.y - rows.X @ beta) ** 2))
    np.testing.assert_allclose(fitted.params.beta[0, 0], beta, atol=1e-9)
    assert np.exp(fitted.params.log_sigma[0, 0]) == pytest.approx(sd, rel=1e-9)
    assert fitted.loglik[0] == pytest.approx(norm.logpdf(rows.y, rows.X @ beta, sd).sum(), abs=1e-8)


def test_weights_without_a_shift_are_those_of_weighted_least_squares(draw_rows, draw_params):
    shape = Shape(1)
    rows = draw_rows(n=80, weights=True)
    root = np.sqrt(rows.weights)
    beta = np.linalg.lstsq(rows.X * root[:, None], rows.y * root, rcond=None)[0]
    fitted = fit(shape, rows, draw_params(shape, rows))
    np.testing.assert_allclose(fitted.params.beta[0, 0], beta, atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "covariance"), [(Shape(1, shift=True, gate="constant"), "tied"), (Shape(2), "full")], ids=str
)
def test_without_covariates_it_is_scikit_learns_gaussian_mixture(shape, covariance):
    rng = np.random.default_rng(3)
    y = np.r_[rng.normal(0.0, 0.5, 120), rng.normal(2.5, 0.5 if covariance == "tied" else 1.0, 80)]
    ones = np.ones((200, 1))
    rows = Rows(y, ones, ones, ones, np.ones(200))
    start = Params(
        np.zeros((1, shape.J, 1)), np.zeros((1, shape.J)), np.zeros((1, shape.J, 1)), np.zeros((1, 1))
    )
    start.beta[0, -1] = 0.0 if shape.J == 1 else 2.0
    if shape.shift:
        start = replace(start, a=np.full((1, 1), 2.0), gamma=np.zeros((1, 1)))
    fitted = fit(shape, rows, start)
    reference = GaussianMixture(
        2, covariance_type=covariance, n_init=3, tol=1e-12, max_iter=5000, random_state=0
    )
    reference.fit(y[:, None])
    assert fitted.loglik[0] == pytest.approx(200 * reference.score(y[:, None]), abs=1e-3)
    means = np.sort(reference.means_[:, 0])
    if shape.shift:
        assert fitted.params.a[0, 0] == pytest.approx(means[1] - means[0], rel=1e-3)
    else:
        np.testing.assert_allclose(np.sort(fitted.params.beta[0, :, 0]), means, atol=1e-3)


def test_a_plain_bias_gives_regression_on_a_and_logistic_regression_of_a(draw_rows, draw_params):
    # The shift is so large that everybody knows who is biased: nothing is latent any more.
    rows = draw_rows(n=200, levels=2, weights=True)
    rng = np.random.default_rng(4)
    a = (rng.random(200) < 1.0 / (1.0 + np.exp(-1.5 * rows.G[:, 1]))).astype(float)
    rows = Rows(rows.y + 60.0 * a, rows.X, rows.G, rows.D, rows.weights)
    shape = Shape(1, shift=True)
    start = replace(draw_params(shape, rows), a=np.full((1, 2), 60.0))
    params = fit(shape, rows, start).params
    root = np.sqrt(rows.weights)[:, None]
    both = np.column_stack([rows.X, a[:, None] * rows.D])
    reference = np.linalg.lstsq(both * root, rows.y * root[:, 0], rcond=None)[0]
    np.testing.assert_allclose(np.r_[params.beta[0, 0], params.a[0]], reference, atol=1e-8)
    gate = LogisticRegression(C=1.0 / RIDGE, tol=1e-10, max_iter=1000)
    gate.fit(rows.G[:, 1:], a, sample_weight=rows.weights)
    np.testing.assert_allclose(params.gamma[0], np.r_[gate.intercept_, gate.coef_[0]], atol=1e-4)


def test_plain_components_give_multinomial_weights_in_the_content(draw_rows, draw_params):
    rows = draw_rows(n=300)
    rng = np.random.default_rng(5)
    score = rows.X @ np.array([[0.0, 0.3, -0.2], [0.0, 1.0, -0.7], [0.0, 0.0, 0.5]])
    label = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    rows = replace(rows, y=rows.y + 80.0 * label)
    shape = Shape(3, "own", "content")
    start = draw_params(shape, rows)
    start.beta[0, :, 0] = [0.0, 80.0, 160.0]
    params = fit(shape, rows, start).params

    def objective(flat):
        omega = np.vstack([np.zeros(3), flat.reshape(2, 3)])
        logits = rows.X @ omega.T
        chosen = logits[np.arange(300), label] - np.logaddexp.reduce(logits, axis=1)
        return 0.5 * RIDGE * (omega[:, 1:] ** 2).sum() - chosen.sum()

    reference = minimize(objective, np.zeros(6), tol=1e-12).x.reshape(2, 3)
    np.testing.assert_allclose(params.omega[0, 1:], reference, atol=1e-4)


def test_sd_by_environment_is_the_maximum_that_scipy_finds(draw_rows, draw_params):
    rows = draw_rows(n=200)
    rng = np.random.default_rng(6)
    rows = replace(rows, y=rows.X @ [0.5, 1.0, -1.0] + np.exp(0.6 * rows.G[:, 1]) * rng.normal(size=200))
    shape = Shape(1, scale="environment")
    fitted = fit(shape, rows, draw_params(shape, rows))

    def objective(flat):
        log_sd = rows.G @ flat[3:]
        loglik = norm.logpdf(rows.y, rows.X @ flat[:3], np.exp(log_sd)).sum()
        return 0.5 * RIDGE * (flat[4:] ** 2).sum() - loglik

    reference = minimize(objective, np.zeros(6), tol=1e-10)
    assert fitted.loglik[0] == pytest.approx(-reference.fun, abs=1e-5)
    found = np.r_[fitted.params.beta[0, 0], fitted.params.log_sigma[0], fitted.params.scale[0, 1:]]
    np.testing.assert_allclose(found, reference.x, atol=1e-3)


# --- what a shape promises ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [False, True])
def test_shared_slopes_stay_shared_and_an_atom_stays_constant(shift, draw_rows, draw_params):
    rows = draw_rows(n=150)
    shared = Shape(3, "shared", shift=shift)
    beta = run(draw_params(shared, rows), [rows], rules_of(shared, rows), 30, 0.0).params.beta[0]
    np.testing.assert_allclose(beta[1:, 1:], np.broadcast_to(beta[0, 1:], (2, 2)), atol=1e-12)
    assert np.ptp(beta[:, 0]) > 1e-3
    atom = Shape(3, "atom", "content", shift=shift)
    beta = run(draw_params(atom, rows), [rows], rules_of(atom, rows), 30, 0.0).params.beta[0]
    np.testing.assert_allclose(beta[-1, 1:], 0.0, atol=1e-12)
    assert np.abs(beta[0, 1:] - beta[1, 1:]).max() > 1e-3


@pytest.mark.parametrize("shape", [Shape(1), Shape(3, "shared"), Shape(3, "own"), Shape(3, "atom")], ids=name)
def test_mean_map_has_one_column_for_each_free_mean(shape):
    made = mean_map(shape, 4)
    means = {"own": shape.J * 4, "shared": 3 + shape.J, "atom": (shape.J - 1) * 4 + 1}[shape.means]
    assert np.linalg.matrix_rank(made) == made.shape[1] == means


def test_a_mixed_batch_fits_each_shape_as_alone(draw_rows, draw_params):
    rows = draw_rows(n=120)
    shapes = [Shape(2, "own", shift=True), Shape(2, "shared", shift=True)]
    starts = [draw_params(shape, rows, seed=k) for k, shape in enumerate(shapes)]
    both = run(Params.stack(starts), [rows], Rules.of(shapes, 3, FLOOR), 30, 0.0)
    for k, shape in enumerate(shapes):
        alone = run(starts[k], [rows], Rules.of([shape], 3, FLOOR), 30, 0.0)
        assert_close(both.params.take(np.array([k])), alone.params, 1e-8)


def test_no_width_falls_below_its_floor(draw_rows, draw_params):
    rows = draw_rows(n=100)
    y = np.where(np.arange(100) < 40, 1.0, rows.y)
    rows = replace(rows, y=y)
    shape = Shape(2, "own", "content")
    start = draw_params(shape, rows)
    start.beta[0, 1] = [1.0, 0.0, 0.0]
    params = run(start, [rows], Rules.of([shape], 3, 0.2), 300, 1e-8).params
    assert np.exp(params.log_sigma).min() == pytest.approx(0.2, rel=1e-9)
    narrow = run(start, [rows], Rules.of([shape], 3, 0.01), 300, 1e-8).params
    assert np.exp(narrow.log_sigma).min() < 0.05


def test_an_empty_component_makes_no_nan(draw_rows, draw_params):
    rows = draw_rows(n=60)
    shape = Shape(2, "own", "content", shift=True)
    start = draw_params(shape, rows)
    start.beta[0, 1, 0] = 1e4
    fitted = run(start, [rows], rules_of(shape, rows), 60, 1e-8)
    assert np.isfinite(fitted.params.flat()).all()
    assert np.isfinite(fitted.loglik).all()


# --- batches, chunks, weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_a_batch_is_each_model_alone(shape, draw_rows, draw_params):
    rows = draw_rows(n=100, weights=True)
    starts = draw_params(shape, rows, B=3)
    together = run(starts, [rows], rules_of(shape, rows, 3), 150, 1e-6)
    for b in range(3):
        one = starts.take(np.array([b]))
        alone = run(one, [rows], rules_of(shape, rows), 150, 1e-6)
        assert together.loglik[b] == pytest.approx(alone.loglik[0], abs=1e-7)
        assert together.converged[b] == alone.converged[0]
        assert_close(together.params.take(np.array([b])), alone.params, 1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_chunks_add_up_to_the_whole(shape, draw_rows, draw_params):
    whole = draw_rows(n=90, levels=2, weights=True)
    chunks = [some(whole, part) for part in (slice(0, 50), slice(50, 51), slice(51, 90))]
    params = draw_params(shape, whole, B=2)
    rules = rules_of(shape, whole, 2)
    one, many = total(params, [whole], shape), total(params, chunks, shape)
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(many, field.name)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=field.name)
    assert_close(run(params, [whole], rules, 9, 0.0).params, run(params, chunks, rules, 9, 0.0).params, 1e-8)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.J > 1], ids=name)
def test_products_of_the_columns_are_those_of_each_component(shape, draw_rows, draw_params):
    rows = draw_rows(n=90, weights=True)
    params = draw_params(shape, rows, B=MANY_SETS)
    # A component without rows: what the heaviest would leave of it is rounding.
    params.log_sigma[1, 0], params.beta[1, 0, 0] = np.log(0.05), 60.0
    seen = posterior(params, rows, shape)
    by_component = (seen.r0 if seen.r1 is None else seen.r0 + seen.r1) * rows.weights
    wanted = np.einsum("bjn,np,nq->bjpq", by_component, rows.X, rows.X)
    assert wanted[1, 0, 0, 0] < 1e-12
    np.testing.assert_allclose(statistics(params, rows, shape).S_xx, wanted, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("shape", SHAPES, ids=name)
def test_whole_weights_are_repeated_rows(shape, draw_rows, draw_params):
    rows = draw_rows(n=100)
    times = np.random.default_rng(8).integers(1, 4, size=100)
    weighted = replace(rows, weights=times.astype(float))
    repeated = some(rows, np.repeat(np.arange(100), times))
    start = draw_params(shape, rows)
    one, other = fit(shape, weighted, start), fit(shape, repeated, start)
    assert_close(one.params, other.params, 1e-6)
    assert one.loglik[0] == pytest.approx(other.loglik[0], abs=1e-8)
    # At one and the same point, so that only the sums are compared:
    infos = [robust_information(one.params, [made], shape) for made in (weighted, repeated)]
    for part in ("score", "hessian", "meat"):
        a, b = (getattr(info, part) for info in infos)
        np.testing.assert_allclose(a, b, atol=1e-8 * max(1.0, np.abs(a).max()))
    if shape.shift:
        a, b = (sandwich(one.params, info, rules_of(shape, rows), float(times.sum())) for info in infos)
        np.testing.assert_allclose(a.shift_gate_cov, b.shift_gate_cov, rtol=1e-6, atol=1e-12)


def test_weights_by_replicate_are_each_replicate_alone(draw_rows, draw_params):
    shape = Shape(2, "own", "content", shift=True)
    rows = draw_rows(n=80, levels=2)
    weights = np.random.default_rng(9).exponential(size=(3, 80))
    params = draw_params(shape, rows, B=3)
    batch = statistics(params, replace(rows, weights=weights), shape)
    for b in range(3):
        alone = statistics(params.take(np.array([b])), replace(rows, weights=weights[b]), shape)
        for field in fields(batch):
            a, one = getattr(batch, field.name), getattr(alone, field.name)
            if a is not None:
                np.testing.assert_allclose(a[b], one[0], atol=1e-10, err_msg=field.name)


def test_replicates_may_converge_one_after_another(draw_rows, draw_params):
    shape = Shape(1, shift=True)
    rows = draw_rows(n=80)
    weights = np.random.default_rng(9).exponential(size=(3, 80))
    params = draw_params(shape, rows, B=3)
    together = run(params, [replace(rows, weights=weights)], rules_of(shape, rows, 3), 600, 1e-8)
    for b in range(3):
        one = params.take(np.array([b]))
        alone = run(one, [replace(rows, weights=weights[b])], rules_of(shape, rows), 600, 1e-8)
        assert_close(together.params.take(np.array([b])), alone.params, 1e-5)
