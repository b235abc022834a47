"""Guards of a claim in words."""

from types import SimpleNamespace

import pytest

from proxycal.methods.one_model.guards import guard_findings
from proxycal.result import Estimate


@pytest.fixture
def evidence():
    """What the guards read of the evidence of a clean bias."""
    return SimpleNamespace(
        alone=0.4,
        autocorrelation=0.01,
        block_z=8.0,
        n=1000,
        sampled=0,
        proxies_p=1e-6,
        share=0.02,
        rounding_p=1e-7,
        exact=Estimate("exact", 2.0, 0.6, 0.8, 3.2),
    )


def test_guards_that_hold_are_two_sentences(evidence):
    said = guard_findings(evidence, ())
    assert [finding.topic for finding in said] == ["gate-alone", "dependence"]
    assert all(finding.ok and finding.remedy == "Nothing to do." for finding in said)


@pytest.mark.parametrize("topic", ["proxies", "rare", "vague", "rounding"])
def test_a_guard_that_does_not_hold_is_a_finding_with_a_remedy(evidence, topic):
    finding = {one.topic: one for one in guard_findings(evidence, [topic])}[topic]
    assert not finding.ok
    assert finding.question.endswith("?")
    assert any(letter.isdigit() for letter in finding.reading)
    assert not finding.remedy.startswith("Nothing")


def test_rows_that_depend_name_the_role_that_would_help(evidence):
    evidence.autocorrelation = 0.4
    dependence = guard_findings(evidence, ["dependence"])[1]
    assert not dependence.ok
    assert "cluster" in dependence.remedy
