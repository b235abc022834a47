"""One reader: whatever program wrote the table, the same values come out."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest

import proxycal
from proxycal.errors import StoreError
from proxycal.reading.table import read_table, understood

TABLE = pd.DataFrame({"fips": ["01003", "01005"], "loss": [1234.5, 90.25], "who": ["é", "b"]})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "fips,loss,who\n01003,1234.5,é\n01005,90.25,b\n".encode()),
        ("t.csv", "fips,loss,who\r\n01003,1234.5,é\r\n01005,90.25,b".encode("cp1252")),
        ("t.csv", "\ufefffips;loss;who\r\n01003;1234,5;é\r\n01005;90,25;b\r\n".encode()),
        ("t.csv", 'fips,loss,who\n01003,"$1,234.50",é\n01005,$90.25,b\n'.encode()),
        ("t.tsv", "fips\tloss\twho\n01003\t1.234,50\té\n01005\t90,25\tb\n".encode("utf-16")),
        ("t.csv.gz", gzip.compress("fips;loss;who\n01003;1 234,5;é\n01005;90,25;b\n".encode())),
    ],
    ids=["plain", "latin-1, CRLF", "BOM, semicolons", "dollars", "tabs, UTF-16", "packed"],
)
def test_the_same_table_in_six_dialects(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE, check_exact=True)


def test_a_workbook_is_the_same_table(tmp_path):
    TABLE.to_excel(tmp_path / "t.xlsx", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.xlsx"), TABLE, check_exact=True)


def test_the_library_has_it_by_name(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2,5\n")
    frame = proxycal.read_table(tmp_path / "t.csv")
    assert understood(frame).startswith("semicolons, decimal commas")
    assert understood(pd.DataFrame()) == ""


def test_codes_keep_their_zeros_and_text_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("fips,id,y\n01001,7,1\n01003,8,2\n")
    frame = read_table(tmp_path / "t.csv", text=["id"])
    assert frame["fips"].tolist() == ["01001", "01003"]
    assert frame["id"].tolist() == ["7", "8"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", r"t\.csv' is empty"),
        ("t.csv", b"\n\n", r"t\.csv' is empty"),
        ("t.csv", b"a,b\n", r"2 columns and no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", r"two columns named 'a' \(columns 1 and 3\): rename"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", r"not a regular CSV"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3\n", r"not a regular CSV"),
        ("t.csv.gz", b"a,b\n1,2\n", r"gzip"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], r"gzip"),
        ("t.parquet", b"", r"t\.parquet' is empty"),
        ("t.parquet", b"PAR1 not really", r"not a readable Parquet file"),
        ("t.xlsx", b"PK", r"not a readable Excel workbook"),
        ("t.sav", b"x", r"must end in \.csv"),
    ],
)
def test_unreadable_tables_say_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreError, match=message):
        read_table(tmp_path / name)


def test_missing_file_and_folder_are_named(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere\.csv' cannot be read: there is no such file"):
        read_table(tmp_path / "nowhere.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(StoreError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
