"""Digests of files against hashlib, whoever makes them."""

import hashlib
import os

import numpy as np
import pytest

from proxycal.errors import StoreError
from proxycal.scale import digests as module
from proxycal.scale.digests import digests


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SEGMENT", 100)
    monkeypatch.setattr(module, "PIECE", 30)
    rng = np.random.default_rng(0)
    paths = [str(tmp_path / f"{size}.bin") for size in (1, 99, 100, 101, 1000)]
    for path, size in zip(paths, (1, 99, 100, 101, 1000), strict=True):
        with open(path, "wb") as content:
            content.write(rng.bytes(size))
    return paths


def by_hand(path):
    with open(path, "rb") as file:
        content = file.read()
    parts = [content[start : start + 100] for start in range(0, len(content), 100)]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def test_a_digest_is_that_of_the_digests_of_segments(files):
    assert digests(files) == [by_hand(path) for path in files]


def test_two_workers_find_the_same(tmp_path):
    path = str(tmp_path / "long.bin")
    with open(path, "wb") as content:
        content.truncate(2 * module.SEGMENT + 17)
    assert digests([path], jobs=2) == digests([path])


@pytest.mark.parametrize("at", [0, 99, 100, 999])
def test_any_byte_changes_it(files, at):
    before = digests(files)
    with open(files[-1], "r+b") as content:
        content.seek(at)
        byte = content.read(1)
        content.seek(at)
        content.write(bytes([byte[0] ^ 1]))
    after = digests(files)
    assert after[:-1] == before[:-1]
    assert after[-1] != before[-1]


def test_segments_that_change_places_change_it(files):
    path = files[-1]
    with open(path, "rb") as file:
        content = file.read()
    before = digests([path])
    with open(path, "wb") as file:
        file.write(content[100:200] + content[:100] + content[200:])
    assert digests([path]) != before


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "getsize", lambda path: 10)
    with pytest.raises(StoreError, match=r"gone\.parquet"):
        digests([str(tmp_path / "gone.parquet")])
