"""The moment estimator against exact moments, simulated truth, and its own symmetries."""

import itertools

import numpy as np
import pytest

from proxycal.errors import SettingsError, TableError
from proxycal.methods.moments.estimate import Sample, curvature, fit_moments, influence, size_of
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.testing.simulation import simulate


def _arrays(**arguments):
    sim = simulate(**arguments)
    t = sim.table
    columns = (sim.roles.outcome, list(sim.roles.proxies), list(sim.roles.environment))
    return tuple(t[c].to_numpy() for c in columns)


# --- the derivation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, -1.3])
@pytest.mark.parametrize("alpha", [0.4, 3.0])
def test_formula_is_exact_on_a_population_that_can_be_written_down(c, alpha):
    # Every combination of E, A and a skewed three-point noise, weighted by probability: no sampling error.
    pi = {0: 0.1, 1: 0.45, 2: 0.7}
    mass_e = {0: 0.5, 1: 0.3, 2: 0.2}
    noise = {-0.5: 0.5, 0.0: 0.25, 1.0: 0.25}
    sigma2 = sum(q * v**2 for v, q in noise.items())
    rows = [
        (e, c + alpha * a + eps, mass_e[e] * (pi[e] if a else 1 - pi[e]) * noise[eps])
        for e, a, eps in itertools.product(pi, (0, 1), noise)
    ]
    e, u, w = (np.array(v, dtype=float) for v in zip(*rows, strict=True))
    h = np.array([c + alpha * pi[int(v)] for v in e])
    u, h = u - w @ u, h - w @ h
    nothing = np.zeros((len(u), 1))
    size = size_of(Sample(u, h, nothing, nothing, nothing, w, None))
    assert np.sqrt(size.alpha2) == pytest.approx(alpha, rel=1e-10)
    assert size.sigma2 == pytest.approx(sigma2, rel=1e-9)


def test_moments_are_linear_in_h_with_the_stated_slopes():
    # Simulated: slopes of u^2 and u^3 on h(E) by least squares, within five of their standard errors.
    rng = np.random.default_rng(0)
    n, c, alpha, sigma = 400_000, 0.7, 1.5, 0.5
    pi = rng.uniform(0.1, 0.9, n)
    u = c + alpha * (rng.uniform(size=n) < pi) + sigma * (rng.exponential(size=n) - 1)
    X = np.column_stack([np.ones(n), c + alpha * pi])
    inverse = np.linalg.inv(X.T @ X)
    s2 = 2 * c + alpha
    s3 = 3 * c**2 + 3 * c * alpha + alpha**2 + 3 * sigma**2
    for power, slope in ((2, s2), (3, s3)):
        beta = inverse @ X.T @ u**power
        e = u**power - X @ beta
        se = np.sqrt((inverse @ (X.T * e**2) @ X @ inverse)[1, 1])
        assert abs(beta[1] - slope) < 5 * se
        if power == 2:
            assert beta[0] == pytest.approx(sigma**2 - c**2 - c * alpha, abs=0.05)


def _moved(sample, row=None, proxy=None, step=0.0):
    """The sample with one row's weight, or one b, moved by `step`; h stays the same function of E."""
    w = sample.w + (0.0 if row is None else step * (np.arange(len(sample.w)) == row))
    u = sample.u - (0.0 if proxy is None else step * sample.P[:, proxy])
    centred = (v - w @ v / w.sum() for v in (u, sample.h))
    return Sample(*centred, sample.Q, sample.P, sample.psi_b, w, None)


