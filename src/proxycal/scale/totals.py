"""Totals of tables of any size: every piece is answered and added up, wherever it is.

    table -> pieces (pieces.py) -> each: sums by group (effect/totals.py) -> added up -> totals

A data frame in memory, files and a Dask frame go the same way, so that their totals agree to rounding.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.drift.run import columns_compared, compare_fit, warn_of
from proxycal.drift.wording import facts_of
from proxycal.effect.grouped import AsReported
from proxycal.effect.last_check import answer_totals
from proxycal.effect.totals import Groups, Statistic, TotalSums, refuse_groups, sum_rows
from proxycal.errors import ProxycalWarning, TableError
from proxycal.scale.drift import with_rows
from proxycal.scale.piece import complete_rows, needed_columns
from proxycal.scale.pieces import FramePieces, file_pieces, is_partitioned, partition_pieces
from proxycal.scale.sources import look_at
from proxycal.scale.streams import StreamPieces, is_streamed, stream_columns
from proxycal.table.columns import read_column
from proxycal.table.frames import column_names, from_columns, to_pandas
from proxycal.table.groups import read_counts, read_groups, read_outcome, read_weights
from proxycal.table.wording import counted, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from proxycal.drift.compare import Drift
    from proxycal.effect.grouped import Totals
    from proxycal.parallel import Engine
    from proxycal.result import Fit
    from proxycal.scale.pieces import Pieces
    from proxycal.table.roles import Roles

# The group of rows whose group is not known.
MISSING = "missing"


def totals_frame(
    fit: Fit, frame: Any, by: str | None = None, weights: str | None = None, statistic: Statistic = "total"
) -> Any:
    """Totals of a frame, as a frame of its kind; pandas for Dask and for what comes in batches."""
    if is_streamed(frame):
        columns = _columns(fit, stream_columns(frame), by, weights, "the table")
        return _laid_out(*add_up(fit, StreamPieces(frame, tuple(columns)), by, weights, statistic))
    have = list(frame.columns) if is_partitioned(frame) else list(column_names(frame))
    columns = _columns(fit, have, by, weights, "the table")
    pieces: Pieces
    if is_partitioned(frame):
        pieces = partition_pieces(frame, columns)
    else:
        pieces = FramePieces(to_pandas(frame, columns))
    return _laid_out(*add_up(fit, pieces, by, weights, statistic), frame)


def totals_of(fit: Fit, frame: pd.DataFrame, by: str | None, statistic: Statistic) -> Totals:
    """The same of a pandas frame, as the record that pictures are drawn of."""
    columns = _columns(fit, list(frame.columns), by, None, "the table")
    return add_up(fit, FramePieces(frame[columns]), by, None, statistic)[0]


def totals_files(
    fit: Fit,
    tables: Sequence[str | os.PathLike[str]],
    by: str | None = None,
    weights: str | None = None,
    statistic: Statistic = "total",
    *,
    jobs: int = 1,
    engine: Engine = "joblib",
    scheduler: str | None = None,
) -> pd.DataFrame:
    """Totals of one table that is spread over files, which may be larger than memory."""
    names = [os.fspath(table) for table in tables]
    text = fit.roles.text
    for name in names:
        columns = _columns(fit, look_at(name, text).columns, by, weights, f"'{name}'")
    with file_pieces(names, columns, text, jobs, engine, scheduler) as pieces:
        return _laid_out(*add_up(fit, pieces, by, weights, statistic))


def add_up(
    fit: Fit, pieces: Pieces, by: str | None, weights: str | None, statistic: Statistic = "total"
) -> tuple[Totals, Drift]:
    """The totals of a table in pieces, and what changed since the fit.

    Other units are refused; what was left out, left alone, or changed, is a warning.
    """
    weights = weights_column(fit, weights)
    added = pieces.add_up(partial(with_rows, partial(sum_piece, fit, by, weights), fit))
    sums, left = added.made.answered, added.made.left
    if sums is None:
        rows = int(left.rows.sum()) + left.blank
        raise TableError(f"all {rows} rows have missing values, so there is nothing to add up: fill the gaps")
    rows = int(sums.rows.sum() + left.rows.sum()) + left.blank
    if weights is not None and not sums.weight.any():
        raise TableError(
            f"column {shown(weights)} (weights) is 0 in all {rows} rows, so there is nothing to add up: "
            "choose another column, or none"
        )
    drift = compare_fit(fit, {"": added.rows.frame}, refuse=True)
    done = answer_totals(fit.method_fit, fit.support, sums, fit.settings.level, statistic, by, left)
    if fit.why_left_alone:
        warnings.warn(fit.why_left_alone, ProxycalWarning, stacklevel=4)
    for text in _what_is_left(left, rows, done):
        warnings.warn(text, ProxycalWarning, stacklevel=4)
    warn_of(drift, stacklevel=4)
    return done, drift


def _what_is_left(left: AsReported, rows: int, done: Totals) -> Iterator[str]:
    """What a reader must know of rows without an answer."""
    if count := int(left.rows.sum()):
        whole = float(done.reported[-1]) if done.statistic == "total" else math.nan
        part = f"{float(left.reported.sum()):.6g}" + (f" of {whole:.6g}" if math.isfinite(whole) else "")
        yield (
            f"{counted(count, 'row')} of {rows} had missing values and no answer: they are in the totals as "
            f"reported ({part}), and no interval accounts for their bias; fill the gaps, or fit with "
            "missing='impute'"
        )
    if left.blank:
        yield f"{counted(left.blank, 'row')} of {rows} had no report and are in no total"


@dataclass(frozen=True, slots=True)
class PieceSums:
    """What a piece adds up to: the rows with an answer, None without any, and the others; by which column."""

    answered: TotalSums | None
    left: AsReported
    by: str | None

    def __add__(self, other: PieceSums) -> PieceSums:
        mine, theirs = self.answered, other.answered
        answered = mine + theirs if mine is not None and theirs is not None else mine or theirs
        if answered is not None and self.by is not None:
            refuse_groups(len(answered.labels), self.by)
        return PieceSums(answered, self.left + other.left, self.by)


def sum_piece(fit: Fit, by: str | None, weights: str | None, frame: pd.DataFrame) -> PieceSums:
    """The sums of the rows of a piece; rows with gaps enter as reported."""
    w, counts = read_weights(frame, weights), read_counts(frame, fit.roles.counts)
    codes, labels = read_groups(frame, by)
    if by is not None:
        refuse_groups(len(labels), by)
    gone, sums = ~complete_rows(fit, frame), None
    if fit.encoder.missing != "drop" or not gone.all():
        arrays = fit.encoder.transform(frame, design=False)
        gone = ~arrays.kept
        groups = Groups(codes[arrays.kept], tuple(labels))
        sums = sum_rows(fit.method_fit, arrays, groups, w[arrays.kept], counts[arrays.kept])
    y = read_outcome(frame, fit.roles)[gone] if gone.any() else np.zeros(0)
    return PieceSums(sums, AsReported.of(y, codes[gone], labels, w[gone], counts[gone]), by)


def left_rows(frame: pd.DataFrame, roles: Roles, gone: np.ndarray, by: str | None) -> AsReported | None:
    """The rows (N,) of a fitted frame that have no answer, by a column of levels; None without any."""
    if not gone.any():
        return None
    codes = np.zeros(len(frame), dtype=np.int64)
    labels: list[Hashable] = [None]
    if by is not None:
        codes, levels = read_column(frame[by], by).as_levels()
        labels = [*levels, MISSING]
        codes = np.where(codes < 0, len(levels), codes)
    w, counts = read_weights(frame, roles.weights)[gone], read_counts(frame, roles.counts)[gone]
    left = AsReported.of(read_outcome(frame, roles)[gone], codes[gone], labels, w, counts)
    return left.over([label for label, rows in zip(labels, left.rows, strict=True) if rows])


def weights_column(fit: Fit, weights: str | None) -> str | None:
    """The column asked for, or that of the role; each row counts once without either."""
    return fit.roles.weights if weights is None else weights


def _columns(fit: Fit, have: Iterable[str], by: str | None, weights: str | None, where: str) -> list[str]:
    """The columns to read: those of calibration, the groups, the weights and the counts."""
    have = list(have)
    for given, column in (("by", by), ("weights", weights)):
        if not isinstance(column, Hashable):
            raise TableError(
                f"{given} must be the name of one column of the table, not a {type(column).__name__}: add it "
                "to the table as a column and give its name"
            )
    design = ((weights_column(fit, weights), "weights"), (fit.roles.counts, "counts"))
    for name, what in ((by, "groups"), *design):
        if name is not None and name not in have:
            raise TableError(
                f"{where} has no column {shown(name)} for the {what} of the totals: it has "
                f"{counted(len(have), 'column')}, {listed(have, limit=8)}"
            )
    asked = [*needed_columns(fit, have), by, *(name for name, _ in design), *columns_compared(fit, have)]
    return list(dict.fromkeys(name for name in asked if name is not None))


def _laid_out(totals: Totals, drift: Drift, like: Any = None) -> Any:
    """The totals as a frame: a row per group, all rows last; what changed since the fit in its `attrs`."""
    columns: dict[str, Any] = {}
    if totals.by is not None:
        columns[totals.by] = np.array(totals.labels, dtype=object)
    made = from_columns(columns | totals.columns(), like)
    if isinstance(made, pd.DataFrame):
        made.attrs["drift"] = facts_of(drift)
    return made
