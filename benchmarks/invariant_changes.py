"""Changes of a table that change nothing that matters: each gives the changed case and its outcome's unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.invariant_tables import Case

# A power of two, so that every number keeps its digits.
UNIT = 1024.0


def _rows(case: Case) -> tuple[Case, float]:
    order = np.random.default_rng(5).permutation(len(case.table))
    return replace(case, table=case.table.iloc[order].assign(_row=order)), 1.0


def _outcome_unit(case: Case) -> tuple[Case, float] | None:
    columns = [name for name in ("y", "truth") if name in case.table]
    log = case.recipe["scale"] == "log"
    # alpha is a logarithm there, and has no unit.
    return (
        None
        if log
        else (replace(case, table=case.table.assign(**{c: case.table[c] * UNIT for c in columns})), UNIT)
    )


def _proxy_unit(case: Case) -> tuple[Case, float] | None:
    name = case.roles.proxies[-1]
    if case.table[name].dtype.kind != "f":
        return None
    return replace(case, table=case.table.assign(**{name: case.table[name] * UNIT})), 1.0


def _environment_unit(case: Case) -> tuple[Case, float]:
    return replace(case, table=case.table.assign(e1=case.table["e1"] * UNIT)), 1.0


def _names_of_kinds(case: Case) -> tuple[Case, float] | None:
    """Other names in another order; the effect by level keeps its column."""
    if "kind" not in case.table:
        return None
    names = {
        level: f"z{99 - i:02d} {level}"
        for i, level in enumerate(sorted(case.table["kind"].dropna().unique()))
    }
    return replace(case, table=case.table.assign(kind=case.table["kind"].map(names))), 1.0


def _columns(case: Case) -> tuple[Case, float]:
    """Columns in another order, and one that has no role."""
    table = case.table[case.table.columns[::-1]]
    return replace(case, table=table.assign(note="x")), 1.0


def _weights_unit(case: Case) -> tuple[Case, float] | None:
    if case.roles.weights is None:
        return None
    return replace(case, table=case.table.assign(weights=case.table["weights"] * UNIT)), 1.0


CHANGES: dict[str, Callable[[Case], tuple[Case, float] | None]] = {
    "rows": _rows,
    "outcome unit": _outcome_unit,
    "proxy unit": _proxy_unit,
    "environment unit": _environment_unit,
    "names of kinds": _names_of_kinds,
    "columns": _columns,
    "weights unit": _weights_unit,
}
