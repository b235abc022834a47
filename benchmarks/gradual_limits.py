"""What few clusters allow: the error that is left by somebody who is told what no fit knows.

With the content, its effect and the law of the noise known, y less content is the bias plus an intercept of
each cluster plus noise, and weighted least squares on cluster means is the best that can be done by whoever
takes the level of the bias, and nothing else, from the validated rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    Shape = Callable[[np.ndarray], np.ndarray]

# Variances of the intercept of a cluster and of a row's noise in the worlds of `gradual`.
CLUSTER_VARIANCE, NOISE_VARIANCE = 1.0, 0.7**2
LINES = "content and noise; straight lines in every column"
SHAPE = "content and noise; the shape of the bias in its column"
LEVEL = "the same, and the level of the bias"
ONLY = "the same shape, and that no other column acts"


def limits(table: pd.DataFrame, shape: Shape) -> dict[str, float]:
    """Error left over error reported, by what is told; table, shape : of a clustered world and its bias."""
    e, bias = table[["e1", "e2", "e3"]].to_numpy(), table["bias"].to_numpy()
    levels = np.column_stack([table["group"] == level for level in "bcd"]).astype(float)
    shaped = shape(e[:, 0])[:, None]
    known = table["validated"].notna().to_numpy()
    reported = np.sqrt(np.mean(bias**2))
    left = {}
    for told, columns, anchor in (
        (LINES, np.hstack([e, levels]), known),
        (SHAPE, np.hstack([shaped, e[:, 1:], levels]), known),
        (LEVEL, np.hstack([shaped, e[:, 1:], levels]), np.ones(len(bias), dtype=bool)),
        (ONLY, shaped, known),
    ):
        fitted = columns @ _slopes(table, columns)
        error = fitted - bias - np.mean((fitted - bias)[anchor])
        left[told] = float(np.sqrt(np.mean(error**2)) / reported)
    return left


def _slopes(table: pd.DataFrame, columns: np.ndarray) -> np.ndarray:
    """Least squares of y less content on columns that are the same in all rows of a cluster."""
    unit, count = np.unique(table["unit"].to_numpy(), return_inverse=True, return_counts=True)[1:]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(unit, weights=values) / count)

    y = mean((table["y"] - table["content"]).to_numpy())
    x = np.column_stack([np.ones(len(count)), *(mean(column) for column in columns.T)])
    root = 1.0 / np.sqrt(CLUSTER_VARIANCE + NOISE_VARIANCE / count)
    return np.asarray(np.linalg.lstsq(root[:, None] * x, root * y, rcond=None)[0][1:])
