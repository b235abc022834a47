"""The simulated structure is the one METHOD states: checked by regression on large samples."""

import hashlib
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from proxycal.errors import ProxycalError, SettingsError, TableError
from proxycal.table.roles import Roles
from proxycal.testing.simulation import inject_bias, simulate

LARGE = 40_000
# Five standard errors of a correlation at n = 40,000: a false alarm once in two million tests.
NO_CORRELATION = 5 / np.sqrt(LARGE)


@pytest.fixture(scope="module", params=["gaussian", "poisson"])
def large(request):
    return request.param, simulate(
        n=LARGE, d_z=3, d_e=4, n_proxies=3, alpha=2.0, noise=request.param, random_state=3
    )


def _residual(v, *on):
    X = np.column_stack([np.ones(len(v)), *on])
    return v - X @ np.linalg.lstsq(X, v, rcond=None)[0]


def _digest(frame):
    return hashlib.sha256(frame.to_numpy(dtype=float).tobytes()).hexdigest()


def test_observed_outcome_is_truth_plus_bias_plus_small_noise(large):
    noise, sim = large
    eps = sim.table["y"] - sim.truth["y_true"] - 2.0 * sim.truth["a"]
    assert eps.mean() == pytest.approx(0, abs=5 * 0.1 / np.sqrt(LARGE))
    assert eps.std() == pytest.approx(0.1, rel=0.03)
    # (Poisson(4) - 4) / 2 has skewness 1/2 and excess kurtosis 1/4, a Gaussian none.
    skew, kurtosis = (0.5, 0.25) if noise == "poisson" else (0.0, 0.0)
    assert eps.skew() == pytest.approx(skew, abs=0.08)
    assert eps.kurtosis() == pytest.approx(kurtosis, abs=0.2)


def test_noise_scales_of_content_and_proxies(large):
    _, sim = large
    z = sim.truth[["z_1", "z_2", "z_3"]].to_numpy()
    y_true = sim.truth["y_true"].to_numpy()
    e = sim.table[["e_1", "e_2", "e_3", "e_4"]].to_numpy()
    assert _residual(y_true, z).std() == pytest.approx(0.5, rel=0.02)
    assert _residual(z[:, 0], e).std() == pytest.approx(1.0, rel=0.02)
    np.testing.assert_allclose(np.cov(e.T), np.eye(4), atol=0.04)
    for k in (1, 2, 3):
        p = sim.table[f"p_{k}"].to_numpy()
        slope = np.polyfit(y_true, p, 1)[0]
        assert 0.48 < slope < 1.52
        assert _residual(p, y_true).std() == pytest.approx(0.5, rel=0.02)


def test_exclusion_proxies_do_not_depend_on_the_bias_given_truth(large):
    _, sim = large
    y_true, a = sim.truth["y_true"].to_numpy(), sim.truth["a"].to_numpy(dtype=float)
    for k in (1, 2, 3):
        p = sim.table[f"p_{k}"].to_numpy()
        assert abs(np.corrcoef(_residual(p, y_true), _residual(a, y_true))[0, 1]) < NO_CORRELATION


def test_leak_breaks_exclusion_by_the_stated_share():
    sim = simulate(n=LARGE, d_z=2, d_e=3, n_proxies=1, alpha=2.0, leak=0.5, c_low=1.0, c_high=1.0)
    X = np.column_stack([np.ones(LARGE), sim.truth["y_true"], sim.truth["a"]])
    beta = np.linalg.lstsq(X, sim.table["p_1"].to_numpy(), rcond=None)[0]
    np.testing.assert_allclose(beta, [0.0, 1.0, 1.0], atol=0.03)


def test_bias_is_driven_by_environment_alone(large):
    _, sim = large
    e = sim.table[["e_1", "e_2", "e_3", "e_4"]].to_numpy()
    a = sim.truth["a"].to_numpy(dtype=float)
    for z in ("z_1", "z_2", "z_3"):
        assert abs(np.corrcoef(_residual(sim.truth[z].to_numpy(), e), a)[0, 1]) < NO_CORRELATION
    assert np.var(_residual(a, e)) < 0.8 * np.var(a)


def test_share_of_biased_is_about_half():
    shares = [simulate(n=4000, random_state=seed).truth["a"].mean() for seed in range(5)]
    assert shares == pytest.approx([0.5] * 5, abs=0.05)


