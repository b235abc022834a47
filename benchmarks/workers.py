"""One worker against two: a sweep of fits, and calibration, on joblib and on a local Dask cluster.

Seconds are those of the clock, since that is what a second worker is for. The workers are there and have done
something before it runs, as on a cluster: a sweep of a minute would else measure their start. One and two
take turns, ROUNDS times, since a shared host may be half as fast a minute later; who is not at work is not
there, since an idle cluster takes its share of two cores. Run it on a quiet machine.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import null, trials
from benchmarks.measure import ratios, row
from benchmarks.scale import ROLES, write_table
from proxycal.model import ProxyCalibrator
from proxycal.parallel import Engine, cluster, map_as_done
from proxycal.scale.calibrate import calibrate_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.pages import Page

ENGINES: tuple[Engine, ...] = ("joblib", "dask")
ROUNDS = 3
# Rows of the table that is fitted; it is calibration that is timed.
FITTED = 210_000


def page(quick: bool) -> Page:
    """All ratios, measured now."""
    sizes = (FITTED,) if quick else (1_000_000, 4_000_000)
    cells = [cell.settings for cell in null.bench(quick=True).cells]
    cells = cells[:4] if quick else cells * 3
    with tempfile.TemporaryDirectory(prefix="proxycal-workers-") as folder:
        place = Path(folder)
        for n in {FITTED, *sizes}:
            write_table(place / f"{n}.parquet", n)
        ProxyCalibrator(ROLES, direction="over").fit_files([place / f"{FITTED}.parquet"]).save(place / "run")
        rows = [line for engine in ENGINES for line in compared(engine, place, sizes, cells)]
    return ratios("Workers", rows)


def compared(engine: Engine, place: Path, sizes: tuple[int, ...], cells: list[Any]) -> list[dict[str, Any]]:
    """The ratios of one engine."""
    work: dict[str, Callable[[dict[str, Any]], float]] = {
        f"a sweep of {len(cells)} cells": partial(_sweep, cells),
        **{f"calibrate {n:,} rows": partial(_calibrate, place, n) for n in sizes},
    }
    seconds = {(name, jobs): 0.0 for name in work for jobs in (1, 2)}
    for _ in range(ROUNDS):
        for jobs in (1, 2):
            with cluster(jobs, engine) as scheduler:
                how = {"engine": engine, "jobs": jobs, "scheduler": scheduler}
                _sweep(cells[: 2 * jobs], how)
                _calibrate(place, sizes[0], how)
                for name, measured in work.items():
                    seconds[name, jobs] += measured(how)
    note = f"clock, {ROUNDS} turns each"
    return [
        row(
            f"{name}: one worker's time over two workers', {engine}",
            seconds[name, 1],
            seconds[name, 2],
            ">= 1.7",
            note,
            unit="s",
        )
        for name in work
    ]


def _sweep(cells: list[Any], how: dict[str, Any]) -> float:
    """Seconds of the clock."""
    start = time.perf_counter()
    list(map_as_done(trials.run_block, cells, **how))
    return time.perf_counter() - start


def _calibrate(place: Path, n: int, how: dict[str, Any]) -> float:
    """Seconds of the clock, without those of deleting what was written."""
    with tempfile.TemporaryDirectory(dir=place) as out:
        start = time.perf_counter()
        calibrate_files(place / "run", [place / f"{n}.parquet"], out, **how)
        return time.perf_counter() - start
