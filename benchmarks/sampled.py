"""Whether a sample that chooses the models changes the answer: tables in pieces, and the selection itself."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import pandas as pd

from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, number, reached
from proxycal.methods.exact import fit as exact_module
from proxycal.mixture.compare import fit_exact
from proxycal.model import ProxyCalibrator
from proxycal.scale import fit as fit_module
from proxycal.scale import sample as sample_module
from proxycal.testing.worlds import draw_world

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from proxycal.methods.exact.record import ExactFit
    from proxycal.studies.sweep import Cell

# All kinds of which a table can be fitted in pieces but one, of curves in the proxies, for its time.
WORLDS = (
    "gaussian",
    "poisson",
    "exponential",
    "t3",
    "two-humped",
    "heteroscedastic",
    "zero-inflated",
    "E in the mean",
    "E curved in the mean",
    "alpha by level",
)
ALPHAS = (0.0, 1.5, 2.0, 3.0, 5.0)
# Rows of a table, and of the sample that chooses its models in pieces.
SAMPLES = {2500: 900, 10_000: 3000}
QUICK = {800: 400}
NEAR, SHARE = 0.1, 0.99
FIRST_SEED = 8_600_000
# How each table is fitted, and what each way is compared with.
PATHS = ("whole", "pieces", "all rows")
COMPARED = {
    "pieces": "in pieces, models chosen by a sample; against the table in memory",
    "all rows": "models selected on all rows; against models selected on 1,500",
}
_NOTE = (
    "Every table is fitted three times: as a frame in memory (1,500 rows select its models, or 6,000 if "
    "those show no bias), in pieces with a sample of the size given, and in memory with all rows "
    "selecting. Two fits agree where their verdicts are the same and, where that is a bias found, alpha "
    "differs by less than 0.1 of its standard error; where no bias is claimed there is no alpha to agree "
    "on, and the last column counts those that agree all the same. Five sizes of the bias (0, 1.5, 2, 3 "
    "and 5 residual sd) in each of ten worlds. The seeds were not used while the rules were made."
)


def bench(quick: bool = False) -> Bench:
    """Every world, size of the bias and number of rows once."""
    sizes, alphas = (QUICK, (0.0, 3.0)) if quick else (SAMPLES, ALPHAS)
    cells: list[Cell] = []
    # In an order that shows something of every world while a run is unfinished.
    for alpha in alphas:
        for world in WORLDS:
            for n, sample in sizes.items():
                settings = {"world": world, "n": n, "sample": sample, "alpha": alpha}
                cells += blocks(settings, 1, FIRST_SEED + len(cells))
    return Bench("sampled", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables of one cell, a row each, every way of fitting side by side."""
    rows = []
    for seed in settings["seeds"]:
        row: dict[str, Any] = {"seed": seed}
        world = draw_world(settings["world"], settings["n"], settings["alpha"], seed)
        for path in PATHS:
            fitted = _fit(
                world.table(), ProxyCalibrator(world.roles, direction="over"), path, settings["sample"]
            )
            row |= {f"{path}: {name}": value for name, value in fitted.items()}
        rows.append(row)
    return rows


def _fit(table: pd.DataFrame, calibrator: ProxyCalibrator, path: str, sample: int) -> dict[str, Any]:
    """One fit: verdict, alpha, its standard error, BIC gain, the model, seconds of CPU."""
    start = time.process_time()
    with ExitStack() as patches:
        large = 0 if path == "pieces" else math.inf
        patches.enter_context(mock.patch.object(fit_module, "LARGE", large))
        patches.enter_context(mock.patch.object(sample_module, "SAMPLE_ROWS", sample))
        if path == "all rows":
            select = partial(fit_exact, compare_rows=len(table))
            patches.enter_context(mock.patch.object(exact_module, "fit_exact", select))
        model = calibrator.fit(table)
    evidence = cast("ExactFit", model.result_.method_fit).evidence
    return {
        "verdict": model.verdict_,
        "alpha": model.alpha_,
        "se": model.alpha_se_,
        "gain": evidence.gain,
        "model": f"{evidence.shape}; {evidence.features}; {evidence.effect}",
        "seconds": time.process_time() - start,
    }


