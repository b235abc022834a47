"""Questions of the audit about weights and counts: how rows compare, and how many a row stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.audited import Trouble
from proxycal.table.require import no_counts
from proxycal.table.wording import counted, shown

if TYPE_CHECKING:
    from proxycal.table.audited import AuditTable

WEIGHT_RATIO = 1e4


def weights(table: AuditTable) -> list[Trouble]:
    """Weights that are not above 0, or that let a few rows decide."""
    name = table.roles.weights
    column = None if name is None else table.columns.get(name)
    if column is None or column.numbers is None:
        return []
    values = column.numbers
    bad = values <= 0
    if bad.any():
        return [
            Trouble(
                f"column {shown(name)}: {int(bad.sum())} zero or negative, {table.rows(bad)}",
                f"{int(bad.sum())} weights in {shown(name)} are not above 0.",
                "Remove those rows or correct the weights.",
                float(bad.sum()),
                must_fix=True,
            )
        ]
    finite = values[np.isfinite(values)]
    if len(finite) == 0 or finite.max() / WEIGHT_RATIO <= finite.min():
        return []
    top = values == finite.max()
    times = min(float(finite.max()) / max(float(finite.min()), 1e-300), 1e300)
    return [
        Trouble(
            f"column {shown(name)}: from {finite.min():g} to {finite.max():g}, {table.rows(top)}",
            f"The largest weight in {shown(name)} is {times:.2g} times the smallest, so a few rows decide "
            "the result.",
            "Trim the largest weights.",
            times,
        )
    ]


def counts(table: AuditTable) -> list[Trouble]:
    """Counts that are no whole numbers of at least 1."""
    name = table.roles.counts
    column = None if name is None else table.columns.get(name)
    if column is None or column.numbers is None:
        return []
    bad = no_counts(column.numbers) & ~column.missing
    if not bad.any():
        return []
    return [
        Trouble(
            f"column {shown(name)}: {int(bad.sum())} not whole or below 1, {table.rows(bad)}",
            f"{counted(int(bad.sum()), 'value')} in {shown(name)} cannot be a number of rows.",
            "Correct or remove those rows; sampling weights have the role weights.",
            float(bad.sum()),
            must_fix=True,
        )
    ]
