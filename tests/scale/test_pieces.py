"""Pieces of a table add up to it, wherever it is, and keep the numbers of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.scale import parts, pieces, sources
from proxycal.scale.pieces import FramePieces, file_pieces, is_partitioned, partition_pieces

TABLE = pd.DataFrame({"y": np.arange(25.0), "kind": ["a", "b", "c", "d", "e"] * 5})


@dataclass(frozen=True)
class Seen:
    """What a function saw: texts in the order in which they were added."""

    rows: tuple[tuple[int, float, str], ...]

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.rows + other.rows)


def see(frame: pd.DataFrame) -> Seen | None:
    return Seen(tuple(zip(frame.index.tolist(), frame["y"].tolist(), frame["kind"].tolist(), strict=True)))


ALL = Seen(tuple(zip(range(25), TABLE["y"].tolist(), TABLE["kind"].tolist(), strict=True)))


@pytest.fixture(autouse=True)
def short_batches(monkeypatch):
    for module in (sources, parts, pieces):
        monkeypatch.setattr(module, "BATCH", 4)
    monkeypatch.setattr(parts, "ROWS", 4)


@pytest.fixture
def paths(tmp_path):
    TABLE[:10].to_parquet(tmp_path / "a.parquet", row_group_size=3)
    TABLE[10:].to_csv(tmp_path / "b.csv", index=False)
    return [str(tmp_path / "a.parquet"), str(tmp_path / "b.csv")]


def test_a_frame_in_memory():
    made = FramePieces(TABLE.set_axis(range(100, 125)))
    assert made.add_up(see) == ALL
    turns = list(made.in_turn(len))
    assert turns == [4, 4, 4, 4, 4, 4, 1]


def test_files_are_one_table(paths):
    with file_pieces(paths, ["y", "kind"], []) as made:
        assert made.rows == 25
        assert made.add_up(see) == ALL
        assert see(made.frame()) == ALL
        assert sum(made.in_turn(see), Seen(())) == ALL


def test_partitions_of_a_dask_frame():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(TABLE.assign(other=1), npartitions=4)
    assert is_partitioned(frame)
    assert not is_partitioned(TABLE)
    made = partition_pieces(frame, ["y", "kind"])
    assert made.add_up(see) == ALL
    assert [seen.rows[0][0] for seen in made.in_turn(see)] == list(made.starts)


def test_a_piece_without_rows_to_use_adds_nothing_and_none_at_all_is_refused():
    made = FramePieces(TABLE)
    odd = made.add_up(lambda frame: see(frame) if frame.index[0] % 8 else None)
    assert [row[0] for row in odd.rows] == [i for i in range(25) if (i // 4) % 2]
    with pytest.raises(TableError, match="no row to use"):
        made.add_up(lambda frame: None)


def test_a_file_without_a_column_is_named(paths):
    lacking = file_pieces(paths, ["y", "z"], [])
    with pytest.raises(TableError, match=r"a\.parquet' has no column 'z'"), lacking:
        pass


def test_a_column_is_read_in_one_way_in_all_files(tmp_path):
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for name, code in zip(names, ("13001", "01003"), strict=True):
        pd.DataFrame({"y": [1.0, 2.0], "kind": [code, code]}).to_csv(name, index=False)
    with file_pieces(names, ["y", "kind"], []) as made:
        assert made.frame()["kind"].tolist() == ["13001", "13001", "01003", "01003"]
