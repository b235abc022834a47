"""What a fit costs, as ratios within one run: to earlier code, the paper's method, R's flexmix, fewer rows.

Also what the folds of a study cost, trained as one model or one by one. Seconds are CPU seconds of one
process on one thread. Each large fit has a process of its own, so that its peak memory is its own too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.before import BEFORE, SMALL, TABLES, compared, earlier, elsewhere
from benchmarks.measure import alone, cpu, peak_memory, ratios, row
from proxycal.extras import require_torch
from proxycal.mixture.designs import Data, candidate_frames
from proxycal.mixture.em import Rules
from proxycal.mixture.information import newton
from proxycal.mixture.laws import Shape
from proxycal.mixture.select import FLOOR, Guess, fit_shapes
from proxycal.mixture.starts import guesses_of_bias
from proxycal.model import ProxyCalibrator
from proxycal.studies import studies
from proxycal.studies.protocol import N_FOLDS, make_folds, paper_answers
from proxycal.table.encode import Encoder
from proxycal.testing import Simulation, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from benchmarks.before import Table
    from benchmarks.pages import Page
    from proxycal.settings import Settings
    from proxycal.studies.protocol import Fold

ALPHA = 1.0
# Rows of the tables for the comparison with earlier code, and draws of each; of large tables fewer.
COMPARED, SEEDS, FEW_SEEDS = (1_000, 100_000, 1_000_000), (7, 8, 9), (7,)
SOURCE = str(Path(__file__).resolve().parent.parent / "src")
FLEXMIX = Path(__file__).with_name("flexmix.R")
# Rows of the whole comparison against one fit of flexmix.
WHOLE = (1_000, 10_000, 100_000)
# Rows of a synthetic cell, and what batched over looped folds are to reach.
FOLDS = ((500, "<= 0.333"), (2_500, "<= 0.333"), (10_000, "<= 0.667"))


def page(quick: bool) -> Page:
    """All ratios, measured now."""
    require_torch("the speed benchmark", "choose another one")
    n, large = (2_000, 20_000) if quick else (10_000, 1_000_000)
    rows = [
        *_against_before([table for table in TABLES if table.rows in COMPARED[: 1 if quick else None]]),
        _against_paper(n),
        *_against_flexmix(n, seeds=range(2 if quick else 5)),
        *(_whole_against_flexmix(rows) for rows in WHOLE[: 1 if quick else None]),
        *_growth(large // 10, large),
        *(_folds(rows, reach) for rows, reach in FOLDS[: 1 if quick else None]),
    ]
    return ratios("Speed", rows)


def _against_before(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The default fit, against that of the code before the wider comparison on the same tables."""
    rows = []
    with earlier() as source:
        for table, one_thread in product(tables, (False, True)):
            draws = [replace(table, seed=seed) for seed in (SEEDS if table.rows <= SMALL else FEW_SEEDS)]
            ours = [elsewhere(draw, SOURCE, one_thread) for draw in draws]
            theirs = [] if source is None else [elsewhere(draw, source, one_thread) for draw in draws]
            same = sum(compared(a, b) == "the same" for a, b in zip(theirs, ours, strict=False))
            seconds, other = (
                float(np.mean([one["seconds"] for one in side] or np.nan)) for side in (ours, theirs)
            )
            threads = "one thread of linear algebra" if one_thread else "threads as each takes them"
            what = f"{table.label}: exact fit, against that of {BEFORE}, {threads}"
            note = f"means over {len(draws)} draws, {same} with the same verdict and size"
            note = note if theirs else "this clone has no such history"
            rows.append(row(what, float(seconds), float(other), _to_reach(table), note))
    return rows


def _to_reach(table: Table) -> str:
    if table.rows > SMALL:
        return "<= 1"
    return "<= 0.2" if table.curved or table.environment > 5 else "<= 0.333"


def _sample(n: int, seed: int) -> Simulation:
    return simulate(n=n, d_z=5, alpha=ALPHA, random_state=seed)


def _against_paper(n: int) -> dict[str, Any]:
    sim = _sample(n, 0)
    exact, _ = cpu(lambda: ProxyCalibrator(sim.roles, direction="over").fit(sim.table))
    paper, _ = cpu(lambda: ProxyCalibrator(sim.roles, direction="over", method="paper").fit(sim.table))
    what = f"exact fit, model comparison and interval included, n = {n:,}, against one paper fit"
    return row(what, exact, paper, "<= 0.1")


def _folds(n: int, to_reach: str) -> dict[str, Any]:
    """All folds of a cell of the synthetic study with the paper's method: one batched model, or a loop."""
    cell = next(cell for cell in studies.synthetic(False, ["paper"]).cells if cell.settings["n"] == n)
    folds = make_folds(studies.draw(cell.settings), N_FOLDS, int(cell.settings["seed"]))
    settings = studies.paper_settings(cell.settings)
    batched, together = cpu(lambda: paper_answers(folds, settings))
    looped, apart = cpu(lambda: paper_answers(folds, settings, batched=False))
    difference = max(abs(a.alpha - b.alpha) for a, b in zip(together, apart, strict=True))
    least = _products(folds, settings)
    note = (
        f"largest difference of alpha between the two: {difference:.2g}; products of matrices alone: "
        f"{least:.1f} s, {least / looped:.2f} of the loop"
    )
    return row(f"{N_FOLDS} folds of the paper's method, n = {n:,}, as one batched model, against a loop",
                batched, looped, to_reach, note)  # fmt: skip


