"""What size costs: tables from a hundred thousand to ten million rows, in files.

Every row is a ratio within one run. Fits and calibrations of large tables have processes of their own, so
that their peak memory is their own too; seconds are CPU seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks.measure import alone, cpu, peak_memory, ratios, row
from benchmarks.speed import ALPHA, single_component
from proxycal.mixture.starts import residual_of
from proxycal.model import ProxyCalibrator
from proxycal.scale.calibrate import calibrate_files
from proxycal.table.roles import Roles
from proxycal.testing import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.pages import Page

# 20 columns: the outcome, 5 proxies, 14 of the environment.
PROXIES, ENVIRONMENT = tuple(f"p_{k}" for k in range(5)), tuple(f"e_{k}" for k in range(14))
ROLES = Roles("y", PROXIES, ENVIRONMENT)
GROUP = 131_072
GIB = 2.0**30


def page(quick: bool) -> Page:
    """All ratios, measured now."""
    sizes = (210_000, 420_000) if quick else (100_000, 1_000_000, 10_000_000)
    with tempfile.TemporaryDirectory(prefix="proxycal-scale-") as folder:
        place = Path(folder)
        for n in sizes:
            write_table(place / f"{n}.parquet", n)
        rows = [
            *_growth(place, sizes),
            _in_memory(place, sizes[-2]),
            _against_gaussian_mixture(sizes[0]),
        ]
    return ratios("Scale", rows)


def write_table(path: Path, n: int, seed: int = 0) -> None:
    """A Parquet table of n rows and 20 columns with a bias of ALPHA, written group by group."""
    write_groups(path, (pa.table(columns) for columns, _ in draw_groups(n, seed)))


def draw_groups(n: int, seed: int = 0) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray]]:
    """The n rows of a table, a group at a time: the columns of the roles, and the truth of each row."""
    fixed = np.random.default_rng(seed)
    to_z, to_p = fixed.normal(scale=0.3, size=(14, 3)), fixed.normal(size=(3, 5))
    to_y, gate = fixed.normal(size=3), fixed.normal(scale=0.4, size=14)
    for start in range(0, n, GROUP):
        rng = np.random.default_rng([seed, start])
        rows = min(GROUP, n - start)
        E = rng.normal(size=(rows, 14))
        z = E @ to_z + rng.normal(size=(rows, 3))
        biased = rng.random(rows) < 1.0 / (1.0 + np.exp(0.3 - E @ gate))
        true = z @ to_y + 0.5 * rng.normal(size=rows)
        columns = np.column_stack([true + ALPHA * biased, z @ to_p + 0.3 * rng.normal(size=(rows, 5)), E])
        yield {name: columns[:, k] for k, name in enumerate(ROLES.columns)}, true


def write_groups(path: Path, groups: Iterable[pa.Table]) -> None:
    """A Parquet file with a row group for each table."""
    writer = None
    for table in groups:
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _growth(place: Path, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    fits = {n: _alone("fit", place / f"{n}.parquet", place / f"run-{n}") for n in sizes}
    small, large = sizes[0], sizes[-1]
    rows = []
    for n in sizes[1:]:
        rows.append(
            row(
                f"exact fit with interval: microseconds per row at {n:,} rows, against {small:,}",
                1e6 * fits[n]["seconds"] / n,
                1e6 * fits[small]["seconds"] / small,
                "<= 1.2",
                f"alpha {fits[n]['alpha']:.4f} for {ALPHA:g}, {fits[n]['verdict']}",
                unit="us",
            )
        )
    done = _alone("calibrate", place / f"{large}.parquet", place / f"run-{large}")
    for what, peak in (("fit", fits[large]["peak"]), ("calibrate", done["peak"])):
        held = f"in memory the table is {large * 20 * 8 / GIB:.2f} GiB"
        name = f"{what}: peak memory at {large:,} rows x 20 columns of Parquet, against 2 GiB"
        rows.append(row(name, peak / GIB, 2.0, "<= 1", held, unit="GiB"))
    return rows


def _in_memory(place: Path, n: int) -> dict[str, Any]:
    frame = pd.read_parquet(place / f"{n}.parquet")
    whole, in_memory = cpu(lambda: ProxyCalibrator(ROLES, direction="over").fit(frame))
    pieces, from_file = cpu(
        lambda: ProxyCalibrator(ROLES, direction="over").fit_files([place / f"{n}.parquet"])
    )
    note = f"difference of alpha {abs(in_memory.alpha_ - from_file.alpha_):.1g}"
    return row(f"{n:,} rows from Parquet in pieces, against a frame in memory", pieces, whole, "-", note)


def _against_gaussian_mixture(n: int) -> dict[str, Any]:
    """The gated shift with one component, against a mixture of two on the residuals of least squares."""
    sim = simulate(n=n, d_z=5, alpha=5.0 * ALPHA, random_state=0)
    ours, alpha = single_component(sim)
    frame = sim.table
    columns = [np.ones(n), *(frame[name].to_numpy(float) for name in sim.roles.columns[1:])]
    y, X = frame[sim.roles.outcome].to_numpy(float), np.column_stack(columns)

    def mixture() -> float:
        left = residual_of(X, y, np.ones(n))
        means = GaussianMixture(2, tol=1e-6, max_iter=1000, random_state=0).fit(left[:, None]).means_
        return float(np.ptp(means))

    seconds, theirs = cpu(mixture)
    note = f"alpha {alpha:.3f} and {theirs:.3f} for {5.0 * ALPHA:g}"
    what = f"one component, no interval, n = {n:,}, against scikit-learn's GaussianMixture on residuals"
    return row(what, ours, seconds, "-", note)


def _alone(what: str, table: Path, run: Path) -> dict[str, Any]:
    """Fit or calibrate in a process of its own."""
    return alone("benchmarks.scale", what, table, run)


def _main(what: str, table: str, run: str) -> dict[str, Any]:
    start = time.process_time()
    answer: dict[str, Any] = {}
    with threadpool_limits(1):
        if what == "fit":
            model = ProxyCalibrator(ROLES, direction="over").fit_files([table])
            answer = {"alpha": model.alpha_, "verdict": model.verdict_}
            model.save(run)
        else:
            calibrate_files(run, [table], f"{run}-calibrated")
    return answer | {"seconds": time.process_time() - start, "peak": peak_memory()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_main(*sys.argv[1:])) + "\n")
