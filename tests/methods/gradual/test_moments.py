"""Sums add up over pieces, do not lose digits, and are free of the unit of the weights."""

import numpy as np
import pytest

from proxycal.errors import TableError
from proxycal.methods.gradual.moments import reduce, repeated_columns, row_moments


def take(rows, part):
    return [column[part] for column in rows]


def test_pieces_are_the_whole(rows):
    basis, proxies, outcome, weights = rows
    whole = row_moments(basis, proxies, outcome, weights)
    parts = [row_moments(*take(rows, slice(start, start + 90))) for start in range(0, 400, 90)]
    added = sum(parts[1:], parts[0])
    assert (added.rows, added.width) == (whole.rows, whole.width)
    np.testing.assert_allclose(added.mean, whole.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(added.scatter, whole.scatter, rtol=1e-10, atol=1e-9)
    assert added.n_kish == pytest.approx(whole.n_kish)


def test_a_mean_far_from_zero_costs_no_digits(rows):
    basis, proxies, outcome, _ = rows
    near = reduce(row_moments(basis, proxies, outcome))
    far = [
        row_moments(basis[part], proxies[part] + 1e7, outcome[part])
        for part in (slice(0, 200), slice(200, 400))
    ]
    np.testing.assert_allclose(reduce(far[0] + far[1]).slopes, near.slopes, rtol=1e-6, atol=1e-7)


def test_the_reduced_form_is_least_squares(rows):
    basis, proxies, outcome, weights = rows
    reduced = reduce(row_moments(basis, proxies, outcome, weights))
    root = np.sqrt(weights)[:, None]
    design = np.column_stack([np.ones(400), basis])
    slopes = np.linalg.lstsq(design * root, np.column_stack([proxies, outcome]) * root, rcond=None)[0]
    np.testing.assert_allclose(reduced.whiten @ reduced.slopes.T * reduced.scale, slopes[1:], rtol=1e-9)
    np.testing.assert_allclose(np.diag(reduced.resid), 1.0)


def test_weights_have_no_unit_and_stand_for_repeated_rows(rows):
    basis, proxies, outcome, weights = rows
    one, other = (reduce(row_moments(basis, proxies, outcome, weights * unit)) for unit in (1.0, 1e6))
    np.testing.assert_allclose(one.slopes, other.slopes, rtol=1e-10)
    assert one.n_kish == pytest.approx(other.n_kish)
    counts = np.random.default_rng(0).integers(1, 4, size=400)
    repeated = reduce(
        row_moments(*(np.repeat(column, counts, axis=0) for column in (basis, proxies, outcome)))
    )
    np.testing.assert_allclose(
        reduce(row_moments(basis, proxies, outcome, counts.astype(float))).slopes, repeated.slopes, rtol=1e-9
    )


def test_repeated_columns_are_found(rows):
    basis, proxies, outcome, _ = rows
    wide = np.column_stack([basis, np.ones(400), basis @ [1.0, -2.0, 0.5], basis[:, 0] ** 2])
    assert repeated_columns(row_moments(wide, proxies, outcome)).tolist() == [
        False,
        False,
        False,
        True,
        True,
        False,
    ]


def test_an_outcome_that_the_environment_determines_is_an_error(rows):
    basis, proxies, _, _ = rows
    with pytest.raises(TableError, match="determines a proxy or the outcome"):
        reduce(row_moments(basis, proxies, basis @ [1.0, 2.0, 3.0]))
    with pytest.raises(TableError, match="sum to zero"):
        row_moments(basis, proxies, basis[:, 0], np.zeros(400))
