"""A large table as pieces whose sums add up, wherever they are: in memory, in files, on a cluster.

A function goes to every piece, a pandas frame whose index is the number of each row in the table, and makes a
record that adds; the records are added in the order of the pieces, so that who does the work, and when, does
not change a digit.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from proxycal.errors import TableError
from proxycal.parallel import ONE_THREAD, Engine, cluster, map_as_done
from proxycal.scale.parts import part_size
from proxycal.scale.sources import BATCH, Source, batches, look_at, one_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# A record with `+`.
R = TypeVar("R")


class Pieces(ABC):
    """The pieces of one table."""

    @abstractmethod
    def add_up(self, function: Callable[[pd.DataFrame], R | None]) -> R:
        """The sum of what the function makes of every piece; None, for a piece without rows, adds nothing."""

    @abstractmethod
    def in_turn(self, function: Callable[[pd.DataFrame], R]) -> Iterator[R]:
        """What the function makes of each piece, in the order of the rows, one piece at a time."""


@dataclass(frozen=True, slots=True)
class FramePieces(Pieces):
    """A pandas frame in memory, BATCH rows at a time."""

    frame: pd.DataFrame

    def add_up(self, function: Callable[[pd.DataFrame], R | None]) -> R:
        """One piece after the other, in this process."""
        with ONE_THREAD:
            return _whole(_total(map(function, self._pieces())))

    def in_turn(self, function: Callable[[pd.DataFrame], R]) -> Iterator[R]:
        """In this process."""
        return map(partial(_alone, function), self._pieces())

    def _pieces(self) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self.frame), BATCH):
            yield _numbered(self.frame.iloc[start : start + BATCH], start)


@dataclass(frozen=True, slots=True)
class _Place:
    """Rows start to stop of a file; `first` is the number of its first row in the whole table."""

    source: Source
    start: int
    stop: int
    first: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePieces(Pieces):
    """Files that make up one table, read where the work is done."""

    places: tuple[_Place, ...]
    jobs: int = 1
    engine: Engine = "joblib"
    scheduler: str | None = None

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return sum(place.stop - place.start for place in self.places)

    def frame(self) -> pd.DataFrame:
        """The whole table, in memory."""
        return pd.concat([frame for place in self.places for frame in _frames(place)])

    def add_up(self, function: Callable[[pd.DataFrame], R | None]) -> R:
        """By the workers of the engine, each reading its own rows."""
        done = map_as_done(
            partial(_at_place, function),
            self.places,
            jobs=min(self.jobs, len(self.places)),
            engine=self.engine,
            scheduler=self.scheduler,
        )
        return _whole(_total(_in_order(done)))

    def in_turn(self, function: Callable[[pd.DataFrame], R]) -> Iterator[R]:
        """In this process, whatever the engine: workers that run ahead would fill the memory."""
        return (_alone(function, frame) for place in self.places for frame in _frames(place))


@dataclass(frozen=True, slots=True)
class PartitionPieces(Pieces):
    """The partitions of a Dask data frame, visited where Dask holds or makes them."""

    frame: Any
    starts: tuple[int, ...]

    def add_up(self, function: Callable[[pd.DataFrame], R | None]) -> R:
        """All at once by Dask; a partition that is lost with its worker is made again."""
        import dask

        work = dask.delayed(partial(_in_partition, function), pure=False)
        parts = zip(self.frame.to_delayed(), self.starts, strict=True)
        found = dask.compute(*(work(part, start) for part, start in parts))
        return _whole(_total(iter(found)))

    def in_turn(self, function: Callable[[pd.DataFrame], R]) -> Iterator[R]:
        """By Dask; only what the function makes of a partition comes here."""
        import dask

        work = dask.delayed(partial(_in_partition, function), pure=False)
        for part, start in zip(self.frame.to_delayed(), self.starts, strict=True):
            (made,) = dask.compute(work(part, start))
            if made is not None:
                yield made


@contextmanager
def file_pieces(
    paths: Sequence[str],
    columns: Sequence[str],
    text: Sequence[str],
    jobs: int = 1,
    engine: Engine = "joblib",
    scheduler: str | None = None,
) -> Iterator[FilePieces]:
    """The pieces of files; with engine="dask" and no scheduler, a local cluster lives for the block."""
    # A worker may stand in another folder.
    paths = [os.path.abspath(path) for path in paths]
    workers = min(jobs, len(paths)) if engine == "joblib" else 1
    found = dict(map_as_done(partial(look_at, text=text), paths, jobs=workers))
    places, first = [], 0
    for source in one_table([found[position] for position in range(len(paths))]):
        absent = [name for name in columns if name not in source.columns]
        if absent:
            raise TableError(
                f"'{source.path}' has no column '{absent[0]}': every file of a table needs all columns that "
                "are used"
            )
        step = part_size(source)
        for start in range(0, source.rows, step):
            stop = min(start + step, source.rows)
            places.append(_Place(source, start, stop, first + start, tuple(columns)))
        first += source.rows
    with cluster(jobs, engine, scheduler) as address:
        yield FilePieces(tuple(places), jobs, engine, address)


def partition_pieces(frame: Any, columns: Sequence[str]) -> PartitionPieces:
    """The pieces of a Dask data frame."""
    chosen = frame[list(columns)]
    lengths = chosen.map_partitions(len).compute().tolist()
    return PartitionPieces(chosen, tuple(sum(lengths[:position]) for position in range(len(lengths))))


def is_partitioned(frame: Any) -> bool:
    """Whether something is a Dask data frame, without loading Dask to find out.

    >>> is_partitioned(pd.DataFrame())
    False
    """
    return type(frame).__module__.startswith("dask.") and hasattr(frame, "to_delayed")


def _at_place(function: Callable[[pd.DataFrame], R | None], place: _Place) -> R | None:
    return _total(map(function, _frames(place)))


def _total(made: Iterator[R | None]) -> R | None:
    """The sum of the records in their order; None where there is none."""
    there = (one for one in made if one is not None)
    first = next(there, None)
    return None if first is None else reduce(add, there, first)


def _whole(total: R | None) -> R:
    if total is None:
        raise TableError("the table has no row to use: every row has a gap; leave out an empty column")
    return total


def _frames(place: _Place) -> Iterator[pd.DataFrame]:
    at = place.first
    for table in batches(place.source, place.start, place.stop):
        yield _numbered(table.select(place.columns).to_pandas(ignore_metadata=True), at)
        at += table.num_rows


def _in_partition(function: Callable[[pd.DataFrame], R | None], frame: pd.DataFrame, start: int) -> R | None:
    return None if frame.empty else _alone(function, _numbered(frame, start))


def _alone(function: Callable[[pd.DataFrame], R], frame: pd.DataFrame) -> R:
    with ONE_THREAD:
        return function(frame)


def _numbered(frame: pd.DataFrame, start: int) -> pd.DataFrame:
    return frame.set_axis(pd.RangeIndex(start, start + len(frame)), axis=0)


def _in_order(done: Iterator[tuple[int, R]]) -> Iterator[R]:
    """Results as soon as all before them are there."""
    waiting: dict[int, R] = {}
    due = 0
    for position, result in done:
        waiting[position] = result
        while due in waiting:
            yield waiting.pop(due)
            due += 1
