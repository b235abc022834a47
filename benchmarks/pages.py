"""A benchmark as it is written: tables for reading in Markdown, and every figure in a CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.files import write_table, write_text
from proxycal.studies.pages import machine, markdown_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


@dataclass(frozen=True, slots=True)
class Part:
    """One table of a page: a title, cells as text, and what a reader must know to read it."""

    title: str
    rows: list[dict[str, str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A benchmark as it is written: the parts for reading, and every figure as numbers."""

    title: str
    parts: tuple[Part, ...]
    figures: pd.DataFrame


def percent(value: float, digits: int = 1) -> str:
    """A share or a relative error for reading.

    >>> percent(0.01234), percent(float("nan"))
    ('1.2%', '-')
    """
    return "-" if not np.isfinite(value) else f"{100.0 * value:.{digits}f}%"


def signed(value: float, digits: int = 1) -> str:
    """A relative bias for reading, with its sign."""
    return "-" if not np.isfinite(value) else f"{100.0 * value:+.{digits}f}%"


def number(value: float, digits: int = 2) -> str:
    """A plain number for reading."""
    return "-" if not np.isfinite(value) else f"{value:.{digits}f}"


def reached(ok: bool) -> str:
    """Whether a target was met."""
    return "yes" if ok else "**no**"


def markdown(page: Page, command: str, code: str, quick: bool) -> str:
    """The page as Markdown, with the command, the code and the machine that made it."""
    title = f"{page.title}{' (QUICK RUN: a smoke test with few repetitions, not evidence)' if quick else ''}"
    lines = [f"# {title}", "", f"Made by `{command}` with {machine(code)}", ""]
    for part in page.parts:
        # A handful of repetitions cannot say whether a target was met.
        shown = [{name: row[name] for name in row if not (quick and name == "reached")} for row in part.rows]
        lines += [f"## {part.title}", ""]
        lines += [*_table(shown), ""] if shown else ["Nothing finished yet.", ""]
        lines += [part.note, ""] if part.note else []
    return "\n".join(lines)


def _table(rows: list[dict[str, str]]) -> list[str]:
    names = list(rows[0])
    return markdown_table(names, [[row[name] for name in names] for row in rows])


def write(page: Page, folder: Path, name: str, text: str) -> tuple[Path, Path]:
    """The two files of a benchmark; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"{name}.md", folder / f"{name}.csv"
    write_text(paths[0], text)
    write_table(page.figures, paths[1])
    return paths


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries by name of the column."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
