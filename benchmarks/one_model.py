"""The coming engine beside the present one, world by world: the same tables, both answers, the truth.

The present engine is what `proxycal fit` answers with; the coming one is `proxycal.engine`, which does not
answer for numbers yet. It takes over once it is nowhere worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.bench import VERDICTS, Bench, blocks
from benchmarks.pages import Page, Part, number, percent, signed
from benchmarks.trials import each_seed
from benchmarks.worlds import WRONG
from benchmarks.worlds import trial as answer
from proxycal.methods.registry import Method, register
from proxycal.testing import wider_world, wider_worlds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from proxycal.testing import DrawnWorld, WiderWorld

# Part of the report's error from which on a calibrated value is a harm.
WORSE = 1.05
SEEDS, FIRST_SEED, TUNING_SEED = 2, 9_900_000, 1_000
_ROOM = "proxycal.methods.one_model"
COMING = Method(
    name="one-model",
    label="one model",
    summary="one model of a row, with and without a bias",
    home=f"{_ROOM}.fit:fit_one_model",
    record=f"{_ROOM}.record:OneModelFit",
    pieces=f"{_ROOM}.in_pieces:fit_pieces",
    pieces_in_memory=True,
    effects=("constant", "linear", "by:"),
    cost=(5.0, 0.2),
)
_DEFINITIONS = (
    "Each table is fitted by both, with all checks of a fit. found, wrong (by more than 25%), coverage of "
    "claims by 95% intervals, false, and worse (y_cal further from the truth than the report by over 5%), "
    "as on the page of wider worlds; seconds are of CPU."
)


def bench(quick: bool = False) -> Bench:
    """Every world on fresh seeds, by both engines."""
    worlds = [world for world in wider_worlds() if not quick or world.n <= 1000][:: 6 if quick else 1]
    seed = TUNING_SEED if quick else FIRST_SEED
    return Bench("one-model", tuple(_cells(worlds, 1 if quick else SEEDS, seed)), page, run_block)


def _cells(worlds: Iterable[WiderWorld], repetitions: int, first_seed: int) -> list[Any]:
    return [
        cell
        for world in worlds
        for cell in blocks({"world": world.name, "n": world.n}, repetitions, first_seed)
    ]


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds."""
    world, n = settings["world"], int(settings["n"])
    return each_seed(settings, lambda seed: trial(wider_world(world).draw(seed, n)))


def trial(drawn: DrawnWorld) -> dict[str, Any]:
    """Both answers to one table; those of the coming method have names of their own."""
    with register(COMING):
        new = answer(drawn, COMING.name)
    return answer(drawn) | {f"new_{name}": value for name, value in new.items()}


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with what each answer counts for."""
    frame = trials.copy()
    worlds = [wider_world(name) for name in frame["world"]]
    frame["family"] = [world.family for world in worlds]
    biased = np.array([world.has_bias for world in worlds])
    findable = np.array([world.findable for world in worlds])
    undecidable = np.array([world.undecidable for world in worlds])
    answers = {
        "present": (frame["verdict"] == VERDICTS[0], frame["alpha_hat"], frame["low"], frame["high"]),
        "coming": (
            frame["new_verdict"] == VERDICTS[0],
            frame["new_alpha_hat"],
            frame["new_low"],
            frame["new_high"],
        ),
    }
    for name, (claimed, size, begin, end) in answers.items():
        true = frame["alpha_true"].astype(float)
        off = (size.astype(float) / true.where(true > 0.0) - 1.0).abs() > WRONG
        held = (begin <= true) & (true <= end)
        frame[f"{name} found"] = claimed.astype(float).where(findable)
        frame[f"{name} false"] = claimed.astype(float).where(~biased & ~undecidable)
        frame[f"{name} wrong"] = off.astype(float).where(claimed & biased & ~undecidable)
        frame[f"{name} coverage"] = held.astype(float).where(claimed & biased & ~undecidable)
        own = "" if name == "present" else "new_"
        farther = frame[f"{own}rmse_cal"].astype(float) > WORSE * frame["rmse_obs"].astype(float)
        frame[f"{name} worse"] = farther.astype(float).where(claimed)
    return frame


FIGURES = ("found", "false", "wrong", "coverage", "worse")


def page(trials: pd.DataFrame) -> Page:
    """Both engines in all, by family, and in every world."""
    frame = judged(trials)
    errors = int(frame["error"].notna().sum())
    parts = (
        Part("Both engines", _totals(frame), f"{_DEFINITIONS} Trials that failed: {errors}."),
        Part("By family", [_row(str(name), part) for name, part in frame.groupby("family", sort=False)]),
        Part("Every world", [_world(str(name), part) for name, part in frame.groupby("world", sort=False)]),
    )
    return Page("The coming engine beside the present one", parts, frame)


def _totals(frame: pd.DataFrame) -> list[dict[str, str]]:
    rows = []
    for figure in FIGURES:
        values = {name: frame[f"{name} {figure}"] for name in ("present", "coming")}
        rows.append({
            "figure": figure,
            "of": str(int(values["present"].notna().sum())),
            **{name: percent(float(each.mean())) for name, each in values.items()},
        })  # fmt: skip
    old, new = (number(float(frame[name].median()), 2) for name in ("seconds", "new_seconds"))
    rows.append({"figure": "CPU, median", "of": str(len(frame)), "present": old, "coming": new})
    return rows


def _row(name: str, part: pd.DataFrame) -> dict[str, str]:
    return {"family": name, "fits": str(len(part))} | {
        f"{figure}, {engine}": percent(float(part[f"{engine} {figure}"].mean()), 0)
        for figure in FIGURES
        for engine in ("present", "coming")
    }


def _world(name: str, part: pd.DataFrame) -> dict[str, str]:
    true = part["alpha_true"].astype(float)
    claimed = {"present": part["verdict"] == VERDICTS[0], "coming": part["new_verdict"] == VERDICTS[0]}
    size = {"present": part["alpha_hat"].astype(float), "coming": part["new_alpha_hat"].astype(float)}
    row = {"world": name, "n": f"{wider_world(name).n:,}"}
    for engine in ("present", "coming"):
        claims = claimed[engine]
        off = (
            float((size[engine] / true.where(true > 0.0) - 1.0)[claims].median()) if claims.any() else np.nan
        )
        row[f"claims, {engine}"] = f"{int(claims.sum())} of {len(part)}"
        row[f"off by, {engine}"] = signed(off, 0)
    return row | {"comparison": str(part["new_law"].iloc[0])}
