"""A table that is read in pieces.

    pass 1   every piece -> a sample of the table, its levels, gaps and weights (sample.py)
             the sample -> encoder; from here on the method decides (its `fit_in_pieces`)

    exact    the sample -> comparison of the models, matching, moments, checks
    passes   every piece -> sums of the models that are left -> alpha, interval, verdict

    paper    every piece -> encoded rows on disk -> stage 1
             the sample -> stage 2, groups, matching, checks

The sums of a piece are the same function of its rows whether the table is in memory, in files or on a
cluster, so the three agree to rounding.
"""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar

from proxycal.errors import ReadingNote, SettingsError, TableError
from proxycal.methods.auto import count_validated
from proxycal.methods.choice import choose_method
from proxycal.methods.registry import METHODS
from proxycal.parallel import ONE_THREAD, check_scheduler
from proxycal.reading.table import read_table, understood
from proxycal.scale.pieces import FramePieces, Pieces, file_pieces, is_partitioned, partition_pieces
from proxycal.scale.sample import given_weights, has_rows, summarise
from proxycal.scale.sources import fits_in_memory
from proxycal.table.encode import Encoder
from proxycal.table.frames import to_pandas
from proxycal.table.surface import choose
from proxycal.table.wording import counted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from proxycal.methods.registry import MethodFit
    from proxycal.parallel import Engine
    from proxycal.result import Finding
    from proxycal.scale.sample import Summary
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays
    from proxycal.table.roles import Roles

# Tables in memory up to this size are fitted as they are; larger ones, and only those, go in pieces.
LARGE = 200_000
# Numbers that are held of a frame in memory once they are encoded (0.5 GB): to encode it anew is a fifth of a
# pass over it.
HELD = 64_000_000

# What a method makes of a piece: a record with `+` where it is added up.
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class EncodedPieces:
    """A table in pieces, as a method sees it: arrays, a piece at a time, and a sample of all of it.

    sample : rows that stand for all, weighted accordingly. n, weight : of all rows that are used.
    unit : the mean of the table's sampling weights, which is a weight of one. held : the pieces, encoded
    once, where memory holds them all; else none, and every pass encodes them anew.
    """

    pieces: Pieces
    encoder: Encoder
    unit: float
    sample: Arrays
    n: int
    weight: float
    held: tuple[Arrays, ...] = ()

    def without_truth(self) -> EncodedPieces:
        """The same table as if nobody had been validated."""
        roles = replace(self.encoder.roles, truth=None, inclusion=None)
        return replace(
            self,
            encoder=replace(self.encoder, roles=roles),
            sample=replace(self.sample, truth=None, inclusion=None),
            held=tuple(replace(piece, truth=None, inclusion=None) for piece in self.held),
        )

    def add_up(self, function: Callable[[Arrays], R]) -> R:
        """The sum of what the function makes of every piece."""
        if self.held:
            with ONE_THREAD:
                return reduce(add, map(function, self.held))
        return self.pieces.add_up(partial(_encoded, self.encoder, self.unit, function))

    def in_turn(self, function: Callable[[Arrays], R]) -> Iterator[R]:
        """What the function makes of each piece, in the order of the rows, one piece at a time."""
        results = self.pieces.in_turn(partial(_encoded, self.encoder, self.unit, function))
        return (result for result in results if result is not None)


@dataclass(frozen=True, slots=True)
class LargeFit:
    """A fit of all rows, and the sample that stands for them wherever a reader looks at rows.

    frame, arrays : the sampled rows, as they are and encoded. named : the same rows under the index that
    names them. n, validated : rows in the fit, and those whose truth can teach. method : that was used, also
    where it was chosen by the data; findings : what to say of the choice.
    """

    encoder: Encoder
    fit: MethodFit
    frame: pd.DataFrame
    named: pd.DataFrame
    arrays: Arrays
    n: int
    validated: int
    method: str
    findings: tuple[Finding, ...] = ()


@contextmanager
def opened(
    tables: Sequence[str | os.PathLike[str]],
    roles: Roles,
    jobs: int,
    engine: Engine,
    scheduler: str | None,
) -> Iterator[Any]:
    """One table that is spread over files: a frame where it is small or no Parquet, else its pieces."""
    text = roles.text
    names = [os.fspath(name) for name in tables]
    check_scheduler(engine, scheduler)
    if len(names) == 1 and fits_in_memory(names[0], LARGE):
        frame = read_table(names[0], text)
        if understood(frame):
            warnings.warn(f"{names[0]}: {understood(frame)}", ReadingNote, stacklevel=6)
        yield frame
        return
    with file_pieces(names, roles.columns, text, jobs, engine, scheduler) as pieces:
        yield pieces.frame() if pieces.rows <= LARGE else pieces