def test_weight_scales():
    # With sd_z = 0, z is W_z'e exactly, so the variance of z over many seeds is that of W_z.
    slopes = []
    for seed in range(200):
        sim = simulate(n=20, d_z=2, d_e=4, n_proxies=1, random_state=seed, sd_z=0.0, w_z_scale=3.0)
        e = sim.table[["e_1", "e_2", "e_3", "e_4"]].to_numpy()
        slopes.append(np.linalg.lstsq(e, sim.truth[["z_1", "z_2"]].to_numpy(), rcond=None)[0])
    assert np.std(slopes) == pytest.approx(3.0 / np.sqrt(4), rel=0.1)


def test_same_seed_same_bytes_other_seed_other_bytes():
    first, again, other = (simulate(n=300, random_state=s) for s in (7, 7, 8))
    assert _digest(first.table) == _digest(again.table)
    assert _digest(first.truth) == _digest(again.truth)
    assert _digest(first.table) != _digest(other.table)


def test_direction_and_alpha_leave_the_units_alone():
    over, under, null = (
        simulate(n=100, random_state=1, alpha=a, direction=d)
        for a, d in ((3.0, "over"), (3.0, "under"), (0.0, "over"))
    )
    pd.testing.assert_frame_equal(over.truth, under.truth)
    np.testing.assert_allclose(over.table["y"] - null.table["y"], 3.0 * over.truth["a"], atol=1e-12)
    np.testing.assert_allclose(under.table["y"] - null.table["y"], -3.0 * over.truth["a"], atol=1e-12)


def test_truth_is_not_in_the_table_and_roles_name_its_columns():
    sim = simulate(n=50, d_z=2, d_e=3, n_proxies=4)
    assert list(sim.table.columns) == list(sim.roles.columns)
    assert not set(sim.truth.columns) & set(sim.table.columns)
    assert sim.table.index.equals(sim.truth.index)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"n": 0}, "n=0"),
        ({"n": 10.5}, "n=10.5"),
        ({"d_z": -1}, "d_z=-1"),
        ({"n_proxies": 0}, "n_proxies=0"),
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"alpha": float("nan")}, "alpha=nan"),
        ({"noise": "cauchy"}, "cauchy"),
        ({"direction": "up"}, "'over' or 'under'"),
        ({"sd_obs": -0.1}, "sd_obs"),
        ({"random_state": "x"}, "random_state"),
        ({"c_low": 2.0, "c_high": 1.0}, "c_low=2.0"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(SettingsError, match=named):
        simulate(**arguments)


# --- inject_bias -----------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    n = 3000
    table = pd.DataFrame(
        {
            "loss": rng.exponential(100.0, n),
            "p": rng.normal(5.0, 2.0, n),
            "income": rng.normal(50_000, 9_000, n),
            "hazard": rng.choice(["flood", "fire", "wind"], n),
            "coast": rng.random(n) < 0.3,
        },
        index=[f"unit {i}" for i in range(n)],
    )
    return table, Roles(outcome="loss", proxies=["p"], environment=["income", "hazard", "coast"])


@pytest.mark.parametrize(("direction", "sign"), [("over", 1), ("under", -1)])
def test_injection_adds_alpha_to_the_standardised_outcome(mixed, direction, sign):
    table, roles = mixed
    before = table.copy()
    inj = inject_bias(table, roles, alpha=1.5, direction=direction, random_state=2)
    z = (table["loss"] - table["loss"].mean()) / table["loss"].std(ddof=0)
    np.testing.assert_allclose(inj.truth["y_true"], z, atol=1e-12)
    np.testing.assert_allclose(inj.table["loss"] - z, sign * 1.5 * inj.truth["a"], atol=1e-12)
    assert inj.table.index.equals(table.index)
    assert inj.truth.index.equals(table.index)
    pd.testing.assert_frame_equal(inj.table.drop(columns="loss"), table.drop(columns="loss"))
    pd.testing.assert_frame_equal(table, before)


def test_the_outcome_keeps_its_units_where_asked(mixed):
    table, roles = mixed
    inj = inject_bias(
        table, roles, alpha=20.0, direction="under", random_state=2, leak=0.5, standardise=False
    )
    np.testing.assert_array_equal(inj.truth["y_true"], table["loss"])
    np.testing.assert_allclose(inj.table["loss"], table["loss"] - 20.0 * inj.truth["a"])
    in_sd = 20.0 / table["loss"].std(ddof=0)
    np.testing.assert_allclose(
        inj.table["p"], table["p"] - 0.5 * in_sd * table["p"].std(ddof=0) * inj.truth["a"]
    )
    standard = inject_bias(table, roles, alpha=1.0, direction="under", random_state=2)
    np.testing.assert_array_equal(standard.truth["a"], inj.truth["a"])


def test_injection_depends_on_environment_and_not_on_its_units(mixed):
    table, roles = mixed
    a = inject_bias(table, roles, random_state=4).truth["a"].to_numpy()
    scaled = (
        inject_bias(table.assign(income=table["income"] / 7 + 3), roles, random_state=4).truth["a"].to_numpy()
    )
    np.testing.assert_array_equal(a, scaled)
    dummies = pd.get_dummies(table[["hazard", "coast"]]).to_numpy(dtype=float)
    explained = 1 - np.var(_residual(a.astype(float), table["income"], dummies)) / np.var(a)
    assert explained > 0.05


def test_injection_draws_from_the_stated_gate():
    # One standardised column: A ~ Bernoulli(logistic(w e)), so a logistic regression must find a slope w
    # whose spread over seeds is gate_scale.
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"y": rng.normal(size=2000), "p": rng.normal(size=2000), "e": rng.normal(size=2000)})
    roles = Roles(outcome="y", proxies=["p"], environment=["e"])
    slopes = []
    for seed in range(40):
        a = inject_bias(table, roles, random_state=seed, gate_scale=1.0).truth["a"]
        slopes.append(LogisticRegression(C=1e6).fit(table[["e"]].to_numpy(), a).coef_[0, 0])
    assert np.std(slopes) == pytest.approx(1.0, rel=0.3)


