"""CPU time of a fit on a fixed set of tables, for several versions of the code side by side.

    python scripts/time_fits.py before=../before/src now=src

Each fit has a process of its own with one thread; the versions take turns, so that a busy machine is busy for
all of them. A line says so where they do not come to the same verdict and size.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

# A size that differs by more than this part of its standard error is another answer.
SAME = 1e-3
# The least of so many fits counts for tables up to this size: on a busy machine CPU time is too long at most.
REPEATS, SMALL = 3, 2_000


@dataclass(frozen=True)
class Table:
    """A table to fit: its rows, columns of proxies and environment, size of the bias, shape of content."""

    rows: int
    proxies: int = 5
    environment: int = 5
    alpha: float = 3.0
    curved: bool = False

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
    )
    for alpha in (3.0, 0.0)
]


def main(versions: dict[str, str]) -> None:
    """Print a Markdown table."""
    print("| table | " + " | ".join(f"{name}, CPU s" for name in versions) + " | answer |")
    print("|---" * (2 + len(versions)) + "|")
    for i, table in enumerate(TABLES):
        seen = [_elsewhere(i, source) for source in versions.values()]
        first, last = seen[0], seen[-1]
        same = first["verdict"] == last["verdict"]
        near = abs(first["alpha"] - last["alpha"]) <= SAME * first["se"]
        answer = "the same" if same and near else f"{first['verdict']}, {first['alpha']:.4f}; "
        answer += "" if same and near else f"{last['verdict']}, {last['alpha']:.4f}"
        cells = " | ".join(f"{one['seconds']:.2f}" for one in seen)
        print(f"| {table.label} | {cells} | {answer} |", flush=True)


def _elsewhere(index: int, source: str) -> dict[str, float]:
    """The fit of one table by the code in a folder."""
    settings = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--alone", str(index)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    return dict(json.loads(done.stdout))


def alone(table: Table) -> dict[str, object]:
    """Fit one table here."""
    from proxycal import ProxyCalibrator, simulate

    sim = simulate(
        n=table.rows, d_e=table.environment, n_proxies=table.proxies, alpha=table.alpha, random_state=7
    )
    frame = sim.table.copy()
    if table.curved:
        content = frame[list(sim.roles.proxies)].mean(axis=1)
        frame[sim.roles.outcome] += 1.5 * np.tanh(content / content.std()) * content.std()
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
        print(json.dumps(alone(TABLES[int(sys.argv[2])])))
    else:
        main(dict(version.split("=", 1) for version in sys.argv[1:]))
