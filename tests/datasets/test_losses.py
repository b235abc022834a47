"""What the two loss databases share: files, numbers, years, and sums by county, hazard and year."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.losses import by_county, chosen_years, find_files, numbers, whole_years
from proxycal.errors import StoreError, TableError

PATH = Path("losses.csv")


def test_files_are_those_named_or_those_of_a_folder_in_order(tmp_path):
    for name in ("b.csv", "a.csv", "notes.txt"):
        (tmp_path / name).write_text("")
    inside = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert find_files(tmp_path, "*.csv", "export") == inside
    assert find_files(str(tmp_path / "notes.txt"), "*.csv", "export") == [tmp_path / "notes.txt"]
    assert find_files([tmp_path / "b.csv", tmp_path], "*.csv", "export") == [tmp_path / "b.csv", *inside]


def test_no_file_is_refused_with_what_to_give(tmp_path):
    with pytest.raises(StoreError, match=r"holds no export \(\*\.csv\): name the file itself"):
        find_files(tmp_path, "*.csv", "export")
    with pytest.raises(StoreError, match="no export named"):
        find_files([], "*.csv", "export")


def test_blanks_are_missing_and_words_are_refused_with_their_row():
    made = numbers(pd.Series(["1.5", " ", None, "-2e3"], name="loss"), PATH)
    np.testing.assert_array_equal(made, [1.5, np.nan, np.nan, -2000.0])
    with pytest.raises(TableError, match=r"column 'loss' of 'losses\.csv' holds 2 .*first 'n/a' in row 3"):
        numbers(pd.Series(["1", "n/a", "x"], name="loss"), PATH)


def test_years_are_whole_numbers_and_totals_below_the_table_are_refused():
    assert whole_years(pd.Series(["2020", "2021"], name="Year"), PATH).tolist() == [2020, 2021]
    for wrong in ("2020.5", None):
        with pytest.raises(TableError, match=r"1 values that are no year, first in row 3: .*totals"):
            whole_years(pd.Series(["2020", wrong], name="Year"), PATH)


def test_rows_outside_the_years_are_counted():
    table = pd.DataFrame({"year": [2019, 2020, 2021, 2021]})
    (entry,) = chosen_years(table, [2020, 2021], "losses")
    assert (entry.rows, entry.change, entry.examples) == (1, -1, ("2019",))
    assert chosen_years(table, None, "losses") == []
    assert len(table) == 4


def test_one_row_per_county_hazard_and_year_and_a_blank_sum_stays_blank():
    table = pd.DataFrame(
        {
            "fips": ["01001", "01001", "01003", "01003"],
            "hazard": ["Flooding"] * 4,
            "year": [2020, 2020, 2020, 2021],
            "loss": [1.0, 2.5, np.nan, 4.0],
            "records": [1, 2, 1, 1],
        }
    )
    sums, (entry,) = by_county(table, "losses")
    assert sums[["fips", "year", "records"]].to_numpy().tolist() == [
        ["01001", 2020, 3], ["01003", 2020, 1], ["01003", 2021, 1],
    ]  # fmt: skip
    np.testing.assert_array_equal(sums["loss"], [3.5, np.nan, 4.0])
    assert sums["county"].tolist()[:2] == ["Autauga", "Baldwin"]
    assert (entry.rows, entry.change) == (1, -1)
    assert by_county(sums, "losses")[1] == []
