"""How close alpha comes: the paper's synthetic cells beside its own figures, and worlds that are harder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, blocks, figures
from benchmarks.pages import Page, Part, number, percent, reached, signed
from benchmarks.trials import run_block
from proxycal.studies.pages import paper_table
from proxycal.testing.worlds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.studies.sweep import Cell

FIRST_SEED = 1_500_000
_SYNTHETIC = ("n", "d_z", "alpha", "noise")
# What a part of the benchmark is, for the full run and the quick one: sizes of bias, n, repetitions.
_FULL: dict[str, tuple[tuple[float, ...], int, int]] = {
    "JOBS": ((1.0, 5.0, 10.0), 614, 20),
    "zero-inflated": ((0.5, 1.0, 2.0, 5.0), 1000, 20),
    "nonlinear": ((2.0, 3.0, 5.0), 5000, 20),
    "alpha by level": ((1.0,), 2500, 100),
    "power": ((3.0,), 1000, 100),
}
_QUICK: dict[str, tuple[tuple[float, ...], int, int]] = {
    "JOBS": ((1.0, 10.0), 614, 2),
    "zero-inflated": ((0.5, 5.0), 500, 1),
    "nonlinear": ((3.0,), 1000, 1),
    "alpha by level": ((1.0,), 1000, 1),
    "power": ((3.0,), 500, 1),
}


def bench(quick: bool = False) -> Bench:
    """Six parts, each of its own kind of data."""
    cells = _synthetic_cells(quick)
    for part, (alphas, n, repetitions) in (_QUICK if quick else _FULL).items():
        for world in KINDS if part == "power" else (part,):
            for alpha in alphas:
                settings = {"part": part, "world": world, "n": n, "alpha": alpha}
                cells += blocks(settings, repetitions, FIRST_SEED)
    return Bench("accuracy", tuple(cells), page, run_block)


def _synthetic_cells(quick: bool) -> list[Cell]:
    sizes, dimensions, repetitions = ((500,), (1, 20), 2) if quick else (
        (500, 1000, 2500, 5000, 10000), (1, 2, 5, 10, 20), 10,
    )  # fmt: skip
    return [
        cell
        for n in sizes
        for d_z in dimensions
        for alpha in ((1.0, 10.0) if quick else (1.0, 5.0, 10.0))
        for noise in ("gaussian", "poisson")
        for cell in blocks(
            {"part": "synthetic", "world": "synthetic", "n": n, "d_z": d_z, "alpha": alpha, "noise": noise},
            repetitions,
            FIRST_SEED,
        )
    ]


def page(trials: pd.DataFrame) -> Page:
    """The targets first, then each part."""
    by_cell = figures(
        trials.reindex(columns=_columns(trials)), ("part", "world", "n", "d_z", "alpha", "noise")
    )
    published = _paper_errors()
    cells = zip(*[by_cell[name] for name in _SYNTHETIC], strict=True)
    by_cell["paper"] = [
        published.get(("JOBS", cell[2]) if part == "JOBS" else cell, np.nan)
        for part, cell in zip(by_cell["part"], cells, strict=True)
    ]
    levels = _by_level(trials)
    by_part = dict(iter(by_cell.groupby("part", sort=False)))
    targets = [
        *_for("synthetic", by_part, _synthetic_targets),
        *_for("JOBS", by_part, _jobs_targets),
        *_for("zero-inflated", by_part, lambda part: _within(part, 0.03, "zero-inflated outcome, 40% zeros")),
        *_for("nonlinear", by_part, lambda part: _within(part, 0.05, "nonlinear proxies and outcome")),
        *_for("alpha by level", by_part, lambda part: _level_targets(part, levels)),
        *_for("power", by_part, _power_targets),
    ]
    parts = (
        Part("What was to be reached", targets, _NOTE),
        Part(
            "Synthetic, by n and alpha (mean over d_z and noise)", _synthetic_rows(by_part.get("synthetic"))
        ),
        Part(
            "The other worlds",
            [_row(row) for row in by_cell[by_cell["part"] != "synthetic"].to_dict("records")],
        ),
        Part("alpha by level, each level", [_level_row(row) for row in levels.to_dict("records")]),
    )
    figures_of_all = pd.concat([by_cell, levels], ignore_index=True) if len(levels) else by_cell
    return Page("Accuracy of alpha", parts, figures_of_all)


_NOTE = (
    "Paper, ours, oracle: relative RMSE of alpha, unless the line says otherwise. The oracle is least "
    "squares of y on (1, P, E, A) with the true A; with an atom or curved content, a method that uses the "
    "shape can beat it. Every data set counts, whatever its verdict. Figures of every cell: accuracy.csv."
)


def _columns(trials: pd.DataFrame) -> list[str]:
    """The columns of the trials, with those that only the synthetic cells have."""
    return [*trials.columns, *[name for name in ("d_z", "noise") if name not in trials]]


def _for(
    name: str, by_part: dict[Any, pd.DataFrame], targets: Callable[[pd.DataFrame], list[dict[str, str]]]
) -> list[dict[str, str]]:
    return targets(by_part[name]) if name in by_part else []


def _paper_errors() -> dict[tuple[Any, ...], float]:
    """The paper's relative RMSE, from its mean and sd over folds; for JOBS that of its best d_z."""
    table = paper_table("table2_alpha")
    keys = zip(*[table[name] for name in _SYNTHETIC], strict=True)
    errors = dict(zip(keys, _error(table), strict=True))
    jobs = _paper_jobs()
    for alpha, error in zip(jobs["alpha"], _error(jobs), strict=True):
        errors["JOBS", alpha] = min(error, errors.get(("JOBS", alpha), np.inf))
    return errors


