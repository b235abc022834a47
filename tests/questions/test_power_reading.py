"""Power: what is injected is what was asked for, and chances, errors and sizes are counted right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proxycal.questions.power_reading import (
    Trialled,
    detectable,
    draw_biased,
    reading,
    summarise,
    without_bias,
)


def trial(found: float, verdict: str = "bias found", half: float = 0.2) -> Trialled:
    return Trialled(1.0, found, found - half, found + half, verdict)


def test_summary_of_one_size_by_hand():
    point = summarise([trial(1.1), trial(0.7), trial(5.0, "not identified"), trial(9.0, "no bias found")])
    assert point.chance == 0.5
    assert point.low < 0.5 < point.high
    assert point.mean_alpha == pytest.approx(0.9)
    assert point.error == pytest.approx(math.sqrt((0.01 + 0.09) / 2))
    assert point.coverage == 0.5
    never = summarise([trial(5.0, "not identified")] * 3)
    assert never.chance == 0.0
    assert math.isnan(never.error)


@pytest.mark.parametrize(
    ("chances", "size"),
    [
        ([0.0, 0.5, 1.0], 1.8),
        ([0.95, 1.0, 1.0], 0.5),
        ([0.0, 1.0, 0.5], math.nan),  # a chance that falls again promises nothing
        ([0.0, 0.0, 0.8], math.nan),
    ],
)
def test_the_detectable_size(chances, size):
    assert detectable([0.5, 1.0, 2.0], chances) == pytest.approx(size, nan_ok=True)


def test_the_gate_follows_the_environment_and_about_half_are_biased():
    rng = np.random.default_rng(3)
    E = rng.normal(size=(4000, 3)) + 5.0
    a = draw_biased(E, rng)
    assert set(a.tolist()) == {0.0, 1.0}
    assert 0.35 < a.mean() < 0.65
    means = E[a == 1].mean(axis=0) - E[a == 0].mean(axis=0)
    assert np.abs(means).max() > 0.3


def test_the_bias_free_outcome_loses_all_or_nothing():
    rng = np.random.default_rng(0)
    y = np.full(2000, 3.0)
    out = without_bias(y, 2.0, np.r_[np.zeros(1000), np.full(1000, 0.5)], rng)
    assert (out[:1000] == 3.0).all()
    assert set(out.tolist()) == {1.0, 3.0}
    assert (out[1000:] == 1.0).mean() == pytest.approx(0.5, abs=0.06)


def test_the_sentence_says_size_units_and_false_alarms():
    none = [summarise([Trialled(0.0, 0.0, -1.0, 1.0, "no bias found")] * 4)]
    points = [
        *none,
        summarise([trial(1.0)] * 4),
        summarise([Trialled(2.0, 2.0, 1.9, 2.1, "bias found")] * 4),
    ]
    text = reading(points, sd=3.0)
    assert "a bias of 1 sd (3 in the outcome's units) or less in 90% of cases" in text
    assert "claimed in 0% of cases" in text
    alone = summarise([Trialled(0.0, 0.0, -1.0, 1.0, "no bias found")])
    assert "Where there is none" not in reading([alone, points[1]], sd=3.0)
    claimed = summarise([Trialled(0.0, 1.0, 0.5, 1.5, "bias found")])
    assert "In the table as it is, a bias is claimed." in reading([claimed, points[1]], sd=3.0)
    weak = reading([summarise([trial(1.0)] + [trial(1.0, "no bias found")] * 3)], sd=3.0)
    assert "even a bias of 1 sd would be detected in only 25% of cases" in weak
