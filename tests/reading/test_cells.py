"""What a single cell looks like."""

from __future__ import annotations

import pytest

from proxycal.reading.cells import is_mark, is_number, is_unit, is_year


@pytest.mark.parametrize(
    "cell",
    ["1", "-1.5", "1,234.50", "1.234,5", "$1,200", "US$ 5", "(40)", "12 500", "3%", "1e-5", "EUR 7", "01003"],
)
def test_numbers_as_people_write_them(cell):
    assert is_number(cell)


@pytest.mark.parametrize("cell", ["", "-", "Lee", "2021 / loss", "12 Main St", "3-4", "n/a", "$", "1,2,3,4a"])
def test_what_is_no_number(cell):
    assert not is_number(cell)


@pytest.mark.parametrize(
    "cell", ["USD", "(km2)", "in 1,000 USD", "%", "per 100,000", "kg", "[mm]", "€", "years"]
)
def test_units(cell):
    assert is_unit(cell)


@pytest.mark.parametrize("cell", ["Texas", "12", "", "Loss", "Lee County", "1,000"])
def test_what_is_no_unit(cell):
    assert not is_unit(cell)


def test_years_and_marks():
    assert [is_year(cell) for cell in ("2021", " 1999 ", "21", "2150", "20210")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert all(map(is_mark, ["-", "–", "n.a.", "#REF!", "unknown", "None", "k.A.", "#DIV/0!"]))
    assert not any(map(is_mark, ["0", "no", "", "low"]))
