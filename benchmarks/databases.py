"""Ten million rows of a DuckDB database, beside the same rows in a Parquet file.

Every command runs in a process of its own, so that its peak memory is its own, DuckDB's included; seconds are
CPU seconds.
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
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from benchmarks.measure import alone, peak_memory
from benchmarks.pages import Page, Part, number, reached
from benchmarks.scale import GIB, ROLES, write_table
from proxycal.model import ProxyCalibrator, load
from proxycal.result import OUTPUT_COLUMNS
from proxycal.scale.calibrate import calibrate_files
from proxycal.scale.totals import totals_files
from proxycal.sql.view import view

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 1.0
# A row of the page for each: from where, and what is done.
STEPS = (
    ("parquet", "fit"), ("duckdb", "fit"),
    ("parquet", "calibrate"), ("duckdb", "calibrate"), ("duckdb", "view"),
    ("parquet", "totals"), ("duckdb", "totals"),
)  # fmt: skip
WORDS = {"fit": "fit", "calibrate": "calibrate", "view": "calibrate as SQL", "totals": "totals"}
# What DuckDB may hold of pages that it has read: by default most of the memory of the machine.
DUCKDB: dict[str, Any] = {"memory_limit": "256MB", "threads": "1"}


def page(quick: bool) -> Page:
    """Every command from both places, measured now."""
    n = 210_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory(prefix="proxycal-databases-") as folder:
        place = Path(folder)
        write_table(place / "reports.parquet", n)
        copy_to_duckdb(place)
        rows = [
            {"from": source, "step": step, **alone("benchmarks.databases", source, step, place)}
            for source, step in STEPS
        ]
        for row in rows:
            row["same"] = agreement(place, row, rows)
    return page_of(rows, n)


def page_of(rows: list[dict[str, Any]], n: int) -> Page:
    """The page of what was measured, a row per command and place."""
    note = (
        f"{n:,} rows of {len(ROLES.columns)} columns, {n * len(ROLES.columns) * 8 / GIB:.2f} GiB in memory. "
        f"Peak memory of the whole process, Python, its libraries and DuckDB (memory_limit "
        f"{DUCKDB['memory_limit']}, {DUCKDB['threads']} thread) included; CPU seconds."
    )
    shown = [
        {
            "command": WORDS[row["step"]],
            "from": {"parquet": "Parquet file", "duckdb": "DuckDB relation"}[row["from"]],
            "peak GiB": number(row["peak"] / GIB),
            "to reach": f"<= {LIMIT:g}",
            "reached": reached(row["peak"] <= LIMIT * GIB),
            "CPU s": number(row["seconds"], 1),
            "against Parquet": row["same"],
        }
        for row in rows
    ]
    return Page("Databases", (Part("Each command", shown, note),), pd.DataFrame(rows).assign(rows=n))


def copy_to_duckdb(place: Path) -> None:
    """The Parquet file as a table of a database."""
    with _database(place) as connection:
        connection.execute(f"CREATE TABLE reports AS FROM read_parquet('{place / 'reports.parquet'}')")


def agreement(place: Path, row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """How far answers are from those of the Parquet file: the largest difference."""
    if row["from"] == "parquet":
        return "-"
    kin = "calibrate" if row["step"] == "view" else row["step"]
    first = next(each for each in rows if (each["from"], each["step"]) == ("parquet", kin))
    if row["step"] in ("fit", "totals"):
        return "equal" if row["answer"] == first["answer"] else f"{row['answer']}, not {first['answer']}"
    names = [column.name for column in OUTPUT_COLUMNS]
    if row["step"] == "view":
        names = ["y_cal", "p_biased", "shift"]
    apart = 0.0
    pairs = zip(
        _columns(place / "calibrated-parquet.parquet", names),
        _columns(place / f"{row['step']}-duckdb.parquet", names),
        strict=True,
    )
    for one, other in pairs:
        if not np.array_equal(np.isnan(one), np.isnan(other)):
            return "not answered for the same rows"
        apart = max(apart, float(np.nanmax(np.abs(one - other), initial=0.0)))
    return "equal" if apart == 0.0 else f"at most {apart:.1g} apart"


def _columns(path: Path, names: list[str], size: int = 100_000) -> Iterator[np.ndarray]:
    """Blocks of columns, of one size whatever the row groups of the file."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(size, columns=names):
            yield batch.select(names).to_pandas().to_numpy()


def run_step(source: str, step: str, where: str) -> dict[str, Any]:
    """One command, in this process."""
    place, start = Path(where), time.process_time()
    with threadpool_limits(1):
        answer = _of_file(step, place) if source == "parquet" else _of_duckdb(step, place)
    return {"seconds": time.process_time() - start, "peak": peak_memory(), "answer": answer}


def _of_file(step: str, place: Path) -> list[float]:
    table, run = place / "reports.parquet", place / "run"
    if step == "fit":
        model = ProxyCalibrator(ROLES, direction="over").fit_files([table])
        model.save(run)
        return _facts(model)
    if step == "calibrate":
        calibrate_files(run, [table], place / "calibrated-parquet.parquet", jobs=1)
        return []
    return _sums(totals_files(load(run).result_, [table]))


def _of_duckdb(step: str, place: Path) -> list[float]:
    out = place / f"{step}-duckdb.parquet"
    with _database(place) as connection:
        reports = connection.table("reports")
        if step == "fit":
            return _facts(ProxyCalibrator(ROLES, direction="over").fit(reports))
        model = load(place / "run")
        if step == "totals":
            return _sums(model.totals(reports))
        if step == "view":
            connection.execute(view(model.result_, "duckdb"))
            connection.execute(f"COPY (FROM calibrated) TO '{out}' (FORMAT parquet)")
            return []
        answers = model.calibrate(reports)
        with pq.ParquetWriter(out, answers.schema) as writer:
            for batch in answers:
                writer.write_batch(batch)
    return []


def _facts(model: ProxyCalibrator) -> list[float]:
    return [float(model.alpha_), float(model.alpha_se_), *map(float, model.alpha_interval_)]


def _sums(totals: pd.DataFrame) -> list[float]:
    return [float(totals[name].iloc[-1]) for name in ("reported", "calibrated", "low", "high")]


def _database(place: Path) -> Any:
    import duckdb

    return duckdb.connect(str(place / "reports.duckdb"), config=DUCKDB)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_step(*sys.argv[1:])) + "\n")
