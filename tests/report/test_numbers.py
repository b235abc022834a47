"""Numbers as text: enough digits, and no more."""

from __future__ import annotations

import math

import pytest

from proxycal.report.numbers import (
    amount,
    counted,
    number,
    percent,
    signed_size,
    size_text,
    sized,
    total_text,
)
from proxycal.result import Estimate


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-1234.4, "-1,234"), (0.00012346, "0.0001235"), (float("inf"), "∞"), (float("-inf"), "−∞")],
)
def test_numbers(value, text):
    assert number(value) == text


def test_percent_keeps_nothing_and_everything_apart_from_almost():
    assert [percent(value) for value in (0.0, 0.002, 0.5, 0.998, 1.0)] == [
        "0%",
        "0.2%",
        "50%",
        "99.8%",
        "100%",
    ]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        # A whole number shows its precision, and both ends of the interval have as many decimals.
        ((1.0, 0.02, 0.96, 1.04), ("1.00", "0.02", "0.96 to 1.04")),
        ((1.2769, 0.1882, 0.9081, 1.6457), ("1.28", "0.19", "0.91 to 1.65")),
        # A very narrow interval stops at five digits.
        ((1.0000046, 7.5e-05, 0.999857, 1.000152), ("1.0000", "0.0001", "0.9999 to 1.0002")),
        ((12345.6, 800.0, 10777.0, 13913.0), ("12,346", "800", "10,777 to 13,913")),
        ((0.00231, 0.0002, 0.0019, 0.0027), ("0.00231", "0.00020", "0.00190 to 0.00270")),
        ((0.0, math.nan, math.nan, math.nan), ("0.00", "n/a", "n/a")),
        ((math.nan, math.nan, math.nan, math.nan), ("n/a", "n/a", "n/a")),
        ((2.0, math.inf, -math.inf, math.inf), ("2.00", "∞", "−∞ to ∞")),
    ],
)
def test_the_uncertainty_decides_the_decimals(estimate, text):
    assert size_text(Estimate("exact", *estimate)) == text


def test_a_size_has_the_sign_of_its_direction():
    row = Estimate("exact", 1.0, 0.1, 0.8, 1.2)
    assert signed_size(row, 1.0) == "1.00"
    assert signed_size(row, -1.0) == "−1.00"


def test_large_amounts_are_said_in_words():
    assert amount(1_541_165_142.0) == "1.541 billion"
    assert amount(-3e12) == "-3 trillion"
    assert amount(math.nan) == "n/a"


def test_a_large_total_is_in_one_unit_and_keeps_its_zeros():
    row = {"reported": 1.608e7, "calibrated": 2.3e7, "low": 2.235e7, "high": 2.369e7}
    assert total_text(row) == ("16.1 million", "23.0 million", "22.4 to 23.7 million")
    row = {"reported": 0.0, "calibrated": 1.0e6, "low": 900.0, "high": 2.0e6}
    assert total_text(row) == ("0.00 million", "1.00 million", "0.00 to 2.00 million")
    unknown = {"reported": 2e6, "calibrated": 2e6, "low": math.nan, "high": math.nan}
    assert total_text(unknown) == ("2.00 million", "2.00 million", "n/a")


def test_three_digits_keep_their_zeros():
    assert [sized(value) for value in (1.0, 0.5, 0.0, 99.9, 1e6, math.nan)] == [
        "1.00",
        "0.500",
        "0",
        "99.9",
        "1,000,000",
        "n/a",
    ]


def test_rows_are_counted_in_words():
    assert [counted(value) for value in (0.0, 1.0, 2.5)] == ["0 rows", "1 row", "2.5 rows"]
