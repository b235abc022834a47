"""A bias that grades with the environment: what is left of it, coverage, false alarms, and worlds to refuse.

Two contents, three numeric environment columns and a category; content and proxies are linear. The bias is a
function of one column with a root mean square of about 2, which is also the sd of the true outcome. A step is
not among the shapes: a spline rounds it off, and intervals near the step do not hold.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, blocks
from benchmarks.gradual_limits import limits
from benchmarks.pages import Page, Part, number, percent, reached, records
from benchmarks.trials import each_seed
from proxycal.model import ProxyCalibrator
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proxycal.studies.sweep import Cell

LOADINGS = np.array([[1.0, 0.3, 0.8, 0.6, 0.9, -0.4], [0.2, 1.0, -0.5, 0.7, -0.3, 0.8]])
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda e: 2.0 * e,
    "sigmoid": lambda e: 4.0 / (1.0 + np.exp(-2.0 * e)),
    "positive part": lambda e: 3.0 * np.maximum(e, 0.0),
    "exponential": lambda e: np.exp(0.8 * e),
    "none": lambda e: 0.0 * e,
}
REACHED, USELESS, TOO_FEW = "E reaches a proxy by 0.3 sd", "useless proxies", "one proxy too few"
CLUSTERED = ", clusters of 10"
VALIDATED = 0.02
# What is to be reached: error left over error reported, pointwise coverage, false alarms, refusals.
MOST_LEFT, COVERAGE, FALSE_ALARMS, REFUSED = 0.15, (0.92, 0.98), 0.05, 0.90
# Seeds that no other benchmark, no test and no choice of a threshold uses.
FIRST_SEED = 9_100_000


def bench(quick: bool = False) -> Bench:
    """Every shape, none, clusters, and three worlds to refuse."""
    sizes, proxies, repetitions = ((500,), (4,), 2) if quick else ((500, 2000), (3, 4, 6), 50)
    cells: list[Cell] = []
    for n in sizes:
        worlds = [(world, k) for k in proxies for world in (*SHAPES, REACHED, USELESS)]
        worlds += [(TOO_FEW, 2), (f"none{CLUSTERED}", 4), (f"sigmoid{CLUSTERED}", 4)]
        for world, k in worlds:
            cells += blocks({"world": world, "n": n, "proxies": k}, repetitions, FIRST_SEED)
    return Bench("gradual", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds."""
    return each_seed(
        settings, lambda seed: trial(draw(settings["world"], settings["n"], settings["proxies"], seed))
    )


