"""Means and group means of NHANES in more draws of validated rows than the benchmark of validated rows has.

Two questions: whether prediction-powered inference holds its level whatever predicts (least squares out of
fold, which is cheap, so that there are many draws), and whether it does with the whole method, where the same
validated rows also choose and weight the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, percent, reached
from benchmarks.validated import NHANES, SHARES, means_held, nhanes
from proxycal.datasets.nhanes import OUTCOMES
from proxycal.methods.validated.fit import conclude
from proxycal.methods.validated.totals import design_of
from proxycal.result import Details
from proxycal.studies.sweep import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.effect.row_truth import RowTruth
    from proxycal.effect.totals import TotalSums
    from proxycal.methods.validated.totals import Design
    from proxycal.table.encode import Arrays

# Draws of a cell, by what predicts; the whole method where the other benchmark left a doubt.
DRAWS = {"regression": 1000, "method": 40}
METHOD_SHARE = 0.10
FOLDS = 5
BLOCK = {"regression": 100, "method": 2}
# Seeds that no other benchmark, no test and no tuning uses.
FIRST_SEED = 11_500_000


def bench(quick: bool = False) -> Bench:
    """Every outcome and share with least squares, and the whole method at one share."""
    cells: list[Cell] = []
    for predictor, draws in DRAWS.items():
        count = 2 if quick else draws
        for start in range(0, count, BLOCK[predictor]):
            seeds = [FIRST_SEED + seed for seed in range(start, min(start + BLOCK[predictor], count))]
            for outcome in tuple(OUTCOMES)[: 1 if quick else None]:
                settings = {"world": NHANES + outcome, "by": predictor, "seeds": seeds}
                cells.append(Cell(f"{outcome},by={predictor},block={start // BLOCK[predictor]}", settings))
    return Bench("validated-means", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row per seed and share of validated rows."""
    whole = settings["by"] == "method"
    outcome = str(settings["world"]).removeprefix(NHANES)
    arrays, truth, exact, options = nhanes(outcome)
    rows = []
    for seed in settings["seeds"]:
        for share in (METHOD_SHARE,) if whole else SHARES["nhanes"]:
            known = validate(arrays, truth, share, seed)
            fit: Any = (
                conclude(known, exact, options, known.n) if whole else least_squares(known, share, seed)
            )
            rows.append({"seed": seed, "error": None, "share": share, **means_held(fit, known, truth)})
    return rows


def validate(arrays: Arrays, truth: np.ndarray, share: float, seed: int) -> Arrays:
    """The rows with the truth of a random share of them."""
    shown = np.full(arrays.n, np.nan)
    chosen = np.random.default_rng(seed).choice(arrays.n, round(share * arrays.n), replace=False)
    shown[chosen] = truth[chosen]
    return replace(arrays, truth=shown)


@dataclass(frozen=True, slots=True)
class Powered:
    """Answers (n,), out of fold where a row was validated, with the design that corrects their totals."""

    value: np.ndarray
    design: Design
    verdict: ClassVar[str] = "bias found"
    details: ClassVar[Details] = Details(by_validation=True)

    def row_truth(self, arrays: Arrays) -> RowTruth:
        """What is added up of the rows."""
        assert arrays.truth is not None
        return self.design.row_truth(self.value, arrays.truth, None)

    def finish_totals(self, sums: TotalSums) -> tuple[np.ndarray, np.ndarray]:
        """Totals and their variances."""
        return self.design.finish(sums)

    @property
    def shared_cov(self) -> np.ndarray:
        """No parameter is shared."""
        return np.zeros((0, 0))


def least_squares(known: Arrays, share: float, seed: int) -> Powered:
    """Least squares of the truth on report, proxies and environment; each fold by the others."""
    assert known.y is not None
    assert known.truth is not None
    design = np.column_stack([np.ones(known.n), known.y, known.P, known.E])
    rows = np.flatnonzero(np.isfinite(known.truth))
    fold = np.random.default_rng([seed, 1]).permutation(len(rows)) % FOLDS
    value = design @ _coefficients(design, known.truth, rows)
    for k in range(FOLDS):
        value[rows[fold == k]] = design[rows[fold == k]] @ _coefficients(design, known.truth, rows[fold != k])
    probability = np.full(len(rows), share)
    own = design_of(known.truth[rows], value[rows], np.ones(len(rows)), probability, len(rows) / known.n)
    return Powered(value, own)


def _coefficients(design: np.ndarray, truth: np.ndarray, rows: np.ndarray) -> np.ndarray:
    beta: np.ndarray = np.linalg.lstsq(design[rows], truth[rows], rcond=None)[0]
    return beta


def page(trials: pd.DataFrame) -> Page:
    """Two tables: what predicts being least squares, and the whole method."""
    good = trials[trials["error"].isna()]
    figures = pd.DataFrame([
        {"by": by, "world": world, "share": share, **_figures(group)}
        for (by, share), part in good.groupby(["by", "share"])
        for world, group in [*part.groupby("world"), ("all outcomes", part)]
    ])  # fmt: skip
    texts = {
        "regression": (
            "Inference alone: least squares predicts",
            "Each draw chooses other people; answers are out of fold. +- is the Monte Carlo error of a "
            "share, with draws as clusters of their outcomes and groups.",
        ),
        "method": (
            "The whole method",
            "The same with method='validated', where the validated rows also choose among candidates.",
        ),
    }
    parts = [
        Part(title, [_shown(row) for row in figures.to_dict("records") if row["by"] == by], note)
        for by, (title, note) in texts.items()
    ]
    return Page("Means of NHANES with validated rows", tuple(parts), figures)


def _figures(group: pd.DataFrame) -> dict[str, float]:
    """Coverage of means and group means with their Monte Carlo errors; draws share their people."""
    by_draw = group.groupby("seed")
    mean_held = group["mean_held"].astype(float)
    groups, held = int(group["groups"].sum()), float(group["groups_held"].sum())
    share, of_groups = float(mean_held.mean()), held / max(groups, 1)
    left = by_draw["groups_held"].sum() - of_groups * by_draw["groups"].sum()
    off = (mean_held - share).groupby(group["seed"]).sum()
    return {
        "draws": len(by_draw),
        "means": len(group),
        "mean_held": share,
        "mean_error": float(np.sqrt((off**2).sum())) / len(group),
        "groups": groups,
        "groups_held": of_groups,
        "groups_error": float(np.sqrt((left**2).sum())) / max(groups, 1),
    }


def _shown(row: Mapping[Any, Any]) -> dict[str, str]:
    ok = 0.92 <= row["mean_held"] <= 0.98 and row["groups_held"] >= 0.90
    return {
        "world": str(row["world"]),
        "validated": percent(row["share"], 0),
        "draws": str(row["draws"]),
        "mean": f"{percent(row['mean_held'])} +- {percent(row['mean_error'])}",
        "groups": f"{percent(row['groups_held'])} +- {percent(row['groups_error'])} of {row['groups']}",
        "to reach": "92% to 98%, >= 90%",
        "reached": reached(ok),
    }
