"""A comma or a point: decimals or thousands, decided by the values and never by luck."""

from __future__ import annotations

import pyarrow as pa
import pytest

from proxycal.reading.numbers import NumberShapes, decimal_of, is_whole, shapes_of, to_numbers


def read(values, of_file=None):
    shapes = shapes_of(pa.array(values))
    if not shapes.numeric or shapes.code:
        return None
    decimal = decimal_of(shapes, of_file)
    if decimal is None:
        return None
    return to_numbers(pa.array(values), decimal, is_whole(shapes, decimal)).to_pylist()


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1", "-2", "+3"], [1, -2, 3]),
        (["1.5", ".5", "1.", "1e3", "-2E-2", "inf"], [1.5, 0.5, 1.0, 1000.0, -0.02, float("inf")]),
        (["3,14", "50,015"], [3.14, 50.015]),
        (["1.234,5", "50.015"], [1234.5, 50015.0]),
        (["1,234.5", "50,015", "7"], [1234.5, 50015.0, 7.0]),
        (["1,234,567", "50,015"], [1234567, 50015]),
        (["1.234.567", "12"], [1234567, 12]),
        (["0,123", "0,5"], [0.123, 0.5]),
        (["12.345", "1.234"], [12.345, 1.234]),
        (["$1,200", "$0", "($3)", "-$4", "$-5"], [1200, 0, -3, -4, -5]),
        (["US$ 1,200.50", "US$ 3.00"], [1200.5, 3.0]),
        (["12 500 €", "3,50 €"], [12500.0, 3.5]),
        (["EUR 1.250,00", "EUR 2,00"], [1250.0, 2.0]),
        (["12'500", "1'250'000"], [12500, 1250000]),
        (["12\u202f500,5", "3"], [12500.5, 3.0]),
        (["40%", "3.5%"], [40.0, 3.5]),
        (["−5", "5"], [-5, 5]),
    ],
)
def test_numbers_as_people_write_them(values, numbers):
    assert read(values) == numbers


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["50,015", "51,200"], "thousands or decimals"),
        (["3,14", "3.14"], "two decimal signs"),
        (["1,234", "1.234"], "either way, but not both"),
        (["$5", "€5"], "two currencies"),
        (["5%", "5"], "with and without per cent"),
        (["1,5", "n.a."], "a word"),
        (["01003", "48001"], "a code"),
        (["12345678901234567890"], "too long for a number"),
        (["31.12.2024"], "a date"),
        (["12,34,567"], "groups of two"),
        (["1 2"], "two numbers"),
        (["+"], "a sign"),
    ],
)
def test_what_is_unclear_stays_text(values, why):
    assert read(values) is None, why


@pytest.mark.parametrize(
    ("value", "of_file", "number"),
    [("50,015", ",", 50.015), ("50,015", ".", 50015), ("50.015", ",", 50015), ("50.015", ".", 50.015)],
)
def test_the_rest_of_the_file_decides_what_a_column_leaves_open(value, of_file, number):
    assert read([value], of_file) == [number]


def test_semicolons_make_decimal_commas_likely():
    def decimal(values):
        return decimal_of(shapes_of(pa.array(values)), None, likely=",")

    assert decimal(["50,015", "7,250"]) == ","
    assert decimal(["$50,015", "$7,250"]) == ".", "dollars have no thousandths"
    assert decimal(["50,015", "950"]) is None, "a whole number among thousandths"


def test_the_shapes_of_pieces_add_up():
    values = ["$1,200", "3.5", "(2)", "7", "1,234,567"]
    whole = shapes_of(pa.array(values))
    added = sum((shapes_of(pa.array([value])) for value in values), NumberShapes())
    assert added == whole
    assert (whole.values, whole.dressed, whole.example) == (5, 3, "$1,200")


def test_every_digit_is_kept():
    values = [repr(0.1 + 0.2), repr(1e-300), repr(-1 / 3)]
    assert read(values) == [0.1 + 0.2, 1e-300, -1 / 3]
