"""`proxycal experiment ablation`: the paper's method with one open choice changed at a time.

    choice = settings of the method + scales of the simulated noise
    cell   = choice x data set (n, d_z, alpha, noise), the first folds of ten

Every choice is put beside the published cells of table 2: how far its relative bias, its relative RMSE and
its sd over folds are from theirs. Cells are kept as they are done (see sweep.py); a folder may be filled in
several runs, of some sizes or some choices each, and its page says which part of the grid it holds.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.errors import SettingsError
from proxycal.extras import require_torch
from proxycal.files import write_table, write_text
from proxycal.methods.paper.settings import PaperSettings
from proxycal.settings import Settings
from proxycal.studies.pages import code_digest, machine, markdown_table, paper_table
from proxycal.studies.protocol import judge, make_folds, paper_answers, truth_of
from proxycal.studies.studies import LIBRARIES, NOISES, PUBLISHED_NOISE
from proxycal.studies.sweep import Cell, finished, sweep
from proxycal.testing.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proxycal.studies.sweep import Done, How

SIZES, LATENTS, ALPHAS = (500, 2500, 10000), (5, 1, 20), (1, 5, 10)
N_FOLDS, FOLDS, QUICK_FOLDS = 10, 5, 2
KEYS = ["choice", "n", "d_z", "alpha", "noise"]
# Kept of every fold: the estimate, who is told right, and the three metrics of the paper's appendix.
METRICS = ("alpha", "accuracy", "a_mae", "z_mae", "rmse_proxies")


@dataclass(frozen=True, slots=True)
class Choice:
    """What one choice changes: settings of the method, scales of the data, and a line for the reader.

    draw : added to the seed of the data sets, 0 for those of the synthetic study. held_out : whether alpha
    comes from held-out rows matched among themselves, not from the fitted ones.
    """

    says: str
    paper: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    draw: int = 0
    held_out: bool = False


def _stated(settings: PaperSettings, **changes: Any) -> dict[str, Any]:
    """Every setting by name, with changes; d_z is the data set's."""
    return {**asdict(settings), **changes}


def _literal(**changes: Any) -> dict[str, Any]:
    return _stated(PaperSettings.literal(), **changes)


_CONTENT_ONLY = {"prior": "standard", "encode_environment": False}


def _appendix() -> dict[str, Any]:
    return _literal(**_CONTENT_ONLY, scale_outcome=False, beta=0.01, score_beta=0.001)


def _as_published(says: str, draw: int = 0, held_out: bool = True, **changes: Any) -> Choice:
    """What `--as-published` does, with changes."""
    return Choice(says, _stated(PaperSettings.published(), **changes), PUBLISHED_NOISE, draw, held_out)


CHOICES: dict[str, Choice] = {
    "literal": Choice("`PaperSettings.literal()`, the text to the letter, on our data", _literal()),
    "quiet": Choice("literal, noise of sd 0.2 in the proxies", _literal(), PUBLISHED_NOISE),
    "held-out": Choice("literal, alpha from held-out rows alone", _literal(), held_out=True),
    "median": Choice("literal, groups cut at the median", _literal(cut="median")),
    "fixed": Choice("literal, observation variance fixed at 1", _literal(variance="fixed")),
    "by-row": Choice("literal, observation variance stated by the decoder", _literal(variance="by row")),
    "raw": Choice("literal, outcome not standardised", _literal(scale_outcome=False)),
    "standard-prior": Choice("literal, N(0, I) priors", _literal(prior="standard")),
    "content-only": Choice("literal, N(0, I) priors, E not in the encoder", _literal(**_CONTENT_ONLY)),
    "beta-0.1": Choice("literal, KL weight of 0.1 in both stages", _literal(beta=0.1, score_beta=0.1)),
    "beta-0.001": Choice("literal, KL weight of 0.001 in both stages", _literal(beta=1e-3, score_beta=1e-3)),
    "appendix": Choice("content-only, outcome not standardised, KL weights of 0.01 and 0.001", _appendix()),
    "deeper": Choice("literal, two hidden layers", _literal(depth=3)),
    "layer-norm": Choice("literal, layer instead of batch norm", _literal(norm="layer")),
    "k-1": Choice("literal, one neighbour", _literal(k=1)),
    "adjusted": Choice("literal, matching adjusted by regression", _literal(adjust=True)),
    "steps": Choice("literal, at least 400 steps", _literal(min_steps=400)),
    "published": _as_published("`PaperSettings.published()`, quiet proxies, alpha from held-out rows"),
    "redrawn": _as_published("published, on other draws of the same data", draw=7000),
    "published-fitted": _as_published("published, alpha from the fitted rows", held_out=False),
    "published-mixture": _as_published("published, mixture cut", cut="mixture"),
    "published-median": _as_published("published, cut at the median", cut="median"),
    "published-epochs": _as_published("published, 50 epochs however few the steps", min_steps=0),
    "published-raw": _as_published("published, outcome not standardised", scale_outcome=False),
    "published-elbo": _as_published("published, KL weight of 1 for the score", score_beta=1.0),
    "published-k-1": _as_published("published, one neighbour", k=1),
    "default": Choice("`PaperSettings()`, our best reading, on our data"),
}  # fmt: skip
QUICK = ("literal", "median")


