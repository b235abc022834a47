"""`proxycal experiment nhanes`: the error of self-reports before and after calibration; the truth is known.

A cell is one outcome, one share of validated rows and one draw of them. Every method sees the same validated
rows, and every error is taken on the rows that were not validated.

    self-report          as reported
    proxycal             `ProxyCalibrator` as it comes: from 30 validated rows on it learns from them, with
                         fewer it leaves the report alone unless its verdict is "bias found"
    exact                method="exact", which takes every report for right or off by one size
    exact, verdict ignored   the same fit, calibrated whatever its verdict
    regression           regression calibration: truth on report, proxies and environment
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.datasets import nhanes
from proxycal.datasets.nhanes import DIRECTIONS, OUTCOMES, VALIDATED, load_nhanes
from proxycal.errors import ProxycalWarning, StoreError
from proxycal.files import write_table
from proxycal.model import ProxyCalibrator
from proxycal.studies import validated
from proxycal.studies.graded import ask_graded
from proxycal.studies.pages import code_digest
from proxycal.studies.sweep import Cell, sweep
from proxycal.studies.validated import prediction_powered_mean, regression_calibration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from proxycal.studies.graded import Graded
    from proxycal.studies.sweep import Done, How

SHARES = (0.0, 0.05, 0.1, 0.2)
SEEDS = {"weight": 6, "height": 3, "bmi": 3}
# A quick run takes every fourth person.
QUICK_STEP = 4
BMI_EDGES = (0.0, 25.0, 30.0, 35.0, np.inf)
BMI_NAMES = ("BMI under 25", "BMI 25 to 30", "BMI 30 to 35", "BMI 35 and over")
ROW_METHODS = ("self-report", "proxycal", "exact", "exact, verdict ignored", "regression")
MEAN_METHODS = ("validated rows alone", "PPI", "PPI++", "proxycal, totals")
_SOURCES = (Path(__file__), Path(validated.__file__), Path(nhanes.__file__))


def cells(quick: bool) -> list[Cell]:
    """The work: outcomes by shares by draws, and weight once more with body fat among the proxies.

    >>> len(cells(quick=True))
    2
    """
    if quick:
        return [_cell("weight", False, share, 0, QUICK_STEP) for share in (0.0, 0.1)]
    work = [_cell("weight", True, share, seed, 1) for share in (0.0, 0.1) for seed in _seeds("bmi", share)]
    for outcome in OUTCOMES:
        work += [_cell(outcome, False, share, seed, 1) for share in SHARES for seed in _seeds(outcome, share)]
    # First draws first, so that an unfinished run holds something of everything.
    return sorted(work, key=lambda cell: int(cell.settings["seed"]))


def _seeds(outcome: str, share: float) -> range:
    # Without validated rows nothing is drawn: one fit says all.
    return range(SEEDS[outcome] if share else 1)


def _cell(outcome: str, body_fat: bool, share: float, seed: int, step: int) -> Cell:
    name = f"{outcome}{'-body-fat' if body_fat else ''},share={share:g},seed={seed}"
    return Cell(name, {"outcome": outcome, "body_fat": body_fat, "share": share, "seed": seed, "step": step})


def run_cell(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All methods on one draw: rows of method, group, metric and value (a number) or text."""
    outcome = str(settings["outcome"])
    data = load_nhanes(outcome, bool(settings["body_fat"]), settings["share"], settings["seed"])
    table = data.table.iloc[:: int(settings["step"])].reset_index(drop=True)
    reported, measured = (table[name].to_numpy(dtype=float) for name in OUTCOMES[outcome])
    truth = table[VALIDATED].to_numpy(dtype=float) if settings["share"] else np.full(len(table), np.nan)
    model = ProxyCalibrator(data.roles, method="auto", direction=DIRECTIONS[outcome]).fit(table)
    exact = model
    if settings["share"]:
        # Without validated rows it is the same fit.
        exact = ProxyCalibrator(data.roles, method="exact", direction=DIRECTIONS[outcome]).fit(table)
    with warnings.catch_warnings():
        # "left as reported" is what the page says in its own words.
        warnings.simplefilter("ignore", ProxycalWarning)
        # Without the truths: what is calibrated is judged, and learned from, as if nobody knew them.
        blind = table.drop(columns=VALIDATED, errors="ignore")
        calibrated = {fit: fit.calibrate(blind)["y_cal"].to_numpy() for fit in (model, exact)}
        means = model.totals(table, statistic="mean").iloc[0]
    arrays = exact.result_.encoder.transform(table)
    answers = {
        "self-report": reported,
        "proxycal": calibrated[model],
        "exact": calibrated[exact],
        "exact, verdict ignored": exact.result_.method_fit.predict(arrays).y_cal,
    }
    rows = _fit_rows(model)
    if not settings["share"]:
        rows += _graded_rows(ask_graded(table, data.roles, direction=DIRECTIONS[outcome]))
    if settings["share"]:
        others = np.hstack([arrays.P, arrays.E])
        answers["regression"] = regression_calibration(truth, np.column_stack([reported, others]))
        rows += _mean_rows(truth, answers, measured, means)
    return rows + _error_rows(answers, measured, np.isnan(truth), groups(table))


