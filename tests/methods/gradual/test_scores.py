"""What rows and clusters move the reduced form by: sums that add up, and rows that say the same."""

import numpy as np
import pytest

from proxycal.errors import TableError
from proxycal.methods.gradual.moments import reduce, row_moments
from proxycal.methods.gradual.scores import (
    CHUNK,
    cluster_influence,
    entries,
    few_rows,
    row_scores,
    score_sums,
)


@pytest.fixture
def cluster():
    return np.random.default_rng(5).integers(0, 25, size=400)


def test_scores_of_pieces_add_up(rows):
    basis, proxies, outcome, weights = rows
    reduced = reduce(row_moments(basis, proxies, outcome, weights))

    def scores(part):
        return score_sums(reduced, *(column[part] for column in rows))

    whole, added = (
        scores(slice(None)),
        scores(slice(0, 130)) + scores(slice(130, 300)) + scores(slice(300, 400)),
    )
    assert added.count == whole.count == 400
    np.testing.assert_allclose(
        added.sampling(reduced.weight, 5).covariance, whole.sampling(reduced.weight, 5).covariance, atol=1e-14
    )


def test_the_influence_of_a_cluster_is_that_of_leaving_it_out(rows, cluster):
    basis, proxies, outcome, weights = rows
    reduced = reduce(row_moments(basis, proxies, outcome, weights))
    values = np.column_stack([proxies, outcome])
    influence = cluster_influence(reduced, basis, values, weights, cluster)
    x = np.column_stack([np.ones(len(outcome)), reduced.regressors(basis)])
    units = (values - reduced.mean) / reduced.scale
    lower = np.tril_indices(len(reduced.scale))
    for code in (0, 7, 24):
        other = cluster != code
        root = np.sqrt(weights[other])[:, None]
        slopes = np.linalg.lstsq(x[other] * root, units[other] * root, rcond=None)[0]
        left = (units[other] - x[other] @ slopes) * root
        moved = reduced.weight * (reduced.slopes - slopes[1:].T)
        gone = reduced.weight * reduced.resid - left.T @ left - weights[~other].sum() * reduced.resid
        np.testing.assert_allclose(influence[code], np.append(moved.ravel(), gone[lower]), atol=1e-6)


def test_clusters_need_the_whole_table(rows, cluster):
    basis, proxies, outcome, weights = rows
    reduced = reduce(row_moments(basis, proxies, outcome, weights))
    sums = score_sums(reduced, basis, proxies, outcome, weights, cluster)
    with pytest.raises(TableError, match="whole table in memory"):
        sums + sums


def test_the_rows_of_a_table_have_the_covariance_of_their_sums(rows):
    basis, proxies, outcome, weights = rows
    reduced = reduce(row_moments(basis, proxies, outcome, weights))
    table = basis, proxies, outcome, weights
    sums, apart = score_sums(reduced, *table), row_scores(reduced, *table)
    assert apart.count == sums.count == 400
    of_rows, of_sums = apart.sampling(reduced.weight, 6), sums.sampling(reduced.weight, 6)
    assert of_rows.slope_variance == pytest.approx(of_sums.slope_variance)
    # Least squares of y on the three columns, with robust errors by hand.
    x = np.column_stack([np.ones(400), basis])
    left = outcome - x @ np.linalg.lstsq(x * weights[:, None] ** 0.5, outcome * weights**0.5, rcond=None)[0]
    inverse = np.linalg.inv(x.T @ (x * weights[:, None]))
    robust = (inverse @ (x.T * (weights * left) ** 2) @ x @ inverse)[1:, 1:] * 400 / (400 - 6)
    units = reduced.whiten * reduced.scale[-1]
    for sampling in (of_rows, of_sums):
        own = sampling.of_equation(np.array([0.0, 0.0, 1.0]), [])
        np.testing.assert_allclose(units @ own @ units.T, robust, rtol=1e-9)


def test_rows_are_kept_only_where_they_are_few_for_their_columns(rows):
    basis, proxies, outcome, _ = rows
    narrow = reduce(row_moments(basis, proxies, outcome))
    assert entries(narrow) == 3 * 3 + 6
    assert not few_rows(narrow)
    rng = np.random.default_rng(0)
    for n, few in ((1_000, True), (CHUNK + 1, False)):
        wide = reduce(row_moments(rng.normal(size=(n, 40)), rng.normal(size=(n, 20)), rng.normal(size=n)))
        assert few_rows(wide) is few
