"""The system of content, proxies and bias: gradients, identification, tests, and known answers."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import chi2

from proxycal.methods.gradual.basis import fit_basis
from proxycal.methods.gradual.direct import score_statistic, strongest_direct_effect
from proxycal.methods.gradual.mimic import fit_contents, fit_mimic, most_contents, spare_moments
from proxycal.methods.gradual.moments import reduce, row_moments
from proxycal.methods.gradual.scores import score_sums
from proxycal.methods.gradual.structure import fit_structure, settle

BIAS = np.array([1.0, 0.0, -0.5, 0.0])


def rows(seed=0, n=1500, n_proxies=4, contents=2, reach=0.0, heavy=False):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 4))
    gamma = np.array([[0.6, -0.3, 0.3, 0.0], [0.0, 0.5, 0.4, -0.3]])[:contents]
    z = e @ gamma.T + 0.8 * rng.normal(size=(n, contents))
    load = np.array([[1.0, 0.3, 0.8, 0.6, 0.9], [0.2, 1.0, -0.5, 0.7, -0.3]])[:contents, :n_proxies]
    noise = (
        (lambda *size: rng.standard_t(5, size=size) * 0.77)
        if heavy
        else (lambda *size: rng.normal(size=size))
    )
    proxies = z @ load + 0.6 * noise(n, n_proxies)
    proxies[:, -1] += reach * e[:, 3]
    outcome = z @ [1.5, 1.0][:contents] + e @ BIAS + 0.7 * noise(n)
    return e, proxies, outcome


def contents_of(reduced, d, sampling, n):
    return fit_contents(settle(fit_structure(reduced, d), reduced), sampling, n)


def sampling_of(data):
    moments = row_moments(*data)
    return score_sums(reduce(moments), *data).sampling(moments.weight, 7)


def fitted(data, d):
    reduced, sampling = reduce(row_moments(*data)), sampling_of(data)
    fit = fit_mimic(contents_of(reduced, d, sampling, len(data[2])), reduced, sampling)
    units = reduced.whiten * reduced.scale[-1]
    return units @ fit.bias, np.sqrt(np.diag(units @ fit.bias_cov @ units.T)), fit


@pytest.mark.parametrize("n_proxies", [3, 4, 5])
def test_the_bias_is_recovered_where_least_squares_is_off(n_proxies):
    data = rows(seed=11, n=4000, n_proxies=n_proxies)
    bias, se, fit = fitted(data, 2)
    assert fit.contents.flat == 0
    assert fit.over_p > 0.01
    assert (np.abs(bias - BIAS) < 3.5 * se).all()
    assert se.max() < 0.1
    naive = np.linalg.lstsq(np.column_stack([np.ones(4000), *data[1].T, data[0]]), data[2], rcond=None)[0][
        -4:
    ]
    assert np.abs(naive - BIAS).max() > 2.0 * np.abs(bias - BIAS).max()


def test_standard_errors_match_the_spread_over_tables():
    fits = [fitted(rows(seed, n=600, heavy=True), 2) for seed in range(60)]
    estimates, errors = np.array([f[0] for f in fits]), np.array([f[1] for f in fits])
    np.testing.assert_allclose(errors.mean(axis=0), estimates.std(axis=0, ddof=1), rtol=0.3)
    assert np.mean(np.abs(estimates - BIAS) < 1.96 * errors) > 0.9


def test_the_over_identification_test_has_its_size_and_sees_a_proxy_that_e_reaches():
    valid = [fitted(rows(seed, n=600, heavy=True), 2)[2].over_p for seed in range(60)]
    assert np.mean(np.array(valid) < 0.05) <= 0.13
    assert np.mean(valid) == pytest.approx(0.5, abs=0.15)
    reached = [fitted(rows(seed, n=1000, reach=0.35), 2)[2].over_p for seed in range(10)]
    assert np.mean(np.array(reached) < 0.01) >= 0.9


def test_more_contents_than_there_are_leave_a_direction_hardly_determined():
    data = rows(n_proxies=5)
    assert fitted(data, 3)[2].contents.least_information < 0.1 * fitted(data, 2)[2].contents.least_information


def test_the_proxy_that_e_reaches_is_named_with_the_column():
    for reach in (0.0, 0.35):
        e, proxies, outcome = rows(seed=3, reach=reach)
        columns = {f"e{k}": e[:, k] for k in range(4)}
        basis = fit_basis(columns, dict.fromkeys(columns, "linear"))
        data = (basis.transform(columns), proxies, outcome)
        fit = fitted(data, 2)[2]
        suspect = strongest_direct_effect(fit, reduce(row_moments(*data)), basis, len(outcome))
        assert suspect is not None
        if reach:
            assert (suspect.proxy, suspect.column) == (3, "e3")
            assert suspect.p < 1e-6
        else:
            assert suspect.p > 0.01


@pytest.mark.parametrize("d", [0, 1, 2])
def test_what_the_parameters_leave_of_the_curvature(d):
    data = rows(n=600, heavy=True)
    reduced, sampling = reduce(row_moments(*data)), sampling_of(data)
    covariance = sampling.covariance
    contents = contents_of(reduced, d, sampling, 600.0)
    fit = fit_mimic(contents, reduced, sampling)
    curvature = block_diag(np.kron(contents.curvature.of_slopes, np.eye(4)), contents.curvature.of_resid)
    jacobian = contents.curvature.jacobian
    # The curvature of the parameters, less the rotations of content.
    inverse = np.linalg.pinv(jacobian.T @ curvature @ jacobian, rcond=1e-9, hermitian=True)
    left = curvature - curvature @ jacobian @ inverse @ jacobian.T @ curvature
    influence = (inverse @ jacobian.T @ curvature)[-4:]
    np.testing.assert_allclose(fit.bias_cov, influence @ covariance @ influence.T, rtol=1e-6, atol=1e-12)
    spread = left @ covariance
    for proxy in range(4):
        own = slice(4 * proxy, 4 * proxy + 4)
        np.testing.assert_allclose(fit.left[proxy], left[own, own], atol=1e-8)
        np.testing.assert_allclose(fit.left_cov[proxy], (spread @ left)[own, own], atol=1e-8)
    first, second = np.trace(spread), np.trace(spread @ spread)
    assert fit.over_statistic == pytest.approx(contents.structure.distance * first / second, rel=1e-6)
    assert fit.over_p == pytest.approx(chi2.sf(fit.over_statistic, first**2 / second), rel=1e-5)
    scaled = contents.structure.distance * contents.spare / first
    assert contents.bic == pytest.approx(scaled - contents.spare * np.log(600.0))


def test_a_column_alone_is_tested_like_several():
    rng = np.random.default_rng(5)
    spread, score = np.diag(rng.uniform(0.5, 2.0, size=2)), rng.normal(size=2)
    # Two columns that have nothing to do with each other are tested by the sum of what each is tested by.
    alone = spread.diagonal().reshape(2, 1, 1)
    one_by_one = [score_statistic(of, np.eye(1), of, score[i : i + 1]) for i, of in enumerate(alone)]
    both, rank = score_statistic(spread, np.eye(2), spread, score)
    assert rank == 2
    assert both == pytest.approx(sum(statistic for statistic, _ in one_by_one))
    assert score_statistic(np.full((1, 1), 0.01), np.eye(1), np.eye(1), score[:1])[1] == 0


def test_a_content_that_only_the_outcome_could_show_is_flat():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(800, 2))
    fit = fitted((rng.normal(size=(800, 3)), noise, rng.normal(size=800)), 1)[2]
    assert fit.contents.flat > 0 or fit.contents.least_information < 10.0


def test_the_criterion_chooses_the_number_of_contents():
    for contents in (1, 2):
        data = rows(contents=contents, n_proxies=4)
        tried = [fitted(data, d)[2].contents.bic for d in range(4)]
        assert int(np.argmin(tried)) == contents


def test_counts_of_proxies_and_moments():
    assert [most_contents(k, 6) for k in (1, 2, 3, 4, 6)] == [0, 1, 2, 3, 5]
    assert most_contents(4, 1) == 2
    assert spare_moments(2, 5, 1) == 5
