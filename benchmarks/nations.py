"""Totals of simulated nations: how often their intervals hold the truth, by hazard and in all.

The nations are those of the case study, 500 counties each, fitted as the case study fits them: every hazard
on its own, some in fewer than 300 rows with 15 columns, and all of them together.
"""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, number, percent, reached, signed
from benchmarks.trials import each_seed
from proxycal.datasets.disasters import study
from proxycal.datasets.losses import HAZARDS
from proxycal.datasets.nation import YEARS, simulate_disasters
from proxycal.datasets.sheldus import read_sheldus
from proxycal.studies.case_study import POOLED, analyse

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTIES = 500
COVERAGE = (0.92, 0.98)
# Seeds that no other benchmark, no test and no tuning uses; those of tuning are 7,100,000 to 7,100,059.
FIRST_SEED = 12_800_000


def bench(quick: bool = False) -> Bench:
    """A hundred nations."""
    cells = blocks({"world": "nation", "n": 10_000}, 1 if quick else 100, FIRST_SEED)
    return Bench("nations", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a nation for each of its seeds."""
    return each_seed(settings, nation)


def nation(seed: int) -> dict[str, Any]:
    """A simulated nation: its totals, by hazard and in all, beside the truth."""
    with tempfile.TemporaryDirectory() as folder:
        made = simulate_disasters(folder, n_counties=COUNTIES, random_state=seed)
        joined = study(read_sheldus(made.sheldus, years=YEARS), made.transitions, made.counties, YEARS)
    start = time.process_time()
    results = analyse(joined, made.truth)
    check = results.check
    assert check is not None
    totals = {str(row["hazard"]): row for row in results.totals.to_dict("records")}
    rows = results.counties.groupby("hazard").size()
    listed = []
    for line in check.to_dict("records"):
        name = str(line["fit"])
        low, high, true = float(totals[name]["low"]), float(totals[name]["high"]), float(line["true_total"])
        listed.append({
            "hazard": name, "rows": int(rows.get(name, rows.sum())), "found": bool(np.isfinite(low)),
            "held": low <= true <= high, "too_high": low > true, "width": (high - low) / true,
            "reported_error": float(line["reported_error"]),
            "calibrated_error": float(line["calibrated_error"]),
        })  # fmt: skip
    return {"totals": listed, "seconds": round(time.process_time() - start, 3)}


def page(trials: pd.DataFrame) -> Page:
    """One table: all totals by hazard together, each hazard, and nations as a whole."""
    good = trials[trials["error"].isna()]
    each = pd.DataFrame(
        [{"nation": at, **line} for at, listed in enumerate(good["totals"]) for line in listed]
    )
    hazards = each[each["hazard"] != POOLED]
    parts = [("by hazard, all", hazards), ("overall", each[each["hazard"] == POOLED])]
    parts += [(hazard, hazards[hazards["hazard"] == hazard]) for hazard in HAZARDS]
    figures = pd.DataFrame(
        [{"totals": name, "nations": len(trials), **_figures(part)} for name, part in parts]
    )
    seconds = number(float(good["seconds"].median()), 1)
    note = (
        f"{len(trials)} nations of {COUNTIES} counties, {len(trials) - len(good)} errors. Intervals: totals "
        "of which a bias was found; overall, of nations in which it was found in the fit of all hazards or "
        "in that of each. The error of a share is its Monte Carlo error, with nations as clusters of their "
        "hazards. Too high: intervals that lie above the truth. Width: median, as a share of the true total. "
        f"CPU seconds of one nation, median: {seconds}."
    )
    shown = [_shown(name, _figures(part), name in ("by hazard, all", "overall")) for name, part in parts]
    return Page("Totals of simulated nations", (Part("What intervals hold", shown, note),), figures)


def _figures(totals: pd.DataFrame) -> dict[str, float]:
    found = totals[totals["found"]]
    held = found["held"].astype(float)
    share = float(held.mean())
    # Totals of one nation are not independent.
    by_nation = (held - share).groupby(found["nation"]).sum()
    error = float(np.sqrt((by_nation**2).sum())) / max(len(found), 1)
    return {
        "rows": float(totals["rows"].median()),
        "intervals": len(found),
        "coverage": share,
        "coverage_error": error,
        "too_high": float(found["too_high"].mean()),
        "width": float(found["width"].median()),
        "reported_error": float(found["reported_error"].mean()),
        "calibrated_error": float(found["calibrated_error"].mean()),
    }


def _shown(name: str, figures: Mapping[str, float], judged: bool) -> dict[str, str]:
    low, high = COVERAGE
    share = figures["coverage"]
    return {
        "totals": name,
        "rows": number(figures["rows"], 0),
        "intervals": str(figures["intervals"]),
        "coverage": f"{percent(share)} +- {percent(figures['coverage_error'])}",
        "to reach": f"{percent(low, 0)} to {percent(high, 0)}" if judged else "-",
        "reached": reached(low <= share <= high) if judged else "-",
        "too high": percent(figures["too_high"]),
        "width": percent(figures["width"]),
        "reported": signed(figures["reported_error"]),
        "calibrated": signed(figures["calibrated_error"]),
    }
