"""Several reports of one truth: false claims, what is found, coverage of sizes, and errors of the truth.

Beside each calibrated value stand the mean of the reports, the best single report, and the value that proxies
and a single report give without the others.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, number, percent, records
from benchmarks.trials import each_seed
from proxycal.errors import ProxycalWarning
from proxycal.methods.reporters.record import ReportsFit
from proxycal.model import ProxyCalibrator
from proxycal.table.roles import Roles
from proxycal.testing.reports import SeveralReports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.studies.sweep import Cell
    from proxycal.testing.reports import DrawnReports

# Seeds that no test and no choice of a threshold uses.
FIRST_SEED = 9_430_000
ERRORS = ("normal", "tails", "one side", "spread by E", "slope by E", "level")
NULLS = {
    **{f"no bias, {errors}": SeveralReports(0.0, errors=errors) for errors in ERRORS},  # type: ignore[arg-type]
    "no bias, proxies": SeveralReports(0.0, proxies=True),
    "no bias, three reports": SeveralReports(0.0, 3),
    "no bias, exact agreement": SeveralReports(0.0, agree=0.3),
}
BIASED = {
    "size 2": SeveralReports(),
    "size 1.5": SeveralReports(1.5),
    "size 2, tails": SeveralReports(errors="tails"),
    "size 2, level": SeveralReports(errors="level"),
    "size 2, proxies": SeveralReports(proxies=True),
    "size 2, exact agreement": SeveralReports(agree=0.3),
    "size 2, gaps": SeveralReports(gaps=0.3),
    "size 2, three reports": SeveralReports(reporters=3),
    "size 2, four reports, two biased": SeveralReports(reporters=4),
}
WORLDS = NULLS | BIASED


def bench(quick: bool = False) -> Bench:
    """Nulls, then what is to be found."""
    cells: list[Cell] = []
    for worlds, n, repetitions in ((NULLS, 500, 50), (BIASED, 500, 60), (BIASED, 2_000, 20)):
        for name in worlds:
            cells += blocks({"world": name, "n": n}, 1 if quick else repetitions, FIRST_SEED)
    return Bench("reporters", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds."""
    world = WORLDS[settings["world"]]
    return each_seed(settings, lambda seed: trial(world, world.draw(seed, settings["n"])))


def trial(world: SeveralReports, drawn: DrawnReports) -> dict[str, Any]:
    """One fit: the verdict, the size of the first reporter's bias, and errors of the truth."""
    start = time.process_time()
    model = ProxyCalibrator(drawn.roles, direction="under").fit(drawn.table)
    seconds = time.process_time() - start
    fit = model.result_.method_fit
    assert isinstance(fit, ReportsFit)
    found = [one.found for one in fit.reporters]
    biases = [one.bias for one in fit.reporters if one.bias is not None]
    row: dict[str, Any] = {
        "found": any(found),
        "wrong": any(claimed and not real.any() for claimed, real in zip(found, drawn.biased.T, strict=True)),
        "verdict": fit.verdict,
        "lead": max((bias.lead for bias in biases), default=np.nan),
        "seconds": round(seconds, 3),
    }
    first = fit.reporters[0].bias
    if not found[0] or first is None:
        return row
    truth, reports = drawn.truth, drawn.table[list(drawn.roles.report_names)]
    rows = model.calibrate(drawn.table)
    return row | {
        "first": True,
        "size": first.size,
        "covered": bool(first.low <= world.size <= first.high),
        "rows_held": float(np.mean((rows.y_cal_low <= truth) & (truth <= rows.y_cal_high))),
        "rmse": _rmse(rows.y_cal, truth),
        "rmse_mean": _rmse(reports.mean(axis=1), truth),
        "rmse_best": min(_rmse(reports[name], truth) for name in reports),
        "rmse_reports": _alone(drawn, Roles(drawn.roles.report_names, [], drawn.roles.environment))
        if world.proxies
        else np.nan,
        "rmse_proxies": _alone(drawn, Roles("own", drawn.roles.proxies, drawn.roles.environment))
        if world.proxies
        else np.nan,
    }