def groups(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Masks of the people: all, by sex, and by measured BMI."""
    bmi = table["bmi"].to_numpy(dtype=float)
    masks = {"all": np.ones(len(table), dtype=bool)}
    masks |= {name: (table["sex"] == name).to_numpy() for name in ("Female", "Male")}
    edges = zip(BMI_NAMES, BMI_EDGES[:-1], BMI_EDGES[1:], strict=True)
    return masks | {name: (bmi >= low) & (bmi < high) for name, low, high in edges}


def _error_rows(
    answers: Mapping[str, np.ndarray], measured: np.ndarray, held_out: np.ndarray, among: Mapping[str, Any]
) -> list[dict[str, Any]]:
    rows = []
    for method, answer in answers.items():
        for group, mask in among.items():
            error = (answer - measured)[held_out & mask]
            if len(error):
                metrics = {
                    "rmse": np.sqrt(np.mean(error**2)),
                    "mae": np.abs(error).mean(),
                    "bias": error.mean(),
                }
                rows += [_row(method, group, metric, float(value)) for metric, value in metrics.items()]
    return rows


def _mean_rows(
    truth: np.ndarray, answers: Mapping[str, np.ndarray], measured: np.ndarray, own: pd.Series
) -> list[dict[str, Any]]:
    """How far each estimate of the mean measurement of these people is off, and how wide its interval."""
    report = answers["self-report"]
    powered = {
        "validated rows alone": prediction_powered_mean(truth, report, lam=0.0),
        "PPI": prediction_powered_mean(truth, report, lam=1.0),
        "PPI++": prediction_powered_mean(truth, report),
    }
    means = {name: (estimate.mean, estimate.low, estimate.high) for name, estimate in powered.items()}
    means["proxycal, totals"] = (float(own["calibrated"]), float(own["low"]), float(own["high"]))
    target = float(measured.mean())
    rows = []
    for method, (mean, low, high) in means.items():
        rows += [
            _row(method, "all", "mean error", mean - target),
            _row(method, "all", "half width", (high - low) / 2),
            _row(method, "all", "covers", float(low <= target <= high)),
        ]
    known = np.isfinite(truth)
    for method, answer in answers.items():
        # The validated rows enter with their measurement: whoever has it uses it.
        mean = float(np.where(known, measured, answer).mean())
        rows.append(_row(method, "all", "mean error", mean - target))
    return rows


def _fit_rows(model: ProxyCalibrator) -> list[dict[str, Any]]:
    low, high = model.alpha_interval_
    numbers = {
        "alpha": model.alpha_, "se": model.alpha_se_, "low": low, "high": high, "share": model.share_biased_,
    }  # fmt: skip
    numbers |= {
        finding.topic: finding.value
        for finding in model.findings_
        if finding.value is not None and finding.topic
    }
    failed = [finding for finding in model.findings_ if not finding.ok] or model.result_.method_fit.findings[
        :1
    ]
    reasons = " ".join(f"{finding.reading} ({finding.statistic}.)" for finding in failed)
    return [
        *[_row("fit", "all", name, float(value)) for name, value in numbers.items()],
        _row("fit", "all", "verdict", None, model.verdict_),
        _row("fit", "all", "reasons", None, reasons),
    ]


def _graded_rows(graded: Graded) -> list[dict[str, Any]]:
    """What the gradual method says of the reports alone."""
    size = "" if graded.size == "-" else f"{graded.size} on average. "
    return [
        _row("gradual", "all", "verdict", None, graded.verdict),
        _row("gradual", "all", "reasons", None, size + graded.reading),
    ]


def _row(method: str, group: str, metric: str, value: float | None, text: str = "") -> dict[str, Any]:
    return {"method": method, "group": group, "metric": metric, "value": value, "text": text}


def long_form(done: Iterable[Done]) -> pd.DataFrame:
    """A row per cell, method, group and metric; a cell that failed is one row with its error."""
    rows: list[dict[str, Any]] = []
    for cell in done:
        values = cell.rows if cell.error is None else [_row("fit", "all", "error", None)]
        rows += [{"cell": cell.key, **cell.settings, **row, "error": cell.error or ""} for row in values]
    frame = pd.DataFrame(rows)
    frame["value"] = frame["value"].astype(float)
    return frame


def config(work: Sequence[Cell]) -> dict[str, Any]:
    """All that decides the figures: the cells, the code and the libraries it computes with."""
    listed = repr([(cell.key, dict(cell.settings)) for cell in work])
    return {
        "study": "nhanes",
        "cells": hashlib.sha256(listed.encode()).hexdigest()[:12],
        "code": code_digest(*_SOURCES),
        **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")},
    }


def perform(quick: bool, out: Path, how: How) -> str:
    """Run or resume the study in `out`; returns the page."""
    from proxycal.studies.nhanes_page import write

    folder, work = out / "run", cells(quick)
    if quick and not how.resume and (folder / "sweep.json").exists():
        # A quick run takes a minute: an earlier one is replaced without asking.
        shutil.rmtree(folder)
    out.mkdir(parents=True, exist_ok=True)
    asked = config(work)
    long = long_form(sweep(work, run_cell, folder, asked, how))
    code = str(asked["code"])
    if config(work) != asked:
        code += ", CHANGED DURING THE RUN: run it again from a copy that does not change"
    good = long[long["error"] == ""]
    if good.empty:
        raise StoreError(f"every cell of the study failed, the first with: {long['error'].iloc[0]}")
    for ending in ("parquet", "csv"):
        write_table(long, out / f"results.{ending}")
    return write(good, long[long["error"] != ""], out, quick, code)