def compared(trials: pd.DataFrame) -> pd.DataFrame:
    """A row per table and comparison: verdicts, distance of alpha in standard errors, whether they agree."""
    rows = []
    for row in trials.to_dict("records"):
        known = {name: row[name] for name in ("world", "n", "sample", "alpha", "seed", "error")}
        for path in COMPARED:
            if isinstance(row["error"], str):
                rows.append({**known, "path": path, "same_verdict": False, "agree": False, "near": False})
                continue
            rows.append({**known, "path": path, **_distance(row, path)})
    return pd.DataFrame(rows)


def _distance(row: Mapping[Hashable, Any], path: str) -> dict[str, Any]:
    verdicts = [row[f"{way}: verdict"] for way in ("whole", path)]
    distance = abs(row[f"{path}: alpha"] - row["whole: alpha"]) / max(row["whole: se"], 1e-300)
    same, near = verdicts[0] == verdicts[1], bool(distance < NEAR)
    return {
        "whole": verdicts[0],
        "other": verdicts[1],
        "distance": distance,
        "same_verdict": same,
        "near": near,
        "agree": same and (near or verdicts[0] != "bias found"),
        "whole_model": row["whole: model"],
        "other_model": row[f"{path}: model"],
        "whole_seconds": row["whole: seconds"],
        "other_seconds": row[f"{path}: seconds"],
    }


def page(trials: pd.DataFrame) -> Page:
    """How many agree, by number of rows and in all, and every table that does not."""
    made = compared(trials)
    rows = []
    for path, what in COMPARED.items():
        mine = made[made["path"] == path]
        groups = [(f"{n:,} ({_sampled(path, sample)})", part) for (n, sample), part in _by_size(mine)]
        rows += [_line(what, n, part, judged=False) for n, part in groups]
        rows.append(_line(what, "all", mine, judged=True))
    apart = [_apart(row) for row in made[~made["agree"]].to_dict("records")]
    nothing = "" if apart else "None."
    parts = (
        Part("Agreement", rows, _NOTE),
        Part("Tables that do not agree", apart or [{"table": "none"}], nothing),
    )
    return Page("A sample chooses, all rows decide", parts, made)


def _by_size(made: pd.DataFrame) -> Any:
    return made.groupby(["n", "sample"], sort=False)


def _sampled(path: str, sample: int) -> str:
    return f"sample of {sample:,}" if path == "pieces" else "all select"


def _line(what: str, n: str, part: pd.DataFrame, judged: bool) -> dict[str, str]:
    found = part[part["same_verdict"] & (part["whole"] == "bias found")]
    agree = int(part["agree"].sum())
    return {
        "fitted": what,
        "rows": n,
        "tables": str(len(part)),
        "same verdict": str(int(part["same_verdict"].sum())),
        "bias found by both": str(len(found)),
        f"of these alpha within {NEAR} se": str(int(found["near"].sum())),
        "median distance, se": number(float(found["distance"].median()), 4),
        "agree": f"{agree} of {len(part)}",
        "to reach": f">= {SHARE:.0%}" if judged else "",
        "reached": reached(agree >= SHARE * len(part)) if judged else "",
        "CPU s a fit (in memory)": f"{number(float(part['other_seconds'].mean()), 1)} "
        f"({number(float(part['whole_seconds'].mean()), 1)})",
        "alpha within 0.1 se whatever the verdict": str(int((part["same_verdict"] & part["near"]).sum())),
    }


def _apart(row: Mapping[Hashable, Any]) -> dict[str, str]:
    table = f"{row['world']}, {row['n']:,} rows, {row['alpha']:g} sd, seed {row['seed']}"
    if isinstance(row["error"], str):
        return {
            "table": table,
            "way": row["path"],
            "verdicts": row["error"],
            "distance, se": "-",
            "models": "-",
        }
    return {
        "table": table,
        "way": row["path"],
        "verdicts": f"{row['whole']} / {row['other']}",
        "distance, se": number(row["distance"]),
        "models": f"{row['whole_model']} / {row['other_model']}",
    }
