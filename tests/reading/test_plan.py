"""A file is looked at once; whole or in pieces, its values are then the same."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from proxycal.errors import StoreError
from proxycal.reading import plan
from proxycal.reading.plan import input_kind, plan_and_tables, plan_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.CSV", "text"), ("a.tsv.gz", "text"), ("a.xlsx", "workbook"), ("a.pq", "parquet")],
)
def test_the_ending_says_how_to_read(name, kind):
    assert input_kind(name) == kind


@pytest.mark.parametrize("name", ["a.xls", "a.txt", "csv", ""])
def test_other_endings_are_refused_with_what_would_do(name):
    with pytest.raises(StoreError, match=r"must end in \.csv, \.tsv, \.xlsx or \.parquet"):
        input_kind(name)


def test_kept_or_read_again_the_table_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "ROWS", 3)
    path = tmp_path / "t.csv"
    path.write_text("y;code\n" + "".join(f"{i},5;{i:03d}\n" for i in range(10)))
    for keep in (0, 10**9):
        found, tables = plan_and_tables(path, (), keep)
        pieces = [found.frame(table) for table in tables]
        frame = pd.concat(pieces, ignore_index=True)
        assert frame["y"].tolist() == [i + 0.5 for i in range(10)]
        assert frame["code"].tolist() == [f"{i:03d}" for i in range(10)]
    assert (found.rows, found.decimal, found.columns) == (10, ",", ("y", "code"))
    assert pa.concat_tables(map(found.table, found.text())).schema.types == [pa.float64(), pa.string()]


def test_text_that_was_asked_for_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("id,y\n1,2\n")
    assert plan_of(tmp_path / "t.csv", text=["id"]).styles["id"].kind == "name"
