"""Rows that are no rows of the table are left out and counted, and rows of the file keep their numbers."""

from __future__ import annotations

import pytest

from proxycal.errors import StoreError
from proxycal.reading.plan import plan_of
from proxycal.reading.table import read_table

HEADER = "county,loss,area\n"
ROWS = "Lee,1200,3.5\nClay,80,2\nPolk,95,4.25\nBell,310,8\n"


def read(tmp_path, content, **options):
    path = tmp_path / "t.csv"
    path.write_text(content)
    return read_table(path, **options)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (HEADER + ROWS, ""),
        (HEADER + ROWS + "\n\n", ""),
        (HEADER + ROWS + ",,\n", ""),
        (HEADER + ROWS + "Source: the state agency,,\n", "1 note left out"),
        (HEADER + ROWS + "\n* preliminary,,\n(1) as of May,,\n", "2 notes left out"),
        (HEADER + ROWS.replace("Polk", "\nPolk"), "1 blank row left out"),
        (HEADER + ROWS.replace("Polk", HEADER + "Polk"), "1 repeated header left out"),
        ("Losses,,\n" + HEADER + ROWS, "column names in row 2"),
    ],
)
def test_what_is_left_out_is_counted(content, said, tmp_path):
    frame = read(tmp_path, content)
    assert frame["county"].tolist() == ["Lee", "Clay", "Polk", "Bell"]
    assert frame["loss"].tolist() == [1200, 80, 95, 310]
    assert frame.attrs.get("understood", "") == said


def test_the_index_holds_rows_of_the_file_where_some_are_left_out(tmp_path):
    frame = read(tmp_path, "Losses,,\n\n" + HEADER + ROWS.replace("Polk", "\nPolk"))
    assert frame.index.tolist() == [4, 5, 7, 8]
    assert frame.index.name == "row of the file"
    assert read(tmp_path, HEADER + ROWS + "Source: the state agency,,\n").index.tolist() == [0, 1, 2, 3]


TOTALS = HEADER + ROWS + "Total,1685,17.75\n"


def test_totals_are_refused_with_their_rows_until_somebody_says_what_they_are(tmp_path):
    with pytest.raises(StoreError, match=r"t.csv': 1 row is a total of other rows: row 6 \('Total'\)"):
        read(tmp_path, TOTALS)
    assert read(tmp_path, TOTALS, total_rows="keep")["county"].tolist()[-1] == "Total"
    dropped = read(tmp_path, TOTALS, total_rows="drop")
    assert dropped["county"].tolist() == ["Lee", "Clay", "Polk", "Bell"]
    assert dropped.attrs["understood"] == "1 row with totals left out"


def test_a_total_in_a_column_of_numbers_leaves_it_one(tmp_path):
    frame = read(tmp_path, "fips,loss\n1003,5\n1005,7\nTotal,12\n", total_rows="drop")
    assert frame["fips"].tolist() == [1003, 1005]
    with pytest.raises(StoreError, match=r"row 4 \('Total'\)"):
        read(tmp_path, "fips,loss\n1003,5\n1005,7\nTotal,12\n")


def test_totals_without_a_label_are_found_by_their_sums(tmp_path):
    with pytest.raises(StoreError, match=r"row 6 \(sums of other rows\)"):
        read(tmp_path, HEADER + ROWS.replace("1200", "120034").replace("310", "91017") + ",211226,17.75\n")


def test_a_long_file_keeps_a_category_called_total(tmp_path):
    rows = "".join(f"c{i},{'total' if i % 3 else 'partial'},{i % 17}.5\n" for i in range(400))
    assert len(read(tmp_path, "id,damage,loss\n" + rows)) == 400


def test_one_column_of_ids_below_is_no_note(tmp_path):
    frame = read(tmp_path, "fips,loss,area\n1003,5,2\n1005,,\n")
    assert frame["fips"].tolist() == [1003, 1005]


@pytest.mark.parametrize("rows", [3, 70_000])
def test_pieces_and_the_whole_leave_out_the_same_rows(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("proxycal.reading.plan.ROWS", rows)
    path = tmp_path / "t.csv"
    path.write_text("Losses,,\n" + HEADER + ROWS.replace("Polk", "\nPolk") + "\nSource: us and them all,,\n")
    plan = plan_of(path)
    assert (plan.rows, plan.rows_of_file.tolist()) == (4, [3, 4, 6, 7])
    for size in (1, 3, 100):
        assert [row for table in plan.text(size) for row in table.column("county").to_pylist()] == [
            "Lee", "Clay", "Polk", "Bell",
        ]  # fmt: skip
