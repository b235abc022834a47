"""Next month's file: how often other units, drift and a changed bias are seen, and how often falsely.

The same law: new rows of the law that was fitted. Chosen: rows of that law, chosen by one of the columns (its
largest, smallest and middle values, each level), never of the fitted rows themselves. Units: one column times
a factor. Ratio: biased rows report 35% where they reported 60%.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks import losses
from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, percent, reached, records
from benchmarks.trials import each_seed
from proxycal.datasets import load_jobs, load_nhanes
from proxycal.drift.compare import Drift, compare
from proxycal.drift.units import reference, unit_changes
from proxycal.errors import ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.table.decode import decoded
from proxycal.table.encode import Encoder
from proxycal.testing.worlds import draw_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxycal.studies.sweep import Cell
    from proxycal.table.roles import Roles

WORLDS = (
    "gaussian",
    "poisson",
    "exponential",
    "t3",
    "two-humped",
    "heteroscedastic",
    "zero-inflated",
    "E curved in the mean",
    "nonlinear",
    "alpha by level",
    "clusters",
    "dollars",
    "nhanes",
    "jobs",
)
UNITS = ("gaussian", "t3", "alpha by level", "dollars", "nhanes", "jobs")
FACTORS = (1000.0, 0.001, 100.0, 0.01, 10.0, 0.1, 2.20462)
# New rows that are compared, and those of a changed ratio.
SIZES, RATIO_ROWS = (1, 5, 20, 100, 500, 2000), 500
FITTED = (300, 1500)
# To be reached: false alarms of a table, refusals of rows that are in order, changed ratios that are seen.
ALARMS, REFUSALS, SEEN = 0.01, 0.0, 0.95
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 15_400_000


def bench(quick: bool = False) -> Bench:
    """Every question of every world."""
    repetitions = 2 if quick else 100
    cells: list[Cell] = []
    for n in FITTED:
        for world in WORLDS:
            cells += blocks({"world": world, "n": n, "asked": "same law"}, repetitions, FIRST_SEED)
            few = max(repetitions // 5, 1)
            cells += blocks({"world": world, "n": n, "asked": "chosen"}, few, FIRST_SEED + 10_000)
        for world in UNITS:
            few = max(repetitions // 10, 1)
            cells += blocks({"world": world, "n": n, "asked": "units"}, few, FIRST_SEED + 20_000)
    for n in (1000, 3000):
        for zeros in losses.ZEROS:
            settings = {"world": "dollars", "n": n, "asked": "ratio", "zeros": zeros}
            cells += blocks(settings, repetitions // 2, FIRST_SEED + 30_000)
    return Bench("drift", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row for each of its seeds, of counts."""
    n, asked, world = int(settings["n"]), settings["asked"], settings["world"]
    if asked == "ratio":
        return each_seed(settings, lambda seed: changed_ratio(n, settings["zeros"], seed))
    work = {"same law": same_law, "chosen": chosen, "units": other_units}[asked]
    return each_seed(settings, lambda seed: work(world, n, seed))


@cache
def _real(world: str) -> tuple[pd.DataFrame, Roles]:
    data = load_nhanes("weight") if world == "nhanes" else load_jobs()
    return data.table, data.roles


