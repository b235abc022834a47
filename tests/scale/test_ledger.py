"""What is finished is gone on with, what is other work is refused, and what was cut short is done again."""

from __future__ import annotations

import json

import pytest

from proxycal.errors import StoreError
from proxycal.scale.digests import digest_of
from proxycal.scale.ledger import NAME, Finished, abandon, claim, record, remove

FACTS = {"run": "abc", "tables": [{"name": "t.parquet", "bytes": 10}], "proxycal": "1.0", "parts": 2}


def finish(folder, name: str, content: bytes = b"rows") -> Finished:
    (folder / name).write_bytes(content)
    part = Finished(name, 3, 1, digest_of(folder / name))
    record(folder, part)
    return part


@pytest.fixture
def folder(tmp_path):
    assert claim(tmp_path / "out", FACTS, resume=False) == {}
    return tmp_path / "out"


def test_finished_parts_are_remembered(folder):
    parts = [finish(folder, "a"), finish(folder, "b")]
    assert claim(folder, FACTS, resume=True) == {part.name: part for part in parts}


def test_a_part_that_changed_or_is_gone_does_not_count(folder):
    for name in "abc":
        finish(folder, name)
    (folder / "a").write_bytes(b"rowt")  # one byte, and the same size
    (folder / "b").unlink()
    assert list(claim(folder, FACTS, resume=True)) == ["c"]


def test_a_line_that_was_cut_short_does_not_count_nor_spoil_the_next(folder):
    finish(folder, "a")
    finish(folder, "b")
    whole = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(whole[:-5])
    assert list(claim(folder, FACTS, resume=True)) == ["a"]
    finish(folder, "c")
    assert list(claim(folder, FACTS, resume=True)) == ["a", "c"]


def test_what_a_killed_worker_was_writing_is_removed(folder):
    (folder / ".proxycal-0123456789ab.csv").write_bytes(b"half")
    claim(folder, FACTS, resume=True)
    assert [entry.name for entry in folder.iterdir()] == [NAME]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"run": "xyz"}, "of another fit"),
        ({"tables": [{"name": "t.parquet", "bytes": 11}]}, r"tables that have changed since \('t.parquet'\)"),
        ({"tables": []}, "of other tables"),
        ({"proxycal": "2.0"}, "by proxycal 1.0"),
        ({"parts": 3}, "made in another way"),
    ],
)
def test_other_work_is_refused_with_what_differs(folder, change, why):
    with pytest.raises(StoreError, match=why):
        claim(folder, FACTS | change, resume=True)


def test_the_same_work_again_asks_for_resume(folder):
    with pytest.raises(StoreError, match="--resume"):
        claim(folder, FACTS, resume=False)


def test_a_folder_of_other_files_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="holds other files"):
        claim(tmp_path, FACTS, resume=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("content", ["", "not json\n", "[1]\n", '{"run":'])
def test_a_damaged_ledger_is_refused(folder, content):
    (folder / NAME).write_text(content)
    with pytest.raises(StoreError, match="damaged"):
        claim(folder, FACTS, resume=True)


@pytest.mark.parametrize(
    "line",
    [
        {"name": "a"},
        {"name": "a", "rows": 3, "unanswered": 0, "digest": "", "more": 1},
        {"name": 1, "rows": 3, "unanswered": 0, "digest": ""},
        {"name": "a", "rows": "3", "unanswered": 0, "digest": ""},
        {"name": "../a", "rows": 3, "unanswered": 0, "digest": ""},
        {"name": "a" * 300, "rows": 3, "unanswered": 0, "digest": ""},
    ],
)
def test_a_line_that_was_tampered_with_is_damage(folder, line):
    with (folder / NAME).open("a") as lines:
        lines.write(json.dumps(line) + "\n")
    with pytest.raises(StoreError, match="damaged"):
        claim(folder, FACTS, resume=True)


@pytest.mark.parametrize("tables", [None, 5, "x", [1], {"a": 1}])
def test_a_first_line_of_another_shape_is_other_work(folder, tables):
    (folder / NAME).write_text(json.dumps(FACTS | {"tables": tables}) + "\n")
    with pytest.raises(StoreError, match="never mixed"):
        claim(folder, FACTS, resume=True)


def test_joined_parts_are_removed_and_nothing_else(folder):
    parts = [finish(folder, "a"), finish(folder, "b")]
    (folder / "notes.txt").write_text("mine")
    remove(folder, parts)
    assert [entry.name for entry in folder.iterdir()] == ["notes.txt"]


def test_work_that_finished_nothing_leaves_no_trace(folder):
    (folder / ".proxycal-0123456789ab.csv").write_bytes(b"half")
    abandon(folder)
    assert not folder.exists()


def test_a_part_that_stands_keeps_its_ledger_when_work_is_abandoned(folder):
    (folder / "a.csv").write_text("whole, but its line could not be written")
    abandon(folder, ["a.csv", "b.csv"])
    assert claim(folder, FACTS, resume=True) == {}


def test_files_of_somebody_else_stay_when_work_is_abandoned(folder):
    (folder / "notes.txt").write_text("mine")
    abandon(folder)
    assert [entry.name for entry in folder.iterdir()] == ["notes.txt"]
