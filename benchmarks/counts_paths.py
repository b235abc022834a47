"""Counts without a bias, on every path that a user can take: nowhere may a bias be found.

Poisson and negative binomial counts of four means, seen by proxies with noise. Each table is fitted by every
method, on both scales, as every family, by a formula, with validated rows, and by the commands that
`proxycal check` prints, run as they are printed. A path that is refused claims nothing.
"""

from __future__ import annotations

import io
import json
import shlex
import tempfile
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import proxycal
from benchmarks.bench import Bench
from benchmarks.pages import Page, Part, number, reached
from proxycal.errors import ProxycalError, ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.studies.sweep import Cell
from proxycal.testing.reported import ReportedWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    from proxycal.settings import Direction
    from proxycal.testing.reported import Reported

WORLDS = {
    "Poisson, mean 3.7": ReportedWorld(level=3.7, poisson=True),
    "Poisson, mean 15": ReportedWorld(level=15.0, poisson=True),
    "negative binomial, mean 3.7": ReportedWorld(level=3.7),
    "negative binomial, mean 15": ReportedWorld(level=15.0),
}
TABLES, N, VALIDATED = 10, 600, 40
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 12_500_000
# Arguments of a fit; on the log scale most of them are refused.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "exact": {"method": "exact"},
    "moments": {"method": "moments"},
    "gradual": {"method": "gradual"},
    "normal": {"family": "normal"},
    "counts, exclusion stated": {"family": "counts", "exclusion": True},
    "log scale": {"scale": "log"},
    "log scale, moments": {"scale": "log", "method": "moments"},
    "log scale, gradual": {"scale": "log", "method": "gradual"},
}


def bench(quick: bool = False) -> Bench:
    """A cell for each table, the first of every world first."""
    cells = [
        Cell(f"{name.replace(' ', '-')},block={i}", {"world": name, "seeds": [FIRST_SEED + i]})
        for i in range(1 if quick else TABLES)
        for name in WORLDS
    ]
    return Bench("counts-paths", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row for each path of its tables."""
    return [
        {"seed": seed, "error": None, **row}
        for seed in settings["seeds"]
        for row in walk(WORLDS[settings["world"]].draw(seed, N), seed)
    ]


def walk(drawn: Reported, seed: int) -> Iterator[dict[str, Any]]:
    """Every path through one table; half of the tables are said to be reported too high."""
    direction: Direction = ("under", "over")[seed % 2]
    for path, arguments in ARGUMENTS.items():
        yield _said(path, lambda a=arguments: _fit(drawn.roles, drawn.table, direction, **a))  # type: ignore[misc]
    known = np.random.default_rng(seed).permutation(len(drawn.table)) < VALIDATED
    table = drawn.table.assign(truth=np.where(known, drawn.y_true, np.nan))
    roles = proxycal.Roles("y", drawn.roles.proxies, drawn.roles.environment, truth="truth")
    yield _said("validated rows", lambda: _fit(roles, table, direction))
    for outcome in ("y", "log(y)"):
        formula = f"{outcome} ~ {' + '.join(roles.proxies)} | {' + '.join(roles.environment)}"
        yield _said(
            f"formula, {outcome}",
            lambda f=formula: proxycal.fit(f, drawn.table, direction=direction).verdict_,  # type: ignore[misc]
        )
    yield from _shell(drawn)


def _fit(roles: Any, table: pd.DataFrame, direction: Any, **arguments: Any) -> str:
    return str(ProxyCalibrator(roles, direction=direction, **arguments).fit(table).verdict_)


def _said(path: str, verdict: Callable[[], str]) -> dict[str, Any]:
    """The verdict of a path, or "refused"."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        try:
            said = verdict()
        except ProxycalError:
            said = "refused"
    return {"path": path, "verdict": said, "seconds": round(time.process_time() - start, 2)}


def _shell(drawn: Reported) -> Iterator[dict[str, Any]]:
    """What `proxycal check` prints next, without and with the log scale asked for."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.csv")
        drawn.table.to_csv(file, index=False)
        roles = [
            "--outcome", "y", "--proxies", ",".join(drawn.roles.proxies),
            "--environment", ",".join(drawn.roles.environment),
        ]  # fmt: skip
        for more in ([], ["--scale", "log"]):
            said, _ = _run(["check", str(file), *roles, *more, "--json"])
            for command in json.loads(said)["next"] if said else []:
                words = shlex.split(command)[1:]
                if words[0] != "fit":
                    yield {"path": "check's command", "verdict": "refused", "seconds": 0.0}
                    continue
                out = Path(folder, f"run{time.monotonic_ns()}")
                words[words.index("--out") + 1] = str(out)
                yield _said("check's command", lambda w=words, o=out: _verdict(w, o))  # type: ignore[misc]


def _verdict(words: list[str], out: Path) -> str:
    _, code = _run(words)
    return str(proxycal.load(out).verdict_) if code == 0 else "refused"


def _run(words: list[str]) -> tuple[str, int]:
    from proxycal.cli import main

    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        code = main(words)
    return said.getvalue(), code


def page(trials: pd.DataFrame) -> Page:
    """Verdicts by path."""
    rows = []
    for path, group in trials.groupby("path", sort=False):
        claims = int((group["verdict"] == "bias found").sum())
        rows.append({
            "path": str(path), "fits": str(len(group)),
            "tables": str(len(group[["world", "seed"]].drop_duplicates())),
            "bias found": str(claims), "no bias found": str(int((group["verdict"] == "no bias found").sum())),
            "not identified": str(int((group["verdict"] == "not identified").sum())),
            "refused": str(int((group["verdict"] == "refused").sum())), "to reach": "0 found",
            "reached": reached(claims == 0 and bool(group["error"].isna().all())),
            "CPU s": number(group["seconds"].median(), 1),
        })  # fmt: skip
    note = (
        f"Tables of {N} rows without a bias: {', '.join(WORLDS)}. check's command: each fit that `proxycal "
        "check` prints, for both directions, without and with --scale log asked for."
    )
    return Page("Counts without a bias, on every path", (Part("Verdicts", rows, note),), trials)
