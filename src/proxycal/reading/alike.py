"""Files that are one table: a column is read in one way in all of them, found out from all of its values.

Alone, a file would decide by its own rows: a code such as 13001 would be a number where no other file of the
table writes 01003, and 1,234 a thousand where another writes 1,5.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from proxycal.reading.columns import decimal_of_file, style_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.reading.columns import Seen, Style
    from proxycal.reading.plan import Plan

NUMBERS = ("whole", "number")


def read_alike(plans: Sequence[Plan]) -> list[Plan]:
    """The plans of text tables and workbooks, with one way to read a column that several of them hold."""
    if len(plans) < 2:
        return list(plans)
    together: dict[str, list[Seen]] = {}
    for plan in plans:
        for name, seen in plan.seen.items():
            together.setdefault(name, []).append(seen)
    whole = {name: reduce(add, seen) for name, seen in together.items()}
    of_all = decimal_of_file(whole.values())
    return [
        replace(
            plan,
            styles={
                name: _one(name, plans, whole[name], style, of_all) for name, style in plan.styles.items()
            },
        )
        for plan in plans
    ]


def _one(name: str, plans: Sequence[Plan], seen: Seen, own: Style, of_all: str | None) -> Style:
    """How a column is read in one of the files."""
    others = [plan.styles[name] for plan in plans if name in plan.styles and plan.seen[name].numbers.values]
    kinds = {"number" if style.kind in NUMBERS else style.kind for style in others}
    if own.kind == "name" or (len(kinds) <= 1 and len({(s.decimal, s.format) for s in others}) <= 1):
        return own
    style = style_of(seen, of_all)  # type: ignore[arg-type]
    # Files with decimal commas and files with decimal points, each clear by itself: each is read as it is.
    return own if kinds == {"number"} and style.kind not in NUMBERS else style
