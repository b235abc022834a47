"""Reporters ranked: how often each is biased, by how much, and which differ by more than chance.

The false discovery rate of a list is the mean probability of its members to be no discovery (Newton and
others, 2004, Biostatistics 5, 155-176): q of a reporter is that of the list that ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Reporters:
    """A row for each of U reporters.

    reporter : (U,) names. n : (U,) reports made. p_biased : (U,) share of biased ones. size, low, high : (U,)
    how large the bias of a biased one is; NaN where none is in the model. rank : (U,) 1 for the one whose
    reports are off most on average. q_value : (U,) share of false discoveries among those that stand out as
    much.
    """

    reporter: np.ndarray
    n: np.ndarray
    p_biased: np.ndarray
    size: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rank: np.ndarray
    q_value: np.ndarray

    def columns(self) -> dict[str, Any]:
        """The columns by name, the reporter who is off most first."""
        order = np.argsort(self.rank, kind="stable")
        return {item.name: getattr(self, item.name)[order] for item in fields(self)}


def ranked(
    names: np.ndarray,
    n: np.ndarray,
    p_biased: np.ndarray,
    size: tuple[np.ndarray, np.ndarray, np.ndarray],
    chance: np.ndarray,
) -> Reporters:
    """The table of U reporters.

    size : (U,) each, with the ends of its interval. chance : (U,) probability that the reporter is like the
    others.

    >>> nan = np.full(2, np.nan)
    >>> share = np.array([0.0, 0.4])
    >>> table = ranked(np.array(["a", "b"]), np.array([9, 9]), share, (nan, nan, nan), np.ones(2))
    >>> table.rank.tolist(), table.q_value.tolist()
    ([2, 1], [1.0, 1.0])
    """
    off = p_biased * np.where(np.isnan(size[0]), 1.0, size[0])
    rank = np.empty(len(off), dtype=np.int64)
    rank[np.argsort(-off, kind="stable")] = np.arange(1, len(off) + 1)
    return Reporters(names, n, p_biased, *size, rank, q_values(chance))


def q_values(chance: np.ndarray) -> np.ndarray:
    """Mean chance of all that stand out at least as much, for each of (U,).

    >>> q_values(np.array([0.5, 0.01, 0.03])).round(3).tolist()
    [0.18, 0.01, 0.02]
    """
    order = np.argsort(chance, kind="stable")
    out = np.empty(len(chance))
    out[order] = np.cumsum(chance[order]) / np.arange(1, len(chance) + 1)
    # Those with the same chance stand out alike.
    values, codes = np.unique(chance, return_inverse=True)
    most = np.full(len(values), -np.inf)
    np.maximum.at(most, codes, out)
    return np.asarray(most[codes])
