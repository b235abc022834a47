"""A page's folder is its own, and goes with it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from proxycal.app.workspace import PAGES, Workspaces, remove_left
from proxycal.errors import StoreError


@pytest.fixture
def workspaces(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Workspaces()
    yield made
    made.close_all()


def test_a_private_folder_is_private(workspaces):
    assert workspaces.open().folder.stat().st_mode & 0o077 == 0


def test_no_two_files_and_no_two_pages_share_a_name(workspaces):
    one, two = workspaces.open(), workspaces.open()
    assert one.token != two.token
    assert one.folder != two.folder
    paths = [one.new_file(ending) for ending in (".csv", ".csv", ".parquet")]
    assert len(set(paths)) == 3
    assert {path.parent for path in paths} == {one.folder}


def test_a_page_is_found_while_it_is_open(workspaces):
    page = workspaces.open()
    assert workspaces.find(page.token) is page
    assert workspaces.find("made up") is None
    workspaces.close(page)
    assert workspaces.find(page.token) is None
    assert not page.folder.exists()


def test_an_upload_is_known_by_its_number_alone(workspaces):
    page = workspaces.open()
    path = page.new_file(".csv")
    assert page.keep_upload(path, "../mine.csv") == 1
    assert page.upload(1) == (path, "../mine.csv")
    for number in (0, 2, "1", None):
        assert page.upload(number) is None


def test_earlier_answers_are_deleted_when_a_later_one_is_kept(workspaces):
    page = workspaces.open()
    for name in ("job-1", "job-2", "table-1.csv"):
        (page.folder / name).mkdir()
    page.keep(SimpleNamespace(folder=page.folder / "job-2"))
    assert {entry.name for entry in page.folder.iterdir()} == {"job-2", "table-1.csv"}


def test_what_a_killed_program_left_is_removed_and_open_pages_stay(workspaces, tmp_path):
    page = workspaces.open()
    (tmp_path / "proxycal-app-left" / "job-1").mkdir(parents=True)
    (tmp_path / "proxycal-app-left" / "table-1.csv").write_text("a")
    (tmp_path / "others").mkdir()
    remove_left()
    assert {entry.name for entry in tmp_path.iterdir()} == {page.folder.name, "others"}


def test_there_is_an_end_to_the_pages(workspaces):
    for _ in range(PAGES):
        workspaces.open()
    with pytest.raises(StoreError, match="close some of them"):
        workspaces.open()
