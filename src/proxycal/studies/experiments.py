"""`proxycal experiment`: run or resume a study, then write its results, tables, figures and page.

DIR/run/             finished cells (see sweep.py)
DIR/results.parquet  a row per cell, fold, method and metric; also as .csv
DIR/summary.csv      mean and sd over folds
DIR/tables/          the paper's tables as .csv, .md and .tex
DIR/figures/         .png and .pdf
DIR/results.md       all tables on one page
"""

from __future__ import annotations

import shutil
from importlib import metadata
from typing import TYPE_CHECKING

from proxycal.datasets.ohie import STAND_IN, load_ohie
from proxycal.errors import SettingsError, StoreError
from proxycal.extras import require_torch
from proxycal.files import write_table, write_text
from proxycal.studies import figures, studies
from proxycal.studies.assumptions import assumptions
from proxycal.studies.pages import machine
from proxycal.studies.protocol import make_folds
from proxycal.studies.sanity import write_pages
from proxycal.studies.sweep import sweep
from proxycal.studies.tables import (
    closeness,
    semisynthetic_tables,
    summarise,
    synthetic_tables,
    to_frame,
    to_latex,
    to_markdown,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from proxycal.studies.studies import Study
    from proxycal.studies.sweep import How
    from proxycal.studies.tables import Grid

STUDIES = ("synthetic", "semisynthetic")
# Those of another kind, with modules of their own.
OTHERS = ("ablation", "case-study", "nhanes", "polls")
_QUICK = " (QUICK RUN: a smoke test with few cells and folds, not evidence)"
_READING = (
    "The paper is Proxy-Guided Measurement Calibration (Vishnubhatla, Wan, Harrison, Raglin and Liu; CLeaR). "
    "A cell of a table shows our mean ± sd over folds, then the published mean ± sd in brackets. `paper` is "
    "the published procedure, with this package's choices where the paper leaves one open; `exact` is the "
    "default method; `oracle` is matching that knows who is biased (other methods can beat it where the "
    "outcome has a spike, such as zero earnings in JOBS). {alpha}; every other metric is computed on "
    "held-out rows. In the tables by n and d_z the published figure is always that of the paper's own method."
)
_FITTED = "alpha is estimated on the fitted folds"
_HELD_OUT = "alpha of `paper` comes from the held-out rows of a fold, matched among themselves"


def perform(study: Study, out: Path, how: How) -> str:
    """Run or resume a study in `out`; returns the page."""
    folder = out / "run"
    if study.quick and not how.resume and (folder / "sweep.json").exists():
        # A quick run takes minutes: an earlier one is replaced without asking.
        shutil.rmtree(folder)
    out.mkdir(parents=True, exist_ok=True)
    config = studies.config(study)
    done = sweep(study.cells, studies.run_cell, folder, config, how)
    code = str(config["code"])
    if studies.config(study) != config:
        code += ", CHANGED DURING THE RUN: run it again from a copy that does not change"
    return write(study, studies.long_form(done), out, code)


def make(
    name: str,
    quick: bool,
    methods: Sequence[str] = (),
    ohie: str | None = None,
    stand_in: bool = False,
    as_published: bool = False,
) -> Study:
    """The study of that name, with all methods if none are given; networks need torch.

    ohie : folder of the OHIE files. stand_in : a simulated table like OHIE, called that in every table.
    as_published : the paper's method and data by `PaperSettings.published()`, not by our best reading.
    """
    if name not in STUDIES:
        raise SettingsError(f"experiment '{name}' is not known: use one of {', '.join((*STUDIES, *OTHERS))}")
    chosen = list(methods) or list(studies.METHODS)
    studies.require_networks(chosen)
    if name == "synthetic":
        if ohie is not None or stand_in:
            raise SettingsError("--ohie and --stand-in belong to the semisynthetic study: leave them out")
        return studies.synthetic(quick, chosen, as_published)
    if ohie is not None:
        load_ohie(ohie)  # reports missing files now, not in every cell
    more = ({} if ohie is None else {"OHIE": ohie}) | ({STAND_IN: ""} if stand_in else {})
    return studies.semisynthetic(quick, chosen, more, as_published)


def write(study: Study, long: pd.DataFrame, out: Path, code: str) -> str:
    """All files of a study from its long-form results; returns the page."""
    for part in ("tables", "figures"):
        (out / part).mkdir(exist_ok=True)
    for ending in ("parquet", "csv"):
        write_table(long, out / f"results.{ending}")
    summary = summarise(long)
    if summary.empty:
        raise StoreError(f"every cell of the study failed, the first with: {long['error'].iloc[0]}")
    write_table(summary, out / "summary.csv")
    grids = synthetic_tables(summary) if study.name == "synthetic" else semisynthetic_tables(summary)
    grids = [assumptions(), closeness(summary), *grids]
    for grid in grids:
        write_table(to_frame(grid), out / "tables" / f"{grid.name}.csv")
        write_text(out / "tables" / f"{grid.name}.md", to_markdown(grid))
        write_text(out / "tables" / f"{grid.name}.tex", to_latex(grid))
    pictures = _draw(study, summary, out)
    text = page(study, long, grids, pictures, code)
    write_text(out / "results.md", text)
    return text


def write_sanity(study: Study, out: Path) -> list[Path]:
    """Sanity pages of one data set (alpha = 5) with the paper's method fitted to its first fold."""
    require_torch("a sanity page", "leave out --sanity")
    from proxycal.methods.paper.fit import fit_paper

    settings = next(cell.settings for cell in study.cells if cell.settings["alpha"] == 5)
    sim = studies.draw(settings)
    fold = make_folds(sim, int(settings["folds"]), int(settings["seed"]))[0]
    fit = fit_paper(fold.arrays.take(fold.fitted), studies.paper_settings(settings))
    z_hat = fit.content.encode(fold.arrays.P, fold.arrays.E)
    named = [f"{key} {settings[key]}" for key in ("dataset", "n", "d_z", "alpha", "noise") if key in settings]
    return write_pages(sim, 5.0, out / "sanity", z_hat, fit.details.history, ", ".join(named))


def _draw(study: Study, summary: pd.DataFrame, out: Path) -> list[str]:
    if study.name == "synthetic":
        named = {"synthetic": figures.synthetic_figure(summary)}
    else:
        named = {
            f"semisynthetic-{name}".lower().replace(" ", "-"): figures.semisynthetic_figure(summary, name)
            for name in dict.fromkeys(summary["dataset"])
        }
    for name, figure in named.items():
        figures.save(figure, out / "figures", name)
    return list(named)


def page(study: Study, long: pd.DataFrame, grids: Sequence[Grid], pictures: Sequence[str], code: str) -> str:
    """The page: what was run, the tables, the figures, and the cells that failed."""
    torch = f" torch {metadata.version('torch')}." if study.trains_networks else ""
    lines = [
        f"# The paper's {study.name} study{_QUICK if study.quick else ''}", "",
        f"Made by `{_command(study)}` with {machine(code)}{torch}", "",
        _READING.format(alpha=_HELD_OUT if study.as_published else _FITTED), "",
    ]  # fmt: skip
    lines += [to_markdown(grid) for grid in grids]
    lines += [f"![{name}](figures/{name}.png)\n" for name in pictures]
    failed = long[long["error"] != ""]
    lines += ["## Cells that failed", ""] if len(failed) else []
    lines += [f"- {row.cell}: {row.error}" for row in failed.itertuples()]
    return "\n".join(lines).rstrip() + "\n"


def _command(study: Study) -> str:
    """What makes the study again, but for the folder."""
    ran = list(dict.fromkeys(str(cell.settings["method"]) for cell in study.cells))
    every = [name for name in studies.METHODS if (study.name, name) != ("synthetic", "tedvae-treatment")]
    flags = [
        *(["--quick"] if study.quick else []),
        *(["--as-published"] if study.as_published else []),
        *([f"--methods {','.join(ran)}"] if ran != every else []),
    ]
    return " ".join(["proxycal experiment", study.name, *flags])