def grid(quick: bool = False, choices: Sequence[str] = (), sizes: Sequence[int] = ()) -> tuple[Cell, ...]:
    """The cells, the cheapest data sets first; the short form is n = 500, d_z = 5, two choices, two folds.

    >>> len(grid()) == len(CHOICES) * 54, len(grid(quick=True))
    (True, 6)
    """
    unknown = [name for name in choices if name not in CHOICES]
    if unknown:
        raise SettingsError(f"choice '{unknown[0]}' is not known: use one or more of {', '.join(CHOICES)}")
    if any(size not in SIZES for size in sizes):
        listed = ", ".join(str(size) for size in SIZES)
        raise SettingsError(f"the ablation has no data sets of these sizes: use one or more of {listed}")
    latents, noises, folds = ((5,), NOISES[:1], QUICK_FOLDS) if quick else (LATENTS, NOISES, FOLDS)
    named = tuple(choices) or (QUICK if quick else tuple(CHOICES))
    wanted = tuple(sorted(sizes)) or ((500,) if quick else SIZES)
    return tuple(
        Cell(
            f"n={n},noise={noise},d_z={d_z},alpha={alpha},choice={name}",
            {"choice": name, "n": n, "d_z": d_z, "alpha": alpha, "noise": noise, "folds": folds},
        )
        for n, noise, d_z, alpha, name in itertools.product(wanted, noises, latents, ALPHAS, named)
    )


