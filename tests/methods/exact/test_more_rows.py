"""Rows that would settle a table: those that a simulation needs, within a factor."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import proxycal
from proxycal.methods.exact.more_rows import rows_needed


@pytest.fixture(scope="module")
def evidence():
    sim = proxycal.simulate(n=300, alpha=2.0, random_state=0)
    model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="exact").fit(sim.table)
    return model.result_.method_fit.evidence


def test_a_clear_bias_needs_no_more_rows(evidence):
    assert rows_needed(evidence) == evidence.n


def test_half_the_lead_needs_about_twice_the_rows(evidence):
    clean = replace(evidence, gain=4.0, cost=20.0, law="", separation=2.0)
    needed = rows_needed(clean)
    # lead 24 for n rows: 2.56 sqrt(lead) + price + 6 are passed at about twice as many.
    assert 1.5 * clean.n < needed < 4.0 * clean.n
    assert rows_needed(replace(clean, gain=8.0)) < needed


def test_rows_do_not_help_where_the_columns_are_at_fault(evidence):
    assert math.isnan(rows_needed(replace(evidence, relevance=0.0)))
    assert math.isnan(rows_needed(replace(evidence, gain=-50.0, cost=20.0)))
    assert math.isnan(rows_needed(replace(evidence, gain=math.nan)))
