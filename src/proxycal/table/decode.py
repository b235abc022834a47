"""Encoded rows back in the units of their table, for who compares tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.codes import CategoryCode, LogCode, NumberCode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.codes import Code
    from proxycal.table.encode import Arrays, Encoder


@dataclass(frozen=True, slots=True)
class Values:
    """n rows as their table has them, without frames.

    numbers : (n,) of each column of numbers, the outcome last; NaN where missing. levels : (n,) codes of each
    other column, and its names. weights : (n,) how many rows each stands for. cluster : (n,) or None.
    """

    outcome: str
    numbers: dict[str, NDArray[np.float64]]
    levels: dict[str, tuple[NDArray[np.int64], tuple[str, ...]]]
    weights: NDArray[np.float64]
    cluster: NDArray[np.int64] | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.weights)

    def take(self, rows: NDArray[np.intp]) -> Values:
        """Some of the rows, by position."""
        return Values(
            self.outcome,
            {name: values[rows] for name, values in self.numbers.items()},
            {name: (codes[rows], names) for name, (codes, names) in self.levels.items()},
            self.weights[rows],
            None if self.cluster is None else self.cluster[rows],
        )


def decoded(encoder: Encoder, arrays: Arrays) -> Values:
    """The values of encoded rows that have their outcome."""
    assert arrays.y is not None  # comparisons ask for it
    numbers: dict[str, NDArray[np.float64]] = {}
    levels: dict[str, tuple[NDArray[np.int64], tuple[str, ...]]] = {}
    for codes, encoded in ((encoder.proxies, arrays.P), (encoder.environment, arrays.E)):
        at = 0
        for code in codes:
            part = encoded[:, at : at + len(code.suffixes)]
            at += len(code.suffixes)
            if isinstance(code, CategoryCode):
                first = (part.sum(axis=1) == 0.0)[:, None]
                levels[code.name] = np.hstack([first, part]).argmax(axis=1), code.level_names
            elif (values := _numbers(code, part)) is not None:
                numbers[code.name] = values
    numbers[encoder.roles.outcome] = arrays.y
    weights = np.ones(arrays.n) if arrays.counts is None else arrays.counts
    return Values(encoder.roles.outcome, numbers, levels, weights, arrays.cluster)


def _numbers(code: Code, part: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The numbers of one column from its encoded ones; None where it has none but gaps."""
    if isinstance(code, LogCode):
        logs = _numbers(code.number, part[:, : part.shape[1] - code.zero])
        if logs is None:
            return None
        return np.where(part[:, -1] == 1.0, 0.0, np.exp(logs)) if code.zero else np.exp(logs)
    assert isinstance(code, NumberCode)
    if code.spread == 0.0:
        return None
    values = code.decoded(part[:, 0])
    return np.where(part[:, -1] == 1.0, np.nan, values) if code.indicator else values


def joined(parts: list[Values], like: Values) -> Values:
    """The rows of all parts as one set, with the columns of `like`; none where there are no parts.

    Clusters of different parts are different ones.
    """
    clusters, first = [], 0
    for part in parts:
        if part.cluster is not None:
            clusters.append(part.cluster + first)
            first += int(part.cluster.max()) + 1
    none = np.zeros(0)
    return Values(
        like.outcome,
        {name: np.concatenate([none, *(part.numbers[name] for part in parts)]) for name in like.numbers},
        {
            name: (np.concatenate([none.astype(np.int64), *(part.levels[name][0] for part in parts)]), names)
            for name, (_, names) in like.levels.items()
        },
        np.concatenate([none, *(part.weights for part in parts)]),
        np.concatenate(clusters) if len(clusters) == len(parts) > 0 else None,
    )
