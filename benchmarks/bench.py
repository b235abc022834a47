"""What the benchmarks share: cells out of worlds and seeds, and figures out of trials."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.studies.pages import code_digest
from proxycal.studies.sweep import Cell, Done, How, finished, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.pages import Page
    from proxycal.studies.sweep import Work

VERDICTS = ("bias found", "no bias found", "not identified")


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark: what to run, how the trials (a row each) become a page, and the work of a cell."""

    name: str
    cells: tuple[Cell, ...]
    page: Callable[[pd.DataFrame], Page]
    work: Work

    def code(self) -> str:
        """The digest of the code that makes the figures: the package and the module of the work."""
        return code_digest(Path(inspect.getfile(self.work)))


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
    return trials(sweep(order, bench.work, work, config(bench), how))


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
        "code": bench.code(),
        **versions,
    }


def trials(done: Iterable[Done]) -> pd.DataFrame:
    """A row per data set, with the settings of its cell; a cell that failed counts with all its seeds."""
    rows = []
    for cell in done:
        settings = {key: value for key, value in cell.settings.items() if key != "seeds"}
        lost = [{"seed": seed, "error": cell.error} for seed in cell.settings["seeds"]]
        rows += [{**settings, **row} for row in (cell.rows if cell.error is None else lost)]
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
    rows = []
    for key, group in frame.groupby(list(by), sort=False, dropna=False):
        good = group[group["error"].isna()]
        row = dict(zip(by, key, strict=True)) | {"repetitions": len(group), "errors": len(group) - len(good)}
        rows.append(row | _accuracy(good) | _interval(good, len(group)) | _verdicts(good, len(group)))
    return pd.DataFrame(rows)


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
