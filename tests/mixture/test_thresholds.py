"""Thresholds: frozen, all of them in use, and read by verdict and wording alike."""

from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

import proxycal
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.table.questions import REPORTED_SPIKE

SOURCE = Path(proxycal.__file__).parent


def test_no_threshold_changes_while_a_program_runs():
    with pytest.raises(FrozenInstanceError):
        THRESHOLDS.relevance = 0.5


@pytest.mark.parametrize("name", [field.name for field in fields(THRESHOLDS)])
def test_every_threshold_decides_something(name):
    assert any(f"THRESHOLDS.{name}" in path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))


def test_numbers_that_must_stand_in_an_order_do():
    assert THRESHOLDS.separation < THRESHOLDS.apart
    assert THRESHOLDS.agreement_se < THRESHOLDS.disagree_se
    assert THRESHOLDS.proxy_p < THRESHOLDS.moved_p
    assert THRESHOLDS.modelled_spike < REPORTED_SPIKE
