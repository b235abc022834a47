"""Matching against brute force, closed forms and simulated coverage."""

import numpy as np
import pytest

from proxycal.effect import match as module
from proxycal.effect.match import match_effect, match_new, whiten
from proxycal.errors import SettingsError, TableError


def _world(n=300, d=3, seed=0, alpha=2.0, noise=0.5):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    biased = rng.random(n) < 1 / (1 + np.exp(-z[:, 0]))
    return z[:, 0] - z[:, -1] + alpha * biased + noise * rng.normal(size=n), z, biased


def _brute(y, z, biased, k):
    """Signed differences, row by row, from the definition."""
    inverse = np.linalg.inv(np.cov(z.T, bias=True).reshape(z.shape[1], -1))
    tau, neighbours = np.empty(len(y)), np.empty((len(y), k), dtype=int)
    for i in range(len(y)):
        others = [j for j in np.flatnonzero(~biased) if j != i]
        order = sorted(others, key=lambda j: (z[i] - z[j]) @ inverse @ (z[i] - z[j]))[:k]
        neighbours[i] = order
        tau[i] = y[i] - y[order].mean()
    return tau, neighbours


@pytest.mark.parametrize("d", [1, 3, 12])
@pytest.mark.parametrize("k", [1, 4])
def test_equals_brute_force(d, k):
    y, z, biased = _world(n=60, d=d, seed=d)
    fit = match_effect(y, z, biased, k=k, adjust=False)
    tau, neighbours = _brute(y, z, biased, k)
    np.testing.assert_array_equal(fit.neighbours, neighbours)
    np.testing.assert_allclose(fit.tau, tau, atol=1e-10)
    assert fit.alpha == pytest.approx(tau[biased].mean(), abs=1e-12)
    assert (fit.n_matched == k).all()
    inverse = np.linalg.inv(np.cov(z.T, bias=True).reshape(d, -1))
    gap = z[5] - z[neighbours[5, 0]]
    assert fit.distances[5, 0] == pytest.approx(np.sqrt(gap @ inverse @ gap), rel=1e-8)


def test_standard_error_is_the_formula_of_abadie_and_imbens():
    y, z, biased = _world(n=50, d=2, seed=4)
    k = 3
    fit = match_effect(y, z, biased, k=k, adjust=False)
    tau, neighbours = _brute(y, z, biased, k)
    times = np.bincount(neighbours[biased].ravel(), minlength=len(y))
    sigma2 = k / (k + 1) * tau**2
    variance = np.sum((tau[biased] - fit.alpha) ** 2)
    variance += np.sum((times * (times - 1) / k**2 * sigma2)[~biased])
    assert fit.se == pytest.approx(np.sqrt(variance) / biased.sum(), rel=1e-10)


def test_adjustment_is_exact_where_content_acts_linearly():
    y, z, biased = _world(n=80, noise=0.0, seed=1)
    plain, adjusted = (match_effect(y, z, biased, k=5, adjust=a) for a in (False, True))
    assert abs(plain.alpha - 2.0) > 0.05
    assert adjusted.alpha == pytest.approx(2.0, abs=1e-9)
    np.testing.assert_allclose(adjusted.tau, np.where(biased, 2.0, 0.0), atol=1e-9)


def test_adjustment_equals_its_definition():
    y, z, biased = _world(n=70, d=2, seed=5)
    k = 4
    fit = match_effect(y, z, biased, k=k)
    _, neighbours = _brute(y, z, biased, k)
    times = np.bincount(neighbours[biased].ravel(), minlength=len(y))[~biased]
    X = np.column_stack([np.ones(len(y)), z])
    root = np.sqrt(times)
    beta = np.linalg.lstsq(X[~biased] * root[:, None], y[~biased] * root, rcond=None)[0]
    mu = X @ beta
    tau = [y[i] - np.mean([y[j] + mu[i] - mu[j] for j in neighbours[i]]) for i in range(len(y))]
    np.testing.assert_allclose(fit.tau, tau, atol=1e-9)
    assert fit.alpha == pytest.approx(np.mean(np.array(tau)[biased]), abs=1e-10)


