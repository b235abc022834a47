"""Counts and yes/no outcomes: false claims of both grades, what is found, totals and their coverage.

A table is fitted once, with exclusion stated; both grades are read from its evidence, as a fit without the
statement would read the first. Where exclusion fails (a direct effect), a claim of the second grade is what
the user asked for, and only the first counts as false.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, number, percent, reached, records
from benchmarks.trials import each_seed
from proxycal.engine.covariates import Covariates
from proxycal.methods.rates.record import RatesFit
from proxycal.model import ProxyCalibrator
from proxycal.testing.reported import DIRECT, UNUSUAL, ReportedWorld

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.settings import Family
    from proxycal.studies.sweep import Cell
    from proxycal.testing.reported import Reported

# Seeds that no test and no choice of a threshold uses.
FIRST_SEED = 9_400_000
NULL_COUNTS = {
    **{f"NB, mean {level:g}": ReportedWorld(level=level) for level in (1.0, 5.0, 20.0, 50.0)},
    **{
        f"Poisson, mean {level:g}": ReportedWorld(level=level, poisson=True)
        for level in (1.0, 5.0, 20.0, 50.0)
    },
    **{f"counts, {name}": ReportedWorld(unusual=name) for name in UNUSUAL},
    **{f"counts, direct {name}": ReportedWorld(direct=name) for name in DIRECT},
    "counts, everybody alike": ReportedWorld(report="everybody alike"),
}
NULL_ANSWERS = {
    **{f"yes-no, prevalence {level:g}": ReportedWorld("yes/no", level=level) for level in (0.1, 0.4)},
    **{f"yes-no, {name}": ReportedWorld("yes/no", level=0.4, unusual=name) for name in UNUSUAL[:4]},
    **{f"yes-no, direct {name}": ReportedWorld("yes/no", level=0.4, direct=name) for name in DIRECT},
    "yes-no, everybody alike": ReportedWorld("yes/no", "everybody alike", level=0.4),
}
BIASED = {
    **{
        f"half in some rows, mean {level:g}": ReportedWorld(report="some rows", level=level)
        for level in (2.0, 5.0, 20.0, 100.0)
    },
    "graded, mean 5": ReportedWorld(report="graded"),
}
DENIED = {
    f"yes-no graded, prevalence {level:g}": ReportedWorld("yes/no", "graded", level) for level in (0.1, 0.4)
}
WORLDS = NULL_COUNTS | NULL_ANSWERS | BIASED | DENIED


def bench(quick: bool = False) -> Bench:
    """Nulls of both kinds, then what is to be found."""
    cells: list[Cell] = []
    for worlds, n, repetitions in (
        (NULL_COUNTS, 1_000, 15),
        (NULL_ANSWERS, 2_000, 28),
        (BIASED, 500, 16),
        (BIASED, 2_000, 25),
        (BIASED, 10_000, 4),
        (DENIED, 4_000, 20),
    ):
        if quick and n == 10_000:
            continue
        for name in worlds:
            cells += blocks({"world": name, "n": n}, 1 if quick else repetitions, FIRST_SEED)
    return Bench("counts", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds."""
    world = WORLDS[settings["world"]]
    return each_seed(settings, lambda seed: trial(world, world.draw(seed, settings["n"])))


