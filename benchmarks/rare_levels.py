"""NHANES with its rare levels: two to six people "Don't Know" their education, mostly none of them validated.

Each draw validates other people, and a table is fitted, calibrated and totalled as a user would. The
regression is least squares of the measurement on report, proxies and the levels that validated rows have.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, number, percent, reached, records
from benchmarks.trials import each_seed
from proxycal.datasets.nhanes import DIRECTIONS, ENVIRONMENT, OUTCOMES, PROXIES, VALIDATED, complete
from proxycal.model import ProxyCalibrator
from proxycal.studies.sweep import Cell
from proxycal.studies.validated import regression_calibration
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

SHARES, DRAWS = (0.05, 0.10), 10
RARE = "Don't Know"
# Nobody is another person: by more than this no self-report is off.
MOST = {"weight": 40.0, "height": 30.0}
# Seeds that no other benchmark, no test and no tuning uses.
FIRST_SEED = 12_400_000


def bench(quick: bool = False) -> Bench:
    """Ten draws of each outcome and share of validated rows, a cell each."""
    cells = [
        Cell(
            f"{outcome},share={share:g},block={draw}",
            {"outcome": outcome, "share": share, "seeds": [FIRST_SEED + draw]},
        )
        for draw in range(1 if quick else DRAWS)
        for share in SHARES
        for outcome in MOST
    ]
    return Bench("rare-levels", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a draw for each of its seeds."""
    return each_seed(settings, lambda seed: trial(settings["outcome"], settings["share"], seed))


@lru_cache(maxsize=len(MOST))
def people(outcome: str) -> pd.DataFrame:
    """Adults with every column of the roles, whatever their education."""
    with (files("proxycal.datasets") / "data" / "nhanes_2017_2018.csv.gz").open("rb") as source:
        raw = pd.read_csv(source, compression="gzip")
    return complete(raw, outcome, list(PROXIES), no_answer=())[0]


def trial(outcome: str, share: float, seed: int) -> dict[str, Any]:
    """One draw of validated rows: errors and intervals of the others, and the furthest that a row moved."""
    table, (reported, measured) = people(outcome), OUTCOMES[outcome]
    truth = table[measured].to_numpy()
    chosen = np.random.default_rng(seed).choice(len(table), round(share * len(table)), replace=False)
    known = np.isin(np.arange(len(table)), chosen)
    table = table.assign(**{VALIDATED: np.where(known, truth, np.nan)})
    roles = Roles(reported, list(PROXIES), list(ENVIRONMENT), truth=VALIDATED)
    model = ProxyCalibrator(roles, direction=DIRECTIONS[outcome]).fit(table)
    rows, total = model.calibrate(table), model.totals(table).iloc[-1]
    arrays = Encoder.fit_transform(table, roles)[1]
    assert arrays.y is not None
    columns = np.column_stack([arrays.y, arrays.P, arrays.E])
    seen = columns[:, columns[known].std(axis=0) > 0.0]
    regression = regression_calibration(table[VALIDATED].to_numpy(), seen)
    rare = (table["education"] == RARE).to_numpy()
    held = (rows["y_cal_low"] <= truth) & (truth <= rows["y_cal_high"])
    return {
        "rmse": _rmse((rows["y_cal"] - truth)[~known]),
        "rmse_regression": _rmse((regression - truth)[~known]),
        "rmse_report": _rmse((table[reported] - truth)[~known]),
        "held": float(held[~known].mean()),
        "moved": float(rows["shift"].abs()[~known].max()),
        "rare": int(rare.sum()),
        "rare_validated": int((rare & known).sum()),
        "rare_moved": float(rows["shift"].abs()[rare & ~known].max()),
        "total_held": bool(total["low"] <= truth.sum() <= total["high"]),
        "method": model.result_.settings.method,
    }


def _rmse(error: Any) -> float:
    return float(np.sqrt(np.mean(np.square(error))))


def page(trials: pd.DataFrame) -> Page:
    """A row for each outcome and share, and every draw."""
    rows = []
    for (outcome, share), group in trials.groupby(["outcome", "share"], sort=False):
        good = group[group["error"].isna()]
        ratio, held = float((good["rmse"] / good["rmse_regression"]).mean()), float(good["held"].mean())
        moved = float(good["moved"].max())
        ok = ratio <= 1.005 and 0.93 <= held <= 0.97 and moved <= MOST[str(outcome)]
        rows.append({
            "outcome": str(outcome), "validated": percent(float(str(share)), 0), "draws": str(len(group)),
            "errors": str(len(group) - len(good)), "report": number(good["rmse_report"].mean(), 3),
            "regression": number(good["rmse_regression"].mean(), 3),
            "proxycal": number(good["rmse"].mean(), 3),
            "over regression": number(ratio, 3), "rows held": percent(held),
            "furthest move": number(moved, 1), "of a rare level": number(good["rare_moved"].max(), 1),
            "total held": f"{int(good['total_held'].sum())} of {len(good)}",
            "to reach": f"<= 1.005, 93% to 97%, <= {MOST[str(outcome)]:g}",
            "reached": reached(ok and len(good) == len(group)),
        })  # fmt: skip
    draws = [
        {
            "outcome": str(row["outcome"]), "validated": percent(row["share"], 0), "seed": str(row["seed"]),
            "over regression": number(row["rmse"] / row["rmse_regression"], 3),
            "rows held": percent(row["held"]), "furthest move": number(row["moved"], 1),
            "rare, validated": f"{number(row['rare'], 0)}, {number(row['rare_validated'], 0)}",
        }
        for row in records(trials)
    ]  # fmt: skip
    note = "Root mean squared errors and moves of unvalidated rows, in kg and cm; means over draws."
    parts = (Part("Error, intervals, and how far a row moved", rows, note), Part("Every draw", draws))
    return Page("NHANES with its rare levels", parts, trials)
