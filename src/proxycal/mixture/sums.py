"""Sums over rows, wherever the rows are: every step of the exact estimator is one.

A chunk of rows gives a record of sums; records add. Chunks in memory are a sequence of `Rows`; chunks in
files or on a cluster are an `Elsewhere`, which sends the function to the rows and adds what comes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import reduce
from operator import add
from typing import Any, Self, TypeVar

from proxycal.mixture.laws import Rows


class Summed:
    """A record of sums: `+` adds field by field; None stays None."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        pairs = [(getattr(self, item.name), getattr(other, item.name)) for item in fields(self)]  # type: ignore[arg-type]
        added: list[Any] = [None if a is None else a + b for a, b in pairs]
        return type(self)(*added)


S = TypeVar("S", bound=Summed)


class Elsewhere(ABC):
    """Rows that are not in this process's memory."""

    @abstractmethod
    def add_up(self, function: Callable[[Rows], S]) -> S:
        """The sum of `function` over all chunks, added in the order of the chunks."""


Chunked = Sequence[Rows] | Elsewhere


def add_up(chunks: Chunked, function: Callable[[Rows], S]) -> S:
    """The sum of `function` over all chunks."""
    if isinstance(chunks, Elsewhere):
        return chunks.add_up(function)
    return reduce(add, map(function, chunks))
