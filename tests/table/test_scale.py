from __future__ import annotations

import numpy as np
import pytest

from proxycal.table.scale import (
    FLAT,
    centre_and_spread,
    exponent_of,
    outlying,
    shrink,
    varies,
    weighted_median,
)


def test_centre_and_spread_equal_numpy() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, 999)
    centre, spread = centre_and_spread(x, np.ones(999))
    assert centre == pytest.approx(x.mean(), rel=1e-14)
    assert spread == pytest.approx(x.std(), rel=1e-14)


def test_integer_weights_equal_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.uniform(-1, 1, 200), rng.integers(1, 5, 200)
    again = np.repeat(x, w)
    weighted = centre_and_spread(x, w.astype(float))
    assert weighted == pytest.approx(centre_and_spread(again, np.ones(len(again))), rel=1e-13)
    assert weighted_median(x, w.astype(float)) == np.median(again)
    assert weighted_median(np.array([4.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])) == 3.0
    assert weighted_median(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == 1.5


def test_the_order_of_rows_changes_no_bit() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.uniform(-1, 1, 5000), rng.uniform(0.1, 3, 5000)
    turn = rng.permutation(5000)
    assert centre_and_spread(x, w) == centre_and_spread(x[turn], w[turn])


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.0])
def test_no_size_overflows_or_vanishes(size: float) -> None:
    x = np.array([1.0, 2.0, 4.0]) * size
    small = shrink(x, exponent_of(x))
    assert 0.5 <= np.max(np.abs(small)) <= 1
    assert small / small[0] == pytest.approx([1, 2, 4])
    assert centre_and_spread(small, np.full(3, 1e300))[1] > 0.1


def test_varies_tells_rounding_from_variation() -> None:
    assert not varies(np.full(10, 1e300))
    assert not varies(np.array([0.1 + 0.2, 0.3] * 5))
    assert not varies(np.array([]))
    assert varies(np.array([1e9, 1e9 + 1]))
    assert varies(np.array([0.0, 5e-324]))
    assert not varies(np.array([np.nan, 1.0]))
    rng = np.random.default_rng(0)
    for size in (1e300, 1e-300, -1.0):
        x = size * (1.0 + rng.uniform(-1e-13, 1e-13, 50) * rng.choice([0.1, 1.0, 3.0]))
        assert varies(x) == (np.ptp(shrink(x, exponent_of(x))) > FLAT)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 101])
@pytest.mark.parametrize("spread", [1e-7, 1e-6, 4e-6, 1.0])
def test_outlying_values_are_those_many_quartile_ranges_off(n: int, spread: float) -> None:
    rng = np.random.default_rng(n)
    for _ in range(5):
        x = np.append(rng.uniform(-spread, spread, n), [1.0, np.nan, -0.4])
        low, middle, high = np.nanquantile(x, [0.25, 0.5, 0.75])
        assert outlying(x, 1e6).tolist() == (np.abs(x - middle) > 1e6 * (high - low)).tolist()
    assert not outlying(np.full(n, 0.5), 1e6).any()
    assert not outlying(np.full(n, np.nan), 1e6).any()
