"""A comparison in words: what is refused, what is warned of, and the rows of a frame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.table.surface import in_shell
from proxycal.table.wording import counted, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.drift.compare import Drift, Moved
    from proxycal.drift.units import UnitChange

# What a factor usually is. The words only: what decides is in units.py, which knows of no factor.
CAUSES = (
    (1e3, "single units in place of thousands"),
    (1e-3, "thousands in place of single units"),
    (1e6, "single units in place of millions"),
    (1e-6, "millions in place of single units"),
    (100.0, "per cent in place of a share, or cents in place of dollars"),
    (0.01, "a share in place of per cent, or dollars in place of cents"),
    (10.0, "a decimal sign one place to the right"),
    (0.1, "a decimal sign one place to the left"),
    (2.20462, "pounds in place of kilograms"),
    (1.0 / 2.20462, "kilograms in place of pounds"),
    (3.28084, "feet in place of metres"),
    (0.3048, "metres in place of feet"),
    (1.60934, "kilometres in place of miles"),
    (1.0 / 1.60934, "miles in place of kilometres"),
    (2.54, "centimetres in place of inches"),
    (1.0 / 2.54, "inches in place of centimetres"),
    (2.47105, "acres in place of hectares"),
    (1.0 / 2.47105, "hectares in place of acres"),
    (3.78541, "litres in place of gallons"),
    (1.0 / 3.78541, "gallons in place of litres"),
    (12.0, "per year in place of per month"),
    (1.0 / 12.0, "per month in place of per year"),
)
# How near a factor must be to be named, as a share of it, unless the rows know it less well.
NEAR = 0.05
# Columns that a warning names one by one.
NAMED = 3


def named_factor(unit: UnitChange) -> tuple[float, str]:
    """The factor to tell of a change of unit, and its usual cause; "" where it has none."""
    off = [abs(math.log(unit.factor / factor)) for factor, _ in CAUSES]
    nearest = int(np.argmin(off))
    if off[nearest] <= max(NEAR, 2.0 * unit.doubt):
        return CAUSES[nearest]
    return unit.factor, ""


def refusal(units: Sequence[UnitChange], where: str = "") -> str:
    """Why rows in other units are not answered."""
    parts = []
    for unit in units[:NAMED]:
        factor, cause = named_factor(unit)
        likely = f", such as {cause}" if cause else ""
        parts.append(
            f"column {shown(unit.column)} is in other units than when the model was fitted: its values are "
            f"about {factor_text(factor)} what they were (a middle value of {unit.before:,.4g} then, "
            f"{unit.now:,.4g} now){likely}"
        )
    more = f"; and {counted(len(units) - NAMED, 'column')} more" if len(units) > NAMED else ""
    remedy = "put the values back into the units of the fit, or fit again with the new ones"
    start = f"{where}: " if where else ""
    return f"{start}{'; '.join(parts)}{more}. Nothing was calibrated: {remedy}"


def factor_text(factor: float) -> str:
    """A factor as people say it.

    >>> factor_text(1000.0), factor_text(0.001), factor_text(2.2046)
    ('1,000 times', '1/1,000 of', '2.2 times')
    """
    if factor < 1.0 and abs(1.0 / factor - round(1.0 / factor)) < 0.02:
        return f"1/{round(1.0 / factor):,} of"
    return f"{factor:,.2g} times" if factor < 100.0 else f"{factor:,.0f} times"


def row_text(row: Moved) -> str:
    """A column, or the report, in a line of a list."""
    said = "in other units" if row.what == "unit" else row.what
    p = "" if row.what == "unit" else p_text(row.p)
    return f"  {row.column:<28} {said:<15} {p:<12} {row.detail}".rstrip()


def warnings_of(drift: Drift) -> list[str]:
    """What a reader should know of rows that were answered all the same."""
    ask = "`proxycal drift RUN TABLE`" if in_shell() else "`model.drift(df)`"
    texts = [refusal(drift.units)] if drift.units else []
    moved = drift.drifted
    if moved:
        named = "; ".join(f"{shown(row.column)}: {_size(row)}" for row in moved[:NAMED])
        more = f"; and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
        texts.append(
            f"{counted(len(moved), 'column')} of {len(drift.rows) - 1} moved since the fit ({named}{more}): "
            f"the answer for these rows rests on what was learned elsewhere; {ask} compares all columns"
        )
    if (row := drift.refit) is not None:
        texts.append(
            f"the reports of these rows do not behave as the fit expects, given all other columns "
            f"({row.detail}; {p_text(row.p)}): the bias may have changed; refit with these rows"
        )
    return texts


def _size(row: Moved) -> str:
    return row.detail if np.isnan(row.shift) else f"{row.detail}, {row.shift:+.2g} sd"


def p_text(p: float) -> str:
    """A p-value in a sentence.

    >>> p_text(0.0123), p_text(1e-30)
    ('p = 0.012', 'p < 1e-12')
    """
    return f"p = {p:.2g}" if p >= 1e-12 else "p < 1e-12"


def columns_of(drift: Drift) -> dict[str, np.ndarray]:
    """The comparison as columns of a frame: a row for each column, and one for the report."""
    names = ("column", "what", "size", "shift", "p", "detail")
    numbers = ("size", "shift", "p")
    return {
        name: np.array(
            [getattr(row, name) for row in drift.rows], dtype=np.float64 if name in numbers else object
        )
        for name in names
    }


def facts_of(drift: Drift) -> list[dict[str, Any]]:
    """What changed, as plain values."""
    return [
        {name: getattr(row, name) for name in row.__dataclass_fields__}
        for row in drift.rows
        if row.what != "as fitted"
    ]
