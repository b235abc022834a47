"""Tables on disk in pieces: what is read piece by piece is what pandas reads at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proxycal.errors import StoreError
from proxycal.reading.table import read_table
from proxycal.scale import sources
from proxycal.scale.sources import batches, look_at

N = 1000


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 64)


def table() -> pd.DataFrame:
    """Columns whose type shows only late in the file."""
    return pd.DataFrame(
        {
            "id": [f"0{i}" for i in range(N)],
            "whole": np.arange(N),
            "number": np.random.default_rng(0).normal(size=N),
            "whole_with_late_gap": [*range(N - 1), None],
            "number_after_gaps": [None] * 700 + [0.25] * 300,
            "text_after_gaps": [None] * 700 + ["a"] * 300,
            "text_after_numbers": ["01.50"] * 900 + ["x"] * 100,
            "flag": [True, False] * 500,
            "flag_with_gaps": [True] * 100 + [None] * 900,
            "flag_then_text": ["True"] * 800 + ["maybe"] * 200,
            "empty": [None] * N,
        }
    )


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_a_csv_in_pieces_has_the_types_of_the_whole(name, tmp_path):
    path = tmp_path / name
    table().to_csv(path, index=False)
    source = look_at(str(path), text=["id"])
    pieces = list(batches(source, 0, N))
    assert [one.num_rows for one in pieces] == [64] * 15 + [40]
    read, whole = pa.concat_tables(pieces).to_pandas(), read_table(path, text=["id"])
    assert source.rows == N
    assert read.to_csv() == whole.to_csv()
    # Text that was asked for has the nullable type, and so have True and False beside gaps.
    same = [column for column in read if column not in ("id", "flag_with_gaps")]
    assert [str(read[one].dtype) for one in same] == [str(whole[one].dtype) for one in same]
    assert whole["flag_with_gaps"].dtype == "boolean"


def test_pieces_of_a_stranger_are_read_as_the_whole(tmp_path):
    """What a column is shows only late: a decimal comma, a date of the 13th, a code, a text."""
    rows = ["loss;area;day;code;mixed"]
    for i in range(N):
        loss = "50,015" if i < 900 else "3,5"
        day = f"{1 + i % 12:02d}/0{1 + i % 9}/2024" if i < 900 else "13/01/2024"
        rows.append(f"{loss};{i};{day};{i if i < 900 else f'0{i}'};{i if i < 900 else 'few'}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    source = look_at(str(path))
    read, whole = pa.concat_tables(list(batches(source, 0, N))).to_pandas(), read_table(path)
    pd.testing.assert_frame_equal(read, whole, check_dtype=True)
    assert whole["loss"].tolist()[:1] == [50.015]
    assert str(whole["day"].iloc[-1].date()) == "2024-01-13"
    assert whole["code"].iloc[0] == "0"
    assert whole["mixed"].iloc[-1] == "few"
    raw = pa.concat_tables(list(batches(source, 0, N, as_text=True))).to_pandas()
    assert raw.loc[0].tolist() == rows[1].split(";")


def test_a_workbook_is_read_in_pieces(tmp_path):
    frame = pd.DataFrame({"y": np.arange(N) / 4, "who": ["a", "b"] * (N // 2)})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    source = look_at(str(tmp_path / "t.xlsx"))
    assert (source.kind, source.rows) == ("workbook", N)
    read = pa.concat_tables(list(batches(source, 0, N))).to_pandas()
    assert read["y"].tolist() == frame["y"].tolist()


@pytest.mark.parametrize("group", [7, 64, 100, 5000])
@pytest.mark.parametrize(("start", "stop"), [(0, N), (64, 128), (128, N), (999, N), (0, 1), (300, 700)])
def test_any_rows_of_a_parquet_file_in_order(group, start, stop, tmp_path):
    path = tmp_path / "table.parquet"
    table().to_parquet(path, row_group_size=group)
    source = look_at(str(path))
    assert (source.rows, source.largest) == (N, min(group, N))
    pieces = list(batches(source, start, stop))
    assert all(one.num_rows == 64 for one in pieces[:-1])
    assert pa.concat_tables(pieces).equals(pq.read_table(path).slice(start, stop - start))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("absent.csv", None, "no such file"),
        ("empty.parquet", b"", "empty"),
        ("empty.csv", b"", "empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("twice.csv", b"a,a\n1,2\n", "two columns named 'a'"),
        ("broken.parquet", b"PAR1 and nothing else", "not a readable Parquet file"),
        ("long.csv", b"a,b\n" + b"1,2\n" * 100 + b"1,2,3\n", "regular CSV"),
        ("short.csv.gz", b"\x1f\x8b\x08\x00", "gzip"),
        ("table.xlsx", b"PK", "Excel workbook"),
        ("table.sav", b"x", ".csv"),
    ],
)
def test_what_cannot_be_read_is_said(name, content, says, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=says):
        look_at(str(path))


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(StoreError, match="is a folder"):
        look_at(str(tmp_path / "folder.parquet"))
