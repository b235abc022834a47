"""Write requirements/*.txt: what `make` installs, with the hashes of the files of each version.

    python scripts/lock.py

Versions come from constraints.txt, what asks for what from the installed packages, hashes from the index that
pip uses. Run it in an environment that holds all extras, after every change to constraints.txt or to the
dependencies in pyproject.toml. `package.txt` is for `make demo`, `app.txt` adds the page, `everything.txt`
all other extras and the tools.

torch is left out: which build of it a machine takes (with or without CUDA, and then with which libraries) is
that machine's choice. A version that its makers withdrew from the index is refused.
"""

from __future__ import annotations

import functools
import html.parser
import itertools
import re
import subprocess
import sys
import tomllib
import urllib.request
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "requirements"
# Each adds to the one before it.
LEVELS = {
    "package": [],
    "app": ["app"],
    "everything": ["app", "dask", "scale", "paper", "word", "sql", "models", "docs", "dev"],
}
LEFT_OUT = {"torch"}
# What builds the package itself, since an editable install cannot check the hashes of its builder.
BUILDERS = ["setuptools>=77"]
# What keyring asks for on Windows: it cannot be installed here to be asked in its turn, and asks for nothing.
ELSEWHERE = {"pywin32-ctypes"}
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = (
    ("linux", "Linux", "posix", "x86_64"),
    ("linux", "Linux", "posix", "aarch64"),
    ("darwin", "Darwin", "posix", "arm64"),
    ("darwin", "Darwin", "posix", "x86_64"),
    ("win32", "Windows", "nt", "AMD64"),
)
# Interpreters that the package does not run on: their files would be half of all.
OTHER_PYTHONS = re.compile(r"(cp2\d+|cp3|cp3[5-9]|cp310|pp\d+|graalpy\d+|py2)")


def environments() -> list[dict[str, str]]:
    """The machines that a lock is for, as the markers of requirements name them."""
    return [
        {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": platform,
         "platform_system": system, "os_name": name, "platform_machine": machine, "extra": "",
         "platform_python_implementation": "CPython", "implementation_name": "cpython"}
        for python, (platform, system, name, machine) in itertools.product(PYTHONS, SYSTEMS)
    ]  # fmt: skip


def pins(path: Path = ROOT / "constraints.txt") -> dict[str, str]:
    """The version of each package in the constraints."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    pairs = (line.split("==") for line in lines if line)
    return {canonicalize_name(name): version for name, version in pairs}


def asked(level: str) -> list[str]:
    """What pyproject.toml asks for at a level."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    extras = project["optional-dependencies"] | pyproject["dependency-groups"]
    return [*BUILDERS, *project["dependencies"], *(one for name in LEVELS[level] for one in extras[name])]


@functools.cache
def requires(name: str) -> list[Requirement]:
    """What an installed package asks for."""
    if name in ELSEWHERE:
        return []
    return [Requirement(text) for text in metadata.requires(name) or []]


def needed(roots: list[str], environment: dict[str, str]) -> set[str]:
    """Names of all packages that the roots bring on such a machine."""
    todo = [(canonicalize_name(root.name), ["", *root.extras]) for root in map(Requirement, roots)]
    seen = set()
    while todo:
        name, extras = todo.pop()
        for extra in extras:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for other in requires(name):
                if other.marker is None or other.marker.evaluate(environment | {"extra": extra}):
                    todo.append((canonicalize_name(other.name), ["", *other.extras]))
    return {name for name, _ in seen} - LEFT_OUT


def condition(where: list[dict[str, str]]) -> str:
    """The marker that holds on those machines and no others of ours; "" where it is all of them."""
    machines = environments()
    if len(where) == len(machines):
        return ""
    older = [f'python_version < "{python}"' for python in PYTHONS[1:]]
    systems = sorted({system[0] for system in SYSTEMS})
    simple = [f'sys_platform == "{name}"' for name in systems] + [
        f'sys_platform != "{name}"' for name in systems
    ]
    for marker in [*older, *simple]:
        parsed = Requirement(f"x; {marker}").marker
        assert parsed is not None
        if [machine for machine in machines if parsed.evaluate(machine)] == where:
            return f" ; {marker}"
    raise ValueError(f"no simple marker says {where}: extend condition()")


class Links(html.parser.HTMLParser):
    """The files on a page of the index."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[tuple[str, str, bool]] = []  # address, fragment, withdrawn

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a link says."""
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.files.append((*urldefrag(given["href"] or ""), "data-yanked" in given))


def index() -> str:
    """The index that pip asks first."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if told:
        return told
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def hashes(name: str, version: str, page: str) -> list[str]:
    """The hashes of a version's files for the interpreters that the package runs on."""
    links = Links()
    links.feed(page)
    kept = set()
    for address, fragment, withdrawn in links.files:
        file = unquote(address.rpartition("/")[2])
        try:
            if file.endswith(".whl"):
                found, tags = parse_wheel_filename(file)[1], parse_wheel_filename(file)[3]
                if all(OTHER_PYTHONS.fullmatch(tag.interpreter) and tag.abi != "abi3" for tag in tags):
                    continue
            else:
                found = parse_sdist_filename(file)[1]
        except ValueError:
            continue
        if str(found) != version:
            continue
        if withdrawn:
            raise ValueError(f"{name} {version} was withdrawn by its makers: choose another version")
        kept.add(fragment.removeprefix("sha256="))
    if not kept or not all(re.fullmatch("[0-9a-f]{64}", one) for one in kept):
        raise ValueError(f"the index has no SHA-256 of {name} {version}")
    return sorted(kept)


def lock(level: str, below: dict[str, list[dict[str, str]]]) -> dict[str, list[dict[str, str]]]:
    """Where each package is needed at a level, without what the level below brings."""
    where: dict[str, list[dict[str, str]]] = {}
    for machine in environments():
        for name in needed(asked(level), machine):
            where.setdefault(name, []).append(machine)
    return {name: machines for name, machines in sorted(where.items()) if below.get(name) != machines}


def main() -> int:
    """Write the files."""
    versions, address = pins(), index()
    below: dict[str, list[dict[str, str]]] = {}
    before = ""
    PLACE.mkdir(exist_ok=True)
    for level in LEVELS:
        lines = [
            "# Made by scripts/lock.py from constraints.txt; do not edit.",
            *([f"-r {before}.txt"] if before else []),
        ]
        added = lock(level, below)
        for name, machines in added.items():
            with urllib.request.urlopen(urljoin(f"{address.rstrip('/')}/", f"{name}/"), timeout=60) as answer:
                found = hashes(name, versions[name], answer.read().decode())
            lines.append(f"{name}=={versions[name]}{condition(machines)}")
            lines += [f"    --hash=sha256:{one}" for one in found]
        text = "\n".join(lines).replace("\n    --hash", " \\\n    --hash") + "\n"
        (PLACE / f"{level}.txt").write_text(text)
        print(f"{level}: {len(added)} packages", file=sys.stderr)
        below |= added
        before = level
    return 0


if __name__ == "__main__":
    sys.exit(main())