def _uses(y, z, biased, k):
    """How much alpha moves with the outcome of each row: it is linear in y, so a unit step is exact."""
    base = match_effect(y, z, biased, k=k).alpha
    steps = np.eye(len(y))
    return np.array([match_effect(y + step, z, biased, k=k).alpha - base for step in steps])


def test_standard_error_counts_the_adjustment_as_a_use_of_the_controls():
    y, z, biased = _world(n=40, d=2, seed=17)
    k = 3
    fit = match_effect(y, z, biased, k=k)
    use = -_uses(y, z, biased, k)[~biased] * biased.sum()
    _, neighbours = _brute(y, z, biased, k)
    times = np.bincount(neighbours[biased].ravel(), minlength=len(y))[~biased]
    sigma2 = k / (k + 1) * fit.tau[~biased] ** 2
    variance = np.sum((fit.tau[biased] - fit.alpha) ** 2)
    variance += np.sum(np.maximum(use**2 - times / k**2, 0) * sigma2)
    assert fit.se == pytest.approx(np.sqrt(variance) / biased.sum(), rel=1e-6)


def test_clustered_error_is_the_sum_of_uses_times_residuals():
    y, z, biased = _world(n=40, d=2, seed=18)
    group = np.arange(40) // 4
    fit = match_effect(y, z, biased, k=3, cluster=group)
    use = _uses(y, z, biased, 3)
    level = y - z @ fit.controls.slope
    intercept = np.average(level[~biased], weights=use[~biased])
    psi = use * (level - intercept - np.where(biased, fit.alpha, 0.0))
    sums = np.bincount(group, weights=psi)
    assert fit.se == pytest.approx(np.sqrt(sums @ sums * 10 / 9), rel=1e-6)


@pytest.mark.parametrize("d", [2, 10])
def test_affine_changes_of_content_change_nothing(d):
    y, z, biased = _world(n=200, d=d, seed=2)
    rng = np.random.default_rng(9)
    moved = z @ (rng.normal(size=(d, d)) + 3 * np.eye(d)) + rng.normal(size=d) * 50
    one, two = (match_effect(y, content, biased, k=5) for content in (z, moved))
    np.testing.assert_array_equal(one.neighbours, two.neighbours)
    assert one.alpha == pytest.approx(two.alpha, rel=1e-8)
    assert one.se == pytest.approx(two.se, rel=1e-8)
    np.testing.assert_allclose(one.distances, two.distances, rtol=1e-6)


def test_more_matches_asked_than_controls_exist():
    y, z, biased = _world(n=30, d=1, seed=3)
    biased[:] = True
    biased[:4] = False
    fit = match_effect(y, z, biased, k=10, adjust=False)
    assert "fewer than k = 10" in fit.note
    assert fit.neighbours.shape == (30, 10)
    assert (fit.neighbours[10, 4:] == -1).all()
    assert np.isnan(fit.distances[10, 4:]).all()
    assert fit.n_matched[10] == 4
    assert fit.n_matched[0] == 3  # an unbiased row has one other row less
    assert fit.tau[10] == pytest.approx(y[10] - y[:4].mean())


def test_ties_are_shared_and_order_does_not_matter():
    rng = np.random.default_rng(6)
    z = rng.integers(0, 4, size=(120, 2)).astype(float)
    biased = rng.random(120) < 0.4
    y = z.sum(axis=1) + 3.0 * biased + rng.normal(size=120)
    fit = match_effect(y, z, biased, k=1, adjust=False)
    i = np.flatnonzero(biased)[0]
    twins = ~biased & (z == z[i]).all(axis=1)
    assert fit.tau[i] == pytest.approx(y[i] - y[twins].mean())
    assert fit.n_matched[i] == twins.sum()
    order = rng.permutation(120)
    shuffled = match_effect(y[order], z[order], biased[order], k=1, adjust=False)
    assert shuffled.alpha == pytest.approx(fit.alpha, rel=1e-12)
    assert shuffled.se == pytest.approx(fit.se, rel=1e-12)
    np.testing.assert_allclose(shuffled.tau, fit.tau[order], atol=1e-12)


