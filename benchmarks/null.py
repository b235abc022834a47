"""How often a bias is found where there is none: it must be rare, whatever the outcome looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.bench import Bench, blocks, figures
from benchmarks.pages import Page, Part, number, percent, reached
from benchmarks.trials import run_block

if TYPE_CHECKING:
    import pandas as pd

WORLDS = (
    "gaussian",
    "exponential",
    "t3",
    "two-humped",
    "heteroscedastic",
    "zero-inflated",
    "E in the mean",
    "E curved in the mean",
    "clusters",
)
LIMIT = 0.05
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 3_600_000


def bench(quick: bool = False) -> Bench:
    """No bias in every world."""
    sizes, repetitions = ((500,), 4) if quick else ((500, 5000), 200)
    cells = [
        cell
        for n in sizes
        for world in WORLDS
        for cell in blocks({"world": world, "n": n, "alpha": 0.0}, repetitions, FIRST_SEED)
    ]
    return Bench("null", tuple(cells), page, run_block)


def page(trials: pd.DataFrame) -> Page:
    """Shares of the three verdicts."""
    by_world = figures(trials, ("world", "n"))
    rows = [
        {
            "world": row["world"],
            "n": f"{row['n']:,}",
            "repetitions": str(row["repetitions"]),
            "bias found": percent(row["found"]),
            "to reach": f"<= {percent(LIMIT, 0)}",
            "reached": reached(row["found"] <= LIMIT and not row["errors"]),
            "no bias found": percent(row["none"]),
            "not identified": percent(row["unidentified"]),
            "errors": str(row["errors"]),
            "seconds per fit": number(row["seconds"], 1),
        }
        for row in by_world.to_dict("records")
    ]
    note = (
        "The paper's estimator has no verdict: it always reports a number, about 1.5 residual sd where there "
        "is no bias. Clusters: intercepts shared within a cluster, with `cluster` declared."
    )
    kept = ["world", "n", "repetitions", "errors", "found", "none", "unidentified", "seconds"]
    return Page("No bias where there is none", (Part("Verdicts when alpha = 0", rows, note),), by_world[kept])
