"""Why a bias that few tables show is stated too large in those that do: what the verdict selects.

Losses of which 50% is reported, in 1,000 rows: the tables of the benchmark of losses and as many more. Each
is estimated on the log scale, by hand, and by somebody who is told who is biased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.bench import Bench, blocks
from benchmarks.losses import FIRST_SEED, SELECTION, ZEROS, draw, selected_row, summarise, trial
from benchmarks.pages import Page, Part, percent, records
from benchmarks.trials import each_seed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from proxycal.studies.sweep import Cell

ROWS, KEPT, TABLES = 1000, 0.5, 40
# The place of the first of these settings in the benchmark of losses, whose first 20 seeds are the same.
PLACE = 3
WAYS = {"ratio": "scale='log'", "alone_ratio": "by hand", "told_ratio": "told who"}


def bench(quick: bool = False) -> Bench:
    """One share of the truth with every share of zeros."""
    cells: list[Cell] = []
    for place, zeros in enumerate(ZEROS, start=PLACE):
        settings = {"world": "dollars", "n": ROWS, "kept": KEPT, "zeros": zeros}
        cells += blocks(settings, 2 if quick else TABLES, FIRST_SEED + 1_000 * place)
    return Bench("losses-selection", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds; by hand where there are zeros to leave out."""
    n, kept, zeros = int(settings["n"]), settings["kept"], settings["zeros"]
    return each_seed(settings, lambda seed: trial(draw(n, kept, zeros, seed), by_hand=zeros > 0.0))


def page(trials: pd.DataFrame) -> Page:
    """Two tables: mean ratios by verdict, and how all estimates compare with those of who is told."""
    rows = summarise(trials)
    parts = (
        Part("Where few tables show the bias", [selected_row(row) for row in records(rows)], SELECTION),
        Part("All tables", [_compared(trials, name) for name in WAYS],
             "Geometric means over all tables, whatever the verdict, with the standard error of the mean; "
             "and of the tables that show the bias. What is right in all tables and too low in those that "
             "were chosen for looking so is selection, not an error of the estimate."),
    )  # fmt: skip
    return Page("What the verdict selects", parts, rows)


def _compared(trials: pd.DataFrame, name: str) -> dict[str, str]:
    known = trials[trials[name].notna()]
    found = known["verdict"] == "bias found"
    return {
        "estimate": WAYS[name],
        "tables": str(len(known)),
        "all tables": _mean(known[name]),
        "bias found": f"{_mean(known.loc[found, name])} of {int(found.sum())}",
        "not found": f"{_mean(known.loc[~found, name])} of {int((~found).sum())}",
        "with told who": f"{np.corrcoef(np.log(known[name]), np.log(known['told_ratio']))[0, 1]:.2f}",
    }


def _mean(ratios: pd.Series[float]) -> str:
    """A geometric mean with its standard error, in per cent of the truth."""
    logs = np.log(ratios.to_numpy(dtype=float))
    if len(logs) < 2:
        return "-"
    mean = float(np.exp(logs.mean()))
    return f"{percent(mean)} +- {percent(mean * float(logs.std(ddof=1)) / np.sqrt(len(logs)))}"