@pytest.mark.parametrize("with_cluster", [False, True])
@pytest.mark.parametrize("adjust", [False, True])
def test_integer_weights_equal_repeated_rows(with_cluster, adjust):
    y, z, biased = _world(n=150, d=2, seed=7)
    times = np.random.default_rng(0).integers(1, 4, 150)
    group = np.arange(150) // 5
    weighted = match_effect(
        y, z, biased, k=3, weights=times.astype(float), cluster=group if with_cluster else None, adjust=adjust
    )
    y2, z2, biased2, group2 = (np.repeat(v, times, axis=0) for v in (y, z, biased, group))
    repeated = match_effect(y2, z2, biased2, k=3, cluster=group2 if with_cluster else None, adjust=adjust)
    assert weighted.alpha == pytest.approx(repeated.alpha, rel=1e-8)
    assert weighted.se == pytest.approx(repeated.se, rel=1e-8)
    np.testing.assert_allclose(np.repeat(weighted.tau, times), repeated.tau, rtol=1e-8)


@pytest.mark.parametrize(("d", "adjust"), [(1, False), (4, True)])
def test_interval_covers(d, adjust):
    covered = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(250, d))
        biased = rng.random(250) < 1 / (1 + np.exp(-z[:, 0] / 2))
        y = (
            (2.0 * z[:, 0] if adjust else 0.0)
            + 1.0 * biased
            + rng.normal(size=250) * (1 + 0.3 * np.abs(z[:, 0]))
        )
        fit = match_effect(y, z, biased, k=4, adjust=adjust)
        covered.append(abs(fit.alpha - 1.0) < 1.96 * fit.se)
    # Binomial(200, 0.95) leaves this range about once in two thousand runs.
    assert 0.89 <= np.mean(covered) <= 0.995


def test_interval_by_cluster_covers_where_rows_share_their_noise():
    naive, clustered = [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        group = np.arange(300) // 6
        z = rng.normal(size=(300, 1))
        biased = (z[:, 0] + 2 * rng.normal(size=50)[group]) > 0
        y = z[:, 0] + 1.0 * biased + rng.normal(size=50)[group] + 0.5 * rng.normal(size=300)
        for inside, cluster in ((naive, None), (clustered, group)):
            fit = match_effect(y, z, biased, cluster=cluster)
            inside.append(abs(fit.alpha - 1.0) < 1.96 * fit.se)
    assert np.mean(clustered) >= 0.88
    assert np.mean(naive) < np.mean(clustered) - 0.1


def test_rows_as_their_own_clusters_give_nearly_the_plain_error():
    y, z, biased = _world(n=800, d=1, seed=8)
    plain, alone = match_effect(y, z, biased), match_effect(y, z, biased, cluster=np.arange(800))
    assert alone.se == pytest.approx(plain.se, rel=0.1)


def test_fitted_rows_get_the_same_answer_as_new_rows():
    y, z, biased = _world(n=200, d=2, seed=10)
    fit = match_effect(y, z, biased, k=5)
    again = match_new(fit.controls, y, z, biased)
    for name in ("n_matched", "neighbours"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fit, name))
    # Distances of fitted and of new rows are computed in two ways.
    for name in ("tau", "distances"):
        np.testing.assert_allclose(getattr(again, name), getattr(fit, name), rtol=1e-9, atol=1e-12)


