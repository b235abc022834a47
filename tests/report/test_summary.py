"""Words and small tables against numbers computed another way."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from proxycal.cli.request import column_names
from proxycal.report.summary import MAX_LEVELS, change_text, reproduce, sentence, shares, spread
from proxycal.result import EnvironmentColumn, Estimate

MATCH = Estimate("match", 2.0, 0.25, 1.5, 2.5)


@pytest.mark.parametrize(
    ("verdict", "says", "never_says"),
    [
        ("bias found", "loss is under-reported by about 2.00 (90% interval 1.50 to 2.50) in 40%", "left as"),
        ("no bias found", "No evidence that loss is under-reported was found", "about 2"),
        ("not identified", "cannot tell whether loss is under-reported", "by about"),
    ],
)
def test_the_sentence_claims_no_more_than_the_verdict(verdict, says, never_says, example):
    data = example(verdict=verdict, direction="under", level=0.9, share_biased=0.4, estimate=MATCH)
    assert says in sentence(data)
    assert never_says not in sentence(data)


def test_an_estimate_without_interval_says_so(example):
    nothing = float("nan")
    data = example(verdict="not identified", estimate=replace(MATCH, low=nothing, high=nothing))
    assert "no interval" in sentence(data)


def test_shares_by_level_equal_a_groupby(example):
    data = example()
    hazard = data.rows.environment[0]
    frame = pd.DataFrame(
        {"level": np.array(hazard.levels)[hazard.values.astype(int)], "p": data.rows.predicted.p_biased}
    )
    expected = frame.groupby("level")["p"].agg(["mean", "size"])
    found = {row.group: row for row in shares(data) if row.column == "hazard"}
    assert set(found) == set(expected.index)
    for level, row in expected.iterrows():
        assert found[level].share == pytest.approx(row["mean"], rel=1e-12)
        assert found[level].n == row["size"]
        assert found[level].low < found[level].share < found[level].high


def test_quartiles_put_every_row_into_exactly_one_group(example):
    # Cut points that are values of many rows are where bins overlap or lose rows.
    values = np.floor(np.arange(400) / 60)
    data = example(environment=(EnvironmentColumn("x", values),))
    rows = shares(data)
    assert sum(row.n for row in rows) == 400
    total = sum(row.n * row.share for row in rows) / 400
    assert total == pytest.approx(data.rows.predicted.p_biased.mean(), rel=1e-12)


def test_whole_number_weights_equal_repeated_rows(example):
    data = example(n=60)
    weights = np.random.default_rng(1).integers(1, 4, 60)
    repeat = np.repeat(np.arange(60), weights)
    codes = data.rows.environment[0].values
    weighted = example(
        n=60,
        weights=weights.astype(float),
        environment=(EnvironmentColumn("h", codes, ("a", "b", "c")),),
    )
    repeated = example(
        n=60,
        p_biased=data.rows.predicted.p_biased[repeat],
        weights=np.ones(len(repeat)),
        environment=(EnvironmentColumn("h", codes[repeat], ("a", "b", "c")),),
    )
    for one, other in zip(shares(weighted), shares(repeated), strict=True):
        assert one.share == pytest.approx(other.share, rel=1e-12)


def test_rare_levels_are_shown_together_and_none_is_lost(example):
    codes = np.minimum(np.arange(400) % 40, 30).astype(float)
    names = tuple(f"level {code}" for code in range(31))
    rows = shares(example(environment=(EnvironmentColumn("place", codes, names),)))
    assert len(rows) == MAX_LEVELS
    assert rows[-1].group == f"{31 - MAX_LEVELS + 1} other levels"
    assert sum(row.n for row in rows) == 400
    assert "level 30" in {row.group for row in rows}, "the most frequent level stands alone"


def test_missing_environment_values_belong_to_no_group(example):
    values = np.arange(400.0)
    values[:100] = np.nan
    rows = shares(example(environment=(EnvironmentColumn("x", values),)))
    assert sum(row.n for row in rows) == 300


def test_spread_is_the_range_of_shares(example):
    rows = shares(example())
    hazard = [row.share for row in rows if row.column == "hazard"]
    assert spread(rows)["hazard"] == pytest.approx(max(hazard) - min(hazard))


def test_a_total_changes_in_per_cent_and_a_mean_in_its_own_units(example):
    total = example().totals[0]
    (row,) = total.records()
    assert change_text(total, row) == "+14.0%"
    assert change_text(replace(total, statistic="mean"), row) == "+140"


def test_the_command_survives_a_shell(example):
    data = example(outcome="loss; rm -rf /", proxies=("a, b", 'say "c"'), missing="drop")
    words = shlex.split(reproduce(data))
    words = [word for word in words if word != "\n"]
    assert words[:3] == ["proxycal", "fit", "TABLE"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options["--outcome"] == "loss; rm -rf /"
    assert column_names(options["--proxies"]) == ("a, b", 'say "c"')
    assert column_names(options["--environment"]) == ("hazard", "income")
    assert options["--cluster"] == "county"
    assert options["--missing"] == "drop"
    assert options["--seed"] == "7"
