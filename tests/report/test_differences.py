"""Differences of two fits: none of a fit and itself; each named with both values."""

from __future__ import annotations

from dataclasses import replace

import pytest

import proxycal
from proxycal.report.differences import differences


@pytest.fixture(scope="module")
def fit():
    sim = proxycal.simulate(n=300, d_z=2, d_e=2, n_proxies=3, alpha=5.0, random_state=0)
    return proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).result_


def test_a_fit_does_not_differ_from_itself(fit):
    assert differences(fit, fit) == []


def test_a_finding_a_version_and_a_verdict(fit):
    other = replace(
        fit,
        verdict="not identified",
        findings=(replace(fit.findings[0], ok=not fit.findings[0].ok), *fit.findings[1:]),
        versions=fit.versions | {"numpy": "0"},
    )
    found = {(row.part, row.what): (row.first, row.second) for row in differences(fit, other)}
    assert found["found", "verdict"] == ("bias found", "not identified")
    assert found["versions", "numpy"][1] == "0"
    assert ("findings", fit.findings[0].question) in found
    assert len(found) == 3
