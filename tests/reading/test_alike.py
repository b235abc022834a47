"""Files of one table are read as their rows would be in one file."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.reading.alike import read_alike
from proxycal.reading.plan import plan_of


def values(tmp_path, *columns: list[str], text: tuple[str, ...] = ()) -> list[list]:
    """A column in several files, as it is read."""
    plans = []
    for number, column in enumerate(columns):
        path = tmp_path / f"{number}.csv"
        path.write_text("x;y\n" + "".join(f"{value};1\n" for value in column))
        plans.append(plan_of(path, text))
    return [
        pd.concat([plan.frame(table) for table in plan.text()])["x"].tolist() for plan in read_alike(plans)
    ]


def test_a_code_is_a_code_in_every_file(tmp_path):
    assert values(tmp_path, ["13001", "13003"], ["01003", "13005"]) == [
        ["13001", "13003"],
        ["01003", "13005"],
    ]


def test_a_comma_is_what_the_other_file_shows_it_to_be(tmp_path):
    assert values(tmp_path, ["1,234", "2,345"], ["1,5", "2,25"]) == [[1.234, 2.345], [1.5, 2.25]]
    assert values(tmp_path, ["1,234", "2,345"], ["1.5", "2.25"]) == [[1234, 2345], [1.5, 2.25]]


def test_files_that_are_clear_by_themselves_are_read_as_they_are(tmp_path):
    assert values(tmp_path, ["1,5", "2,25"], ["1.5", "2.25"]) == [[1.5, 2.25], [1.5, 2.25]]


def test_a_word_in_one_file_makes_the_column_text_in_all(tmp_path):
    assert values(tmp_path, ["1", "2"], ["3", "many"]) == [["1", "2"], ["3", "many"]]


@pytest.mark.parametrize("kind", [["a", "b"], ["1", "2"], ["True", "False"]])
def test_a_file_without_values_follows_the_others(tmp_path, kind):
    first, second = values(tmp_path, ["", "NA"], kind)
    assert pd.isna(first).all()
    assert [str(value) for value in second] == kind


def test_what_was_asked_for_as_text_stays_text(tmp_path):
    assert values(tmp_path, ["1", "2"], ["a", "3"], text=("x",)) == [["1", "2"], ["a", "3"]]
