"""What make installs: every package that is needed on any machine, at its pinned version, with hashes."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("lock", ROOT / "scripts" / "lock.py")
assert _spec is not None
assert _spec.loader is not None
lock = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lock)


def locked(level: str) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a file and of those it names, each with its hashes."""
    text = (lock.PLACE / f"{level}.txt").read_text().replace("\\\n", " ")
    found = []
    for line in text.splitlines():
        if line.startswith("-r "):
            found += locked(line.removeprefix("-r ").removesuffix(".txt"))
        elif not line.startswith("#"):
            requirement, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
            found.append((Requirement(requirement), hashes))
    return found


def machines() -> list[dict[str, str]]:
    """Those that the files are for; packages that are not installed here say nothing of what they need."""
    here = {"python_version": f"{sys.version_info[0]}.{sys.version_info[1]}", "sys_platform": sys.platform}
    oldest = here["python_version"] == lock.PYTHONS[0] and sys.platform == "linux"
    return [one for one in lock.environments() if oldest or here.items() <= one.items()]


@pytest.mark.parametrize("level", [*lock.LEVELS])
def test_every_machine_gets_what_it_needs_and_nothing_else(level):
    requirements = [requirement for requirement, _ in locked(level)]
    for machine in machines():
        given = {one.name for one in requirements if one.marker is None or one.marker.evaluate(machine)}
        assert given == lock.needed(lock.asked(level), machine), machine


def test_versions_are_those_of_the_constraints_and_all_have_hashes():
    versions = lock.pins()
    everything = locked("everything")
    for requirement, hashes in everything:
        assert str(requirement.specifier) == f"=={versions[requirement.name]}"
        assert hashes
        assert all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)
    assert {requirement.name for requirement, _ in everything} | lock.LEFT_OUT == versions.keys()


PAGE = """<a href="../f/a_b-1.0-py3-none-any.whl#sha256={}">a</a><a href="a_b-1.0.tar.gz#sha256={}">a</a>
<a href="a_b-1.0-cp39-cp39-win_amd64.whl#sha256={}">a</a><a href="a_b-1.0-cp38-abi3-any.whl#sha256={}">a</a>
<a href="a_b-2.0.tar.gz#sha256={}" data-yanked="broken">a</a>""".format(*(str(one) * 64 for one in range(5)))


def test_hashes_are_those_of_the_version_for_interpreters_that_can_use_them():
    assert lock.hashes("a-b", "1.0", PAGE) == ["0" * 64, "1" * 64, "3" * 64]


def test_a_version_that_was_withdrawn_or_is_not_there_is_refused():
    with pytest.raises(ValueError, match="withdrawn"):
        lock.hashes("a-b", "2.0", PAGE)
    with pytest.raises(ValueError, match=r"no SHA-256 of a-b 3\.0"):
        lock.hashes("a-b", "3.0", PAGE)
