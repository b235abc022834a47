"""b by level or along a column, as rows of the summary and as the shapes that pages draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.gradual.basis import OTHER, TRUSTED
from proxycal.methods.gradual.thresholds import LISTED_LEVELS
from proxycal.result import BiasShape, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxycal.methods.gradual.shape import Shape
    from proxycal.table.encode import Arrays

RARE = "rare levels"


def by_level(shape: Shape, arrays: Arrays) -> Iterator[Estimate]:
    """The bias of each level of a category, or the change along a number; nothing for many levels."""
    if shape.kind != "category":
        span, note = shape.span, "change from its 10th to its 90th percentile"
        yield Estimate(f"gradual, {shape.column}", span.change, span.se, span.low, span.high, note)
        return
    if len(shape.at) > LISTED_LEVELS:
        return
    names = level_names(shape, arrays)
    for i in range(0 if shape.relative_to == TRUSTED else 1, len(names)):
        yield Estimate(
            f"gradual, {shape.column}={names[i]}",
            float(shape.bias[i]),
            float(shape.se[i]),
            float(shape.low[i]),
            float(shape.high[i]),
            f"against {_reference(shape, arrays)}",
        )


def bias_shape(shape: Shape, arrays: Arrays) -> BiasShape:
    """The shape with names in place of codes."""
    is_category = shape.kind == "category"
    return BiasShape(
        column=shape.column,
        levels=tuple(level_names(shape, arrays)) if is_category else None,
        at=np.arange(float(len(shape.at))) if is_category else shape.at,
        bias=shape.bias,
        low=shape.low,
        high=shape.high,
        relative_to=_reference(shape, arrays),
    )


def level_names(shape: Shape, arrays: Arrays) -> list[str]:
    """Names of the levels of a category, in the order of the shape; 0 and 1: whether a number was missing."""
    names = arrays.level_names.get(shape.column, ("0", "1"))
    return [RARE if code == OTHER else names[int(code)] for code in shape.at]


def _reference(shape: Shape, arrays: Arrays) -> str:
    if shape.relative_to == TRUSTED:
        return TRUSTED
    if shape.kind == "category":
        return f"{shape.column}={level_names(shape, arrays)[0]}"
    return f"the median of {shape.column}"
