"""What may be written where is decided before any work, and nothing that is not ours is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proxycal.errors import StoreError
from proxycal.store.place import MANIFEST, RUN_FILES, check_folder, check_output, check_run_folder


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for name in (*RUN_FILES, MANIFEST):
        (tmp_path / "run" / name).write_text("{}")
    (tmp_path / "table.csv").write_text("y\n1\n")
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_new_folder_and_an_earlier_run_may_be_written_and_nothing_is_left_of_the_question(here):
    before = names(here)
    check_run_folder("new/deep/run", ["table.csv"])
    check_run_folder("run", ["table.csv"])
    check_output("out.csv", ["table.csv"])
    check_output("run/calibrated.csv")
    check_folder("parts")
    assert names(here) == before


def test_the_current_folder_is_not_replaced(here, monkeypatch):
    monkeypatch.chdir(here / "run")
    for folder in (".", here / "run"):
        with pytest.raises(StoreError, match="is the current folder"):
            check_run_folder(folder)
    monkeypatch.chdir(here)
    with pytest.raises(StoreError, match="holds other files"):
        check_run_folder(".")


def test_an_empty_current_folder_is_not_replaced_either(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(StoreError, match="is the current folder"):
        check_run_folder(".")


def test_a_mount_point_is_not_replaced(here, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "run")
    with pytest.raises(StoreError, match="is a mount point"):
        check_run_folder("run")


def test_a_link_is_followed(here):
    (here / "link").symlink_to("run")
    (here / "away").symlink_to("nowhere/run")
    (here / "file").symlink_to("table.csv")
    check_run_folder("link")
    check_run_folder("away")
    with pytest.raises(StoreError, match="is a file"):
        check_run_folder("file")
    with pytest.raises(StoreError, match="would overwrite the table"):
        check_output("file", ["table.csv"])


@pytest.mark.parametrize("name", [*RUN_FILES, MANIFEST, "questions.json", "Rows.Parquet"])
def test_no_output_replaces_a_file_of_a_run(here, name):
    with pytest.raises(StoreError, match="is part of the run"):
        check_output(here / "run" / name)


def test_no_output_replaces_the_table(here):
    os.link("table.csv", "same.csv")
    for name in ("table.csv", "./table.csv", "same.csv"):
        with pytest.raises(StoreError, match="would overwrite the table"):
            check_output(name, ["table.csv"])
    with pytest.raises(StoreError, match="would overwrite the table"):
        check_run_folder("run", ["run/rows.parquet"])


def test_other_endings_folders_and_places_are_refused(here):
    with pytest.raises(StoreError, match=r"must end in \.html or \.pdf"):
        check_output("table.csv", endings=(".html", ".pdf"))
    with pytest.raises(StoreError, match="not an ordinary file"):
        check_output("run")
    with pytest.raises(StoreError, match="does not exist"):
        check_output("nowhere/a.csv")
    with pytest.raises(StoreError, match="is a file"):
        check_run_folder("table.csv/run")
    with pytest.raises(StoreError, match="is a run folder"):
        check_folder("run")
    with pytest.raises(StoreError, match="File name too long"):
        check_run_folder("x" * 300)


def test_a_place_that_cannot_be_written_is_refused(here, monkeypatch):
    def full(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("proxycal.store.place.temporary_folder", full)
    for check in (check_run_folder, check_folder, check_output):
        with pytest.raises(StoreError, match="Read-only file system"):
            check("new.csv")


@pytest.mark.parametrize("check", [check_run_folder, check_folder])
def test_standard_output_is_no_folder(here, check):
    before = names(here)
    for dash in ("-", Path("-")):
        with pytest.raises(StoreError, match="'-' is standard output"):
            check(dash)
    assert names(here) == before
