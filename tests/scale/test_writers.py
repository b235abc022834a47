"""Tables written as they come: the same rows, whole or not at all."""

from __future__ import annotations

import gzip

import pandas as pd
import pyarrow as pa
import pytest

from proxycal.errors import StoreError
from proxycal.reading.table import read_table
from proxycal.scale.writers import join, table_writer

FIRST = pa.table({"n": pa.array([1, None], pa.int64()), "y": [0.1 + 0.2, 1e-300], "who": ["a", 'b,"c"']})
SECOND = pa.table({"n": pa.array([3], pa.int64()), "y": [-1 / 3], "who": ["é"]})
WHOLE = pa.concat_tables([FIRST, SECOND])


def written(path, *tables, header=True):
    with table_writer(path, header) as write:
        for table in tables:
            write(table)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_batches_are_the_table_that_they_were_cut_from(tmp_path, name):
    made = read_table(written(tmp_path / name, FIRST, SECOND))
    pd.testing.assert_frame_equal(made, WHOLE.to_pandas(), check_dtype=False, check_exact=True)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_whole_numbers_stay_whole_beside_gaps_in_a_csv(tmp_path):
    lines = written(tmp_path / "t.csv", FIRST).read_text().splitlines()
    assert lines[0] == "n,y,who"
    assert [line.split(",")[0] for line in lines[1:]] == ["1", ""]


def test_the_same_rows_are_the_same_bytes_also_when_compressed(tmp_path):
    one, two = (written(tmp_path / f"{name}.csv.gz", FIRST) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert gzip.decompress(one.read_bytes()) == written(tmp_path / "t.csv", FIRST).read_bytes()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_parts_are_joined_under_one_header(tmp_path, ending):
    parts = [
        written(tmp_path / f"{number}.{ending}", table, header=number == 0)
        for number, table in enumerate((FIRST, SECOND))
    ]
    join(parts, tmp_path / f"all.{ending}")
    made = read_table(tmp_path / f"all.{ending}")
    pd.testing.assert_frame_equal(made, WHOLE.to_pandas(), check_dtype=False, check_exact=True)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_write_that_fails_leaves_the_earlier_file(tmp_path, name):
    written(tmp_path / name, FIRST)
    before = (tmp_path / name).read_bytes()

    def fail() -> None:
        with table_writer(tmp_path / name) as write:
            write(SECOND)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / name).read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_what_parquet_cannot_keep_is_refused_with_what_to_do(tmp_path):
    interval = pa.table({"wait": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(StoreError, match=r"t\.parquet' cannot be written: .*; write a \.csv instead"):
        written(tmp_path / "t.parquet", interval)
    assert list(tmp_path.iterdir()) == []
