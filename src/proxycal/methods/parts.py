"""Pieces that several methods keep: named tensors of a run, and the rows that others are matched to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.match import Controls, Whitening
from proxycal.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.table.encode import Arrays

_CONTROLS = ("z", "mean_y", "weight", "rows", "position", "slope")


def controls_tensors(controls: Controls) -> dict[str, np.ndarray]:
    """The matched-to rows as named arrays."""
    named = {name: np.ascontiguousarray(getattr(controls, name)) for name in _CONTROLS}
    return named | {
        "mean": controls.whitening.mean,
        "transform": np.ascontiguousarray(controls.whitening.transform),
    }


def controls_from(tensors: Mapping[str, np.ndarray], k: int) -> Controls:
    """The reverse of `controls_tensors`."""
    z, mean_y, weight, rows, position, slope = (tensors[name] for name in _CONTROLS)
    whitening = Whitening(tensors["mean"], tensors["transform"])
    return Controls(z, mean_y, weight, rows, position, slope, whitening, k)


def outcome_of(arrays: Arrays) -> np.ndarray:
    """The outcome, which every method needs."""
    if arrays.y is None:
        raise TableError("the outcome column is needed here: pass a table that has it")
    return arrays.y


def hold_out(
    n: int, share: float, seed: int, cluster: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out rows, as sorted positions; whole clusters stay together.

    About `share` of the rows are held out, but at least ten (the groups are cut on them) and at most half.

    >>> train, validation = hold_out(90, 1 / 9, seed=0)
    >>> len(train), len(validation)
    (80, 10)
    """
    rng = np.random.default_rng(seed)
    units = np.arange(n) if cluster is None or len(np.unique(cluster)) < 2 else cluster
    code = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(code)
    wanted = min(max(round(share * n), 10), n // 2)
    taken, rows = [], 0
    for unit in rng.permutation(len(sizes)).tolist():
        if rows < wanted and rows + sizes[unit] <= n // 2:
            taken.append(unit)
            rows += sizes[unit]
    # Where every cluster holds more than half of the rows that are left, the smallest one has to do.
    held = np.isin(code, taken or [int(np.argmin(sizes))])
    return np.flatnonzero(~held), np.flatnonzero(held)
