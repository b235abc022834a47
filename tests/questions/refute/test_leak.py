"""A bias in a proxy: put where it is said to be, and read as the share that changes the verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from proxycal.questions.refute.leak import leaked, read, tipping_point


def test_a_leak_moves_the_biased_rows_of_one_proxy_the_way_it_goes_with_the_outcome():
    y = np.arange(10.0)
    P = np.column_stack([y, -3.0 * y, np.ones(10)])
    a = np.r_[np.zeros(5), np.ones(5)]
    out = leaked(P, np.array([1]), y, 0.5, 2.0, a)
    # 0.5 of a bias of 2 sds is one sd of the proxy, downward as the proxy falls with the outcome.
    np.testing.assert_allclose(out[:, 1] - P[:, 1], -a * P[:, 1].std())
    np.testing.assert_array_equal(out[:, [0, 2]], P[:, [0, 2]])


def test_the_tipping_point_is_that_of_the_weakest_proxy(base):
    tried = [
        replace(base, change=f"{share} {name}", share=share, alpha=2.0 - share, verdict=verdict)
        for name, share, verdict in [
            ("a", 0.1, "bias found"),
            ("a", 0.5, "not identified"),
            ("b", 0.1, "bias found"),
            ("b", 0.5, "bias found"),
        ]
    ]
    tips = read(base, tried)
    assert tips.value == 0.5
    assert tips.ok
    assert tips.statistic == "alpha changes by -5% 0.1 a"
    assert "once a proxy carries 50% of the bias" in tips.reading
    assert not read(base, [replace(tried[0], verdict="no bias found")]).ok
    holds = read(base, tried[2:])
    assert math.isnan(holds.value)
    assert "holds even if a proxy carries 50% of the bias; alpha changes by -5%" in holds.reading
    assert math.isnan(tipping_point("bias found", [(0.1, "bias found")]))


def test_without_a_bias_there_is_nothing_to_leak(base):
    nothing = read(replace(base, verdict="not identified"), [])
    assert nothing.ok
    assert math.isnan(nothing.value)
    assert nothing.reading == "The verdict is 'not identified', so there is no bias to leak."
