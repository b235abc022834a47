"""NHANES after the calibration: regressions of weight, and fits that are asked of other people.

Regressions: a tenth of the weights is shown to the fit, another tenth in each draw, and every coefficient of
the calibrated weight stands beside that of the measured weight of the same people. Elsewhere: three tenths of
one group are weighed, and the other group's reports are calibrated, plainly and with transport=True.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, number, percent, reached
from benchmarks.trials import each_seed
from proxycal.datasets import load_nhanes
from proxycal.errors import AnswerError, ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.studies.sweep import Cell
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.datasets.dataset import Dataset

FORMULA = "weight_selfreport_kg ~ age + C(sex) + C(race)"
TRUTH = "weight_kg"
RACES = ("Non-Hispanic White", "Non-Hispanic Black", "Non-Hispanic Asian", "Mexican American")
# Column, the group that is fitted, the group that is asked; random halves are the same people.
MOVES = (
    ("half", "one", "other"),
    ("sex", "Female", "Male"),
    ("sex", "Male", "Female"),
    *(("race", RACES[0], race) for race in RACES[1:]),
    *(("race", race, RACES[0]) for race in RACES[1:]),
)
DRAWS, MOVED, SHARE, SHARE_ELSEWHERE = 20, 3, 0.1, 0.3
# To be reached: a coefficient off by so many of its errors at the most, an interval so many times as long,
# and rows whose interval holds their weight, or a warning.
OFF, LONGER, COVERAGE = 1.5, 2.0, 0.93


def bench(quick: bool = False) -> Bench:
    """Draws of the people who are weighed."""
    cells = [
        Cell(f"regression,block={seed}", {"asked": "regression", "move": "", "seeds": [seed]})
        for seed in range(2 if quick else DRAWS)
    ]
    cells += [
        Cell(
            f"{'-'.join(move)},block={seed}".replace(" ", "-"),
            {"asked": "elsewhere", "move": move, "seeds": [seed]},
        )
        for move in (MOVES[:2] if quick else MOVES)
        for seed in range(1 if quick else MOVED)
    ]
    return Bench("elsewhere", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell."""
    if settings["asked"] == "regression":
        return each_seed(settings, regression)
    return each_seed(settings, lambda seed: elsewhere(tuple(settings["move"]), seed))


def regression(seed: int) -> dict[str, Any]:
    """How far coefficients lie from those of measured weights, in their errors, which may be longer."""
    data = load_nhanes("weight", validated=SHARE, random_state=seed)
    measured = data.table.assign(validated=data.table[TRUTH])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model = ProxyCalibrator(data.roles, direction="under").fit(data.table)
        made, known = (model.regress(FORMULA, table, random_state=seed) for table in (data.table, measured))
    off, longer = (made.estimate - known.estimate) / made.se, made.se / known.se
    row = {f"off|{term}": off[term] for term in off.index}
    return row | {f"longer|{term}": longer[term] for term in longer.index}