def test_polars_in_polars_out_same_numbers(mixed):
    table, roles = mixed
    pandas = inject_bias(table, roles, random_state=5)
    polars = inject_bias(pl.from_pandas(table.reset_index(drop=True)), roles, random_state=5)
    assert isinstance(polars.table, pl.DataFrame)
    assert isinstance(polars.truth, pl.DataFrame)
    np.testing.assert_array_equal(polars.table["loss"].to_numpy(), pandas.table["loss"].to_numpy())
    np.testing.assert_array_equal(polars.truth["a"].to_numpy(), pandas.truth["a"].to_numpy())


def test_duplicated_index_labels_and_missing_values_are_carried(mixed):
    table, roles = mixed
    table = table.head(100).set_axis(["same"] * 100, axis=0)
    table.iloc[3, table.columns.get_loc("income")] = np.nan
    table.iloc[5, table.columns.get_loc("loss")] = np.nan
    table.iloc[7, table.columns.get_loc("hazard")] = None
    inj = inject_bias(table, roles)
    assert np.flatnonzero(inj.table["loss"].isna()).tolist() == [5]
    assert np.flatnonzero(inj.table["income"].isna()).tolist() == [3]
    assert inj.truth["a"].isin([0, 1]).all()


def test_leak_reaches_the_proxies(mixed):
    table, roles = mixed
    inj = inject_bias(table, roles, alpha=2.0, leak=0.25)
    expected = 0.25 * 2.0 * table["p"].std(ddof=0) * inj.truth["a"]
    np.testing.assert_allclose(inj.table["p"] - table["p"], expected, atol=1e-12)


def test_a_truth_role_in_other_units_is_dropped(mixed):
    table, roles = mixed
    inj = inject_bias(table.assign(real=table["loss"]), replace(roles, truth="real"))
    assert inj.roles.truth is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: t.assign(loss=1.0), "'loss' is constant"),
        (lambda t: t.assign(loss="much"), "'loss' is not numeric"),
        (lambda t: t.assign(loss=np.where(np.arange(len(t)) == 4, np.inf, t["loss"])), r"rows \[4\]"),
        (lambda t: t.drop(columns="income"), "income"),
        (lambda t: t.assign(income=1.0, hazard="fire", coast=True), "do not vary"),
        (lambda t: t.assign(loss=np.nan), "no number at all"),
    ],
)
def test_tables_that_cannot_carry_a_bias_are_refused(mixed, change, named):
    table, roles = mixed
    with pytest.raises(TableError, match=named):
        inject_bias(change(table), roles)


def test_bad_injection_arguments(mixed):
    table, roles = mixed
    for arguments in ({"alpha": -1.0}, {"direction": "both"}, {"random_state": -1}, {"leak": -0.1}):
        with pytest.raises(ProxycalError):
            inject_bias(table, roles, **arguments)