def test_influences_are_the_derivatives_of_what_they_belong_to():
    rng = np.random.default_rng(1)
    n, step = 80, 1e-5
    E, P, w = rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n)
    u = 2.0 * (E[:, 0] + rng.normal(size=n) > 0) + 0.5 * rng.normal(size=n)
    Q, P = (v - w @ v / w.sum() for v in (E, P))
    # psi_b picks out the derivative by each b in the first two rows.
    psi_b = np.eye(n, 2)
    with_b = _moved(Sample(u, E[:, 0] + 0.3 * E[:, 1], Q, P, psi_b, w, None))
    without = _moved(Sample(u, with_b.h, Q, P, 0 * psi_b, w, None))

    def slope_of(what, **moved):
        ends = (what(_moved(without, step=s, **moved)) for s in (step, -step))
        return (next(ends) - next(ends)) / (2 * step)

    size = size_of(without)
    for what, influence_on in (
        (lambda s: size_of(s).alpha2, lambda s: influence(s, size)),
        (lambda s: curvature(s, size_of(s))[0], lambda s: curvature(s, size)[1]),
    ):
        plain = influence_on(without)
        for row in (0, 7, 40):
            np.testing.assert_allclose(plain[row], slope_of(what, row=row), rtol=1e-5, atol=1e-7)
        for proxy in (0, 1):
            by_b = influence_on(with_b)[proxy] - plain[proxy]
            np.testing.assert_allclose(by_b, slope_of(what, proxy=proxy), rtol=1e-5, atol=1e-7)


# --- accuracy and honest errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "tolerance"), [(1.0, 0.05), (5.0, 0.05), (10.0, 0.05)])
@pytest.mark.parametrize("noise", ["gaussian", "poisson"])
def test_recovers_alpha_at_500_rows(alpha, tolerance, noise):
    fits = [fit_moments(*_arrays(n=500, alpha=alpha, noise=noise, random_state=s)) for s in range(20)]
    alphas = np.array([f.alpha for f in fits])
    assert alphas.mean() == pytest.approx(alpha, abs=0.02)
    assert np.sqrt(np.mean((alphas - alpha) ** 2)) < tolerance


def test_recovers_a_small_bias_in_high_noise_given_rows():
    alphas = [fit_moments(*_arrays(n=5000, alpha=1.0, sd_obs=1.0, random_state=s)).alpha for s in range(12)]
    assert np.mean(alphas) == pytest.approx(1.0, abs=0.12)
    assert np.std(alphas) < 0.22


def test_share_and_sigma():
    sim = simulate(n=5000, alpha=2.0, random_state=1)
    y, P, E = sim.table["y"], sim.table[list(sim.roles.proxies)], sim.table[list(sim.roles.environment)]
    fit = fit_moments(y.to_numpy(), P.to_numpy(), E.to_numpy())
    assert fit.share == pytest.approx(sim.truth["a"].mean(), abs=0.02)
    left = y - P.to_numpy() @ fit.b - 2.0 * sim.truth["a"]
    assert fit.sigma == pytest.approx(left.std(), rel=0.15)
    assert fit.note == ""


def test_interval_covers():
    covered = []
    for seed in range(120):
        fit = fit_moments(*_arrays(n=500, d_e=4, alpha=2.0, sd_obs=0.5, random_state=1000 + seed))
        covered.append(fit.low <= 2.0 <= fit.high)
    # Binomial(120, 0.95) leaves this range about once in a thousand runs.
    assert 0.88 <= np.mean(covered) <= 0.995


def test_standard_error_by_cluster_covers_where_rows_repeat_each_other():
    # Every row stands six times: the rows hold a sixth of the information that their number suggests.
    naive, clustered = [], []
    for seed in range(30):
        y, P, E = (np.repeat(v, 6, axis=0) for v in _arrays(n=300, d_e=3, alpha=2.0, random_state=seed))
        group = np.repeat(np.arange(300), 6)
        for fits, cluster in ((naive, None), (clustered, group)):
            fit = fit_moments(y, P, E, cluster=cluster)
            fits.append(fit.low <= 2.0 <= fit.high)
            if cluster is not None:
                assert fit.first_stage_f_cluster < fit.first_stage_f_robust / 4
    assert np.mean(naive) < 0.75
    assert np.mean(clustered) >= 0.87


def test_level_widens_the_interval():
    arrays = _arrays(n=500, alpha=2.0)
    narrow, wide = fit_moments(*arrays, level=0.5), fit_moments(*arrays, level=0.99)
    assert wide.high - wide.alpha == pytest.approx((narrow.high - narrow.alpha) * 2.5758293 / 0.6744898)


