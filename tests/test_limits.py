"""What is too large is refused by name before it is in memory, and a pipe is no file."""

from __future__ import annotations

import gzip
import os
import zipfile

import pandas as pd
import pytest

from proxycal.errors import SettingsError, StoreError
from proxycal.limits import check_file, limit, parquet_facts, readable
from proxycal.reading.table import read_table
from proxycal.scale.sources import fits_in_memory, look_at


@pytest.fixture
def small(monkeypatch):
    """Limits of 1000 cells, 20 columns and 5000 bytes."""
    for name, value in {"CELLS": 1000, "COLUMNS": 20, "BYTES": 5000}.items():
        monkeypatch.setenv(f"PROXYCAL_MAX_{name}", str(value))


def workbook(path, *cells: str, row: str = "1") -> None:
    inside = "".join(f'<c r="{cell}"><v>1</v></c>' for cell in cells)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", f'<sheetData><row r="{row}">{inside}</row></sheetData>')


@pytest.mark.usefixtures("small")
def test_cells_are_counted_before_a_table_is_read(tmp_path):
    frame = pd.DataFrame({"a": range(600), "b": 1})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(StoreError, match=r"has 1,20\d cells .* at most 1,000 .*PROXYCAL_MAX_CELLS=120"):
            read_table(tmp_path / name)
    check_file(tmp_path / "t.parquet", rows_at_once=400)
    check_file(tmp_path / "t.csv", rows_at_once=400)


def test_a_raised_limit_lets_the_table_in(tmp_path, monkeypatch):
    pd.DataFrame({"a": range(600)}).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setenv("PROXYCAL_MAX_CELLS", "599")
    with pytest.raises(StoreError, match="PROXYCAL_MAX_CELLS=601"):
        read_table(tmp_path / "t.csv")
    monkeypatch.setenv("PROXYCAL_MAX_CELLS", "601")
    assert len(read_table(tmp_path / "t.csv")) == 600


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_columns_are_counted_whatever_separates_them(tmp_path, mark):
    (tmp_path / "t.csv").write_text(mark.join(f"c{i}" for i in range(30)) + "\n")
    with pytest.raises(StoreError, match=r"has 30 columns, and at most 20 .*PROXYCAL_MAX_COLUMNS=30"):
        check_file(tmp_path / "t.csv")
    with pytest.raises(StoreError, match="30 columns"):
        check_file(tmp_path / "t.csv", rows_at_once=10)


@pytest.mark.usefixtures("small")
def test_a_packed_file_counts_unpacked(tmp_path):
    with gzip.open(tmp_path / "t.csv.gz", "wb") as packed:
        packed.write(b"a\n" + b"1" * 2_000_000)
    assert (tmp_path / "t.csv.gz").stat().st_size < 5000
    with pytest.raises(StoreError, match=r"bytes or more, and at most 5,000 .*PROXYCAL_MAX_BYTES"):
        check_file(tmp_path / "t.csv.gz")


def test_the_rows_that_a_workbook_leaves_out_count(tmp_path, monkeypatch):
    workbook(tmp_path / "far.xlsx", "A1", row="100000000")
    with pytest.raises(StoreError, match=r"row numbered 100,000,000"):
        check_file(tmp_path / "far.xlsx")
    workbook(tmp_path / "wide.xlsx", "A1", "XFD1000000")
    with pytest.raises(StoreError, match="16,384 columns"):
        check_file(tmp_path / "wide.xlsx")
    workbook(tmp_path / "long.xlsx", "A1", "IV1000000")
    with pytest.raises(StoreError, match=r"1,000,000 rows of 256 columns"):
        check_file(tmp_path / "long.xlsx")
    workbook(tmp_path / "fine.xlsx", "A1", "C3")
    check_file(tmp_path / "fine.xlsx")
    monkeypatch.setenv("PROXYCAL_MAX_BYTES", "10")
    with pytest.raises(StoreError, match="bytes unpacked"):
        check_file(tmp_path / "fine.xlsx")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(StoreError, match="is a pipe"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("error", [MemoryError(), pd.errors.ParserError("C error: out of memory")])
def test_out_of_memory_is_called_that(tmp_path, monkeypatch, error):
    (tmp_path / "t.csv").write_text("y\n1\n")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(pd, "read_csv", fail)
    with pytest.raises(StoreError, match="out of memory while reading"):
        read_table(tmp_path / "t.csv")


def test_what_a_library_does_not_foresee_is_damage():
    with pytest.raises(StoreError, match=r"'t' is damaged .*KeyError"), readable("t"):
        raise KeyError("columns")


@pytest.mark.parametrize("value", ["", "0", "-1", "many", "1e6", "٣"])
def test_a_limit_is_a_whole_number(monkeypatch, value):
    monkeypatch.setenv("PROXYCAL_MAX_CELLS", value)
    with pytest.raises(SettingsError, match="PROXYCAL_MAX_CELLS"):
        limit("CELLS")


def test_ten_thousand_names_are_compared_at_once(tmp_path):
    (tmp_path / "t.csv").write_text(",".join(f"c{i}" for i in range(9999)) + ",c7\n")
    with pytest.raises(StoreError, match="two columns named 'c7'"):
        read_table(tmp_path / "t.csv")


def test_a_column_that_pandas_keeps_as_labels_is_a_column(tmp_path):
    frame = pd.DataFrame({"y": [1.0, 2.0]}, index=pd.Index(["r", "s"], name="county"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").columns) == ["county", "y"]


def test_a_parquet_file_whose_names_are_no_text_is_damaged(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"name_of_a_column": [1.0, 2.0]}).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"name_of_a_column", b"n\xdbme_of_a_column"))
    assert parquet_facts(path) is None
    assert fits_in_memory(str(path), 10)
    for read in (read_table, lambda place: look_at(str(place))):
        with pytest.raises(StoreError, match=r"t\.parquet.*export it again"):
            read(path)
