"""What the benchmarks share: cells out of worlds and seeds, figures out of trials, tables out of figures."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import proxycal
from benchmarks.trials import run_block
from proxycal.files import write_table, write_text
from proxycal.studies.sweep import Cell, Done, How, finished, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# What decides a figure: the code that draws and fits. How tables are laid out may change between resumes.
_CODE = ("bias", "content", "effect", "methods", "neural", "table", "model.py", "simulation.py")
_CODE_HERE = ("experiments/trials.py", "experiments/worlds.py")
VERDICTS = ("bias found", "no bias found", "not identified")


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


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark: what to run, and how the trials (a row each) become a page."""

    name: str
    cells: tuple[Cell, ...]
    page: Callable[[pd.DataFrame], Page]


def blocks(settings: Mapping[str, Any], repetitions: int, first_seed: int) -> list[Cell]:
    """The repetitions of one setting as cells of well under a minute each.

    >>> [cell.settings["seeds"] for cell in blocks({"world": "gaussian", "n": 5000, "alpha": 0.0}, 3, 70)]
    [[70, 71], [72]]
    """
    size = max(1, min(20, 10_000 // int(settings["n"])))
    name = ",".join(f"{key}={value}" for key, value in settings.items()).replace(" ", "-")
    seeds = [first_seed + repetition for repetition in range(repetitions)]
    return [
        Cell(f"{name},block={start // size}", {**settings, "seeds": seeds[start : start + size]})
        for start in range(0, repetitions, size)
    ]


def run(bench: Bench, work: Path, how: How) -> pd.DataFrame:
    """All trials of a benchmark, a row each; those that an earlier run finished are read, not run."""
    # The first blocks of every setting come first, so that an unfinished run shows something of each.
    order = sorted(bench.cells, key=lambda cell: int(cell.key.rpartition("=")[2]))
    done = sweep(order, run_block, work, config(bench), how)
    return trials(done)


def so_far(bench: Bench, work: Path) -> pd.DataFrame:
    """The trials that are finished in a work folder, whether or not a run is going on in it."""
    return trials(finished(bench.cells, work))


def config(bench: Bench) -> dict[str, Any]:
    """All that decides the figures: the cells, the code and the libraries it computes with."""
    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")}
    listed = repr([(cell.key, dict(cell.settings)) for cell in bench.cells])
    return {
        "bench": bench.name,
        "cells": hashlib.sha256(listed.encode()).hexdigest()[:12],
        "code": code_digest(),
        **versions,
    }


def code_digest(here: Sequence[str] = _CODE_HERE) -> str:
    """Twelve digits that change when the code that makes a figure does; `here`: files beside the rooms."""
    root = Path(str(files("proxycal")))
    found = [path for name in (*_CODE, *here) for path in _sources(root / name)]
    total = hashlib.sha256()
    for path in sorted(found):
        total.update(str(path.relative_to(root).as_posix()).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]


def _sources(path: Path) -> list[Path]:
    return [path] if path.is_file() else list(path.rglob("*.py"))


def trials(done: Iterable[Done]) -> pd.DataFrame:
    """A row per data set, with the settings of its cell; a cell that failed counts with all its seeds."""
    rows = []
    for one in done:
        settings = {key: value for key, value in one.settings.items() if key != "seeds"}
        lost = [{"seed": seed, "error": one.error} for seed in one.settings["seeds"]]
        rows += [{**settings, **row} for row in (one.rows if one.error is None else lost)]
    columns = ["alpha_true", "alpha_hat", "low", "high", "verdict", "accuracy", "oracle", "seconds", "error"]
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=[*frame.columns, *[name for name in columns if name not in frame]])


def figures(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """What the trials of each group say, a row per group. A fit that failed finds nothing and covers nothing.

    ours, oracle : relative RMSE of alpha, and the same for least squares that knows A. ratio : ours / oracle.
    bias, sd : of alpha_hat, relative to the truth. coverage : of the interval, over ALL repetitions.
    width : mean width over (2 * 1.96 sd of the error): 1 where the interval is as wide as it should be.
    found, none, unidentified : shares of the verdicts. accuracy : of p_biased > 0.5.
    """
    made = []
    for key, group in frame.groupby(list(by), sort=False, dropna=False):
        good = group[group["error"].isna()]
        row = dict(zip(by, key, strict=True)) | {"repetitions": len(group), "errors": len(group) - len(good)}
        made.append(row | _accuracy(good) | _interval(good, len(group)) | _verdicts(good, len(group)))
    return pd.DataFrame(made)


def _accuracy(good: pd.DataFrame) -> dict[str, float]:
    true, hat, best = (good[name].to_numpy(dtype=float) for name in ("alpha_true", "alpha_hat", "oracle"))
    if not len(good) or not true.all():
        return dict.fromkeys(("ours", "oracle", "ratio", "bias", "sd"), np.nan)
    ours, limit = _rms(hat / true - 1.0), _rms(best / true - 1.0)
    return {
        "ours": ours,
        "oracle": limit,
        "ratio": ours / limit,
        "bias": float(np.mean(hat / true - 1.0)),
        "sd": float(np.std(hat / true, ddof=1)) if len(good) > 1 else np.nan,
    }


def _interval(good: pd.DataFrame, repetitions: int) -> dict[str, float]:
    true, hat, low, high = (
        good[name].to_numpy(dtype=float) for name in ("alpha_true", "alpha_hat", "low", "high")
    )
    # No interval (NaN) covers nothing: it counts against the coverage.
    coverage = float(((low <= true) & (true <= high)).sum()) / repetitions
    spread = 2.0 * 1.96 * float(np.std(hat - true, ddof=1)) if len(good) > 1 else 0.0
    width = float(np.nanmean(high - low)) / spread if spread > 0.0 else np.nan
    return {"coverage": coverage, "width": width}


def _verdicts(good: pd.DataFrame, repetitions: int) -> dict[str, float]:
    shares = [float((good["verdict"] == verdict).sum()) / repetitions for verdict in VERDICTS]
    return {
        **dict(zip(("found", "none", "unidentified"), shares, strict=True)),
        "accuracy": float(good["accuracy"].mean()),
        "seconds": float(good["seconds"].median()),
    }


def _rms(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error**2)))


def paper_table(name: str) -> pd.DataFrame:
    """A table of the paper as numbers: "table2_alpha" or "table3_semisynthetic"."""
    with (files("proxycal.studies") / "data" / f"{name}.csv").open("rb") as source:
        return pd.read_csv(source)


# --- tables for reading ---


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
    title = f"{page.title}{' (QUICK RUN: few repetitions, a smoke test and no evidence)' if quick else ''}"
    lines = [f"# {title}", "", f"Made by `{command}` with {machine(code)}", ""]
    for part in page.parts:
        # A handful of repetitions cannot say whether a target was met.
        shown = [{name: row[name] for name in row if not (quick and name == "reached")} for row in part.rows]
        lines += [f"## {part.title}", ""]
        lines += [*_grid(shown), ""] if shown else ["Nothing finished yet.", ""]
        lines += [part.note, ""] if part.note else []
    return "\n".join(lines)


def _grid(rows: list[dict[str, str]]) -> list[str]:
    names = list(rows[0])
    body = [[row[name] for name in names] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in [names, ["---"] * len(names), *body]]


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


def write(page: Page, folder: Path, name: str, text: str) -> tuple[Path, Path]:
    """The two files of a benchmark; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"{name}.md", folder / f"{name}.csv"
    write_text(paths[0], text)
    write_table(page.figures, paths[1])
    return paths