def draw(world: str, n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, Roles]:
    """N rows to fit and others of their law, with their roles; a real table is split at random."""
    more = max(sum(SIZES), 4 * n)
    if world in ("nhanes", "jobs"):
        table, roles = _real(world)
        table = table.sample(frac=1.0, random_state=seed).reset_index(drop=True)
        n = min(n, len(table) // 2)
    elif world == "dollars":
        table, roles = losses.draw(n + more, 0.6, 0.2, seed), losses.ROLES
    else:
        drawn = draw_world(world, n + more, 1.0, seed)
        table, roles = drawn.table(), drawn.roles
    return table[:n], table[n:], roles


def _compare(encoder: Encoder, fitted: pd.DataFrame, new: pd.DataFrame) -> Drift:
    """The comparison, with a level that the fitted rows lack left out: that is refused by itself."""
    old = decoded(encoder, encoder.transform(fitted))
    return compare(old, decoded(encoder, encoder.transform(new)), len(fitted))


def _known(fitted: pd.DataFrame, new: pd.DataFrame, roles: Roles) -> pd.DataFrame:
    """The new rows whose levels the fitted ones have."""
    for name in (*roles.proxies, *roles.environment):
        if not pd.api.types.is_numeric_dtype(new[name]):
            new = new[new[name].isin(set(fitted[name]))]
    return new


def _encoder(fitted: pd.DataFrame, roles: Roles) -> Encoder:
    return Encoder.fit(fitted, roles, "impute")


def same_law(world: str, n: int, seed: int) -> dict[str, Any]:
    """Tables of several sizes of the fitted law: how many were compared, warned of and refused."""
    fitted, new, roles = draw(world, n, seed)
    encoder, new, at = _encoder(fitted, roles), _known(fitted, new, roles), 0
    counts = dict.fromkeys(("tables", "drifted", "refit", "warned", "refused"), 0)
    for size in SIZES:
        if at + size > len(new):
            break
        found = _compare(encoder, fitted, new[at : at + size])
        at += size
        counts["tables"] += 1
        counts["drifted"] += bool(found.drifted)
        counts["refit"] += found.refit is not None
        counts["warned"] += bool(found.drifted) or found.refit is not None
        counts["refused"] += bool(found.units)
    return counts


def _choices(table: pd.DataFrame, roles: Roles) -> Iterator[pd.DataFrame]:
    """Rows chosen by one column: its ends and its middle, in several numbers, and every level."""
    for name in (roles.outcome, *roles.proxies, *roles.environment):
        if not pd.api.types.is_numeric_dtype(table[name]):
            yield from (part for _, part in table.groupby(name))
            continue
        middle = (table[name] - table[name].median()).abs()
        for order in (-table[name], table[name], middle):
            for size in (5, 30, len(table) // 20, len(table) // 3):
                yield table.loc[order.nsmallest(size).index]


def chosen(world: str, n: int, seed: int) -> dict[str, Any]:
    """Rows chosen by each column: none may be refused."""
    fitted, new, roles = draw(world, n, seed)
    encoder, new = _encoder(fitted, roles), _known(fitted, new, roles)
    known = reference(decoded(encoder, encoder.transform(fitted)))
    parts = [decoded(encoder, encoder.transform(part)) for part in _choices(new, roles)]
    return {"tables": len(parts), "refused": sum(bool(unit_changes(known, part)) for part in parts)}


def other_units(world: str, n: int, seed: int) -> dict[str, Any]:
    """Every column of numbers in other units: refused with its name, warned of, or missed."""
    fitted, new, roles = draw(world, n, seed)
    encoder, new = _encoder(fitted, roles), _known(fitted, new, roles)
    counts = dict.fromkeys(("tables", "refused", "named", "seen"), 0)
    for name in (roles.outcome, *roles.proxies, *roles.environment):
        if not pd.api.types.is_numeric_dtype(new[name]):
            continue
        for factor in FACTORS:
            for size in (20, 200, 1000):
                rows = new.head(size)
                found = _compare(encoder, fitted, rows.assign(**{name: rows[name] * factor}))
                named = [unit.column for unit in found.units]
                counts["tables"] += 1
                counts["refused"] += bool(named)
                counts["named"] += named == [name]
                counts["seen"] += bool(named or found.drifted or found.refit)
    return counts


def changed_ratio(n: int, zeros: float, seed: int) -> dict[str, Any]:
    """A fit of rows that report 60%, asked of new rows that report 35%, and of new rows that report 60%."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model = ProxyCalibrator(losses.ROLES, direction="under", scale="log")
        model.fit(losses.draw(n, 0.6, zeros, seed))
        changed, same = (
            model.drift(losses.draw(RATIO_ROWS, kept, zeros, seed + 5_000)) for kept in (0.35, 0.6)
        )
    return {
        "verdict": model.verdict_,
        "tables": 1,
        "seen": int((changed["what"] == "refit").any()),
        "refused": int((same["what"] == "unit").any() or (changed["what"] == "unit").any()),
        "warned": int((same["what"] != "as fitted").any()),
    }


def page(trials: pd.DataFrame) -> Page:
    """A table for each question."""
    counted = ["tables", "drifted", "refit", "warned", "refused", "named", "seen"]
    trials = trials.assign(errors=trials["error"].notna().astype(int))
    trials = trials.reindex(columns=list(dict.fromkeys([*trials.columns, "zeros", *counted])))
    by = ["asked", "world", "n", "zeros"]
    sums = trials.groupby(by, sort=False, dropna=False)[[*counted, "errors"]].sum().reset_index()
    rows = records(sums)

    def of(asked: str) -> list[dict[str, Any]]:
        return [row for row in rows if row["asked"] == asked]

    parts = (
        Part("New rows of the fitted law", [_alarm(row) for row in [*of("same law"), _whole(of("same law"))]],
             "Tables of 1, 5, 20, 100, 500 and 2,000 new rows. Of clusters whole ones are new."),
        Part("Rows of the fitted law, chosen by a column", [_refusal(row) for row in of("chosen")],
             "The largest, smallest and middle values of every column (5, 30, a twentieth and a third of the "
             "rows), and each level; of four times as many rows as were fitted, or 2,626."),
        Part("Other units", [_unit(row) for row in [*of("units"), _whole(of("units"))]],
             "Every column of numbers times 1,000, 100 and 10, their inverses, and 2.2; 20, 200, 1,000 rows. "
             "A factor that the spread of a column hides is warned of as a drift, or not seen."),
        Part("A ratio of 60% that became 35%", [_ratio(row) for row in of("ratio")],
             "500 new rows beside a fit of 1,000 or 3,000."),
    )  # fmt: skip
    return Page("Next month's file", tuple(part for part in parts if part.rows), sums)


def _whole(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """All worlds together."""
    total = {
        name: sum(row[name] for row in rows)
        for name in ("tables", "drifted", "refit", "warned", "refused", "named", "seen", "errors")
    }
    return {"world": "all", "n": 0, **total}


def _start(row: dict[str, Any]) -> dict[str, str]:
    fitted = f"{row['n']:,}" if row["n"] else ""
    return {"world": str(row["world"]), "fitted": fitted, "tables": f"{row['tables']:,.0f}"}


def _share(row: dict[str, Any], name: str) -> float:
    return float(row[name] / row["tables"]) if row["tables"] else np.nan


def _alarm(row: dict[str, Any]) -> dict[str, str]:
    ok = _share(row, "warned") <= ALARMS and not row["refused"] and not row["errors"]
    return {
        **_start(row),
        "column warned of": percent(_share(row, "drifted"), 2),
        "report warned of": percent(_share(row, "refit"), 2),
        "any warning": percent(_share(row, "warned"), 2),
        "to reach": f"<= {percent(ALARMS, 0)}",
        "refused": f"{row['refused']:.0f}",
        "reached": reached(ok),
        "errors": str(row["errors"]),
    }


def _refusal(row: dict[str, Any]) -> dict[str, str]:
    return {
        **_start(row),
        "refused": f"{row['refused']:.0f}",
        "to reach": f"{REFUSALS:.0f}",
        "reached": reached(row["refused"] <= REFUSALS and not row["errors"]),
        "errors": str(row["errors"]),
    }


def _unit(row: dict[str, Any]) -> dict[str, str]:
    return {
        **_start(row),
        "refused": percent(_share(row, "refused")),
        "and the column named alone": percent(_share(row, "named")),
        "refused or warned of": percent(_share(row, "seen")),
        "errors": str(row["errors"]),
    }


def _ratio(row: dict[str, Any]) -> dict[str, str]:
    return {
        "zeros": percent(row["zeros"], 0),
        **{name: text for name, text in _start(row).items() if name != "world"},
        "seen": percent(_share(row, "seen")),
        "to reach": f">= {percent(SEEN, 0)}",
        "reached": reached(_share(row, "seen") >= SEEN and not row["errors"]),
        "warned of where nothing changed": percent(_share(row, "warned")),
        "errors": str(row["errors"]),
    }