def _error(table: pd.DataFrame) -> list[float]:
    return [float(error) for error in np.hypot(table["mean"] - table["alpha"], table["sd"]) / table["alpha"]]


def _paper_jobs() -> pd.DataFrame:
    """The paper's own estimates on JOBS, a row per alpha and d_z."""
    table = paper_table("table3_semisynthetic")
    return table[table["method"].str.startswith("Ours") & (table["dataset"] == "JOBS")]


def _target(
    what: str,
    part: pd.DataFrame,
    to_reach: str,
    ok: bool | None,
    ours: str,
    paper: str = "-",
    oracle: str = "-",
) -> dict[str, str]:
    """A line of the targets: none is reached where a fit failed, and the ratio stands beside the oracle."""
    sizes = sorted(set(part["n"]))
    repetitions = str(part["repetitions"].max())
    ratio = float("nan") if oracle == "-" else float(part["ratio"].median())
    return {
        "what": what,
        "paper": paper,
        "to reach": to_reach,
        "ours": ours,
        "oracle": oracle,
        "ratio to oracle": number(ratio),
        "reached": "-" if ok is None else reached(ok and not part["errors"].any()),
        "n": f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}",
        "repetitions": f"{len(part)} x {repetitions}" if len(part) > 1 else repetitions,
    }


def _synthetic_targets(part: pd.DataFrame) -> list[dict[str, str]]:
    ours, worst, ratio = float(part["ours"].mean()), float(part["ours"].max()), float(part["ratio"].median())
    right, errors = float(part["accuracy"].mean()), int(part["errors"].sum())
    counted = part[["found", "none", "unidentified"]].mul(part["repetitions"], axis=0).sum()
    shares = f"{counted['found']:.0f} / {counted['none']:.0f} / {counted['unidentified']:.0f}"
    best, hardest = float(part["oracle"].mean()), float(part["oracle"].max())
    return [
        _target("synthetic: relative RMSE of alpha, mean over cells", part, "<= 0.008", ours <= 0.008,
                number(ours, 4), number(float(part["paper"].mean()), 2), number(best, 4)),
        _target("synthetic: the worst cell", part, "<= 0.04", worst <= 0.04,
                number(worst, 4), number(float(part["paper"].max()), 2), number(hardest, 4)),
        _target("synthetic: ratio to the oracle, median cell", part, "<= 1.15", ratio <= 1.15, number(ratio)),
        _target("synthetic: accuracy of p_biased > 0.5, mean over cells", part, ">= 98%", right >= 0.98,
                percent(right, 2)),
        _target("synthetic: found / no bias found / not identified", part, "-", None, shares),
        _target("synthetic: fits that failed", part, "0", errors == 0, str(errors)),
    ]  # fmt: skip


def _jobs_targets(part: pd.DataFrame) -> list[dict[str, str]]:
    rows = []
    for cell in part.to_dict("records"):
        alpha, group = float(cell["alpha"]), part[part["alpha"] == cell["alpha"]]
        rows.append(
            _target(
                f"JOBS, alpha {alpha:g}: bias and sd, relative",
                group,
                "within 2%, <= 3%",
                abs(cell["bias"]) <= 0.02 and cell["sd"] <= 0.03,
                f"{signed(cell['bias'], 2)}, {percent(cell['sd'], 2)}",
                _jobs_paper(alpha),
                percent(cell["oracle"], 2),
            )
        )
    return rows


def _jobs_paper(alpha: float) -> str:
    """The paper's relative bias on JOBS, over its choices of d_z."""
    table = _paper_jobs()
    bias = table.loc[table["alpha"] == alpha, "mean"] / alpha - 1.0
    return f"{signed(bias.min(), 0)} to {signed(bias.max(), 0)}"


