"""What a few validated rows say: chances by brute force, and the words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from proxycal.methods.exact.truths import Truths, count_p, mean_p, truths_findings


@pytest.mark.parametrize("seen", [0, 1, 3, 4])
def test_the_chance_of_a_count_is_that_of_all_outcomes(seen):
    chance = np.array([0.1, 0.5, 0.7, 0.9])
    below = above = 0.0
    for drawn in itertools.product((0, 1), repeat=4):
        likely = np.prod(np.where(drawn, chance, 1.0 - chance))
        below += likely * (sum(drawn) <= seen)
        above += likely * (sum(drawn) >= seen)
    assert count_p(chance, seen) == pytest.approx(min(1.0, 2.0 * min(below, above)), abs=1e-12)


def test_the_mean_gap_is_tested_by_students_t():
    gap = np.random.default_rng(0).normal(0.5, 1.0, size=9)
    assert mean_p(gap) == pytest.approx(ttest_1samp(gap, 0.0).pvalue)


def test_a_record_survives_json():
    seen = Truths(12, 3, 4.5, 0.2, 1.25, 0.01)
    assert Truths.from_dict({name: getattr(seen, name) for name in Truths.__slots__}) == seen


@pytest.mark.parametrize(
    ("seen", "claimed", "ok", "words"),
    [
        (Truths(10, 3, 3.4, 0.9, 1.0, 0.1), True, True, "3 of 10 validated rows are biased, and the fit"),
        (Truths(10, 0, 6.0, 1e-5, 0.0, 1.0), True, False, "which cannot be chance (p = 1e-05)."),
        (
            Truths(1, 1, 0.98, 1.0, 2.0, 1.0),
            True,
            True,
            "The one validated row is biased; the fit gives it a",
        ),
        (Truths(10, 0, 0.5, 1.0, 0.0, 1.0), False, True, "10 validated rows: no systematic error."),
        (Truths(10, 9, 0.5, 0.0, -2.0, 1e-6), False, False, "against the stated direction (p = 1e-06)"),
    ],
)
def test_the_judgement_in_words(seen, claimed, ok, words):
    (finding,) = truths_findings(seen, claimed)
    assert finding.ok == ok
    assert words in finding.reading
    assert (finding.remedy == "Nothing to do.") == ok


def test_from_thirty_on_another_method_is_the_remedy():
    (finding,) = truths_findings(Truths(40, 0, 20.0, 1e-9, 0.0, 1.0), claimed=True)
    assert finding.remedy.startswith("Use method='validated'")


def test_nothing_is_said_without_validated_rows():
    assert truths_findings(Truths(), claimed=True) == []