def _rmse(values: pd.Series, truth: np.ndarray) -> float:
    return float(np.sqrt(np.nanmean((values.to_numpy() - truth) ** 2)))


def _alone(drawn: DrawnReports, roles: Roles) -> float:
    """Error of the calibrated value of a fit with other roles; method="exact" for a single report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model = ProxyCalibrator(roles, direction="under").fit(drawn.table)
        return _rmse(model.calibrate(drawn.table)["y_cal"], drawn.truth)


def page(trials: pd.DataFrame) -> Page:
    """False claims, then what is found, then errors of the truth."""
    figures = summarise(trials)
    null = figures["world"].isin([*NULLS])
    parts = (
        Part(
            "No bias: false claims",
            [_null_row(row) for row in records(figures[null])],
            "Tables of 500 rows. The truth has a cause that nobody measured, which the environment "
            "drives and spreads, in all of them. To reach: 1%. Where the errors follow the environment "
            "gradually, the verdict is 'not identified'.",
        ),
        Part(
            "Reports too low in some rows",
            [_biased_row(row) for row in records(figures[~null])],
            "found: the first reporter's bias (2 is two sds of what the difference of two reports has left). "
            "wrong: a bias of a reporter who has none. covered: the 95% interval of the size holds it. rows "
            "held: the interval of a row holds its truth.",
        ),
        Part(
            "Root mean square error of the truth",
            [_error_row(row) for row in records(figures[~null])],
            "In tables in which a bias was found. mean: of the reports as they are; best: the better single "
            "report, which nobody knows; reports alone, proxies alone: the calibrated value of a fit without "
            "proxies, and of one with the first report and proxies.",
        ),
    )
    return Page("Several reports of one truth", parts, figures)


_MEANS = ("covered", "rows_held", "rmse", "rmse_mean", "rmse_best", "rmse_reports", "rmse_proxies", "size")


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """A row per world and number of rows."""
    rows = []
    for _, group in trials.groupby(["world", "n"], sort=False):
        good = group[group["error"].isna()]
        rows.append({
            "world": str(group["world"].iloc[0]), "n": int(group["n"].iloc[0]), "repetitions": len(group),
            "errors": len(group) - len(good), "found": int(good["found"].sum()),
            "wrong": int(good["wrong"].sum()),
            "unidentified": int((good["verdict"] == "not identified").sum()),
            "lead": good["lead"].max(), "seconds": good["seconds"].median(),
            "first": int(good["first"].fillna(False).sum()) if "first" in good else 0,
            **{name: good[name].astype(float).mean() if name in good else np.nan for name in _MEANS},
        })  # fmt: skip
    return pd.DataFrame(rows)


def _null_row(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "world": str(row["world"]),
        "n": f"{row['n']:,}",
        "tables": str(row["repetitions"]),
        "errors": str(row["errors"]),
        "false claims": f"{row['found']} ({percent(row['found'] / row['repetitions'], 2)})",
        "not identified": percent(row["unidentified"] / row["repetitions"], 0),
        "largest lead": number(row["lead"], 1),
        "CPU s": number(row["seconds"], 1),
    }


def _biased_row(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "world": str(row["world"]),
        "n": f"{row['n']:,}",
        "tables": str(row["repetitions"]),
        "errors": str(row["errors"]),
        "found": percent(row["first"] / row["repetitions"]),
        "wrong": percent(row["wrong"] / row["repetitions"]),
        "mean size": number(row["size"]),
        "covered": percent(row["covered"]),
        "rows held": percent(row["rows_held"]),
        "CPU s": number(row["seconds"], 1),
    }


def _error_row(row: Mapping[str, Any]) -> dict[str, str]:
    shown = {"world": str(row["world"]), "n": f"{row['n']:,}", "calibrated": number(row["rmse"], 3)}
    shown |= {"mean": number(row["rmse_mean"], 3), "best": number(row["rmse_best"], 3)}
    for name, column in (("reports alone", "rmse_reports"), ("proxies alone", "rmse_proxies")):
        shown[name] = number(row[column], 3) if pd.notna(row[column]) else ""
    return shown
