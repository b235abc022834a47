"""Dates are dates where only one reading makes all of them dates."""

from __future__ import annotations

import pyarrow as pa
import pytest

from proxycal.reading.dates import format_of, formats_of, to_dates


@pytest.mark.parametrize(
    ("values", "first"),
    [
        (["2024-05-01", "2024-12-31"], "2024-05-01"),
        (["2024-05-01T10:00:00Z", "2024-05-01 10:00"], "2024-05-01"),
        (["31.12.2024", "1.5.2024"], "2024-12-31"),
        (["31/12/2024", "01/05/2024"], "2024-12-31"),
        (["12/31/2024", "05/01/2024"], "2024-12-31"),
        (["31-Dec-2024", "1-May-2024"], "2024-12-31"),
        (["May 1, 2024", "Dec 31, 2024"], "2024-05-01"),
        (["12/31/2024 10:15", "05/01/2024 00:00"], "2024-12-31"),
    ],
)
def test_dates_as_people_write_them(values, first):
    counts = formats_of(pa.array(values))
    name = format_of(counts, len(values))
    assert name is not None, counts
    assert str(to_dates(pa.array([*values, None]), name).to_pylist()[0].date()) == first
    assert to_dates(pa.array([*values, None]), name).null_count == 1


def test_names_of_months_in_capitals_or_not_and_in_full():
    """English in every language of the program around us: `make test-configurations` runs this in German."""
    for values in (["31-Dec-2024"], ["dec 31, 2024"], ["31 December 2024"], ["December 31, 2024 10:15"]):
        (name,) = formats_of(pa.array(values))
        assert str(to_dates(pa.array(values), name).to_pylist()[0].date()) == "2024-12-31"
    assert formats_of(pa.array(["31-12-2024"])).keys() == {"day-month-year"}


@pytest.mark.parametrize(
    "values",
    [
        ["3/4/2024", "5/6/2024"],
        ["13/13/2024"],
        ["2024-02-31"],
        ["1.5"],
        ["10-20"],
        ["1.2.3"],
        ["2024"],
        ["a 1"],
    ],
)
def test_what_is_no_date_or_two(values):
    assert format_of(formats_of(pa.array(values)), len(values)) is None


def test_day_and_month_may_be_told_by_a_later_piece():
    first, second = formats_of(pa.array(["3/4/2024"])), formats_of(pa.array(["13/4/2024"]))
    added = {name: first.get(name, 0) + second.get(name, 0) for name in first}
    assert format_of(added, 2) == "day/month/year"
