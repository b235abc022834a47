"""Facts of a file before its roles are known."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.reading.look import look_file
from proxycal.reading.options import Reading

LINES = "id,day,n,share,who,flag,code\na1,2024-01-05,3,40%,x,True,01003\na2,2024-02-06,5,,y,False,01005\n"


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(LINES)
    return path


def test_every_column_has_its_kind_span_gaps_and_unit(place):
    found = {column.name: column for column in look_file(place).columns}
    assert {name: column.kind for name, column in found.items()} == {
        "id": "text", "day": "dates", "n": "whole numbers", "share": "numbers", "who": "text",
        "flag": "true or false", "code": "codes",
    }  # fmt: skip
    assert (found["n"].span, found["who"].span, found["day"].span) == (
        "3 to 5", "2 different", "2024-01-05 to 2024-02-06",
    )  # fmt: skip
    assert (found["share"].missing, found["share"].unit, found["share"].example) == (1, "%", "40")


def test_totals_of_a_parquet_file_are_named(tmp_path):
    table = pd.DataFrame({"county": ["Lee", "Clay", "Total"], "loss": [3.0, 4.0, 7.0]})
    table.to_parquet(path := tmp_path / "t.parquet")
    found = look_file(path)
    assert (found.rows, found.totals) == (2, "1 row is a total of other rows: index 2 ('Total')")
    assert look_file(path, Reading(total_rows="keep")).rows == 3
