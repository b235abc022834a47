from __future__ import annotations

import datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest

from proxycal.app.tables import LIMIT, ending_of, preview, read_upload, too_large
from proxycal.errors import ProxycalError, StoreError, TableError
from proxycal.reading.table import read_table


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("a.CSV", ".csv"),
        ("a.csv.gz", ".csv.gz"),
        ("a.pq", ".parquet"),
        ("b.parquet", ".parquet"),
        ("b.tsv.gz", ".tsv.gz"),
        ("../../x.xlsx", ".xlsx"),
    ],
)
def test_the_ending_says_how_to_read(name, ending):
    assert ending_of(name) == ending


@pytest.mark.parametrize("name", ["a.xls", "a.sav", "a", "", "csv", "/etc/passwd"])
def test_other_endings_are_refused_with_what_to_do(name):
    with pytest.raises(StoreError, match="save it as CSV, Excel"):
        ending_of(name)


def test_csv_and_parquet_keep_every_digit(tmp_path):
    table = pd.DataFrame({"y": np.random.default_rng(0).normal(size=50), "k": ["a", "b"] * 25})
    table.to_csv(tmp_path / "t1.csv", index=False)
    table.to_parquet(tmp_path / "t2.parquet")
    for path, name in ((tmp_path / "t1.csv", "my losses.csv"), (tmp_path / "t2.parquet", "x.pq")):
        found = read_upload(path, name)
        assert (found.frame["y"] == table["y"]).all()
        assert found.name == name


def test_excel_is_read_to_the_last_digit(tmp_path):
    # 15 digits: openpyxl writes no more than 16.
    y = np.round(np.random.default_rng(0).normal(size=30), 14)
    day = datetime.datetime(2024, 5, 1)
    rows = [["loss", "n", "who", "day"], *[[value, i, "ä, b", day] for i, value in enumerate(y)], [None] * 4]
    found = read_upload(workbook(tmp_path / "t.xlsx", rows), "losses.xlsx")
    assert found.frame["loss"].tolist() == y.tolist()
    assert found.frame["n"].tolist() == list(range(30))
    assert set(found.frame["who"]) == {"ä, b"}
    assert set(found.frame["day"]) == {pd.Timestamp("2024-05-01")}
    assert found.note == "Understood: 'day' read as dates (ISO 8601)."
    # What the worker and the command line read is this same file.
    assert read_table(found.path).equals(found.frame)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "a"], [1, 2]], "two columns named 'a'"),
        ([["a"], [1, 2]], "row 2 .* beyond the last named column"),
        ([[]], "is empty"),
        ([["a", "b"]], "no rows"),
    ],
)
def test_a_bad_sheet_is_one_message(rows, message, tmp_path):
    path = workbook(tmp_path / "t.xlsx", rows)
    with pytest.raises(StoreError, match=message) as caught:
        read_upload(path, "losses.xlsx")
    assert str(tmp_path) not in str(caught.value)
    assert "losses.xlsx" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"x,x\n1,2\n", "two columns named 'x'"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n1,2,3\n", "every row has as many fields"),
        ("a.csv", b"a,b\n\0\0,2\n", "not a text table"),
        ("a.parquet", b"PAR1 no", "not a readable Parquet file"),
        ("a.xlsx", b"PK no", "not a readable Excel workbook"),
        ("a.csv.gz", b"\x1f\x8bno", "gzip"),
    ],
)
def test_a_broken_file_names_itself_and_the_remedy(name, content, message, tmp_path):
    path = tmp_path / f"table-1{ending_of(name)}"
    path.write_bytes(content)
    with pytest.raises(ProxycalError, match=message) as caught:
        read_upload(path, name)
    assert f"'{name}'" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_the_message_is_that_of_the_command_line(tmp_path):
    path = tmp_path / "table-1.csv"
    path.write_bytes(b"x,y,x\n1,2,3\n")
    with pytest.raises(StoreError) as by_page:
        read_upload(path, "losses.csv")
    with pytest.raises(StoreError) as by_library:
        read_table(path)
    assert str(by_page.value) == str(by_library.value).replace(str(path), "losses.csv")


def test_more_columns_than_a_page_shows(tmp_path):
    pd.DataFrame(np.zeros((2, 401)), columns=[f"c{i}" for i in range(401)]).to_csv(
        tmp_path / "t.csv", index=False
    )
    with pytest.raises(TableError, match=r"401 columns.*at most 400.*proxycal fit"):
        read_upload(tmp_path / "t.csv", "wide.csv")


def test_preview_is_text_and_shows_gaps():
    table = pd.DataFrame({"<b>": [1.23456789, None], "long": ["x" * 50, "<img>"], "k": [1, 2]})
    assert preview(table) == [["1.23457", "x" * 23 + "…", "1"], ["", "<img>", "2"]]


def test_the_limit_teaches():
    assert "200 MB" in too_large(LIMIT)
    assert "`proxycal fit`" in too_large(LIMIT)


def test_what_was_understood_is_said_on_the_page(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2,5\n")
    found = read_upload(tmp_path / "t.csv", "losses.csv")
    assert found.note == ("Understood: semicolons, decimal commas, 1 value like 2,5 read as numbers (2.5).")
