import numpy as np
import pytest

from engine_worlds import fitted
from proxycal.engine.average import averaged, by_true_value, quantiles


def test_content_that_proxies_show_with_noise_decides_through_the_true_value():
    # Who is biased follows content, and what proxies do not show of it is in the true value: rows with a
    # high one are biased more often, which a size alone takes for a larger bias.
    found = fitted("y2", seed=1000, n=2000)
    fit, alone, true = found.comparison.biased, found.sizes, found.alpha / found.unit
    assert alone.alpha - 2.0 * alone.se > true
    over_models = averaged(found.table, fit)
    assert over_models.low < true < over_models.high
    assert abs(over_models.alpha - true) < abs(alone.alpha - true)
    assert over_models.weights.sum() == pytest.approx(1.0)


def test_where_one_size_is_right_other_models_change_little():
    found = fitted("one size, 3 sd", seed=1001, n=1000)
    fit, alone = found.comparison.biased, found.sizes
    assert by_true_value(found.table, fit) is None
    over_models = averaged(found.table, fit)
    assert over_models.weights[0] > 0.5
    assert over_models.alpha == pytest.approx(alone.alpha, abs=alone.se)
    assert alone.se < over_models.se < 1.4 * alone.se


def test_small_sizes_that_hardly_show_make_the_mean_size_less_sure():
    # One or four sds: rows biased by one sd look unbiased, and one size is all that pays.
    found = fitted("states 0, 1 and 4", seed=4242, n=2000)
    over_models, true = averaged(found.table, found.comparison.biased), found.alpha / found.unit
    assert found.sizes.alpha - 5.0 * found.sizes.se > true
    assert over_models.low < found.sizes.alpha - 5.0 * found.sizes.se
    assert over_models.low < 1.1 * true
    assert abs(over_models.alpha - true) < abs(found.sizes.alpha - true)


def test_quantiles_of_two_models_apart():
    low, high = quantiles(np.array([0.5, 0.5]), np.array([0.0, 10.0]), np.ones(2), 0.9)
    # Each end leaves a tenth of its own model outside.
    assert (low, high) == pytest.approx((-1.2816, 11.2816), abs=1e-3)
