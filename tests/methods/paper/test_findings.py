"""The verdict of the paper's method and what it says of its evidence."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from proxycal.methods.paper.findings import Evidence, findings, verdict
from proxycal.result import Estimate, plain

EVIDENCE = Evidence(
    collapsed=False,
    kl=0.8,
    score_share=0.7,
    active_units=2,
    d_z=5,
    two_groups=True,
    bic_gain=50.0,
    first_stage_f=100.0,
    best_epochs=(40, 50),
    stopped=("a", "b"),
)
MATCH = Estimate("match", 5.0, 0.1, 4.8, 5.2)
MOMENTS = Estimate("moments", 5.1, 0.1, 4.9, 5.3)


def failed(evidence: Evidence, match: Estimate = MATCH, moments: Estimate = MOMENTS) -> set[str]:
    return {finding.topic for finding in findings(evidence, match, moments) if not finding.ok}


def test_the_verdict_needs_all_four_reasons():
    assert verdict(EVIDENCE, MATCH, MOMENTS) == "bias found"
    assert verdict(replace(EVIDENCE, collapsed=True), MATCH, MOMENTS) == "not identified"
    assert verdict(replace(EVIDENCE, two_groups=False), MATCH, MOMENTS) == "not identified"
    assert verdict(EVIDENCE, replace(MATCH, low=-0.1), MOMENTS) == "not identified"
    assert verdict(EVIDENCE, replace(MATCH, low=math.nan), MOMENTS) == "not identified"
    assert verdict(EVIDENCE, MATCH, replace(MOMENTS, alpha=4.0)) == "not identified"
    assert verdict(EVIDENCE, MATCH, Estimate.missing("moments", "weak")) == "bias found"


def test_each_finding_fires_on_its_own_trouble():
    assert failed(EVIDENCE) == set()
    assert failed(replace(EVIDENCE, collapsed=True)) == {"collapse"}
    assert failed(replace(EVIDENCE, two_groups=False)) == {"groups"}
    assert failed(replace(EVIDENCE, active_units=0)) == {"content"}
    assert failed(replace(EVIDENCE, first_stage_f=3.0)) == {"first-stage"}
    assert failed(replace(EVIDENCE, first_stage_f=math.nan)) == {"first-stage"}
    assert failed(replace(EVIDENCE, best_epochs=(1, 9))) == {"training"}
    assert failed(EVIDENCE, match=replace(MATCH, low=-1.0)) == {"interval"}
    assert failed(EVIDENCE, moments=replace(MOMENTS, alpha=6.0)) == {"agreement"}
    assert failed(EVIDENCE, moments=Estimate.missing("moments", "weak")) == set()


def test_evidence_survives_json():
    for evidence in (EVIDENCE, replace(EVIDENCE, first_stage_f=math.nan)):
        again = Evidence.from_dict(plain(evidence))
        assert plain(again) == plain(evidence)
        assert isinstance(again.best_epochs, tuple)


def test_an_approximate_search_is_a_finding_and_survives_saving():
    assert not [finding for finding in findings(EVIDENCE, MATCH, MOMENTS) if finding.topic == "search"]
    for recall, ok in ((0.98, True), (0.9, False)):
        kept = Evidence.from_dict(plain(replace(EVIDENCE, recall=recall)))
        (search,) = (finding for finding in findings(kept, MATCH, MOMENTS) if finding.topic == "search")
        assert (search.value, search.ok) == (recall, ok)
        assert f"{recall:.1%}" in search.statistic


@pytest.mark.parametrize("trouble", [False, True])
def test_a_reading_stands_alone_with_its_numbers(trouble):
    evidence, match = replace(EVIDENCE, recall=0.97), MATCH
    if trouble:
        evidence = replace(
            evidence, collapsed=True, two_groups=False, active_units=0, best_epochs=(1, 9), recall=0.9
        )
        match = replace(MATCH, low=-1.0)
    readings = {finding.topic: finding.reading for finding in findings(evidence, match, MOMENTS)}
    numbers = {
        "collapse": ("0.8", "70.0%"),
        "groups": ("50.0",),
        "interval": (f"{match.low:.4g}", "5.2"),
        "content": ("5",),
        "training": (f"{evidence.best_epochs[0]}",),
        "search": (f"{evidence.recall:.1%}",),
    }
    missing = [
        (topic, text) for topic, texts in numbers.items() for text in texts if text not in readings[topic]
    ]
    assert missing == []
