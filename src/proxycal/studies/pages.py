"""What the pages of studies and benchmarks share: tables, published figures, code and machine."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

import proxycal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What decides a figure: the code that draws tables, fits them and asks questions. Layout may change freely.
ROOMS = ("effect", "methods", "mixture", "questions", "table", "testing", "model.py", "settings.py")


def markdown_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown.

    >>> markdown_table(["n", "alpha"], [["500", "1.02"]])
    ['| n | alpha |', '| --- | --- |', '| 500 | 1.02 |']
    """
    return [f"| {' | '.join(cells)} |" for cells in [names, ["---"] * len(names), *rows]]


def paper_table(name: str) -> pd.DataFrame:
    """A table of the paper as numbers: "table2_alpha" or "table3_semisynthetic"."""
    with (files("proxycal.studies") / "data" / f"{name}.csv").open("rb") as source:
        return pd.read_csv(source)


def code_digest(*sources: Path) -> str:
    """Twelve digits that change when the code that makes a figure does.

    sources : files or folders beside the rooms of the package that decide the figure too.
    """
    root = Path(str(files("proxycal")))
    paths = [path for source in (*(root / name for name in ROOMS), *sources) for path in _modules(source)]
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(f"{path.parent.name}/{path.name}".encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]


def _modules(path: Path) -> list[Path]:
    return [path] if path.is_file() else list(path.rglob("*.py"))


def machine(code: str) -> str:
    """One line on what the figures were made with."""
    versions = [f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn")]
    memory = _memory()
    return (
        f"proxycal {proxycal.__version__} (code {code}), Python {platform.python_version()}, "
        f"{', '.join(versions)}; {_processor()}, {os.cpu_count()} cores"
        f"{f', {memory:.0f} GiB of memory' if memory else ''}, {platform.system()}."
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> float | None:
    """GiB of memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        return None
