"""Survey totals with a bias put in: samples drawn again from California's schools, whose totals are known.

The designs are those of the R package survey (a stratified sample, one of districts, one of schools in
districts), drawn anew from its population of 6,194 schools. api00 is reported too high by five residual
sds in schools with many poor children. Each total stands beside that of the true scores of the same sample:
what is lost to the design is lost to both.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, number, percent, reached, records, signed
from benchmarks.trials import each_seed
from proxycal.analysis.surveys import Survey
from proxycal.errors import ProxycalWarning, TableError
from proxycal.model import ProxyCalibrator
from proxycal.studies.sweep import Cell
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

POPULATION = "survey_apipop.csv.gz"
DESIGNS = {
    "apistrat": Survey(weights="pw", strata="stype", fpc="fpc"),
    "apiclus1": Survey(weights="pw", clusters="dnum", fpc="fpc"),
    "apiclus2": Survey(weights="pw", clusters=("dnum", "snum"), fpc=("fpc1", "fpc2")),
}
STRATA = {"E": 100, "M": 50, "H": 50}
DISTRICTS, BOTH, SCHOOLS = 15, 40, 5
# Five times the sd of api00 around what the columns below say of it.
SIZE, REDRAWS, BLOCK = 140.0, 500, 20
COVERAGE = (0.93, 0.97)
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 16_700_000
PROXIES, ENVIRONMENT = ["api99", "col.grad"], ["meals", "ell", "stype"]


def bench(quick: bool = False) -> Bench:
    """Every design."""
    redraws = 2 if quick else REDRAWS
    cells = [
        Cell(
            f"{design},block={start // BLOCK}",
            {
                "design": design,
                "seeds": [FIRST_SEED + seed for seed in range(start, min(start + BLOCK, redraws))],
            },
        )
        for design in DESIGNS
        for start in range(0, redraws, BLOCK)
    ]
    return Bench("surveys", tuple(cells), page, run_block)


@cache
def population() -> pd.DataFrame:
    """The schools; their file is GPL and not shipped: it is looked for in shared/data beside the clone."""
    for parent in Path(__file__).parents:
        place = parent / "shared" / "data" / POPULATION
        if place.exists():
            return pd.read_csv(place)
    raise TableError(
        f"{POPULATION} (the population of R's survey package) is not in shared/data beside the clone"
    )


def redraw(design: str, rng: np.random.Generator) -> pd.DataFrame:
    """A sample of a design, with its weights and population sizes."""
    schools = population()

    def some(rows: pd.DataFrame, n: int) -> pd.DataFrame:
        return rows.iloc[np.sort(rng.choice(len(rows), min(n, len(rows)), replace=False))]

    if design == "apistrat":
        parts = [
            some(rows, STRATA[str(kind)]).assign(fpc=len(rows), pw=len(rows) / STRATA[str(kind)])
            for kind, rows in schools.groupby("stype")
        ]
        return pd.concat(parts).reset_index(drop=True)
    names = schools["dnum"].unique()
    n = DISTRICTS if design == "apiclus1" else BOTH
    chosen = schools[schools["dnum"].isin(rng.choice(names, n, replace=False))]
    weight = len(names) / n
    if design == "apiclus1":
        return chosen.assign(fpc=len(names), pw=weight).reset_index(drop=True)
    parts = [
        some(rows, SCHOOLS).assign(fpc2=len(rows), pw=weight * len(rows) / min(SCHOOLS, len(rows)))
        for _, rows in chosen.groupby("dnum")
    ]
    return pd.concat(parts).assign(fpc1=len(names)).reset_index(drop=True)


def trial(design: str, seed: int) -> dict[str, Any]:
    """The total of a sample: calibrated, as reported, and of the truth."""
    rng = np.random.default_rng(seed)
    table = redraw(design, rng)
    biased = rng.random(len(table)) < expit((table["meals"] - 55.0) / 15.0)
    reported = table.assign(api00=table["api00"] + SIZE * biased)
    cluster = None if design == "apistrat" else "dnum"
    roles = Roles("api00", PROXIES, ENVIRONMENT, weights="pw", cluster=cluster)
    asked, row = (
        DESIGNS[design],
        {"design": design, "n": len(table), "true": float(population()["api00"].sum())},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model = ProxyCalibrator(roles, direction="over").fit(reported)
        made = {
            "calibrated": model.survey(reported, asked).total("api00"),
            "reported": asked.on(reported).total("api00"),
            "truth": asked.on(table).total("api00"),
        }
    for how, frame in made.items():
        only = frame.iloc[0]
        row |= {how: only.estimate, f"{how}_se": only.se, f"{how}_low": only.low, f"{how}_high": only.high}
    return row | {"found": model.verdict_, "fmi": made["calibrated"].iloc[0].fmi}


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row for each of its samples."""
    return each_seed(settings, lambda seed: trial(settings["design"], seed))


def page(trials: pd.DataFrame) -> Page:
    """A row for each design and each total."""
    good = trials[trials["error"].isna()]
    figures = pd.DataFrame(
        [
            {"design": design, "found only": only, "how": how, **_figures(rows, how)}
            for design, group in good.groupby("design", sort=False)
            for only, rows in ((False, group), (True, group[group["found"] == "bias found"]))
            for how in (("calibrated", "truth", "reported") if not only else ("calibrated", "truth"))
            if len(rows)
        ]
    )
    rows = records(figures)
    parts = (
        Part("Every sample", [_line(row) for row in rows if not row["found only"]], _NOTE),
        Part(
            "Samples in which the bias was found",
            [_line(row) for row in rows if row["found only"]],
            "Where it is not found the reports are added up, and a warning says so.",
        ),
    )
    return Page("Survey totals with a bias put in", parts, figures)


def _figures(rows: pd.DataFrame, how: str) -> dict[str, float]:
    true, hat, se = (rows[name].to_numpy(dtype=float) for name in ("true", how, f"{how}_se"))
    sd = float(hat.std(ddof=1)) if len(hat) > 1 else float("nan")
    return {
        "samples": len(rows),
        "schools": float(rows["n"].mean()),
        "found": float((rows["found"] == "bias found").mean()),
        "bias": float(hat.mean() / true.mean() - 1.0),
        "beside": float((rows[how] / rows["truth"] - 1.0).mean()),
        "ratio": float(np.sqrt(np.mean(se**2))) / sd,
        "coverage": float(((rows[f"{how}_low"] <= true) & (true <= rows[f"{how}_high"])).mean()),
    }


def _line(row: dict[str, Any]) -> dict[str, str]:
    ok = COVERAGE[0] <= row["coverage"] <= COVERAGE[1]
    return {
        "design": row["design"],
        "total of": {"calibrated": "calibrated scores", "truth": "true scores", "reported": "reports"}[
            row["how"]
        ],
        "samples": f"{row['samples']:.0f}",
        "schools": number(row["schools"], 0),
        "bias found": percent(row["found"]),
        "bias": signed(row["bias"]),
        "beside true scores": signed(row["beside"]),
        "se / sd": number(row["ratio"]),
        "coverage": percent(row["coverage"]),
        "reached": reached(ok) if row["how"] == "calibrated" else "",
    }


TOTALS = {"calibrated": "calibrated scores", "truth": "true scores", "reported": "reports"}
_NOTE = (
    f"To reach: the population total inside the 95% interval in {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%} of "
    "the samples. The interval of the true scores is what R's svytotal gives: few districts of very "
    "different size make it too short, whoever computes it. Beside true scores: the mean of the total over "
    "that of the true scores of the same sample, less one."
)
