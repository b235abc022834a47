"""What validated rows cost in a large table: a million rows, a thousand of them validated, in a file.

Every command of the shell runs in a process of its own, on Parquet and on CSV, so that its peak memory is its
own; seconds are CPU seconds.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from benchmarks.measure import alone, peak_memory
from benchmarks.pages import Page, Part, number, reached
from benchmarks.scale import GIB, ROLES, draw_groups, write_groups
from benchmarks.speed import ALPHA
from proxycal.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 2.0
REGIONS = ("east", "north", "south", "west")
# Rows that the next audit is asked for.
AUDITED = 200
STEPS = {
    "check": "check, before the fit",
    "fit": "fit",
    "calibrate": "calibrate",
    "totals": "totals by region",
    "audit": f"audit plan of {AUDITED} rows",
    "filled": "the filled-in sheet taken back",
}


def page(quick: bool) -> Page:
    """Every command on both kinds of file, measured now."""
    n, known = (20_000, 200) if quick else (1_000_000, 1_000)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="proxycal-validated-") as folder:
        place = Path(folder)
        write_table(place / "table.parquet", n, known)
        write_csv(place / "table.parquet", place / "table.csv")
        rows += measure(place / "table.parquet", place, tuple(STEPS))
        # A fit takes minutes and adds up the same pieces whatever the file: the CSV is put to the same run.
        rows += measure(place / "table.csv", place, tuple(step for step in STEPS if step != "fit"))
    return page_of(rows, n, known)


def page_of(rows: list[dict[str, Any]], n: int, known: int) -> Page:
    """The page of what was measured, a row per command and file."""
    figures = pd.DataFrame(rows).assign(rows=n, validated=known)
    note = (
        f"{n:,} rows of {len(ROLES.columns)} columns with {known:,} validated, in memory "
        f"{n * (len(ROLES.columns) + 2) * 8 / GIB:.2f} GiB; a bias of {ALPHA:g}. Peak memory of the whole "
        "process, Python and its libraries included; CPU seconds on one thread."
    )
    return Page("Validated rows of a large table", (Part("Each command", _shown(rows), note),), figures)


def write_table(path: Path, n: int, known: int, seed: int = 0) -> None:
    """A Parquet table of n rows, the truth of `known` of them beside the columns of the roles."""
    write_groups(path, _validated_groups(n, known, seed))


def _validated_groups(n: int, known: int, seed: int) -> Iterator[pa.Table]:
    rng = np.random.default_rng([seed, 1])
    shown = np.zeros(n, dtype=bool)
    shown[rng.choice(n, known, replace=False)] = True
    start = 0
    for columns, true in draw_groups(n, seed):
        here = shown[start : start + len(true)]
        region = np.array(REGIONS)[rng.integers(len(REGIONS), size=len(true))]
        truth = pa.array(np.where(here, true, np.nan), from_pandas=True)
        yield pa.table(columns | {"truth": truth, "region": region})
        start += len(true)


def write_csv(parquet: Path, path: Path) -> None:
    """The same table as CSV, a row group at a time."""
    file = pq.ParquetFile(parquet)
    with pa_csv.CSVWriter(path, file.schema_arrow) as writer:
        for group in range(file.metadata.num_row_groups):
            writer.write_table(file.read_row_group(group))


def measure(table: Path, place: Path, steps: tuple[str, ...]) -> list[dict[str, Any]]:
    """Commands on one file, each in a process of its own, in a folder that has or gets the run."""
    return [
        {"file": table.suffix[1:], "step": step, **alone("benchmarks.validated_scale", step, table, place)}
        for step in steps
    ]


def arguments(step: str, table: Path, place: Path) -> list[str]:
    """The command of a step, as a user would type it; in one process, so that its peak is all there is."""
    run, sheet = place / "run", _sheet(table, place)
    roles = [
        "--outcome",
        "y",
        "--proxies",
        ",".join(ROLES.proxies),
        "--environment",
        ",".join(ROLES.environment),
    ]
    roles += ["--truth", "truth", "--direction", "over"]
    out, totals = (str(place / name) for name in (f"{step}{table.suffix}", f"totals-{table.suffix[1:]}.csv"))
    return {
        "check": ["check", str(table), *roles],
        "fit": ["fit", str(table), *roles, "--out", str(run)],
        "calibrate": ["calibrate", str(run), str(table), "--jobs", "1", "--out", out],
        "totals": ["totals", str(run), str(table), "--by", "region", "--jobs", "1", "--out", totals],
        "audit": ["audit", str(run), str(table), "--n", str(AUDITED), "--out", str(sheet)],
        "filled": ["audit", str(run), str(table), "--filled", str(sheet), "--out", out],
    }[step]


def _sheet(table: Path, place: Path) -> Path:
    return place / f"sheet-{table.suffix[1:]}.csv"


def run_step(step: str, table: str, place: str) -> dict[str, Any]:
    """One command, in this process."""
    if step == "filled":
        sheet = _sheet(Path(table), Path(place))
        plan = pd.read_csv(sheet)
        plan.assign(truth=plan["y"]).to_csv(sheet, index=False)
    said = io.StringIO()
    start = time.process_time()
    with threadpool_limits(1), contextlib.redirect_stdout(said):
        code = main([*arguments(step, Path(table), Path(place)), "--json"])
    if code:
        raise SystemExit(code)
    facts = json.loads(said.getvalue())
    verdict = facts["verdict"] if step == "fit" else ""
    return {"seconds": time.process_time() - start, "peak": peak_memory(), "verdict": verdict}


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "file": row["file"],
            "command": STEPS[row["step"]],
            "peak GiB": number(row["peak"] / GIB),
            "to reach": f"<= {LIMIT:g}",
            "reached": reached(row["peak"] <= LIMIT * GIB),
            "CPU s": number(row["seconds"], 1),
            "answer": row["verdict"] or "-",
        }
        for row in rows
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_step(*sys.argv[1:])) + "\n")
