"""Invariants on random tables: what must hold of every answer, asked of thousands of fits.

python -m benchmarks.invariants SEED    the table of a seed, what fails, and the plainest table where it does
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd

import proxycal
from benchmarks.bench import Bench
from benchmarks.invariant_checks import CHECKS, ask
from benchmarks.invariant_tables import CHOICES, make, plain_recipe, random_recipe
from benchmarks.pages import Page, Part, number
from proxycal.errors import ProxycalError
from proxycal.studies.sweep import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.invariant_checks import Answered, Check
    from benchmarks.invariant_tables import Recipe

# Seeds that no other benchmark and no test uses; up to a third of the tables is refused, so that these are
# 2,000 and 20,000 fits at the least.
FIRST_SEED = 4_000_000
TABLES, LONG = 3_200, 32_000
# Tables of a cell: a minute, at most, is lost when a run is stopped.
BLOCK = 20


def bench(quick: bool = False) -> Bench:
    """Two thousand fits."""
    return Bench("invariants", _cells(100 if quick else TABLES), page, run_block)


def long(quick: bool = False) -> Bench:
    """Twenty thousand fits."""
    return Bench("invariants-long", _cells(200 if quick else LONG), page, run_block)


def _cells(tables: int) -> tuple[Cell, ...]:
    starts = range(FIRST_SEED, FIRST_SEED + tables, BLOCK)
    return tuple(
        Cell(f"tables,block={i}", {"seeds": list(range(start, start + BLOCK))})
        for i, start in enumerate(starts)
    )


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Runs in a worker: the tables of some seeds, a row each."""
    rows = []
    for seed in settings["seeds"]:
        start = time.process_time()
        said = examine(random_recipe(seed))
        rows.append({"seed": seed, **said, "seconds": time.process_time() - start})
    return rows


def page(trials: pd.DataFrame) -> Page:
    """Tables, fits and failures by method, and what failed."""
    lost = trials["error"].notna() if "error" in trials else pd.Series(False, index=trials.index)
    done = trials[~lost].assign(
        method=lambda frame: frame["method"].replace("", "refused"),
        failed=lambda frame: frame["failures"].map(bool),
        warned=lambda frame: frame["warnings"].map(bool),
    )
    by = done.groupby("method").agg(
        tables=("seed", "size"),
        failed=("failed", "sum"),
        warned=("warned", "sum"),
        seconds=("seconds", "sum"),
    )
    by.loc["all"] = by.sum()
    rows = [
        {
            "method": str(method),
            "tables": f"{line.tables:,.0f}",
            "with a failure": f"{line.failed:,.0f}",
            "to reach": "0",
            "warned by numpy": f"{line.warned:,.0f}",
            "CPU s per table": number(line.seconds / line.tables),
        }
        for method, line in by.iterrows()
    ]
    fits = int((done["method"] != "refused").sum())
    minutes, seeds = done["seconds"].sum() / 60.0, trials["seed"]
    note = (
        f"{fits:,} fits; seeds {seeds.min()} to {seeds.max()}; {minutes:.0f} minutes of CPU; "
        f"{int(lost.sum())} tables lost with their worker. A table that is refused ends in one error of ours "
        "before anything is answered; a part of the recipes asks for what cannot be had. A warning by numpy "
        "is a number that overflowed on the way. Checked of each fit: "
        f"{', '.join(check.__name__.replace('_', ' ') for check in CHECKS)}. "
        "`python -m benchmarks.invariants SEED` shows one table."
    )
    kinds: dict[str, list[int]] = {}
    for seed, failures in zip(done["seed"], done["failures"], strict=True):
        for kind in sorted(set(map(kind_of, failures))):
            kinds.setdefault(kind, []).append(int(seed))
    ordered = sorted(kinds.items(), key=lambda item: -len(item[1]))
    failures = [
        {
            "failure": kind.replace("|", "/"),
            "tables": str(len(seeds)),
            "seeds": ", ".join(map(str, seeds[:5])),
        }
        for kind, seeds in ordered
    ]
    parts = (Part("Tables", rows, note), *([Part("Failures", failures)] if failures else []))
    return Page("Invariants on random tables", parts, by.reset_index())


def examine(recipe: Recipe) -> dict[str, Any]:
    """Fit the table of a recipe and check all that it says.

    Returns
    -------
    dict
        verdict, method : of the fit; "" where the table was refused. refused : the message. failures : a
        list of lines, each with its check. warnings : those of numpy, with their place.

    """
    case = make(recipe)
    said: dict[str, Any] = {"verdict": "", "method": "", "refused": "", "failures": [], "warnings": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        # A number that overflows on the way: no wrong answer, but somebody sees it on their screen.
        warnings.simplefilter("always", RuntimeWarning)
        try:
            model = proxycal.ProxyCalibrator(case.roles, **case.arguments).fit(case.table)
            answered = ask(case, model, case.table)
        except ProxycalError as error:
            return said | {"refused": f"{type(error).__name__}: {error}"}
        except Exception as error:  # what is no error of ours is what we look for
            return said | {"failures": [f"fit: {_told(error)}"]}
        said["verdict"], said["method"] = model.verdict_, model.result_.settings.method
        for check in CHECKS:
            said["failures"] += [f"{check.__name__}: {text}" for text in _lines(check, answered)]
    places = {f"{one.filename.rpartition('/')[2]}: {one.message}" for one in caught}
    return said | {"warnings": sorted(places)}


def _lines(check: Check, answered: Answered) -> list[str]:
    try:
        return list(check(answered))
    except Exception as error:  # one check that cannot be made must not hide the others
        return [_told(error)]


def _told(error: Exception) -> str:
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "proxycal" in frame.filename]
    where = f" ({ours[-1].filename.rpartition('/')[2]}, {ours[-1].name})" if ours else ""
    return f"{type(error).__name__}: {str(error)[:300]}{where}"


def kind_of(failure: str) -> str:
    """The failure without its numbers, so that those of one cause are counted together."""
    return " ".join("#" if any(c.isdigit() for c in word) else word for word in failure.split())[:160]


def shrink(recipe: Recipe, failure: str) -> Recipe:
    """The plainest recipe with a failure of that kind: first choices are put back one by one."""
    wanted = kind_of(failure)
    for _ in range(2):
        for name, choices in CHOICES.items():
            plainer = {**recipe, name: choices[0]}
            if plainer != recipe and wanted in map(kind_of, examine(plainer)["failures"]):
                recipe = plainer
    return recipe


def main(arguments: list[str]) -> int:
    """Show one table: its recipe, what fails, and the plainest recipe that fails in the same way."""
    recipe = random_recipe(int(arguments[0]))
    said = examine(recipe)
    print(json.dumps({"recipe": recipe, **said}, indent=1))
    for failure in said["failures"]:
        plainest, plain = shrink(recipe, failure), plain_recipe()
        print(
            f"{failure}\n    { ({name: value for name, value in plainest.items() if value != plain[name]}) }"
        )
    return int(bool(said["failures"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
