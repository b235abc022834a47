"""Regressions after the calibration: slopes on completed tables, pooled, against the slopes of the truth.

Proxies, environment, truth and a column outside the fit are jointly normal, so that the slopes of the truth
are known in closed form; logit and Poisson outcomes have the truth on the right. In one world a treatment
moves the truth and who is biased, and stands in the environment or is left out of the fit. In another the
error is continuous, nobody is unbiased, and a tenth of the rows is validated.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, number, percent, reached, signed
from proxycal.analysis.models import Design, fit_model
from proxycal.errors import ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.studies.sweep import Cell
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.analysis.models import Family

N, M, BLOCK, REPETITIONS = 1000, 20, 10, 500
# Residual sd of the truth given the proxies is a third: biases of three and of six of them.
SIZES = {"close": 1.0, "apart": 2.0, "treatment": 1.0, "validated": 0.0}
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 13_100_000
CONTENT, PROXIES, NOISE = (0.6, -0.3, 0.0), (1.0, 0.8, 1.2), 0.6
OUTSIDE, EFFECT = (0.6, 0.3, 0.6), 0.5
BIAS, SPREAD, COVERAGE = 0.02, 0.10, (0.93, 0.97)
HOWS = ("pooled", "y_cal", "truth")


@dataclass(frozen=True, slots=True)
class Model:
    """A regression: left ~ right, and the term whose slope is asked. kind : what it is to the fit."""

    left: str
    right: tuple[str, ...]
    term: str
    kind: str
    family: Family = "ols"


MODELS = (
    Model("y", ("e1", "e2", "e3"), "e1", "environment"),
    Model("y", ("e1", "e2", "e3"), "e2", "environment"),
    Model("y", ("p1", "e1", "e3"), "p1", "proxy"),
    Model("y", ("w", "e1", "e3"), "w", "outside"),
    Model("sick", ("y", "e1"), "y", "on the right", "logit"),
    Model("visits", ("y", "e1"), "y", "on the right", "poisson"),
)
TREATED = (Model("y", ("t",), "t", "treatment in the fit"), Model("y", ("t",), "t", "treatment left out"))


def bench(quick: bool = False) -> Bench:
    """Every world; the validated method takes longer and has fewer tables."""
    cells = []
    for world in SIZES:
        tables = 2 if quick else (200 if world == "validated" else REPETITIONS)
        for start in range(0, tables, BLOCK):
            seeds = [FIRST_SEED + seed for seed in range(start, min(start + BLOCK, tables))]
            cells.append(Cell(f"{world},block={start // BLOCK}", {"world": world, "seeds": seeds}))
    return Bench("after", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: rows for each of its tables."""
    rows: list[dict[str, Any]] = []
    for seed in settings["seeds"]:
        try:
            rows += [{"seed": seed, "error": None, **row} for row in trial(settings["world"], seed)]
        except Exception as error:  # one bad table is a result of the benchmark, not its end
            rows.append({"seed": seed, "error": f"{type(error).__name__}: {error}"})
    return rows


def draw(world: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table and its truth (n,)."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(N, 3))
    t = (rng.random(N) < 0.5).astype(float)
    treated = world == "treatment"
    truth = 1.0 + e @ CONTENT + rng.normal(size=N) + 0.5 * rng.normal(size=N) + EFFECT * t * treated
    proxies = truth[:, None] * PROXIES + NOISE * rng.normal(size=(N, 3))
    slope, direct, sd = OUTSIDE
    w = slope * truth + direct * e[:, 0] + sd * rng.normal(size=N)
    biased = rng.random(N) < expit(-0.3 + 1.2 * e[:, 0] + 0.8 * e[:, 2] + 1.5 * (t - 0.5) * treated)
    error = SIZES[world] * biased
    if world == "validated":
        error = (0.5 + 0.8 * biased) * np.abs(rng.normal(size=N))
    columns = np.column_stack([truth + error, proxies, e, w, t])
    table = pd.DataFrame(columns, columns=["y", "p1", "p2", "p3", "e1", "e2", "e3", "w", "t"])
    table["sick"] = (rng.random(N) < expit(truth - 1.0)).astype(float)
    table["visits"] = rng.poisson(np.exp(0.3 * truth)).astype(float)
    table["known"] = np.where(rng.random(N) < 0.1, truth, np.nan)
    return table, truth


def slope_of(model: Model) -> float:
    """The slope of the truth, in closed form."""
    if model.family != "ols":
        return 1.0 if model.family == "logit" else 0.3
    if model.right == ("t",):
        return EFFECT
    # Everything is a sum of independent standard normals: e (3), content, the truth's own, p1's, w's.
    parts = {f"e{j + 1}": np.eye(7)[j] for j in range(3)}
    parts["y"] = np.array([*CONTENT, 1.0, 0.5, 0.0, 0.0])
    parts["p1"] = PROXIES[0] * parts["y"] + NOISE * np.eye(7)[5]
    parts["w"] = OUTSIDE[0] * parts["y"] + OUTSIDE[1] * parts["e1"] + OUTSIDE[2] * np.eye(7)[6]
    x = np.array([parts[name] for name in model.right])
    return float(np.linalg.solve(x @ x.T, x @ parts["y"])[model.right.index(model.term)])


def trial(world: str, seed: int) -> list[dict[str, Any]]:
    """A row for each regression of one table."""
    table, truth = draw(world, seed)
    rows = []
    models = TREATED if world == "treatment" else MODELS
    fits: dict[bool, ProxyCalibrator] = {}
    for model in models:
        inside = model.kind == "treatment in the fit"
        if inside not in fits:
            fits[inside] = _fit(world, table, inside)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProxycalWarning)
            rows.append(_row(fits[inside], model, table, truth))
    return rows


