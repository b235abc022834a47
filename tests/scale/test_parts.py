"""How tables are cut: every row once, in order, by the table alone."""

from __future__ import annotations

import itertools

import pytest

from proxycal.effect.calibrate import BLOCK
from proxycal.errors import SettingsError, StoreError
from proxycal.scale.parts import PARTS, PARTS_OF_GROUP, ROWS, part_size, plan, stem_and_ending
from proxycal.scale.sources import BATCH, Source


def source(path: str, rows: int, kind: str = "parquet", largest: int = 1000) -> Source:
    return Source(path, kind, 0, rows, ("y",), largest)


@pytest.mark.parametrize("rows", [1, BLOCK, 10 * BLOCK + 1])
@pytest.mark.parametrize("part_rows", [1, BLOCK, BLOCK + 1, 10**7])
def test_every_row_is_in_one_part_in_order(rows, part_rows):
    parts = plan([source("a.parquet", rows), source("b.parquet", 5)], part_rows)
    own = [part for part in parts if part.table == 0]
    assert own[0].start == 0
    assert own[-1].stop == rows
    assert all(one.stop == two.start for one, two in itertools.pairwise(own))
    assert sum(part.rows for part in parts) == rows + 5
    assert all(part.rows % BLOCK == 0 for part in own[:-1])
    assert len({part.name for part in parts}) == len(parts)


def test_files_are_named_after_their_tables_with_a_number_where_there_are_several():
    parts = plan([source("x/long.parquet", 3 * BLOCK), source("x/short.pq", 7)], BLOCK)
    numbered = [f"long-{number:05d}.parquet" for number in range(3)]
    assert [part.name for part in parts] == [*numbered, "short.pq"]
    assert plan([source("t.csv.gz", 7, "csv")], ending=".parquet")[0].name == "t.parquet"


def test_a_csv_is_one_part_and_a_large_table_is_cut_into_a_bounded_number():
    assert len(plan([source("t.csv", 10**9, "csv")], part_rows=BLOCK)) == 1
    assert part_size(source("t.parquet", 10)) == ROWS
    huge = source("t.parquet", 10**9, largest=1000)
    assert len(plan([huge])) <= PARTS
    assert part_size(huge) % BATCH == 0
    one_group = source("t.parquet", 10**7, largest=10**7)
    assert len(plan([one_group])) <= PARTS_OF_GROUP


def test_two_tables_that_would_be_written_to_one_file_are_refused():
    with pytest.raises(StoreError, match=r"'x/T\.parquet' and 'y/t\.parquet' would both be written"):
        plan([source("x/T.parquet", 5), source("y/t.parquet", 5)])


@pytest.mark.parametrize("part_rows", [0, -1, True])
def test_rows_of_a_part_are_a_whole_number_of_one_or_more(part_rows):
    with pytest.raises(SettingsError, match="part_rows"):
        plan([source("t.parquet", 5)], part_rows)


@pytest.mark.parametrize(
    ("path", "made"),
    [("a.csv", ("a", ".csv")), ("d/A.CSV.GZ", ("A", ".CSV.GZ")), ("a.b.parquet", ("a.b", ".parquet"))],
)
def test_the_ending_of_a_name(path, made):
    assert stem_and_ending(path) == made
