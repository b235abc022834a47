"""The encoded rows of a fit, kept so that it can be questioned later: taken, stored, read back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.table.encode import OPTIONAL, Arrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Refits need no more rows than this to show what they are asked, and run folders stay small.
MOST_ROWS = 20_000
_PART, _LEVEL = "training/", "level/"
_NAMES = (
    "proxy_names",
    "environment_names",
    "environment_source",
    "categorical",
    "proxy_source",
    "proxy_categorical",
    "report_names",
)


def take(arrays: Arrays, rows: NDArray[np.intp]) -> Arrays:
    """Some of the rows; levels and clusters that are gone leave no gap in the codes."""
    levels, names = {}, {}
    for column, codes in arrays.levels.items():
        present, positions = np.unique(codes[rows], return_inverse=True)
        levels[column] = positions.astype(np.int64)
        names[column] = tuple(arrays.level_names[column][code] for code in present.tolist())
    cluster = None
    if arrays.cluster is not None:
        cluster = np.unique(arrays.cluster[rows], return_inverse=True)[1].astype(np.int64)
    return replace(
        arrays,
        **(arrays.rows_of(rows) | {"cluster": cluster}),
        kept=np.ones(len(rows), dtype=bool),
        levels=levels,
        level_names=names,
    )


def keep(arrays: Arrays, seed: int, most: int = MOST_ROWS) -> Arrays:
    """All rows, or a random `most` of them."""
    if arrays.n <= most:
        return replace(arrays, kept=np.ones(arrays.n, dtype=bool))
    return take(arrays, np.sort(np.random.default_rng(seed).choice(arrays.n, most, replace=False)))


def training_state(arrays: Arrays) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Plain JSON values and named tensors that rebuild the arrays."""
    parts: dict[str, Any] = {"y": arrays.y, "P": arrays.P, "E": arrays.E, "weights": arrays.weights}
    parts |= {name: getattr(arrays, name) for name in OPTIONAL}
    parts |= {_LEVEL + str(i): codes for i, codes in enumerate(arrays.levels.values())}
    tensors = {_PART + name: np.ascontiguousarray(v) for name, v in parts.items() if v is not None}
    values: dict[str, Any] = {name: list(getattr(arrays, name)) for name in _NAMES}
    return values | {"levels": [[name, list(arrays.level_names[name])] for name in arrays.levels]}, tensors


def training_from(values: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Arrays:
    """The reverse of `training_state`."""
    found: dict[str, Any] = {
        name.removeprefix(_PART): value for name, value in tensors.items() if name.startswith(_PART)
    }
    names: dict[str, Any] = {name: tuple(values.get(name, ())) for name in _NAMES}
    return Arrays(
        y=found["y"],
        P=found["P"],
        E=found["E"],
        weights=found["weights"],
        kept=np.ones(len(found["y"]), dtype=bool),
        levels={name: found[_LEVEL + str(i)] for i, (name, _) in enumerate(values["levels"])},
        level_names={name: tuple(levels) for name, levels in values["levels"]},
        **(names | {name: found.get(name) for name in OPTIONAL}),
    )
