"""The order of remedies: only where nothing is identified, and what helps most first."""

from __future__ import annotations

from proxycal.methods.checks.remedies import most_helpful_first
from proxycal.result import Finding


def finding(topic, ok=False):
    return Finding("?", "", "", f"mend {topic}", ok=ok, topic=topic)


def test_what_helps_most_comes_first():
    found = [finding("collinear"), finding("gate", ok=True), finding("separation"), finding("skew")]
    ordered = most_helpful_first(found, "not identified")
    assert [item.topic for item in ordered] == ["skew", "separation", "collinear", "gate"]


def test_other_verdicts_keep_their_order():
    found = [finding("collinear"), finding("skew")]
    assert most_helpful_first(found, "bias found") == tuple(found)


def test_a_reason_of_a_method_comes_before_what_is_untidy():
    found = [finding("constant"), finding("a method's own")]
    assert most_helpful_first(found, "not identified")[0].topic == "a method's own"
