import numpy as np
import pytest

from proxycal.engine.covariates import Covariates
from proxycal.engine.families.normal import Normal
from proxycal.engine.likelihood import Sample, Theta, log_likelihood, scores, sums
from proxycal.engine.maximise import maximise, start
from proxycal.engine.model import Model, Predictor
from proxycal.engine.terms import Numbers, constant, plain


def rows_of(n=400, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, columns))
    return rng, Covariates(P=P, E=np.zeros((n, 0)), m=np.zeros((n, 0)))


def regression(rows, penalised, units=False):
    term = plain("proxies", Numbers("P", tuple(range(rows.P.shape[1]))), rows, penalised)
    mean = Predictor("mean", (constant(), term), 1e3, least=1e-6, units=units)
    return Model(Normal(1, 0), (mean, Predictor("scale", (constant(),), 1e3)))


def test_a_normal_model_without_penalties_is_least_squares():
    rng, rows = rows_of()
    y = 1.0 + rows.P @ np.array([1.0, -2.0, 0.5]) + 0.7 * rng.normal(size=rows.n)
    model = regression(rows, penalised=False)
    fitted = maximise(model, Sample.of(model, rows, {"y": y}), start(model))
    X = np.column_stack([np.ones(rows.n), rows.P])
    beta, rest = np.linalg.lstsq(X, y, rcond=None)[:2]
    # The weak prior of sd 1000 moves the seventh digit.
    np.testing.assert_allclose(fitted.coefficients("mean"), beta, rtol=1e-5)
    assert np.exp(fitted.coefficients("scale")[0]) == pytest.approx(np.sqrt(rest[0] / rows.n), rel=1e-4)


def test_the_evidence_and_the_ridge_are_those_of_bayesian_regression():
    rng, rows = rows_of(columns=12)
    y = rows.P @ (0.3 * rng.normal(size=12)) + rng.normal(size=rows.n)
    model = regression(rows, penalised=True)
    fitted = maximise(model, Sample.of(model, rows, {"y": y}), start(model))
    sd = float(np.exp(fitted.coefficients("scale")[0]))

    def marginal(ridge):
        """Log evidence of y with the noise known: the coefficients integrated out in closed form."""
        cov = sd**2 * np.eye(rows.n) + rows.P @ rows.P.T / ridge + 1e6 * np.ones((rows.n, rows.n))
        return -0.5 * (np.linalg.slogdet(cov)[1] + y @ np.linalg.solve(cov, y))

    grid = fitted.ridges[0] * np.exp(np.linspace(-1.0, 1.0, 41))
    best = grid[np.argmax([marginal(ridge) for ridge in grid])]
    # Fellner and Schall's fixed point is the maximum of the evidence, but for the grid and the last round.
    assert fitted.ridges[0] == pytest.approx(best, rel=0.1)


def test_sums_are_those_of_the_rows_and_of_differences():
    rng, rows = rows_of(n=300)
    units = rng.integers(0, 7, rows.n)
    y = rng.normal(size=rows.n) + units
    model = regression(rows, penalised=True, units=True)
    sample = Sample.of(model, rows, {"y": y}, rng.uniform(0.5, 2.0, rows.n), units)
    theta = Theta(0.3 * rng.normal(size=model.width), 0.5 * rng.normal(size=(7, 1)))
    total = sums(model, sample, theta)
    np.testing.assert_allclose(total.dense, scores(model, sample, theta).T @ sample.weights)

    def at(move):
        return Theta(theta.dense + move[: model.width], theta.units + move[model.width :].reshape(7, 1))

    size = model.width + 7
    step = 1e-5 * np.eye(size)

    def height(move):
        return log_likelihood(model, sample, at(move))

    slopes = [(height(m) - height(-m)) / 2e-5 for m in step]
    np.testing.assert_allclose(np.r_[total.dense, total.units.ravel()], slopes, atol=1e-4)

    def gradient(move):
        found = sums(model, sample, at(move))
        return np.r_[found.dense, found.units.ravel()]

    curvature = -np.stack([(gradient(m) - gradient(-m)) / 2e-5 for m in step])
    k = model.width
    np.testing.assert_allclose(total.curvature.A, curvature[:k, :k], atol=1e-3)
    np.testing.assert_allclose(total.curvature.B.reshape(k, 7), curvature[:k, k:], atol=1e-3)
    np.testing.assert_allclose(total.curvature.D.ravel(), np.diag(curvature[k:, k:]), atol=1e-3)


def test_units_are_shrunk_as_random_intercepts():
    rng, rows = rows_of(n=2_000, columns=1)
    units = rng.integers(0, 200, rows.n)
    effect = 0.8 * rng.normal(size=200)
    y = rows.P[:, 0] + effect[units] + rng.normal(size=rows.n)
    model = regression(rows, penalised=False, units=True)
    fitted = maximise(model, Sample.of(model, rows, {"y": y}, units=units), start(model, 200))
    # Of these 200 effects, which are seen with noise.
    assert fitted.unit_ridges[0] ** -0.5 == pytest.approx(effect.std(), rel=0.1)
    assert np.corrcoef(fitted.theta.units[:, 0], effect)[0, 1] > 0.9


def test_pieces_add_up(monkeypatch):
    rng, rows = rows_of(n=300)
    model = regression(rows, penalised=True)
    sample = Sample.of(model, rows, {"y": rng.normal(size=rows.n)})
    whole = sums(model, sample, start(model))
    monkeypatch.setattr("proxycal.engine.likelihood.CHUNK", 64)
    parts = sums(model, sample, start(model))
    np.testing.assert_allclose(parts.curvature.A, whole.curvature.A)
    assert parts.loglik == pytest.approx(whole.loglik)
