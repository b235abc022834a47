"""Power: what is injected is what was asked for, and chances, errors and sizes are counted right."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import SettingsError
from proxycal.questions.power import (
    BATCH,
    DOUBT,
    Injected,
    Power,
    PowerPoint,
    chance_of_passing,
    describe,
    detectable,
    draw_biased,
    found,
    is_settled,
    next_sizes,
    summarise,
    without_bias,
)


def table(estimate: float, verdict: str = "bias found", half: float = 0.2) -> Injected:
    return Injected(1.0, estimate, estimate - half, estimate + half, verdict)


def points(chances: list[float]) -> list[PowerPoint]:
    sizes = zip([0.5, 1.0, 2.0], chances, strict=True)
    return [PowerPoint(size, chance, 0.0, 1.0, size, 0.1, 0.95, 20) for size, chance in sizes]


def test_summary_of_one_size_by_hand():
    point = summarise([table(1.1), table(0.7), table(5.0, "not identified"), table(9.0, "no bias found")])
    assert point.chance == 0.5
    assert point.low < 0.5 < point.high
    assert point.mean_alpha == pytest.approx(0.9)
    assert point.error == pytest.approx(math.sqrt((0.01 + 0.09) / 2))
    assert point.coverage == 0.5
    never = summarise([table(5.0, "not identified")] * 3)
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
    assert detectable(points(chances)) == pytest.approx(size, nan_ok=True)


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
    none = summarise([Injected(0.0, 0.0, -1.0, 1.0, "no bias found")] * 4)
    some = summarise([table(1.0)] * 4)
    text = describe([none, some, summarise([Injected(2.0, 2.0, 1.9, 2.1, "bias found")] * 4)], sd=3.0)
    assert "a bias of 1 sd (3 in the outcome's units) or less in 90% of cases" in text
    assert text.endswith("Without a bias in the table, one was found in 0% of cases.")
    alone = summarise([Injected(0.0, 0.0, -1.0, 1.0, "no bias found")])
    assert "Without a bias" not in describe([alone, some], sd=3.0)
    claimed = summarise([Injected(0.0, 1.0, 0.5, 1.5, "bias found")])
    assert describe([claimed, some], sd=3.0).endswith("In the table as it is, a bias is found.")
    weak = describe([summarise([table(1.0)] + [table(1.0, "no bias found")] * 3)], sd=3.0)
    assert "even a bias of 1 sd would be detected in only 25% of cases" in weak


def test_sizes_that_cannot_be_tried_are_refused(biased):
    for sizes in ([], [-1.0, 2.0], [float("inf")]):
        with pytest.raises(SettingsError, match="one size above 0"):
            biased.power(sizes)
    with pytest.raises(SettingsError, match="repetitions=True"):
        biased.power([1.0], repetitions=True)


def test_power_on_top_of_a_bias_that_was_power(biased):
    power = biased.power([0.02, 2.0], repetitions=2)
    assert power.table.index.tolist() == [0.0, 0.02, 2.0]
    assert power.table["chance"].tolist() == [0.0, 0.0, 1.0]
    # The bias that is there was taken out first: the sd is that of the true outcome, not of the reported one.
    reported = float(np.std(biased.result_.training.y))
    assert power.sd < 0.85 * reported
    assert power.table["size"].iloc[-1] == pytest.approx(2.0 * power.sd)
    assert power.table["mean_alpha"].iloc[-1] == pytest.approx(2.0, abs=0.2)
    assert 0.02 < power.detectable < 2.0
    assert power.to_dict()["sizes"][0]["error"] is None
    ax = power.plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "0.02", "2"]
    # The picture and the table come from the same points, also when read back.
    again = Power.from_dict(json.loads(json.dumps(power.to_dict())))
    pd.testing.assert_frame_equal(again.table, power.table)
    assert (again.detectable, str(again)) == (power.detectable, power.reading)
    assert "<table" in power._repr_html_()


@pytest.mark.parametrize("method", ["moments", "paper"])
def test_every_method_has_power_for_a_size_and_none_for_no_bias(request, method):
    table = request.getfixturevalue(method).power([4.0], repetitions=4).table
    assert list(table.index) == [0.0, 4.0]
    assert table.loc[0.0, "chance"] <= 0.25
    if method == "moments":
        assert table.loc[4.0, "chance"] == 1.0


def test_a_size_is_left_once_its_answer_is_clear(moments):
    told: list[PowerPoint] = []
    tables = moments.power([0.01, 3.0, 4.0], repetitions=20, tell=told.append).table
    # Hardly ever found: the first looks are enough. Found each time: the rest could hardly change it.
    assert tables.loc[0.01, "chance"] < 0.5
    assert tables.loc[0.01, "repetitions"] <= 8
    assert tables.loc[3.0, ["chance", "repetitions"]].tolist() == [1.0, 12]
    # A larger size waits for a smaller one, and is settled with it.
    assert tables.loc[4.0, ["chance", "repetitions"]].tolist() == [1.0, BATCH]
    assert sorted(point.alpha for point in told) == tables.index.tolist()


def test_left_early_a_size_gets_the_answer_of_all_its_tables():
    rng = np.random.default_rng(0)
    for chance in (0.0, 0.5, 0.8, 0.9, 1.0):
        other = 0
        for hits in rng.random((300, 20)) < chance:
            n, passing = 0, 0.5
            while min(passing, 1.0 - passing) >= DOUBT:
                n += BATCH
                passing = chance_of_passing(int(hits[:n].sum()), n, 20)
            other += (passing > 0.5) != (hits.sum() >= 18)
        assert other <= 0.04 * 300


@pytest.mark.parametrize("chances", [(0.0, 0.1, 0.6, 0.97, 1.0), (0.05, 0.4, 0.9, 0.95, 1.0)])
def test_sizes_that_wait_for_smaller_ones_get_the_answer_of_all_their_tables(chances):
    rng = np.random.default_rng(0)
    sizes, other, fitted = (0.25, 0.5, 1.0, 2.0, 4.0), 0, 0
    for draw in rng.random((100, 20)):
        # The repetitions of all sizes share their draws, as in `power`.
        tables = {
            size: [table(size, "bias found" if one < chance else "no bias found") for one in draw]
            for size, chance in zip(sizes, chances, strict=True)
        }
        n, settled = dict.fromkeys(sizes, 0), {}
        while len(settled) < len(sizes):
            seen = {size: tables[size][: n[size]] for size in sizes if size not in settled}
            moving = next_sizes({size: (sum(map(found, own)), len(own)) for size, own in seen.items()})
            n |= {size: n[size] + BATCH for size in moving}
            for size in seen:
                own = tables[size][: n[size]]
                if is_settled(size, own, 20, settled):
                    settled[size] = summarise(own)
        fitted += sum(n.values())
        other += sum((settled[size].chance >= 0.9) != (sum(map(found, tables[size])) >= 18) for size in sizes)
    assert other <= 0.02 * 5 * 100
    assert fitted <= 50 * 100


def test_few_tables_are_said_to_be_few():
    found = [summarise([Injected(size, size, 0.0, 9.0, "bias found")] * 3) for size in (1.0, 2.0)]
    assert describe(found, sd=3.0, repetitions=3).startswith("3 tables of each size: too few to tell")
    # Three misses are enough to say that it is not found in nine cases of ten.
    never = [summarise([Injected(1.0, 1.0, 0.0, 9.0, "no bias found")] * 3)]
    assert "even a bias of 1 sd would be detected in only 0%" in describe(never, sd=3.0, repetitions=3)
