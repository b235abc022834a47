"""One worker against two: a sweep of fits, and calibration, on joblib and on a local Dask cluster.

Seconds are those of the clock, since that is what a second worker is for. The workers are there and have done
something before it runs, as on a cluster: a sweep of a minute would else measure their start. Run it on a
quiet machine.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxycal.engine import Engine, cluster, map_as_done
from proxycal.experiments import bench_null, trials
from proxycal.experiments.bench_scale import ROLES, write_table
from proxycal.experiments.bench_speed import ratios, row
from proxycal.model import ProxyCalibrator
from proxycal.scale.calibrate import calibrate_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.experiments.bench import Page

ENGINES: tuple[Engine, ...] = ("joblib", "dask")


def page(quick: bool) -> Page:
    """All ratios, measured now."""
    n = 210_000 if quick else 1_000_000
    cells = [cell.settings for cell in bench_null.bench(quick=True).cells]
    cells = cells[:4] if quick else cells * 3
    with tempfile.TemporaryDirectory(prefix="proxycal-workers-") as folder:
        place = Path(folder)
        write_table(place / "table.parquet", n)
        ProxyCalibrator(ROLES).fit_files([place / "table.parquet"]).save(place / "run")
        rows = [one for engine in ENGINES for one in _compared(engine, place, n, cells)]
    return ratios("Workers", rows)


def _compared(engine: Engine, place: Path, n: int, cells: list[Any]) -> list[dict[str, Any]]:
    seconds = {jobs: _with_workers(engine, jobs, place, cells) for jobs in (1, 2)}
    names = (f"a sweep of {len(cells)} cells", f"calibrate {n:,} rows")
    return [
        row(f"{name}: one worker's time over two workers', {engine}", one, two, ">= 1.7", "clock", unit="s")
        for name, one, two in zip(names, seconds[1], seconds[2], strict=True)
    ]


def _with_workers(engine: Engine, jobs: int, place: Path, cells: list[Any]) -> tuple[float, float]:
    """Seconds of the sweep and of calibrate."""
    with cluster(jobs) if engine == "dask" else nullcontext() as scheduler:
        how: dict[str, Any] = {"engine": engine, "jobs": jobs, "scheduler": scheduler}

        def sweep(some: list[Any]) -> None:
            list(map_as_done(trials.run_block, some, **how))

        def calibrate() -> None:
            with tempfile.TemporaryDirectory(dir=place) as out:
                calibrate_files(place / "run", [place / "table.parquet"], out, **how)

        sweep(cells[: 2 * jobs])
        return _clock(partial(sweep, cells)), _clock(calibrate)


def _clock(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
