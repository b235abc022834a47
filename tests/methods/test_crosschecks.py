from __future__ import annotations

import math

import numpy as np
import pytest

from proxycal.errors import TableError
from proxycal.methods.crosschecks import agreement, apart, attempt, attempted, beside_matching, first_stage
from proxycal.result import Estimate, Finding


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


def test_matching_is_told_and_decides_nothing():
    near = beside_matching(size("exact", 2.0), size("match", 2.1))
    far = beside_matching(size("exact", 2.0), size("match", 4.0))
    assert near.ok
    assert far.ok
    assert "agree" in near.reading
    assert "2.00 against 4.00" in far.reading
    assert far.value == pytest.approx(14.1, abs=0.1)


FAULTS = [
    (np.linalg.LinAlgError("Singular matrix"), "LinAlgError: Singular matrix"),
    (ValueError("array must not contain infs or NaNs"), "ValueError: array must not"),
    (OverflowError("math range error"), "OverflowError: math range error"),
    (TableError("one row"), "one row"),
]


@pytest.mark.parametrize(("fault", "said"), FAULTS, ids=lambda value: type(value).__name__)
def test_a_side_computation_that_fails_says_why(fault, said):
    def fails():
        raise fault

    assert said in attempt(fails, str)
    finding = attempted("Is it so?", "gap", fails)
    assert (finding.topic, finding.value, finding.statistic) == ("gap", None, "no answer")
    assert said in finding.reading


def test_one_that_works_is_returned_and_a_bug_is_no_fault_of_the_table():
    done = Finding("Is it so?", "yes", "It is.", "Nothing to do.", ok=True)
    assert attempted("Is it so?", "gap", lambda: done) is done
    with pytest.raises(AttributeError):
        attempt(lambda: None.nothing, str)
