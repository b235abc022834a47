"""The same law in more rows: a ratio of 0.60 that is found in 3,000 rows is found in two million.

Losses of which the rows of some environments report 60%, 1.4 residual sds; four proxies with noise. Each
table is fitted and totalled as a user would, with every default.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, number, percent, reached, records
from benchmarks.trials import each_seed
from proxycal.model import ProxyCalibrator
from proxycal.studies.sweep import Cell
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = Roles("loss", ["p1", "p2", "p3", "p4"], ["e1", "e2"])
RATIO = 0.6
# Draws of each number of rows.
DRAWS = {3_000: 5, 11_000: 5, 20_000: 5, 400_000: 1, 2_000_000: 1}
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 12_300_000


def bench(quick: bool = False) -> Bench:
    """A cell for each draw, the small tables first."""
    draws = {3_000: 2} if quick else DRAWS
    cells = [
        Cell(f"n={n},block={draw}", {"n": n, "seeds": [FIRST_SEED + n + draw]})
        for n, count in draws.items()
        for draw in range(count)
    ]
    return Bench("ratio-rows", tuple(cells), page, run_block)


def losses(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of n reports, and the true losses (n,).

    >>> table, true = losses(100, seed=1)
    >>> table.shape, sorted({float(ratio) for ratio in (table["loss"] / true).round(9)})
    ((100, 7), [0.6, 1.0])
    """
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.4 * e.sum(axis=1) + rng.normal(size=n)
    p = z[:, None] + 0.4 * rng.normal(size=(n, 4))
    true = np.exp(11.0 + z + 0.3 * rng.normal(size=n))
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(0.8 + 1.3 * e[:, 0] + 0.8 * e[:, 1]))
    table = pd.DataFrame(np.column_stack([p, e]), columns=[*ROLES.proxies, *ROLES.environment])
    return table.assign(loss=true * np.where(biased, RATIO, 1.0)), true


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a fit for each of its seeds."""
    return each_seed(settings, lambda seed: trial(int(settings["n"]), seed))


def trial(n: int, seed: int) -> dict[str, Any]:
    """One fit beside the truth; rows: those that its totals are of."""
    table, true = losses(n, seed)
    start = time.process_time()
    model = ProxyCalibrator(ROLES, direction="under", scale="log").fit(table)
    seconds = time.process_time() - start
    total, (low, high) = model.totals(table).iloc[-1], model.ratio_interval_
    return {
        "verdict": model.verdict_,
        "ratio": model.ratio_,
        "low": low,
        "high": high,
        "covered": bool(low <= RATIO <= high),
        "reported": float(total["reported"] / true.sum()),
        "total": float(total["calibrated"] / true.sum()),
        "total_covered": bool(total["low"] <= true.sum() <= total["high"]),
        "rows": int(total["rows"]),
        "fitted": int(model.result_.n),
        "seconds": round(seconds, 1),
    }


def page(trials: pd.DataFrame) -> Page:
    """Found, ratio and totals by number of rows, and every fit."""
    rows = []
    for n, group in trials.groupby("n"):
        good = group[group["error"].isna()]
        found, covered = (good["verdict"] == "bias found").sum(), good["total_covered"].sum()
        used = bool((good["rows"] == n).all() and (good["fitted"] == n).all())
        every = len(group)
        rows.append({
            "rows": f"{n:,}",
            "tables": str(every),
            "found": str(found),
            "ratio held": str(good["covered"].sum()),
            "total held": str(covered),
            "all rows used": "yes" if used else "no",
            "to reach": "all found, totals held, all rows used",
            # One interval of twenty misses, so that one of five may.
            "reached": reached(found == every and covered >= every - (every >= 5) and used),
        })  # fmt: skip
    fits = [
        {
            "rows": f"{row['n']:,}",
            "seed": str(row["seed"]),
            "verdict": str(row["verdict"] if pd.isna(row["error"]) else row["error"]),
            "ratio": f"{number(row['ratio'], 4)} [{number(row['low'], 4)}, {number(row['high'], 4)}]",
            "total reported": percent(row["reported"]),
            "total calibrated": percent(row["total"]),
            "total held": "yes" if row["total_covered"] is True else "no",
            "CPU s": number(row["seconds"], 1),
        }
        for row in records(trials.sort_values(["n", "seed"]))
    ]
    parts = (
        Part("Found and held, by number of rows", rows, f"Seeds from {FIRST_SEED} on; the ratio is {RATIO}."),
        Part("Every fit", fits, "Totals are in per cent of the true total."),
    )
    return Page("A ratio of 0.60 in more and more rows", parts, trials)
