from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from proxycal.files import write_table
from proxycal.reading.table import read_table
from proxycal.safe_csv import safe_table, safe_text

RUN = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", "=HYPERLINK(1)"]
FINE = ["a=b", "", "-3", "+4.5", "-1e-3", "-1,000.5", "'=1", "12%", "-5 %"]


@pytest.mark.parametrize("text", RUN)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    assert safe_text(text) == "'" + text


@pytest.mark.parametrize("value", [*FINE[:-1], 3, -2.5, None, True])
def test_numbers_and_other_text_are_left_alone(value):
    assert safe_text(value) is value


def test_a_csv_is_made_safe_on_request_and_parquet_never(tmp_path):
    frame = pd.DataFrame({"=name": ["=1+1", "a", None], "y": [-1.0, 2.0, 3.0]})
    write_table(frame, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["=name"][0] == "=1+1"
    write_table(frame, tmp_path / "t.csv", safe=True)
    found = read_table(tmp_path / "t.csv")
    assert found["'=name"].tolist()[:2] == ["'=1+1", "a"]
    assert found["'=name"].isna().tolist() == [False, False, True]
    assert found["y"].tolist() == [-1.0, 2.0, 3.0]
    write_table(frame, tmp_path / "t.parquet", safe=True)
    assert read_table(tmp_path / "t.parquet")["=name"][0] == "=1+1"


def test_arrow_tables_keep_their_numbers_and_gaps():
    table = pa.table(
        {"@a": ["=x", None, "b"], "n": [-1, 2, 3], "d": pa.array(["-a", "b", "b"]).dictionary_encode()}
    )
    found = safe_table(table)
    assert found.to_pydict() == {"'@a": ["'=x", None, "b"], "n": [-1, 2, 3], "d": ["'-a", "b", "b"]}
    assert found.schema.field("n").type == pa.int64()