def elsewhere(move: tuple[str, ...], seed: int) -> dict[str, Any]:
    """A fit of one group, asked of another."""
    data = load_nhanes("weight", validated=SHARE_ELSEWHERE, random_state=seed)
    own, other, roles = groups(data, move, seed)
    others = other.drop(columns="validated")
    row: dict[str, Any] = {"move": " -> ".join(move[1:]), "fitted": len(own), "asked_rows": len(other)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model = ProxyCalibrator(roles, direction="under").fit(own)
        row |= _of("plain", model.calibrate(others), other[TRUTH])
        try:
            made = model.calibrate(others, transport=True)
        except AnswerError as error:
            return row | {"refused": str(error)}
    said = made.attrs["transport"]
    warned = any("another" in note or "assumption" in note for note in said["notes"])
    return row | _of("wide", made, other[TRUTH]) | {
        "refused": "", "warned": warned, "alike": said["rows_alike"], "outside": said["outside"],
        "shift": said["shift"],
    }  # fmt: skip


def groups(data: Dataset, move: tuple[str, ...], seed: int) -> tuple[pd.DataFrame, pd.DataFrame, Roles]:
    """The fitted people, the others, and the roles."""
    column, one, two = move
    table, environment = data.table, list(data.roles.environment)
    if column == "half":
        inside = np.random.default_rng(seed).random(len(table)) < 0.5
        own, other = table[inside], table[~inside]
    else:
        own, other = table[table[column] == one], table[table[column] == two]
    roles = Roles(data.roles.outcome, list(data.roles.proxies), environment, truth="validated")
    return own, other, roles


def _of(name: str, made: pd.DataFrame, truth: pd.Series) -> dict[str, float]:
    held = (made["y_cal_low"] <= truth) & (truth <= made["y_cal_high"])
    asked = made["y_cal"].notna()
    return {
        f"{name}_coverage": float(held[asked].mean()),
        f"{name}_width": float((made["y_cal_high"] - made["y_cal_low"])[asked].mean()),
        f"{name}_off": float((made["y_cal"] - truth)[asked].mean()),
    }


def page(trials: pd.DataFrame) -> Page:
    """Coefficients, then groups."""
    good = trials[trials["error"].isna()]
    parts: list[Part] = []
    figures: list[dict[str, Any]] = []
    asked = good[good["asked"] == "regression"]
    if len(asked):
        terms = [name.removeprefix("off|") for name in asked.columns if name.startswith("off|")]
        figures += [
            {
                "kind": "regression", "of": term, "draws": len(asked),
                "off": float(asked[f"off|{term}"].abs().max()),
                "mean_off": float(asked[f"off|{term}"].mean()),
                "longer": float(asked[f"longer|{term}"].mean()),
            }
            for term in terms
        ]  # fmt: skip
        title = "Regressions of weight on age, sex and race"
        parts.append(Part(title, [_coefficient(row) for row in figures], _NOTE))
    moves = good[good["asked"] == "elsewhere"]
    if len(moves):
        rows: list[dict[str, Any]] = [
            {
                **{str(name): value for name, value in group.select_dtypes("number").mean().items()},
                "kind": "elsewhere", "of": move, "draws": len(group),
                "warned": float(group["warned"].astype(float).mean()),
                "refusals": int((group["refused"] != "").sum()),
            }
            for move, group in moves.groupby("move", sort=False)
        ]  # fmt: skip
        figures += rows
        parts.append(Part("Fits asked of other people", [_move(row) for row in rows], _ELSEWHERE))
    return Page("NHANES after the calibration", tuple(parts), pd.DataFrame(figures))


def _coefficient(row: dict[str, Any]) -> dict[str, str]:
    return {
        "coefficient": row["of"],
        "draws": str(row["draws"]),
        "off, mean": f"{row['mean_off']:+.2f} se",
        "off, at the most": f"{number(row['off'])} se",
        "error, in those of measured weights": number(row["longer"]),
        "reached": reached(row["off"] <= OFF and row["longer"] <= LONGER),
    }


def _move(row: dict[str, Any]) -> dict[str, str]:
    refused = row["refusals"] == row["draws"]
    ok = bool(refused or row["wide_coverage"] >= COVERAGE or row["warned"] == 1.0)
    return {
        "fitted -> asked": row["of"],
        "draws": str(row["draws"]),
        "fitted rows": number(row["fitted"], 0),
        "alike": number(row["alike"], 0),
        "held, plain": percent(row["plain_coverage"]),
        "kg wide": number(row["plain_width"], 1),
        "held, transport": "refused" if refused else percent(row["wide_coverage"]),
        "kg wide, transport": number(row["wide_width"], 1),
        "shift, kg": "-" if refused else f"{row['shift']:+.1f}",
        "warned": percent(row["warned"], 0),
        "reached": reached(ok),
    }


_NOTE = (
    f"A tenth of the weights is shown to the fit. To reach: within {OFF} of its standard errors in every "
    f"draw, and intervals not longer than {LONGER:.0f} times those of measured weights."
)
_ELSEWHERE = (
    "Three tenths of the fitted people are weighed; the others' weights are for comparison only. To reach: "
    f"at least {COVERAGE:.0%} of the intervals with transport=True hold the weight, or a warning says what "
    "is assumed or moved."
)
