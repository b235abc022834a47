from __future__ import annotations

import numpy as np
import pytest

from proxycal.table.audit import audit
from proxycal.testing import wider_world


def about_outcome(name: str) -> list:
    drawn = wider_world(name).draw(0)
    return [finding for finding in audit(drawn.table, drawn.roles) if finding.topic == "outcome"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("5 points", "'y' is a rating scale from 1 to 5"),
        ("Poisson", "'y' counts something: whole numbers from"),
        ("rounded to 5", "'y' is rounded to multiples of 5."),
        ("heaping", "Some rows of 'y' are rounded to multiples of 10, others are not."),
        ("top-coding", "'y' seems to be cut off at its highest value"),
        ("floor", "'y' seems to be cut off at its lowest value"),
        ("one size, 3 sd", "The outcome is a continuous measurement"),
    ],
)
def test_the_type_is_told_in_plain_words(name, words):
    (finding,) = about_outcome(name)
    assert words in finding.reading
    assert finding.ok
    assert finding.remedy.startswith("Nothing to do")


def test_two_values_ask_for_attention():
    drawn = wider_world("5 points").draw(0)
    table = drawn.table.assign(y=(drawn.y > 3).astype(float))
    (finding,) = [finding for finding in audit(table, drawn.roles) if finding.topic == "outcome"]
    assert not finding.ok
    assert "takes two values" in finding.reading


def test_a_point_of_a_scale_and_a_cap_are_no_spikes_but_zeros_are():
    def spikes(name: str) -> int:
        drawn = wider_world(name).draw(0)
        return sum(not f.ok for f in audit(drawn.table, drawn.roles) if f.topic == "atom")

    assert [spikes(name) for name in ("5 points", "rounded to 10", "top-coding", "zeros")] == [0, 0, 0, 1]


def test_an_outcome_that_cannot_be_read_is_left_to_other_questions():
    drawn = wider_world("5 points").draw(0)
    for y in (np.array(["a", "b"] * 500), np.full(1000, np.nan)):
        (finding,) = [f for f in audit(drawn.table.assign(y=y), drawn.roles) if f.topic == "outcome"]
        assert finding.ok