def draw(world: str, n: int, n_proxies: int, seed: int) -> tuple[pd.DataFrame, Roles]:
    """A table with "content", "bias" and "true" beside the columns of the roles; 2% of rows are validated.

    >>> table, roles = draw("sigmoid, clusters of 10", 100, 4, seed=1)
    >>> table.shape, roles.cluster, int(table["validated"].notna().sum())
    ((100, 14), 'unit', 2)
    """
    rng = np.random.default_rng(seed)
    e, group = rng.normal(size=(n, 3)), rng.integers(0, 4, size=n)
    unit, shared = np.arange(n), np.zeros(n)
    if world.endswith(CLUSTERED):
        # Rows of a cluster share their environment and an intercept.
        unit = rng.integers(0, n // 10, size=n)
        e, group, shared = e[unit], group[unit], rng.normal(size=n)[unit]
    level = np.array([0.0, 0.5, -0.4, 0.3])[group]
    means = [0.5 * e[:, 0] + 0.3 * e[:, 2] + level]
    means += [0.3 * e[:, 0] + 0.5 * e[:, 1] - 0.3 * e[:, 2] - 0.5 * level]
    z = np.column_stack(means) + 0.8 * rng.normal(size=(n, 2))
    noise = rng.normal(size=(n, n_proxies))
    proxies = noise if world == USELESS else z @ LOADINGS[:, :n_proxies] + 0.7 * noise
    if world == REACHED:
        proxies[:, -1] += 0.3 * proxies[:, -1].std() * e[:, 0]
    content = z @ [1.5, 1.0]
    true = content + 0.7 * rng.normal(size=n) + shared
    bias = SHAPES.get(world.removesuffix(CLUSTERED), SHAPES["sigmoid"])(e[:, 0])
    validated = np.full(n, np.nan)
    chosen = rng.choice(n, size=round(VALIDATED * n), replace=False)
    validated[chosen] = true[chosen]
    names = [f"p{k + 1}" for k in range(n_proxies)]
    table = pd.DataFrame(proxies, columns=names).assign(
        e1=e[:, 0], e2=e[:, 1], e3=e[:, 2], group=np.array(list("abcd"))[group], unit=unit,
        y=true + bias, validated=validated, true=true, bias=bias, content=content,
    )  # fmt: skip
    cluster = "unit" if world.endswith(CLUSTERED) else None
    return table, Roles("y", names, ["e1", "e2", "e3", "group"], cluster=cluster, truth="validated")


def trial(case: tuple[pd.DataFrame, Roles]) -> dict[str, Any]:
    """One fit: the verdict, the error that its answer would leave, and how many rows its intervals hold.

    Also where the verdict keeps the answer back, so that what is refused can be judged.
    """
    table, roles = case
    start = time.perf_counter()
    model = ProxyCalibrator(roles, direction="over", method="gradual").fit(table)
    seconds = time.perf_counter() - start
    own = model.result_.method_fit.predict(model.result_.training)
    bias, true = table["bias"].to_numpy(), table["true"].to_numpy()
    reported = float(np.sqrt(np.mean(bias**2)))
    left = float(np.sqrt(np.mean((own.y_cal - true) ** 2)))
    return {
        "verdict": model.verdict_,
        "left": left / reported if reported else np.nan,
        "held": float(np.mean((own.y_cal_low <= true) & (true <= own.y_cal_high))),
        "seconds": round(seconds, 3),
    }


def page(trials: pd.DataFrame) -> Page:
    """Three tables: a bias, none, and worlds to refuse."""
    by_world = summarise(trials)
    refuse = by_world["world"].isin([REACHED, USELESS, TOO_FEW])
    null = by_world["world"].str.startswith("none")
    parts = (
        Part("A bias that grades with E", [_bias_row(row) for row in records(by_world[~refuse & ~null])],
             "left: error of the calibrated outcome over that of the report, 2% of the rows validated, mean "
             "over fits, refused ones too. coverage: rows whose 95% interval holds the truth. A step is not "
             "among the shapes: a spline rounds it off, and intervals near the step do not hold. 500 rows in "
             "clusters of 10 are 50 independent reports: too few for curves, so a straight line is fitted."),
        Part("What the clusters allow", _limit_rows(trials),
             "Error left by somebody who is told what stands in the column, by least squares on the same "
             "tables; no fit is needed for it. Rows of a cluster share their environment and an intercept as "
             "large as 0.4 of the reported error, so that 50 clusters determine six columns of the "
             "environment no better than this, whoever looks: told even the true shape of the bias, but not "
             "that the other columns play no part in it, hardly less than the bound of 0.15 is left. The "
             "level from 2% of the rows adds little to that. What separates the fit from it is the straight "
             "line that it takes for want of clusters; with 200 it takes curves. The fit uses validated "
             "rows for the level of the bias only: their errors would tell of its slopes too, in these "
             "worlds more than in life, since reports here have no error but the bias."),
        Part("No bias", [_null_row(row) for row in records(by_world[null])]),
        Part("Worlds to refuse", [_refused_row(row) for row in records(by_world[refuse])]),
    )  # fmt: skip
    return Page("A bias that grades with the environment", parts, by_world)


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """A row per world: shares of the verdicts among all repetitions, means of the other figures."""
    rows = []
    for key, group in trials.groupby(["world", "n", "proxies"], sort=False):
        total = len(group)
        rows.append({
            **dict(zip(("world", "n", "proxies"), key, strict=True)),
            "repetitions": total,
            "errors": int(group["error"].notna().sum()),
            "found": (group["verdict"] == "bias found").sum() / total,
            "none": (group["verdict"] == "no bias found").sum() / total,
            "unidentified": (group["verdict"] == "not identified").sum() / total,
            "left": group["left"].mean(),
            "left_worst": group["left"].max(),
            "coverage": group["held"].mean(),
            "seconds": group["seconds"].median(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _limit_rows(trials: pd.DataFrame) -> list[dict[str, str]]:
    """A row for each clustered world with a bias and each thing that may be told, beside the fits."""
    clustered = trials[trials["world"].str.endswith(CLUSTERED) & ~trials["world"].str.startswith("none")]
    rows: list[dict[str, str]] = []
    for _, group in clustered.groupby(["world", "n", "proxies"], sort=False):
        world, n, k = str(group["world"].iloc[0]), int(group["n"].iloc[0]), int(group["proxies"].iloc[0])
        shape = SHAPES[world.removesuffix(CLUSTERED)]
        told = pd.DataFrame([limits(draw(world, n, k, int(seed))[0], shape) for seed in group["seed"]])
        told.insert(0, "the fit, told nothing", group["left"].to_numpy())
        rows += [
            {
                "world": world, "clusters": str(n // 10), "told": str(name), "repetitions": str(len(left)),
                "left": number(float(left.mean()), 3), "worst": number(float(left.max()), 3),
            }
            for name, left in told.items()
        ]  # fmt: skip
    return rows


def _head(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(row[name]) for name in ("world", "n", "proxies", "repetitions", "errors")}


def _bias_row(row: Mapping[str, Any]) -> dict[str, str]:
    low, high = COVERAGE
    ok = row["left"] <= MOST_LEFT and low <= row["coverage"] <= high and not row["errors"]
    return _head(row) | {
        "left": number(row["left"], 3),
        "worst": number(row["left_worst"], 3),
        "coverage": percent(row["coverage"]),
        "to reach": f"<= {MOST_LEFT}, {percent(low, 0)} to {percent(high, 0)}",
        "reached": reached(ok),
        "bias found": percent(row["found"]),
        "not identified": percent(row["unidentified"]),
        "seconds per fit": number(row["seconds"], 2),
    }


def _null_row(row: Mapping[str, Any]) -> dict[str, str]:
    return _head(row) | {
        "bias found": percent(row["found"]),
        "to reach": f"<= {percent(FALSE_ALARMS, 0)}",
        "reached": reached(row["found"] <= FALSE_ALARMS and not row["errors"]),
        "no bias found": percent(row["none"]),
        "not identified": percent(row["unidentified"]),
    }


def _refused_row(row: Mapping[str, Any]) -> dict[str, str]:
    return _head(row) | {
        "not identified": percent(row["unidentified"]),
        "to reach": f">= {percent(REFUSED, 0)}",
        "reached": reached(row["unidentified"] >= REFUSED and not row["errors"]),
        "bias found": percent(row["found"]),
    }
