"""A sample of a table that is read in pieces: the same rows whatever their order and wherever the cuts are.

Every row has a number that its values alone decide (a hash); the sample is the rows with the smallest of
them. Rows that are alike in every value are one row of the sample that counts for all. Of every level of a
category some rows are always there, so that the sample knows all levels of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas.api import types

from proxycal.table.reports import gaps_of
from proxycal.table.require import read_table, refuse_infinite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.table.encode import Encoder
    from proxycal.table.roles import Roles

# Distinct rows of a sample, and at least of every level.
SAMPLE_ROWS, LEVEL_ROWS = 40_000, 20
# A column with more levels than this in a piece is no category that a fit could use.
_MOST_LEVELS = 200
_GAP = "\0"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a pass over some rows of a table found.

    rows, complete : how many, and how many of them without a gap in what is measured. gaps : of each such
    column. stand_for, weight : how many rows the complete ones stand for, and the sum of their weights.
    validated : complete rows that have a truth. sample : the sampled rows, by their numbers; number, count
    : (n,) of each, and how many rows are alike.
    """

    rows: int
    complete: int
    gaps: dict[str, int]
    stand_for: float
    weight: float
    validated: int
    sample: pd.DataFrame
    number: np.ndarray
    count: np.ndarray

    def __add__(self, other: Summary) -> Summary:
        number = np.concatenate([self.number, other.number])
        count = np.concatenate([self.count, other.count])
        both = pd.concat([self.sample, other.sample])
        return Summary(
            self.rows + other.rows,
            self.complete + other.complete,
            {name: self.gaps[name] + other.gaps[name] for name in self.gaps},
            self.stand_for + other.stand_for,
            self.weight + other.weight,
            self.validated + other.validated,
            *_smallest(both, number, count, _categories(both)),
        )


def summarise(frame: pd.DataFrame, roles: Roles) -> Summary:
    """The summary of the rows of one piece.

    >>> from proxycal.table.roles import Roles
    >>> piece = pd.DataFrame({"y": [1.0, 2.0, 1.0], "p": [0, 1, 0], "e": ["a", "b", "a"]})
    >>> sorted(summarise(piece, Roles("y", ["p"], ["e"])).count.tolist())
    [1, 2]
    """
    measured = [roles.outcome, *roles.proxies, *roles.environment]
    reports = list(roles.reports)
    if any(
        np.isinf(frame[name].to_numpy(float)).any() for name in measured + reports if _is_number(frame[name])
    ):
        # Said here, where a row still has its number in the table.
        refuse_infinite(read_table(frame, measured + reports))
    missing = gaps_of(frame, roles, measured)
    complete = ~missing.any(axis=1).to_numpy()
    optional = [roles.weights, roles.counts, roles.truth, roles.trusted]
    optional += [roles.exposure, roles.checked, roles.confirmed]
    known = [*measured, *reports, *(name for name in optional if name is not None)]
    number, one_each = _numbers(frame[known]), np.ones(len(frame), dtype=int)
    sample, number, count = _smallest(frame, number, one_each, _categories(frame[known]))
    return Summary(
        rows=len(frame),
        complete=int(complete.sum()),
        gaps={str(name): int(found) for name, found in missing.sum().items()},
        stand_for=float(_floats(frame, roles.counts)[complete].sum()),
        weight=float(given_weights(frame, roles, complete).sum()),
        validated=0 if roles.truth is None else int((frame[roles.truth].notna().to_numpy() & complete).sum()),
        sample=sample,
        number=number,
        count=count,
    )


def has_rows(frame: pd.DataFrame, encoder: Encoder) -> bool:
    """Whether a piece holds a row to use: with missing="drop" all of its rows may have a gap."""
    roles = encoder.roles
    measured = [roles.outcome, *roles.proxies, *roles.environment]
    return encoder.missing != "drop" or bool((~gaps_of(frame, roles, measured).any(axis=1)).any())


def given_weights(frame: pd.DataFrame, roles: Roles, kept: np.ndarray) -> np.ndarray:
    """Weights times counts of the kept rows as given, which `transform` checks; ones where there are none."""
    return (_floats(frame, roles.counts) * _floats(frame, roles.weights))[kept]


def _floats(frame: pd.DataFrame, name: str | None) -> np.ndarray:
    return np.ones(len(frame)) if name is None else frame[name].to_numpy(dtype=float, na_value=np.nan)


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """A number for each row, (n,) uint64, that its values alone decide: not its dtype, place or label."""
    plain = {}
    for position, name in enumerate(frame.columns):
        column = frame[name]
        if _is_number(column):
            # + 0.0 makes one zero of the two.
            plain[position] = column.to_numpy(dtype=float, na_value=np.nan) + 0.0
        else:
            plain[position] = column.astype(object).where(column.notna(), _GAP).astype(str).to_numpy(object)
    return pd.util.hash_pandas_object(pd.DataFrame(plain), index=False).to_numpy()


def _smallest(
    frame: pd.DataFrame, number: np.ndarray, count: np.ndarray, categories: Sequence[str]
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The rows with the smallest numbers, in their order, rows that are alike as one."""
    distinct, first, which = np.unique(number, return_index=True, return_inverse=True)
    count = np.bincount(which, weights=count, minlength=len(distinct)).astype(int)
    frame = frame.iloc[first]
    chosen = np.arange(len(distinct)) < SAMPLE_ROWS
    if not chosen.all():
        for name in categories:
            # Rows stand in the order of their numbers, so the first of a level have its smallest.
            place = frame.groupby(frame[name].astype(object), sort=False, dropna=False).cumcount()
            chosen |= place.to_numpy() < LEVEL_ROWS
    return frame[chosen], distinct[chosen], count[chosen]


def _categories(frame: pd.DataFrame) -> list[str]:
    """The columns whose levels must all be in the sample."""
    found = [str(name) for name in frame.columns if not _is_number(frame[name])]
    return [name for name in found if frame[name].nunique() <= _MOST_LEVELS]


def _is_number(column: pd.Series) -> bool:
    return types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
