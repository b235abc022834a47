"""One worker against two: a sweep of fits, and calibration, on joblib and on a local Dask cluster.

Seconds are those of the clock, since that is what a second worker is for, and they include the start of the
workers: a sweep of half a minute would measure that more than anything else. Run it on a quiet machine.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxycal.engine import Engine, map_as_done
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
    cells = cells[:4] if quick else cells * 6
    with tempfile.TemporaryDirectory(prefix="proxycal-workers-") as folder:
        place = Path(folder)
        write_table(place / "table.parquet", n)
        ProxyCalibrator(ROLES).fit_files([place / "table.parquet"]).save(place / "run")
        rows = [one for engine in ENGINES for one in _compared(engine, place, n, cells)]
    return ratios("Workers", rows)


def _compared(engine: Engine, place: Path, n: int, cells: list[Any]) -> list[dict[str, Any]]:
    def sweep(jobs: int) -> None:
        list(map_as_done(trials.run_block, cells, jobs=jobs, engine=engine))

    def calibrate(jobs: int) -> None:
        with tempfile.TemporaryDirectory(dir=place) as out:
            calibrate_files(place / "run", [place / "table.parquet"], out, jobs=jobs, engine=engine)

    made = []
    for what, work in ((f"a sweep of {len(cells)} cells", sweep), (f"calibrate {n:,} rows", calibrate)):
        alone, both = _clock(work, 1), _clock(work, 2)
        name = f"{what}: one worker's time over two workers', {engine}"
        made.append(row(name, alone, both, ">= 1.7", "clock, start of the workers included", unit="s"))
    return made


def _clock(work: Callable[[int], None], jobs: int) -> float:
    start = time.perf_counter()
    work(jobs)
    return time.perf_counter() - start