def test_new_rows_are_matched_to_the_stored_controls():
    y, z, biased = _world(n=100, d=2, seed=11)
    fit = match_effect(y, z, biased, k=3, adjust=False)
    new = np.array([[0.3, -0.2], [1.0, 1.0]])
    got = match_new(fit.controls, np.array([5.0, 6.0]), new, np.array([True, False]))
    inverse = np.linalg.inv(np.cov(z.T, bias=True))
    rows = np.flatnonzero(~biased)
    for i in range(2):
        distance = [np.sqrt((new[i] - z[j]) @ inverse @ (new[i] - z[j])) for j in rows]
        nearest = rows[np.argsort(distance)[:3]]
        np.testing.assert_array_equal(got.neighbours[i], nearest)
        assert got.tau[i] == pytest.approx([5.0, 6.0][i] - y[nearest].mean())


def test_chunks_change_nothing(monkeypatch):
    y, z, biased = _world(n=150, d=2, seed=12)
    whole = match_effect(y, z, biased)
    monkeypatch.setattr(module, "CHUNK", 7)
    pieces = match_effect(y, z, biased)
    # The last digit of a product of matrices depends on their shapes.
    np.testing.assert_allclose(whole.tau, pieces.tau, atol=1e-10)
    np.testing.assert_array_equal(whole.neighbours, pieces.neighbours)


def test_columns_without_variance_and_copies_of_columns_are_harmless():
    y, z, biased = _world(n=120, d=2, seed=13)
    extended = np.column_stack([z, np.full(120, 7.3), z[:, 0] * 2])
    one, two = match_effect(y, z, biased), match_effect(y, extended, biased)
    assert two.alpha == pytest.approx(one.alpha, rel=1e-8)
    assert two.se == pytest.approx(one.se, rel=1e-8)


def test_too_few_controls_to_adjust_is_said():
    y, z, biased = _world(n=40, d=4, seed=14)
    biased[:] = True
    biased[:4] = False
    fit = match_effect(y, z, biased, k=2)
    assert "too few to adjust" in fit.note
    assert (fit.controls.slope == 0).all()


def test_controls_that_are_all_alike():
    y, z = np.array([1.0, 2.0, 5.0, 6.0]), np.array([[0.0], [0.0], [1.0], [2.0]])
    fit = match_effect(y, z, np.array([False, False, True, True]), k=1)
    assert fit.alpha == pytest.approx(4.0)
    assert fit.se > 0
    assert fit.n_matched.tolist() == [0, 0, 2, 2]
    assert np.isnan(fit.tau[:2]).all()


def test_whitening_makes_unit_covariance():
    _, z, _ = _world(n=100, d=4, seed=15)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    flat = whiten(z, w).apply(z)
    np.testing.assert_allclose((flat.T * w) @ flat / w.sum(), np.eye(4), atol=1e-10)


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"k": 0}, SettingsError, "k=0"),
        ({"k": 2.5}, SettingsError, "k=2.5"),
        ({"biased": np.zeros(20, dtype=bool)}, TableError, "0 biased and 20 unbiased"),
        ({"weights": np.zeros(20)}, TableError, "weights above 0"),
        ({"y": np.full(20, np.nan)}, TableError, "finite"),
        ({"z_hat": np.ones((20, 2))}, TableError, "nothing to match on"),
        ({"z_hat": np.ones((19, 2))}, TableError, "shapes"),
        ({"cluster": np.zeros(20, dtype=int)}, TableError, "1 clusters"),
    ],
)
def test_bad_input(change, error, named):
    y, z, biased = _world(n=20, d=2, seed=16)
    with pytest.raises(error, match=named):
        match_effect(**({"y": y, "z_hat": z, "biased": biased} | change))


def test_new_rows_of_another_width_are_refused():
    y, z, biased = _world(n=50, d=2)
    fit = match_effect(y, z, biased)
    with pytest.raises(TableError, match="2 content columns"):
        match_new(fit.controls, y, z[:, :1], biased)
