from __future__ import annotations

import math

import pytest

from proxycal.methods.crosschecks import agreement, apart, first_stage
from proxycal.result import Estimate


def size(name: str, alpha: float, se: float = 0.1) -> Estimate:
    return Estimate(name, alpha, se, alpha - 2 * se, alpha + 2 * se)


def test_apart_is_the_distance_in_errors_of_the_difference():
    assert apart(size("a", 3.0, 0.3), size("b", 1.0, 0.4)) == pytest.approx(4.0)
    assert math.isnan(apart(size("a", 3.0), Estimate.missing("b", "no")))
    assert math.isnan(apart(size("a", math.nan), size("b", 1.0)))
    assert apart(size("a", 3.0, 0.0), size("b", 1.0, 0.0)) == math.inf


def test_agreement_says_what_it_compared():
    agreed = agreement(size("exact", 2.0), size("moments", 2.1), "x")
    apart_ = agreement(size("exact", 2.0), size("moments", 4.0), "x")
    silent = agreement(size("exact", 2.0), Estimate.missing("moments", "E is weak."), "x")
    assert (agreed.ok, apart_.ok, silent.ok) == (True, False, True)
    assert "2.00 against 4.00, 14.1 standard errors apart" in apart_.statistic
    assert silent.reading.endswith("E is weak.")
    assert silent.value is None


def test_first_stage_names_a_weak_environment():
    assert first_stage(40.0).ok
    assert not first_stage(3.0).ok
    assert not first_stage(math.nan).ok
    assert first_stage(math.nan).value is None
