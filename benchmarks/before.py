"""CPU time of a fit on a fixed set of tables, for several versions of the code side by side.

    python benchmarks/before.py before=../before/src now=src

Each fit has a process of its own; the versions take turns, so that a busy machine is busy for all of them. A
line says so where they do not come to the same verdict and size. `proxycal bench speed` compares this code
with that of BEFORE, out of the history of the clone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

# The code before the wider comparison, the gradual row and all that was done for speed since.
BEFORE = "086a5fd"
CLONE = Path(__file__).resolve().parent.parent
# A size that differs by more than this part of its standard error is another answer.
SAME = 1e-3
# The least of so many fits counts for tables up to this size: on a busy machine CPU time is too long at most.
REPEATS, SMALL = 3, 2_000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Table:
    """A table to fit: its rows, columns of proxies and environment, size of the bias, shape of content."""

    rows: int
    proxies: int = 5
    environment: int = 5
    alpha: float = 3.0
    curved: bool = False
    seed: int = 7

    @property
    def label(self) -> str:
        """The table in words."""
        bias = "bias" if self.alpha else "no bias"
        curved = ", curved" if self.curved else ""
        return f"{self.rows:,} rows, {self.proxies + self.environment} columns{curved}, {bias}"


TABLES = [
    Table(rows, proxies, environment, alpha, curved)
    for rows, proxies, environment, curved in (
        (500, 2, 2, False),
        (1_000, 5, 5, False),
        (2_000, 5, 5, False),
        (1_000, 5, 5, True),
        (1_000, 20, 40, False),
        (10_000, 5, 5, False),
        (100_000, 5, 5, False),
        (1_000_000, 5, 14, False),
    )
    for alpha in (3.0, 0.0)
]


@contextmanager
def earlier(commit: str = BEFORE) -> Iterator[str | None]:
    """The folder of an earlier package, while it is needed; None where the clone has no such history."""
    command = ["git", "archive", commit, "src"]
    done = subprocess.run(command, capture_output=True, cwd=CLONE, check=False)
    with tempfile.TemporaryDirectory() as folder:
        if done.returncode:
            yield None
            return
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield str(Path(folder, "src"))


def main(versions: dict[str, str]) -> None:
    """Print a Markdown table."""
    print("| table | " + " | ".join(f"{name}, CPU s" for name in versions) + " | answer |")
    print("|---" * (2 + len(versions)) + "|")
    for table in TABLES:
        seen = [elsewhere(table, source) for source in versions.values()]
        cells = " | ".join(f"{one['seconds']:.3f}" for one in seen)
        print(f"| {table.label} | {cells} | {compared(seen[0], seen[-1])} |", flush=True)


def compared(first: dict[str, Any], last: dict[str, Any]) -> str:
    """Whether two fits say the same, in words."""
    near = abs(first["alpha"] - last["alpha"]) <= SAME * first["se"]
    if first["verdict"] == last["verdict"] and near:
        return "the same"
    return "; ".join(f"{one['verdict']}, {one['alpha']:.4f}" for one in (first, last))


def elsewhere(table: Table, source: str, one_thread: bool = True) -> dict[str, Any]:
    """The fit of one table by the package in a folder; with one thread, or as many as it takes itself."""
    settings = {key: value for key, value in os.environ.items() if key not in ONE_THREAD}
    settings |= {"PYTHONPATH": source} | (ONE_THREAD if one_thread else {})
    command = [sys.executable, __file__, "--alone", json.dumps(asdict(table))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    return dict(json.loads(done.stdout))


def alone(table: Table) -> dict[str, Any]:
    """Fit one table here."""
    from proxycal import ProxyCalibrator, simulate

    sim = simulate(
        n=table.rows,
        d_e=table.environment,
        n_proxies=table.proxies,
        alpha=table.alpha,
        random_state=table.seed,
    )
    frame = sim.table
    if table.curved:
        content = frame[list(sim.roles.proxies)].mean(axis=1)
        bent = 1.5 * np.tanh(content / content.std()) * content.std()
        frame = frame.assign(**{sim.roles.outcome: frame[sim.roles.outcome] + bent})
    warnings.simplefilter("ignore")
    # Once before, so that imports are not counted.
    ProxyCalibrator(sim.roles, direction="over").fit(frame.iloc[:300])
    model, seconds = ProxyCalibrator(sim.roles, direction="over"), float("inf")
    for _ in range(REPEATS if table.rows <= SMALL else 1):
        begin = time.process_time()
        model.fit(frame)
        seconds = min(seconds, time.process_time() - begin)
    low, high = model.alpha_interval_
    return {
        "seconds": seconds,
        "verdict": model.verdict_,
        "alpha": float(model.alpha_),
        "se": float(high - low) / 3.92,
    }


if __name__ == "__main__":
    if sys.argv[1] == "--alone":
        print(json.dumps(alone(Table(**json.loads(sys.argv[2])))))
    else:
        main(dict(version.split("=", 1) for version in sys.argv[1:]))