# --- what must not matter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("with_cluster", [False, True])
def test_integer_weights_equal_repeated_rows(with_cluster):
    y, P, E = _arrays(n=400, d_e=3, alpha=2.0, random_state=2)
    times = np.random.default_rng(0).integers(1, 4, 400)
    group = np.arange(400) // 4
    again = [np.repeat(v, times, axis=0) for v in (y, P, E, group)]
    weighted = fit_moments(y, P, E, weights=times.astype(float), cluster=group if with_cluster else None)
    repeated = fit_moments(*again[:3], cluster=again[3] if with_cluster else None)
    for name in (
        "alpha",
        "se",
        "sigma",
        "share",
        "first_stage_f",
        "first_stage_f_robust",
        "drives_p",
        "two_valued_p",
    ):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-8), name
    np.testing.assert_allclose(weighted.b, repeated.b, rtol=1e-8)


def test_units_and_row_order_do_not_matter():
    y, P, E = _arrays(n=600, d_e=3, alpha=2.0, random_state=3)
    fit = fit_moments(y, P, E)
    order = np.random.default_rng(1).permutation(600)
    for other in (
        fit_moments(y[order], P[order], E[order]),
        fit_moments(y, P * [10, 0.1, 3, -1, 7] + 5, E * [0.01, 4, -2] + 100),
    ):
        assert other.alpha == pytest.approx(fit.alpha, rel=1e-8)
        assert other.se == pytest.approx(fit.se, rel=1e-7)
    scaled = fit_moments(1000 * y - 77, P, E)
    assert scaled.alpha == pytest.approx(1000 * fit.alpha, rel=1e-8)
    assert scaled.se == pytest.approx(1000 * fit.se, rel=1e-7)


def test_the_mirrored_outcome_has_the_other_rows_biased_by_as_much():
    y, P, E = _arrays(n=500, alpha=2.0, random_state=4)
    over, flipped = fit_moments(y, P, E), fit_moments(-y, P, E)
    assert flipped.alpha == pytest.approx(over.alpha, rel=1e-8)
    assert flipped.share == pytest.approx(1 - over.share, rel=1e-8)


def test_a_useless_proxy_is_left_out():
    y, P, E = _arrays(n=1000, alpha=2.0, random_state=5)
    noise = np.random.default_rng(9).normal(size=(1000, 1))
    constant = np.ones((1000, 1))
    fit = fit_moments(y, np.hstack([P, noise, constant]), E)
    assert fit.b[5] == 0.0
    assert fit.b[6] == 0.0
    assert fit.alpha == pytest.approx(2.0, abs=0.1)


def test_proxies_on_any_scale_are_weighted_to_the_content():
    # sum_k b_k P_k has slope one on y_true, whatever the c_k: that is what takes the content out.
    sim = simulate(n=20_000, alpha=3.0, random_state=6)
    P, E = sim.table[list(sim.roles.proxies)].to_numpy(), sim.table[list(sim.roles.environment)].to_numpy()
    fit = fit_moments(sim.table["y"].to_numpy(), P, E)
    assert np.polyfit(sim.truth["y_true"], P @ fit.b, 1)[0] == pytest.approx(1.0, abs=0.02)


# --- saying no --------------------------------------------------------------------------------------------


def test_without_bias_the_environment_drives_nothing_and_no_number_is_given():
    fits = [fit_moments(*_arrays(n=500, alpha=0.0, random_state=s)) for s in range(40)]
    assert np.mean([np.isnan(f.alpha) for f in fits]) > 0.9
    assert np.mean([f.drives_p < 0.05 for f in fits]) <= 0.15
    none = next(f for f in fits if np.isnan(f.alpha))
    assert "an F statistic of" in none.note
    assert all(np.isnan(v) for v in (none.se, none.low, none.high, none.sigma, none.share, none.two_valued_p))


def test_drives_p_finds_a_bias():
    assert fit_moments(*_arrays(n=600, alpha=1.0)).drives_p < 1e-6


def test_contradicting_moments_are_reported_not_hidden():
    # E moves the mean evenly and there is no bias: alpha squared is as often negative as positive.
    notes = []
    for seed in range(8):
        y, P, E = _arrays(n=600, d_e=3, alpha=0.0, random_state=seed)
        fit = fit_moments(y + E[:, 0], P, E)
        assert np.isnan(fit.alpha) or fit.two_valued_p < THRESHOLDS.moments_contradicted_p
        assert fit.note
        notes.append(fit.note)
    assert any("contradict" in note for note in notes)
    assert any("One size of bias" in note for note in notes)


