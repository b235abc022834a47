"""Records of a fit: what goes through JSON comes back, and the output columns are those of the row record."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator
from proxycal.methods.registry import register
from proxycal.result import OUTPUT_COLUMNS, Curve, Estimate, Finding, Prediction, number, plain
from proxycal.table.roles import Roles
from toy_method import TOY


@pytest.mark.parametrize("value", [0.0, -1.5, 1e-300, 1 / 3, math.inf, -math.inf, math.nan])
def test_a_number_comes_back_through_json(value):
    again = number(json.loads(json.dumps(plain(value), allow_nan=False)))
    assert again == value or (math.isnan(again) and math.isnan(value))


def test_plain_reaches_into_records_lists_and_dictionaries():
    deep = {1: [Finding("q", "s", "r", "m", ok=True, value=math.inf)], "pair": (math.nan, "text", None)}
    made = plain(deep)
    assert made["1"][0] == {
        "question": "q", "statistic": "s", "reading": "r", "remedy": "m", "ok": True, "topic": "",
        "value": "inf", "must_fix": False,
    }  # fmt: skip
    assert made["pair"] == [None, "text", None]


def test_infinity_may_be_left_empty_where_a_reader_knows_no_word_for_it():
    assert plain([math.inf, -math.inf, 2.0], infinity=None) == [None, None, 2.0]


@pytest.mark.parametrize(
    "estimate",
    [
        Estimate("match", 2.0, 0.1, 1.8, 2.2, "five neighbours"),
        Estimate("exact", 2.0, 0.1, -math.inf, math.inf),
        Estimate.missing("moments", "the environment is weak"),
    ],
)
def test_an_estimate_comes_back_through_json(estimate):
    again = Estimate.from_dict(json.loads(json.dumps(estimate.to_dict(), allow_nan=False)))
    # NaN is not equal to itself; its text is.
    assert repr(again) == repr(estimate)


@pytest.mark.parametrize(("low", "excludes"), [(0.1, True), (0.0, False), (-0.1, False), (math.nan, False)])
def test_an_interval_excludes_zero_only_above_it(low, excludes):
    assert Estimate("match", 1.0, 0.5, low, 2.0).excludes_zero is excludes


def prediction(n: int = 3, d: int = 2) -> Prediction:
    values = {column.name: np.full(n, float(i)) for i, column in enumerate(OUTPUT_COLUMNS)}
    return Prediction(**values, z=np.arange(n * d, dtype=float).reshape(n, d), a=np.arange(n, dtype=float))


def test_the_output_columns_are_the_fields_that_say_what_they_mean():
    names = [column.name for column in OUTPUT_COLUMNS]
    assert names == ["y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu"]
    assert {field.name for field in fields(Prediction)} - set(names) == {"z", "a"}
    assert all(column.meaning for column in OUTPUT_COLUMNS)
    assert {column.unit for column in OUTPUT_COLUMNS} == {"outcome", "probability"}


def test_outputs_and_latents_are_all_of_a_prediction_by_name():
    made = prediction()
    outputs, latents = made.outputs(), made.latents()
    assert [int(values[0]) for values in outputs.values()] == list(range(len(OUTPUT_COLUMNS)))
    assert list(latents) == ["z_1", "z_2", "a"]
    np.testing.assert_array_equal(latents["z_2"], [1.0, 3.0, 5.0])
    assert made.columns().keys() == outputs.keys() | latents.keys()


def test_records_are_frozen():
    for record, name in (
        (prediction(), "mu"),
        (Curve(*np.zeros((3, 2))), "at"),
        (Estimate.missing("a", ""), "se"),
    ):
        with pytest.raises(AttributeError):
            setattr(record, name, None)


def test_a_fit_says_why_it_leaves_the_outcome_alone():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=["y", "p", "e"])
    with register(TOY):
        fits = [
            ProxyCalibrator(Roles("y", ["p"], ["e"]), direction="over", method="toy", random_state=seed)
            .fit(table)
            .result_
            for seed in (0, 1)
        ]
    found, unidentified = fits
    assert found.why_left_alone == ""
    assert "'not identified'" in unidentified.why_left_alone
    assert "The toy <says> so." in unidentified.why_left_alone
    # Two fits are the same where they found the same, whatever arrays they keep.
    assert found == replace(found, labels=found.labels[:1])
    assert found != unidentified