def _fit(world: str, table: pd.DataFrame, treatment: bool) -> ProxyCalibrator:
    known = "known" if world == "validated" else None
    roles = Roles("y", ["p1", "p2", "p3"], ["e1", "e2", "e3", *(["t"] if treatment else [])], truth=known)
    return ProxyCalibrator(roles, direction="over").fit(table)


def _row(fit: ProxyCalibrator, model: Model, table: pd.DataFrame, truth: np.ndarray) -> dict[str, Any]:
    formula = f"{model.left} ~ {' + '.join(model.right)}"
    pooled = fit.regress(formula, table, m=M, family=model.family).loc[model.term]
    row: dict[str, Any] = {"model": formula, "term": model.term, "kind": model.kind, "found": fit.verdict_}
    row |= {"true": slope_of(model), "pooled": pooled.estimate, "pooled_se": pooled.se, "fmi": pooled.fmi}
    row |= {"pooled_low": pooled.low, "pooled_high": pooled.high}
    for how, values in (("truth", truth), ("y_cal", fit.calibrate(table)["y_cal"].to_numpy())):
        whole = table.assign(y=values)
        x = np.column_stack([np.ones(N), whole[list(model.right)]])
        done = fit_model(model.family, whole[model.left].to_numpy(), Design(x, np.ones(N), "hetero"))
        at = 1 + model.right.index(model.term)
        estimate, se = float(done.estimate[at]), float(np.sqrt(done.cov[at, at]))
        row |= {how: estimate, f"{how}_se": se}
        row |= {f"{how}_low": estimate - 1.96 * se, f"{how}_high": estimate + 1.96 * se}
    return row


def page(trials: pd.DataFrame) -> Page:
    """A part for each world."""
    good = trials[trials["error"].isna()]
    figures = pd.DataFrame([
        {"world": world, "model": model, "kind": kind, "term": term, "how": how, **_figures(group, how)}
        for (world, model, kind, term), group in good.groupby(["world", "model", "kind", "term"], sort=False)
        for how in HOWS
    ])  # fmt: skip
    parts = tuple(
        Part(title, [_line({**row}) for row in figures.to_dict("records") if row["world"] == world], note)
        for world, (title, note) in TEXTS.items()
    )
    return Page("Regressions after the calibration", parts, figures)


def _figures(group: pd.DataFrame, how: str) -> dict[str, float]:
    true, hat, se = (group[name].to_numpy(dtype=float) for name in ("true", how, f"{how}_se"))
    inside = (group[f"{how}_low"] <= true) & (true <= group[f"{how}_high"])
    sd = float(hat.std(ddof=1)) if len(hat) > 1 else float("nan")
    return {
        "tables": len(group),
        "true": float(true.mean()),
        "bias": float(hat.mean() / true.mean() - 1.0),
        "sd": sd,
        "se": float(np.sqrt(np.mean(se**2))),
        "coverage": float(inside.mean()),
        "fmi": float(group["fmi"].mean()),
        "found": float((group["found"] == "bias found").mean()),
    }


def _line(row: Mapping[Any, Any]) -> dict[str, str]:
    wide = row["se"] / row["sd"]
    ok = (
        abs(row["bias"]) < BIAS and abs(wide - 1.0) < SPREAD and COVERAGE[0] <= row["coverage"] <= COVERAGE[1]
    )
    asked = row["how"] == "pooled" and row["kind"] != "treatment left out"
    return {
        "regression": row["model"],
        "slope of": f"{row['term']} ({row['kind']})",
        "by": {"pooled": "regress()", "y_cal": "plain, on y_cal", "truth": "plain, on the truth"}[row["how"]],
        "tables": str(row["tables"]),
        "true": number(row["true"], 3),
        "bias": signed(row["bias"]),
        "se / sd": number(wide),
        "coverage": percent(row["coverage"]),
        "reached": reached(ok) if asked else "",
    }


_ASKED = (
    f"To reach: bias within {BIAS:.0%}, root mean square of the standard errors within {SPREAD:.0%} of the "
    f"sd of the estimates, the slope in its 95% interval in {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%} of tables."
)
TEXTS = {
    "close": ("A bias of three residual sds: many rows in doubt", _ASKED),
    "apart": ("A bias of six residual sds: nearly no row in doubt", _ASKED),
    "treatment": (
        "A treatment that moves the truth and who is biased",
        "In the fit the treatment is an environment column; left out, who is biased has not heard of it.",
    ),
    "validated": (
        "A continuous error, a tenth of the rows validated",
        f"method='validated'; plain intervals on y_cal know nothing of the calibration. {_ASKED}",
    ),
}