def trial(world: ReportedWorld, drawn: Reported) -> dict[str, Any]:
    """One fit: both grades, and where a bias was put in, the error and coverage of total, rates and rows."""
    family: Family = "counts" if world.outcome == "counts" else "binary"
    start = time.process_time()
    model = ProxyCalibrator(drawn.roles, direction="under", family=family, exclusion=True).fit(drawn.table)
    seconds = time.process_time() - start
    fit = model.result_.method_fit
    assert isinstance(fit, RatesFit)
    assert fit.evidence is not None
    evidence, fitted = fit.evidence, fit.fitted
    assert fitted is not None
    row = {
        "first": evidence.first,
        "second": evidence.second,
        "lead": evidence.lead,
        "lead_2": evidence.lead_through_content,
        "verdict": replace(evidence, stated=False).verdict,
        "seconds": round(seconds, 3),
    }
    if not (evidence.first or evidence.second) or world.report not in ("some rows", "graded"):
        return row
    rows, y = model.calibrate(drawn.table), drawn.table["y"].to_numpy()
    gated = "who" in fitted.model.names
    best = 1.0 if gated else float(np.mean(np.sort(drawn.rate)[-len(y) // 10 :]))
    target = best * drawn.y_true.sum()
    total = model.totals(drawn.table).iloc[0]
    arrays = model.result_.training
    answer = fitted.rows(fitted.scored(Covariates.of(arrays)), fit.kind.outcome(arrays))
    rate = 1.0 - answer.p * (1.0 - answer.share) if gated else answer.share
    truth = drawn.y_true
    return row | {
        "gated": gated,
        "total": float(total.calibrated / target - 1.0),
        "covered": bool(total.low <= target <= total.high),
        "rows_held": np.nan
        if world.outcome == "yes/no"
        else float(np.mean((rows.y_cal_low <= truth) & (truth <= rows.y_cal_high))),
        "rates": float(np.sqrt(np.mean((np.minimum(drawn.rate / best, 1.0) - rate) ** 2)))
        if not gated
        else np.nan,
        "brier": float(np.mean((rows.y_cal - truth) ** 2)),
        "brier_report": float(np.mean((y - truth) ** 2)),
        "brier_logistic": _logistic(drawn) if world.outcome == "yes/no" else np.nan,
    }


def _logistic(drawn: Reported) -> float:
    """Brier score of a logistic regression of the reports on all columns."""
    from sklearn.linear_model import LogisticRegression

    X, y = drawn.table.drop(columns="y").to_numpy(), drawn.table["y"].to_numpy()
    p = LogisticRegression(max_iter=1_000).fit(X, y).predict_proba(X)[:, 1]
    return float(np.mean((p - drawn.y_true) ** 2))


def page(trials: pd.DataFrame) -> Page:
    """False claims, then what is found."""
    by_world = summarise(trials)
    null = by_world["world"].isin([*NULL_COUNTS, *NULL_ANSWERS])
    parts = (
        Part(
            "No bias: false claims",
            [_null_row(row) for row in records(_totals(by_world[null]))],
            "first: a report beats every effect of the environment on the truth; to reach: 1%. second: "
            "found if the "
            "environment acts on the truth only through content, which is stated here; to reach: 2% where "
            "that is "
            "so. Where everybody reports the same share there is nothing to see.",
        ),
        Part("No bias, by world", [_null_row(row) for row in records(by_world[null])]),
        Part(
            "A share is reported",
            [_biased_row(row) for row in records(by_world[~null])],
            "Of the claims of either grade with exclusion stated. total: mean error and root mean square "
            "error of the "
            "calibrated total (graded: relative to the tenth that reports best); covered: its 95% interval "
            "holds the "
            "truth; rows: the interval of the row holds its truth. rates: root mean square error of the "
            "share that "
            "rows report, relative to the best. Brier: mean squared error of y_cal, of the report, and of a "
            "logistic "
            "regression of the reports.",
        ),
    )
    return Page("Counts and yes/no outcomes", parts, by_world)


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """A row per world and size: shares of claims, and means over those that claimed."""
    rows = []
    for _, group in trials.groupby(["world", "n"], sort=False):
        world, n = str(group["world"].iloc[0]), int(group["n"].iloc[0])
        good = group[group["error"].isna()]
        claimed = good[(good["first"] == True) | (good["second"] == True)]  # noqa: E712
        row: dict[str, Any] = {
            "world": world,
            "n": n,
            "repetitions": len(group),
            "errors": len(group) - len(good),
            "first": int(good["first"].sum()),
            "second": int(good["second"].sum()),
            "claimed": len(claimed),
            "largest lead": good["lead"].max(),
            "seconds": good["seconds"].median(),
        }
        if "total" in claimed and claimed["total"].notna().any():
            row |= {
                "total": claimed["total"].mean(),
                "total_rmse": float(np.sqrt((claimed["total"].astype(float) ** 2).mean())),
                "gated": claimed["gated"].mean(),
                **{name: claimed[name].astype(float).mean() for name in _MEANS},
            }
        rows.append(row)
    return pd.DataFrame(rows)


_MEANS = ("covered", "rows_held", "rates", "brier", "brier_report", "brier_logistic")


def _totals(rows: pd.DataFrame) -> pd.DataFrame:
    """All tables of a kind together."""
    kinds = {
        "counts, exclusion holds": [w for w in NULL_COUNTS if "direct" not in w and "leaking" not in w],
        "counts, leaking proxy": ["counts, leaking proxy"],
        "counts, a direct effect": [w for w in NULL_COUNTS if "direct" in w],
        "yes/no, exclusion holds": [w for w in NULL_ANSWERS if "direct" not in w and "leaking" not in w],
        "yes-no, leaking proxy": ["yes-no, leaking proxy"],
        "yes/no, a direct effect": [w for w in NULL_ANSWERS if "direct" in w],
    }
    made = []
    for kind, worlds in kinds.items():
        part = rows[rows["world"].isin(worlds)]
        if len(part):
            made.append({
                "world": kind, "n": part["n"].iloc[0], "largest lead": part["largest lead"].max(),
                "seconds": part["seconds"].median(),
                **{name: part[name].sum() for name in ("repetitions", "errors", "first", "second")},
            })  # fmt: skip
    return pd.DataFrame(made)


def _null_row(row: Mapping[str, Any]) -> dict[str, str]:
    stands = "direct" not in row["world"]
    return {
        "world": str(row["world"]),
        "n": f"{row['n']:,}",
        "tables": str(row["repetitions"]),
        "errors": str(row["errors"]),
        "first grade": f"{row['first']} ({percent(row['first'] / row['repetitions'])})",
        "second grade": f"{row['second']} ({percent(row['second'] / row['repetitions'])})"
        if stands
        else f"{row['second']} (not false: the statement is)",
        "largest lead": number(row["largest lead"], 1),
        "CPU s": number(row["seconds"], 2),
    }


def _biased_row(row: Mapping[str, Any]) -> dict[str, str]:
    shown = {
        "world": str(row["world"]),
        "n": f"{row['n']:,}",
        "tables": str(row["repetitions"]),
        "errors": str(row["errors"]),
        "first grade": percent(row["first"] / row["repetitions"], 0),
        "claimed": percent(row["claimed"] / row["repetitions"], 0),
    }
    if "total" not in row or pd.isna(row["total"]):
        return shown
    return shown | {
        "total: mean error": f"{100 * row['total']:+.1f}%",
        "rmse": percent(row["total_rmse"]),
        "covered": percent(row["covered"], 0),
        "rows held": percent(row["rows_held"]) if pd.notna(row["rows_held"]) else "",
        "rates": number(row["rates"], 3) if pd.notna(row["rates"]) else "",
        "Brier": number(row["brier"], 3),
        "report": number(row["brier_report"], 3),
        "logistic": number(row["brier_logistic"], 3) if pd.notna(row["brier_logistic"]) else "",
        "found in 95%": reached(row["claimed"] >= 0.95 * row["repetitions"]),
        "CPU s": number(row["seconds"], 2),
    }