def pieces_of(table: Any, roles: Roles, settings: Settings) -> Pieces | None:
    """The pieces of what is fitted in pieces: files, a Dask frame, or a large frame; None for the others.

    What is no frame at all is for others to refuse.
    """
    if isinstance(table, Pieces):
        return table
    if is_partitioned(table):
        return partition_pieces(table, roles.columns)
    try:
        is_long = len(table) > LARGE
    except TypeError:
        return None
    if not is_long or not METHODS[settings.method].pieces_in_memory or refuse_large(roles, settings):
        return None
    return FramePieces(to_pandas(table, roles.columns))


def refuse_large(roles: Roles, settings: Settings) -> str:
    """Why a table cannot be fitted in pieces, or nothing."""
    if not METHODS[settings.method].pieces:
        others = " or ".join(
            f"method='{method.name}'" for method in METHODS.values() if method.pieces and not method.chooser
        )
        return f"method='{settings.method}' needs the whole table in memory: use {others}"
    if roles.cluster is not None:
        return "clusters need the whole table in memory, since their rows may be anywhere: fit a data frame"
    if settings.interval != "sandwich":
        return f"interval='{settings.interval}' needs the whole table in memory: use interval='sandwich'"
    return ""


def fit_large(pieces: Pieces, roles: Roles, settings: Settings) -> LargeFit:
    """Fit a table that is visited in pieces: all of its rows where that can be, a sample where not."""
    why = refuse_large(roles, settings)
    if why:
        raise SettingsError(why)
    seen = pieces.add_up(partial(summarise, roles=roles))
    _refuse_gaps(seen, roles, settings)
    encoder = Encoder.fit(
        seen.sample,
        roles,
        settings.missing,  # type: ignore[arg-type]
        settings.scale,
        settings.log_proxies,
    )
    encoder = replace(
        encoder,
        rows_seen=seen.rows,
        rows_kept=seen.complete if settings.missing == "drop" else seen.rows,
        gaps=tuple((name, count) for name, count in seen.gaps.items() if count),
    )
    unit = seen.weight / seen.stand_for
    arrays = encoder.transform(seen.sample)
    alike = seen.count[arrays.kept].astype(float)
    weights = given_weights(seen.sample, roles, arrays.kept) / unit * alike
    arrays = replace(
        arrays, weights=weights, counts=alike if arrays.counts is None else arrays.counts * alike
    )
    read = encoder
    if not seen.validated:
        # A truth column without a single truth is as good as none.
        read, arrays = replace(encoder, roles=replace(roles, truth=None)), replace(arrays, truth=None)
    table = EncodedPieces(pieces, read, unit, arrays, encoder.rows_kept, seen.weight / unit)
    if isinstance(pieces, FramePieces) and len(pieces.frame) * _numbers_a_row(arrays) <= HELD:
        table = replace(table, held=tuple(table.in_turn(lambda piece: piece)))
    teach = seen.validated
    if teach and settings.scale == "log":
        teach = table.add_up(partial(count_validated, scale="log"))
    choice = choose_method(settings, arrays, roles.outcome, teach)
    method = choice.method
    fit = METHODS[method].fit_in_pieces(table, replace(settings, method=method))
    named = pieces.frame.iloc[seen.sample.index] if isinstance(pieces, FramePieces) else seen.sample
    return LargeFit(
        encoder, fit, seen.sample, named, arrays, encoder.rows_kept, teach, method, choice.findings
    )


def _encoded(encoder: Encoder, unit: float, function: Callable[[Arrays], R], frame: pd.DataFrame) -> R | None:
    """What the function makes of the rows of a piece; None where no row of it is used."""
    if not has_rows(frame, encoder):
        return None
    arrays = encoder.transform(frame)
    return function(replace(arrays, weights=given_weights(frame, encoder.roles, arrays.kept) / unit))


def _numbers_a_row(arrays: Arrays) -> int:
    return arrays.P.shape[1] + arrays.E.shape[1] + len(arrays.levels) + 4


def _refuse_gaps(seen: Summary, roles: Roles, settings: Settings) -> None:
    """Missing values that the settings do not allow, counted over the whole table."""
    gaps = {name: count for name, count in seen.gaps.items() if count}
    if settings.missing == "raise" and gaps:
        name = next(iter(gaps))
        more = f" (also {', '.join(shown(other) for other in list(gaps)[1:])})" if len(gaps) > 1 else ""
        raise TableError(
            f"column {shown(name)} holds {counted(gaps[name], 'missing value')}{more}: "
            f"{choose('missing', 'drop', 'impute')}"
        )
    if settings.missing == "impute" and roles.outcome in gaps:
        raise TableError(
            f"column {shown(roles.outcome)} holds {counted(gaps[roles.outcome], 'missing value')}, and the "
            f"outcome is never imputed: {choose('missing', 'drop')} or remove those rows"
        )