def test_one_size_of_bias_is_not_doubted_where_it_holds():
    doubted = [fit_moments(*_arrays(n=600, alpha=2.0, random_state=s)).two_valued_p < 0.05 for s in range(60)]
    assert np.mean(doubted) <= 0.15


def test_noise_that_depends_on_the_environment_is_noticed():
    y, P, E = _arrays(n=3000, d_e=3, alpha=2.0, random_state=2)
    noise = np.random.default_rng(0).normal(size=3000) * np.exp(0.7 * E[:, 0])
    assert fit_moments(y + noise, P, E).two_valued_p < 0.01


def test_a_single_proxy_is_said_to_be_one():
    y, P, E = _arrays(n=1000, alpha=5.0, sd_proxy=0.01, random_state=1)
    fit = fit_moments(y, P[:, :1], E)
    assert "single proxy" in fit.note
    assert fit.alpha == pytest.approx(5.0, abs=0.1)
    assert np.isnan(fit.proxy_f).all()


def test_proxies_that_share_nothing_are_said_to():
    y, _, E = _arrays(n=500, alpha=5.0)
    fit = fit_moments(y, np.random.default_rng(3).normal(size=(500, 3)), E)
    assert np.isnan(fit.alpha)
    assert "hardly agree" in fit.note


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"level": 1.0}, SettingsError, "level"),
        ({"weights": np.zeros(100)}, TableError, "weights"),
        ({"weights": np.ones(3)}, TableError, "shapes"),
        ({"cluster": np.zeros(100, dtype=int)}, TableError, "one cluster"),
    ],
)
def test_bad_input(arguments, error, named):
    with pytest.raises(error, match=named):
        fit_moments(*_arrays(n=100), **arguments)


def test_missing_values_are_refused():
    y, P, E = _arrays(n=100)
    y = np.where(np.arange(100) == 3, np.nan, y)
    with pytest.raises(TableError, match="finite"):
        fit_moments(y, P, E)


def test_too_few_rows_or_clusters_are_said_to_be():
    fit = fit_moments(*_arrays(n=18))
    assert np.isnan(fit.alpha)
    assert "18 rows are too few for 10 environment columns" in fit.note
    fit = fit_moments(*_arrays(n=600), cluster=np.arange(600) // 60)
    assert "10 clusters are too few" in fit.note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda y, P, E: (y, P, np.ones_like(E)), "hardly moves"),
        (lambda y, P, E: (np.ones_like(y), P, E), "hardly moves"),
        (lambda y, P, E: (y, np.ones_like(P), E), "hardly agree"),
        (lambda y, P, E: (y, E[:, :2], E), "hardly agree"),
        (lambda y, P, E: (y, np.ones((len(y), 1)), E), "only proxy"),
        (lambda y, P, E: (y, y[:, None], E), "hardly moves"),
        (lambda y, P, E: (P.sum(axis=1), P, E), "hardly moves"),
    ],
)
def test_degenerate_tables_get_a_note_and_no_number(change, note):
    fit = fit_moments(*change(*_arrays(n=200, d_e=3, alpha=2.0, random_state=1)))
    assert np.isnan(fit.alpha)
    assert note in fit.note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_extreme_units(unit):
    y, P, E = _arrays(n=300, d_e=3, alpha=2.0, random_state=1)
    fit = fit_moments(unit * y, P / unit, E * unit)
    assert fit.alpha == pytest.approx(unit * fit_moments(y, P, E).alpha, rel=1e-8)


def test_levels_with_a_single_row_do_not_pass_for_an_instrument():
    # Thirty rows each alone in their level: no other row can say what they do to the outcome.
    y, P, E = _arrays(n=400, d_e=3, alpha=0.0, random_state=1)
    alone = (np.arange(400)[:, None] == np.arange(30)).astype(float)
    for cluster in (None, np.arange(400) // 4):
        assert fit_moments(y, P, np.hstack([E, alone]), cluster=cluster).first_stage_f_robust < 10