def _products(folds: Sequence[Fold], settings: Settings) -> float:
    """CPU seconds of the products of matrices of these fits, the least that they can take."""
    # These need torch, without which the module must still load.
    from benchmarks.roofline import of_a_fit
    from proxycal.methods.paper.fit import paper_section

    paper, arrays = paper_section(settings), folds[0].arrays
    trained = round(len(folds[0].fitted) * (1.0 - paper.validation))
    return len(folds) * of_a_fit(trained, arrays.P.shape[1], arrays.E.shape[1], paper)


def _against_flexmix(n: int, seeds: range) -> list[dict[str, Any]]:
    """One component, no interval, the same file for both."""
    what = f"one component, no interval, n = {n:,}, against R's flexmix"
    rscript = shutil.which("Rscript")
    ours, theirs = [], []
    for seed in seeds:
        sim = _sample(n, seed)
        ours.append(single_component(sim))
        if rscript is not None:
            theirs.append(_flexmix(rscript, sim.table))
    seconds, errors = float(np.mean([s for s, _ in ours])), _rms([a for _, a in ours])
    if not theirs or None in theirs:
        return [row(what, seconds, np.nan, "<= 0.333", "Rscript with flexmix is not installed here")]
    answers = [answer for answer in theirs if answer is not None]
    other, other_errors = np.mean([s for s, _ in answers]), _rms([a for _, a in answers])
    note = f"RMSE of alpha {errors:.4f}, flexmix {other_errors:.4f}, over {len(answers)} files"
    return [row(what, seconds, float(other), "<= 0.333", note)]


def _whole_against_flexmix(n: int) -> dict[str, Any]:
    """The default fit, against one well-started fit of the right model in flexmix."""
    what = f"exact fit, model comparison and interval included, n = {n:,}, against one fit of R's flexmix"
    sim = _sample(n, 0)
    # Once before, so that imports are not counted.
    ProxyCalibrator(sim.roles, direction="over").fit(sim.table.iloc[:300])
    ours, model = cpu(lambda: ProxyCalibrator(sim.roles, direction="over").fit(sim.table))
    rscript = shutil.which("Rscript")
    theirs = None if rscript is None else _flexmix(rscript, sim.table)
    if theirs is None:
        return row(what, ours, np.nan, "<= 1", "Rscript with flexmix is not installed here")
    return row(what, ours, theirs[0], "<= 1", f"alpha {model.alpha_:.4f}, flexmix {theirs[1]:.4f}")


def single_component(sim: Simulation) -> tuple[float, float]:
    """CPU seconds and alpha of the gated shift with one component, from arrays to the maximum."""
    arrays = Encoder.fit(sim.table, sim.roles).transform(sim.table)
    assert arrays.y is not None
    y = arrays.y
    curved = np.zeros(arrays.P.shape[1] + arrays.E.shape[1], dtype=bool)

    def fit() -> float:
        data = Data(y, arrays.P, arrays.E, arrays.weights, curved)
        frame = candidate_frames(data, "constant")["linear"]
        rows = frame.rows(data)
        guesses: list[Guess] = [
            (tau, None) for tau in guesses_of_bias(rows, rows.X[:, : 1 + arrays.P.shape[1]])[1:4:2]
        ]
        candidate = fit_shapes([Shape(1, shift=True)], rows, guesses, np.inf, FLOOR)[0]
        params, _ = newton(candidate.params, [rows], Rules.of([candidate.shape], rows.X.shape[1], FLOOR))
        return abs(float(params.a[0, 0])) * frame.scale

    return cpu(fit)


def _flexmix(rscript: str, table: pd.DataFrame) -> tuple[float, float] | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        table.to_csv(path, index=False)
        command = [rscript, str(FLEXMIX), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds, alpha = (float(value) for value in done.stdout.split()[:2])
    return seconds, alpha


def _rms(alphas: list[float]) -> float:
    return float(np.sqrt(np.mean((np.array(alphas) - ALPHA) ** 2)))


def _growth(small: int, large: int) -> list[dict[str, Any]]:
    """CPU per row and peak memory of the default fit, 20 columns, each in its own process."""
    low, high = alone("benchmarks.speed", small), alone("benchmarks.speed", large)
    per_row = row(
        f"microseconds per row at {large:,} rows, against {small:,}",
        1e6 * high["seconds"] / large,
        1e6 * low["seconds"] / small,
        "<= 1.5",
        f"alpha {high['alpha']:.4f} for {ALPHA:g}",
        unit="us",
    )
    gib = 2.0**30
    memory = row(
        f"peak memory at {large:,} rows x 20 columns, against 4 GiB",
        high["peak"] / gib,
        4.0,
        "<= 1",
        f"the table itself is {large * 20 * 8 / gib:.2f} GiB",
        unit="GiB",
    )
    return [per_row, memory]


def _fit_alone(n: int) -> dict[str, float]:
    sim = simulate(n=n, d_z=5, d_e=14, n_proxies=5, alpha=ALPHA, random_state=0)
    table, roles = sim.table, sim.roles
    del sim
    seconds, model = cpu(lambda: ProxyCalibrator(roles, direction="over").fit(table))
    return {"seconds": seconds, "alpha": model.alpha_, "peak": peak_memory()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_fit_alone(int(sys.argv[1]))) + "\n")
