"""Files are written whole or not at all, and tables come back as they were written."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

from proxycal.errors import StoreError
from proxycal.files import atomic_file, read_table, write_table, write_text

# --- tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_tables_come_back_exactly(tmp_path, name, kind):
    columns = {"y": [0.1 + 0.2, 1e-300, -1 / 3], "who": ["a", 'b,"c"', "é\n"]}
    write_table(kind(columns), tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), pd.DataFrame(columns), check_exact=True)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_gz_is_compressed_and_parquet_is_parquet(tmp_path):
    frame = pd.DataFrame({"y": [1.0]})
    write_table(frame, tmp_path / "t.csv.gz")
    write_table(frame, tmp_path / "t.parquet")
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"y\n1.0\n"
    assert (tmp_path / "t.parquet").read_bytes()[:4] == b"PAR1"


def test_a_named_index_is_written_as_a_column(tmp_path):
    write_table(
        pd.DataFrame({"y": [1.0, 2.0]}, index=pd.Index(["r", "s"], name="county")), tmp_path / "t.csv"
    )
    assert (tmp_path / "t.csv").read_text() == "county,y\nr,1.0\ns,2.0\n"


def test_text_columns_keep_their_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("fips,y\n01001,1\n01003,2\n")
    assert read_table(tmp_path / "t.csv", text=["fips"])["fips"].tolist() == ["01001", "01003"]
    assert read_table(tmp_path / "t.csv")["fips"].tolist() == [1001, 1003]


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfy,z\n1,2\n")
    assert list(read_table(tmp_path / "t.csv").columns) == ["y", "z"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", r"t\.csv' is empty"),
        ("t.csv", b"\n\n", r"t\.csv' is empty"),
        ("t.csv", b"a,b\n", r"2 columns and no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", r"two columns named 'a' \(columns 1 and 3\): rename"),
        ("t.csv", b"a,b\n1,caf\xe9\n", r"not UTF-8 text .* 0xe9"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", r"not a regular CSV"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3\n", r"not a regular CSV"),
        ("t.csv", b"a;b\n1;2\n", r"something other than commas"),
        ("t.csv.gz", b"a,b\n1,2\n", r"gzip"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], r"gzip"),
        ("t.parquet", b"", r"t\.parquet' is empty"),
        ("t.parquet", b"PAR1 not really", r"not a readable Parquet file"),
        ("t.xlsx", b"PK", r"must end in \.csv, \.csv\.gz or \.parquet"),
    ],
    ids=[
        "empty",
        "blank lines",
        "header only",
        "duplicate header",
        "encoding",
        "long row",
        "long rows",
        "semicolons",
        "not gzip",
        "cut gzip",
        "empty parquet",
        "not parquet",
        "ending",
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


# --- atomic writes ------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path):
    write_text(tmp_path / "a.txt", "earlier")

    def fail_halfway() -> None:
        with atomic_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "earlier"


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_earlier_table_intact(tmp_path, monkeypatch, call):
    write_text(tmp_path / "a.csv", "x\n1\n")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(StoreError, match=r"a\.csv' cannot be written: No space left on device"):
        write_table(pd.DataFrame({"x": [2]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "x\n1\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_size_limit_is_one_clear_error(tmp_path):
    code = """
import resource, signal, sys
import pandas as pd
from proxycal.errors import StoreError
from proxycal.files import write_table
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_table(pd.DataFrame({"x": range(10000)}), sys.argv[1])
except StoreError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.csv")], capture_output=True, text=True
    )
    assert "cannot be written: File too large" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_unwritable_places_are_named(tmp_path):
    with pytest.raises(StoreError, match=r"folder '.*nowhere' does not exist"):
        write_text(tmp_path / "nowhere" / "a.txt", "")
    with pytest.raises(StoreError, match="not an ordinary file"):
        write_text(tmp_path, "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        write_text(tmp_path / "a.txt", "")
