"""Attempts to break a fit: arrays changed as said, refits read as they must be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from proxycal.questions.refute_reading import (
    Refit,
    leaked,
    p_value,
    part_of,
    read_drop,
    read_leak,
    read_null,
    read_placebo,
    read_seed,
    shuffled,
    tipping_point,
)

BASE = Refit("as fitted", math.nan, 2.0, 0.1, 1.8, 2.2, 50.0, 0.4, "bias found")


def refits(count: int, **changed: object) -> list[Refit]:
    return [replace(BASE, change=f"change {i}", **changed) for i in range(count)]


def test_shuffled_rows_stay_whole_and_none_is_lost():
    P = np.column_stack([np.arange(50.0), np.arange(50.0) ** 2])
    out = shuffled(P, np.random.default_rng(0))
    np.testing.assert_array_equal(out[:, 1], out[:, 0] ** 2)
    np.testing.assert_array_equal(np.sort(out[:, 0]), P[:, 0])
    assert not np.array_equal(out, P)


def test_a_leak_moves_the_biased_rows_of_one_proxy_the_way_it_goes_with_the_outcome():
    y = np.arange(10.0)
    P = np.column_stack([y, -3.0 * y, np.ones(10)])
    a = np.r_[np.zeros(5), np.ones(5)]
    out = leaked(P, np.array([1]), y, 0.5, 2.0, a)
    # 0.5 of a bias of 2 sds is one sd of the proxy, downward as the proxy falls with the outcome.
    np.testing.assert_allclose(out[:, 1] - P[:, 1], -a * P[:, 1].std())
    np.testing.assert_array_equal(out[:, [0, 2]], P[:, [0, 2]])


def test_parts_hold_their_share_and_clusters_stay_whole():
    rng = np.random.default_rng(0)
    assert len(part_of(100, 0.8, None, rng)) == 80
    cluster = np.repeat(np.arange(10), 7)
    rows = part_of(70, 0.5, cluster, rng)
    assert set(np.bincount(cluster[rows], minlength=10).tolist()) == {0, 7}
    assert len(rows) == 35


def test_p_value_counts_the_table_itself_and_takes_what_is_unknown_as_worse():
    assert p_value(10.0, [1.0] * 19) == pytest.approx(0.05)
    assert p_value(1.0, [1.0, 0.0]) == pytest.approx(2 / 3)
    assert p_value(1.0, [math.nan]) == 1.0


def test_null_survives_only_beyond_the_draws_and_without_alarms():
    quiet = refits(20, gain=-10.0, alpha=0.3, verdict="no bias found")
    good = read_null(BASE, quiet)
    assert good.ok
    assert good.value == pytest.approx(1 / 21)
    assert "environment chooses between components were left out" in good.reading
    assert "left out" not in read_null(replace(BASE, verdict="no bias found"), quiet).reading
    as_large = quiet[:15] + refits(5, gain=60.0, verdict="not identified")
    assert not read_null(BASE, as_large).ok
    assert "do not act" in read_null(BASE, as_large).reading
    alarms = read_null(BASE, quiet[:17] + refits(3, gain=5.0, alpha=0.3))
    assert not alarms.ok
    assert "claims a bias where there is none" in alarms.reading


def test_null_of_a_method_without_a_race_compares_alpha():
    base = replace(BASE, gain=math.nan)
    small = refits(20, gain=math.nan, alpha=0.5, verdict="not identified")
    assert read_null(base, small).ok
    assert not read_null(base, [replace(one, alpha=2.5) for one in small]).ok


def test_null_without_a_claim_is_in_order_unless_null_tables_raise_alarms():
    base = replace(BASE, verdict="no bias found", gain=-20.0)
    assert read_null(base, refits(20, gain=-10.0, verdict="no bias found")).ok
    assert not read_null(base, refits(20)).ok


def test_placebo_must_make_the_claim_fall():
    assert read_placebo(BASE, refits(10, verdict="not identified")).ok
    kept = read_placebo(BASE, refits(10))
    assert not kept.ok
    assert kept.value == 1.0


def test_drop_names_the_proxy_that_carries_the_answer():
    steady = refits(3, alpha=2.1)
    assert read_drop(BASE, steady).ok
    moved = [*steady, replace(BASE, change="without 'p_9'", alpha=1.0)]
    found = read_drop(BASE, moved)
    assert not found.ok
    assert found.value == pytest.approx(10.0)
    assert "'p_9'" in found.reading
    turned = [*steady, replace(BASE, change="without 'p_7'", verdict="no bias found")]
    assert "'p_7'" in read_drop(BASE, turned).reading
    assert not read_drop(BASE, turned).ok


def test_leak_finds_the_tipping_point_over_all_proxies():
    tried = [
        replace(BASE, change=f"{share} {name}", share=share, alpha=2.0 - share, verdict=verdict)
        for name, share, verdict in [
            ("a", 0.1, "bias found"),
            ("a", 0.5, "not identified"),
            ("b", 0.1, "bias found"),
            ("b", 0.5, "bias found"),
        ]
    ]
    found = read_leak(BASE, tried)
    assert found.value == 0.5
    assert found.ok
    assert "-5%" in found.statistic
    assert not read_leak(BASE, [replace(tried[0], verdict="no bias found")]).ok
    assert math.isnan(tipping_point("bias found", [(0.1, "bias found")]))


def test_seed_asks_for_the_same_verdict_and_a_size_within_its_error():
    assert read_seed(BASE, refits(20, alpha=2.05)).ok
    assert not read_seed(BASE, refits(17) + refits(3, verdict="no bias found")).ok
    wild = read_seed(BASE, refits(19) + refits(1, alpha=2.6))
    assert not wild.ok
    assert "few rows" in wild.reading