def run_cell(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row per fold and metric."""
    choice, n, d_z, alpha = CHOICES[settings["choice"]], settings["n"], settings["d_z"], settings["alpha"]
    # The data sets of the synthetic study: the same seed, hence the same units.
    seed = n + d_z + choice.draw
    sim = simulate(n=n, d_z=d_z, alpha=alpha, noise=settings["noise"], random_state=seed, **choice.data)
    truth, folds = truth_of(sim, float(alpha)), make_folds(sim, N_FOLDS, seed)[: settings["folds"]]
    asked = Settings.from_dict(
        {
            "direction": "over",
            "method": "paper",
            "random_state": seed,
            "paper": {**choice.paper, "d_z": d_z},
        }
    )
    answers = paper_answers(folds, asked, among_held_out=choice.held_out)
    return [
        {"fold": f, "metric": metric, "value": judge(answer, fold, truth)[metric]}
        for f, (answer, fold) in enumerate(zip(answers, folds, strict=True))
        for metric in METRICS
    ]


def perform(out: Path, how: How, quick: bool, choices: Sequence[str] = (), sizes: Sequence[int] = ()) -> str:
    """Run or resume the ablation in `out`; returns the page."""
    require_torch("the ablation", "run `proxycal experiment synthetic --methods exact` instead")
    cells = grid(quick, choices, sizes)
    out.mkdir(parents=True, exist_ok=True)
    code = code_digest(Path(__file__), Path(__file__).with_name("protocol.py"))
    versions = {name: metadata.version(name) for name in (*LIBRARIES, "torch")}
    config = {"study": "ablation", "quick": quick, "code": code, **versions}
    sweep(cells, run_cell, out / "run", config, how)
    # Cells of earlier runs of this folder stand on the page too.
    everything = grid(quick, tuple(CHOICES), SIZES)
    return write(list(finished(everything, out / "run")), len(everything), out, code, quick)


def write(done: Sequence[Done], n_cells: int, out: Path, code: str, quick: bool) -> str:
    """results.csv, distance.csv and the page of the cells that are done."""
    results = by_cell(done)
    table = distances(results)
    write_table(results, out / "results.csv")
    write_table(table, out / "distance.csv")
    text = page(results, table, n_cells, code, quick, [cell for cell in done if cell.error is not None])
    write_text(out / "results.md", text)
    return text


def by_cell(done: Sequence[Done]) -> pd.DataFrame:
    """Mean and sd over folds: a row per choice, data set and metric."""
    rows = [{**cell.settings, **row} for cell in done if cell.error is None for row in cell.rows]
    if not rows:
        raise SettingsError("no cell of the ablation is done: look at the errors in run/cells")
    long = pd.DataFrame(rows)
    long["value"] = long["value"].astype(float)
    summary = long.groupby([*KEYS, "metric"], sort=False)["value"].agg(["mean", "std", "count"]).reset_index()
    return summary.rename(columns={"std": "sd", "count": "folds"})


def distances(results: pd.DataFrame) -> pd.DataFrame:
    """How far each choice is from the published cells that it was run on, the nearest bias first.

    bias, rmse, sd : mean absolute difference to the published relative bias, relative RMSE (bias and sd
    together) and relative sd over folds; bias_N : of the bias, over data sets of N rows. true_rmse_A :
    relative RMSE against the truth at alpha = A, of the means over folds. rmse_proxies : the same difference
    for the reconstruction of the proxies.
    """
    published = paper_table("table2_alpha")[[*KEYS[1:], "mean", "sd"]]
    own = results[results["metric"] == "alpha"].merge(published, on=KEYS[1:], suffixes=("", "_published"))
    for end in ("", "_published"):
        own[f"bias{end}"] = own[f"mean{end}"] / own["alpha"] - 1
        own[f"spread{end}"] = own[f"sd{end}"] / own["alpha"]
        own[f"rmse{end}"] = np.hypot(own[f"bias{end}"], own[f"spread{end}"])
    proxies = results[results["metric"] == "rmse_proxies"].merge(
        paper_table("appendix_rmse_proxies")[[*KEYS[1:], "mean"]], on=KEYS[1:], suffixes=("", "_published")
    )
    rows = []
    for name, part in own.groupby("choice", sort=False):
        seen = proxies[proxies["choice"] == name]
        row = {"choice": name, "cells": len(part)}
        for ours, called in (("bias", "bias"), ("rmse", "rmse"), ("spread", "sd")):
            row[called] = float((part[ours] - part[f"{ours}_published"]).abs().mean())
        for n in SIZES:
            at = part[part["n"] == n]
            row[f"bias_{n}"] = float((at["bias"] - at["bias_published"]).abs().mean())
        row["rmse_proxies"] = float((seen["mean"] - seen["mean_published"]).abs().mean())
        for alpha in ALPHAS:
            errors = part.loc[part["alpha"] == alpha, "bias"]
            row[f"mean_bias_{alpha}"] = float(errors.mean()) if len(errors) else np.nan
            row[f"true_rmse_{alpha}"] = float(np.sqrt((errors**2).mean())) if len(errors) else np.nan
        rows.append(row)
    return pd.DataFrame(rows).sort_values("bias", kind="stable").reset_index(drop=True)


def page(
    results: pd.DataFrame, table: pd.DataFrame, n_cells: int, code: str, quick: bool, failed: Sequence[Done]
) -> str:
    """The page: what was run, the table of distances, and the cells that failed."""
    n_done = len(results[KEYS].drop_duplicates())
    ran = []
    for n, part in results.groupby("n"):
        d_z, noise, folds = (
            ", ".join(str(value) for value in dict.fromkeys(part[key])) for key in ("d_z", "noise", "folds")
        )
        ran.append(f"n = {n}: d_z {d_z}; {noise}; {folds} folds")
    names = ["choice", "cells", "bias", *(f"n = {n:,}" for n in SIZES), "RMSE", "sd", "proxies"]
    names += [f"{what}, alpha = {alpha}" for alpha in ALPHAS for what in ("mean bias", "true RMSE")]
    keys = ["bias", *(f"bias_{n}" for n in SIZES), "rmse", "sd", "rmse_proxies"]
    keys += [f"{key}_{alpha}" for alpha in ALPHAS for key in ("mean_bias", "true_rmse")]
    rows = [[str(row["choice"]), str(row["cells"]), *map(_number, row[keys])] for _, row in table.iterrows()]
    command, mark = ("ablation --quick", " (QUICK RUN, not evidence)") if quick else ("ablation", "")
    rest = f" The rest: `proxycal experiment {command} --out DIR`, `--resume` if it stops."
    if n_done + len(failed) == n_cells:
        rest = f" {len(failed)} failed, and are listed at the end." if failed else ""
    lines = [
        f"# Which choices come nearest to the published table{mark}", "",
        f"Made by `proxycal experiment {command} --out DIR` with {machine(code)}", "",
        f"{n_done} of {n_cells} cells of the grid are here: {'. '.join(ran)}.{rest}", "",
        "bias, RMSE, sd: mean absolute difference to the published relative bias, relative RMSE and relative "
        "sd over folds of table 2, over the cells run; n = 500 and so on: of the bias, over cells of so many "
        "rows; proxies: for the reconstruction of the proxies. mean bias and true RMSE: of the estimates "
        "against the truth, relative. Choices are comparable where they have the same cells.", "",
        *markdown_table(names, rows), "", *_within_reach(results), "The choices:", "",
        *[f"- {name}: {CHOICES[name].says}" for name in table["choice"]],
    ]  # fmt: skip
    if failed:
        lines += ["", "## Cells that failed", "", *[f"- {cell.key}: {cell.error}" for cell in failed]]
    return "\n".join(lines).rstrip() + "\n"


def within_reach(results: pd.DataFrame) -> dict[str, float]:
    """Mean absolute differences that no choice of settings removes, of relative bias.

    redrawn : between two draws of the same cells under one setting, here `published`; NaN where not run.
    alpha, alpha and n, alpha and d_z : of the published cells of table 2 from their medians by these: what is
    left to a setting whose loss depends on nothing else.
    """
    published = paper_table("table2_alpha")
    bias = published["mean"] / published["alpha"] - 1
    left = {
        " and ".join(keys): float((bias - bias.groupby([published[key] for key in keys]).transform("median"))
                                  .abs().mean())
        for keys in (["alpha"], ["alpha", "n"], ["alpha", "d_z"])
    }  # fmt: skip
    own = results[results["metric"] == "alpha"].assign(bias=lambda one: one["mean"] / one["alpha"])
    twice = own.pivot_table(index=KEYS[1:], columns="choice", values="bias")
    known = {"published", "redrawn"} <= set(twice.columns)
    redrawn = (twice["published"] - twice["redrawn"]).abs().mean() if known else np.nan
    return {"redrawn": float(redrawn), **left}


def _within_reach(results: pd.DataFrame) -> list[str]:
    reach = within_reach(results)
    told = [f"by {name} {value:.3f}" for name, value in reach.items() if name != "redrawn"]
    lines = [
        "How near a setting can come: the published relative biases differ from their own medians "
        f"{', '.join(told)} on average, so that a setting whose loss depends on these alone is no nearer."
    ]  # fmt: skip
    if np.isfinite(reach["redrawn"]):
        lines += [
            f"One setting (`published`) on two draws of the same cells differs by {reach['redrawn']:.3f} on "
            "average: so far apart are two runs of the same code, unless it draws the same numbers."
        ]
    return [" ".join(lines), ""]


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "-"
