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
from proxycal.files import atomic_file, write_table, write_text
from proxycal.reading.table import read_table

# --- tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet"])
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