def _within(part: pd.DataFrame, limit: float, what: str) -> list[dict[str, str]]:
    return [
        _target(
            f"{what}, alpha {alpha:g} sd",
            group,
            f"within {percent(limit, 0)}",
            float(group["ours"].iloc[0]) <= limit,
            percent(group["ours"].iloc[0], 2),
            oracle=percent(group["oracle"].iloc[0], 2),
        )
        for (alpha,), group in part.groupby(["alpha"])
    ]


def _level_targets(part: pd.DataFrame, levels: pd.DataFrame) -> list[dict[str, str]]:
    what, found = "alpha by a 4-level category", float(part["found"].iloc[0])
    target = _target(f"{what}: found", part, ">= 95%", found >= 0.95, percent(found))
    if levels.empty:
        return [target]
    large = levels[levels["alpha"] >= 2.0]
    worst, low, high = (
        float(share) for share in (large["ours"].max(), levels["coverage"].min(), levels["coverage"].max())
    )
    return [
        target,
        _target(f"{what}: worst level of 2 sd and more", large, "within 10%", worst <= 0.10,
                percent(worst, 2), oracle=percent(float(large["oracle"].max()), 2)),
        _target(f"{what}: coverage, lowest and highest level", levels, "92% to 98%",
                low >= 0.92 and high <= 0.98, f"{percent(low)}, {percent(high)}"),
    ]  # fmt: skip


def _power_targets(part: pd.DataFrame) -> list[dict[str, str]]:
    return [
        _target(f"found at 3 sd: {world}", group, ">= 95%", float(group["found"].iloc[0]) >= 0.95,
                percent(group["found"].iloc[0]))
        for (world,), group in part.groupby(["world"], sort=False)
    ]  # fmt: skip


def _by_level(trials: pd.DataFrame) -> pd.DataFrame:
    """Figures of each level where the bias differs by level; `alpha` is in residual sd."""
    if "levels" not in trials:
        return pd.DataFrame()
    whole = trials[(trials["part"] == "alpha by level") & trials["error"].isna()]
    rows = [
        {**trial, **level, "alpha": (1.0, 7.0 / 3.0, 11.0 / 3.0, 5.0)["abcd".index(level["level"])]}
        for trial in whole.drop(columns="levels").to_dict("records")
        for level in whole.loc[whole["seed"] == trial["seed"], "levels"].iloc[0]
    ]
    if not rows:
        return pd.DataFrame()
    return figures(pd.DataFrame(rows), ("part", "world", "n", "alpha", "level")).assign(part="each level")


def _synthetic_rows(part: pd.DataFrame | None) -> list[dict[str, str]]:
    if part is None:
        return []
    rows = []
    for (n, alpha), group in part.groupby(["n", "alpha"]):
        rows.append({
            "n": f"{n:,}",
            "alpha": f"{alpha:g}",
            "cells x repetitions": f"{len(group)} x {group['repetitions'].max()}",
            "paper": number(float(group["paper"].mean()), 3),
            "ours": number(float(group["ours"].mean()), 4),
            "oracle": number(float(group["oracle"].mean()), 4),
            "ratio, median cell": number(float(group["ratio"].median())),
            "worst cell": number(float(group["ours"].max()), 4),
            "accuracy": percent(float(group["accuracy"].mean())),
            "bias found": percent(float(group["found"].mean())),
            "errors": str(int(group["errors"].sum())),
            "seconds per fit": number(float(group["seconds"].median()), 1),
        })  # fmt: skip
    return rows


def _row(row: dict[Any, Any]) -> dict[str, str]:
    return {
        "part": row["part"],
        "world": row["world"],
        "n": f"{row['n']:,}",
        "alpha, sd": f"{row['alpha']:g}",
        "repetitions": str(row["repetitions"]),
        "ours": percent(row["ours"], 2),
        "bias": signed(row["bias"], 2),
        "sd": percent(row["sd"], 2),
        "oracle": percent(row["oracle"], 2),
        "ratio to oracle": number(row["ratio"]),
        "coverage": percent(row["coverage"], 0),
        "bias found": percent(row["found"]),
        "not identified": percent(row["unidentified"]),
        "accuracy": percent(row["accuracy"]),
        "errors": str(row["errors"]),
        "seconds per fit": number(row["seconds"], 1),
    }


def _level_row(row: dict[Any, Any]) -> dict[str, str]:
    return {
        "level": row["level"],
        "alpha, residual sd": number(row["alpha"]),
        "n": f"{row['n']:,}",
        "repetitions": str(row["repetitions"]),
        "ours": percent(row["ours"], 2),
        "bias": signed(row["bias"], 2),
        "oracle": percent(row["oracle"], 2),
        "ratio to oracle": number(row["ratio"]),
        "coverage": percent(row["coverage"]),
        "width / ideal": number(row["width"]),
    }
