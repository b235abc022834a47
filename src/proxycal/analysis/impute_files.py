"""Completed tables of a file of any size: piece by piece, each as a file of its own."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from proxycal.analysis.impute import complete, flat_text, require_draws, seed_of
from proxycal.effect.draws import draw_truth, draws_of
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.files import explained, kind_of
from proxycal.safe_csv import safe_table
from proxycal.scale.parts import stem_and_ending
from proxycal.scale.piece import needed_columns
from proxycal.scale.sources import Source, batches, look_at
from proxycal.scale.writers import style_like, table_writer
from proxycal.store import check_folder, check_output, load_fit
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxycal.effect.draws import Draws
    from proxycal.result import Fit

    Name = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class ImputedFiles:
    """What was written: rows of each file; unanswered : rows with gaps; whether the reports were left."""

    verdict: str
    rows: int
    unanswered: int
    files: tuple[str, ...]
    left_alone: bool


def impute_files(
    run: Name,
    table: Name,
    out: Name,
    m: int = 20,
    random_state: int | None = None,
    include: Sequence[str] = (),
    safe: bool = False,
    kind: str | None = None,
) -> ImputedFiles:
    """Write m completed tables of a file into a folder: NAME-01.parquet, NAME-02.parquet, ...

    Parameters
    ----------
    run, table : paths
        A run folder, and a CSV, TSV, Excel or Parquet file, which may be larger than memory. With `include`,
        with validated rows and where clusters share their bias it is read as a whole.
    out : path
        The folder. All files appear when the last is finished, or none does.
    m : int, default 20
        How many tables.
    random_state : int, default None
        Seed of the draws; None for that of the fit.
    include : sequence of str, default ()
        As in `ProxyCalibrator.impute`.
    safe : bool, default False
        Whether text of a CSV that a spreadsheet would run as a formula gets an apostrophe before it.
    kind : "csv" or "parquet", default None
        How the files are written; None for like the table.

    Examples
    --------
    >>> import tempfile, proxycal
    >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments")
    ...     model.fit(sim.table).save(f"{folder}/run")
    ...     sim.table.to_parquet(f"{folder}/table.parquet")
    ...     done = impute_files(f"{folder}/run", f"{folder}/table.parquet", f"{folder}/out", m=3)
    ...     len(done.files), done.rows
    (3, 400)

    """
    if kind not in (None, "csv", "parquet"):
        raise SettingsError(f"completed tables cannot be written as {kind!r}: use csv or parquet")
    fit = load_fit(run)
    require_draws(fit, m)
    source = look_at(os.path.abspath(table), text=fit.roles.text)
    absent = [name for name in (fit.roles.outcome, *include) if name not in source.columns]
    if absent:
        raise TableError(f"'{table}' has no column '{absent[0]}': check the name and the file")
    paths = _paths(Path(out), source, m, kind)
    with explained(Path(out), "written"):
        check_folder(out)
        Path(out).mkdir(parents=True, exist_ok=True)
    for path in paths:
        check_output(path, [table])
    draws = draws_of(fit.method_fit, m, seed_of(fit, random_state))
    rows, unanswered = 0, 0
    with ExitStack() as opened:
        style = style_like(source, paths[0])
        writers = [opened.enter_context(table_writer(path, True, style)) for path in paths]
        for piece, truth in _completed(fit, source, draws, include, kind_of(paths[0]) == "csv"):
            at = piece.schema.get_field_index(fit.roles.outcome)
            for write, drawn in zip(writers, truth, strict=True):
                column = pa.array(drawn, from_pandas=True)
                made = piece.set_column(at, fit.roles.outcome, column)
                write(safe_table(made) if safe and kind_of(paths[0]) == "csv" else made)
            rows += piece.num_rows
            unanswered += int(np.isnan(truth[0]).sum())
    _warn(fit, rows, unanswered)
    files = tuple(str(path) for path in paths)
    return ImputedFiles(fit.verdict, rows, unanswered, files, bool(fit.why_left_alone))


def _paths(folder: Path, source: Source, m: int, kind: str | None) -> list[Path]:
    stem, ending = stem_and_ending(source.path)
    ending = f".{kind}" if kind else ".csv" if source.kind == "workbook" else ending
    width = max(2, len(str(m)))
    return [folder / f"{stem}-{number:0{width}d}{ending}" for number in range(1, m + 1)]


def _completed(
    fit: Fit, source: Source, draws: Draws, include: Sequence[str], as_text: bool
) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """Pieces of the table, as they stand in the file where that is text, and draws (m, n) for their rows."""
    plan = source.plan if as_text else None

    def frame_of(piece: pa.Table, columns: Sequence[str]) -> pd.DataFrame:
        chosen = piece.select(list(columns))
        return chosen.to_pandas(ignore_metadata=True) if plan is None else plan.frame(chosen)

    pieces = batches(source, 0, source.rows, as_text=plan is not None)
    try:
        if include or _whole(fit):
            piece = pa.concat_tables(list(pieces))
            frame = frame_of(piece, [*needed_columns(fit, piece.column_names), *include])
            done = complete(fit, frame.loc[:, ~frame.columns.duplicated()], draws.m, draws.seed, include)
            if include and not done.heard and np.isfinite(done.shrinkage):
                warnings.warn(flat_text(include, done.shrinkage), ProxycalWarning, stacklevel=3)
            yield piece, done.truth
            return
        at = 0
        for piece in pieces:
            frame = frame_of(piece, needed_columns(fit, piece.column_names))
            frame.index = pd.RangeIndex(at, at + len(frame))
            yield piece, _draw_piece(fit, frame, draws, at)
            at += len(frame)
    except TableError as error:
        raise TableError(f"'{source.path}': {error}") from error


def _whole(fit: Fit) -> bool:
    """Whether draws for a row need other rows."""
    details = fit.method_fit.details
    return details.by_validation or details.unit != "rows"


def _draw_piece(fit: Fit, frame: pd.DataFrame, draws: Draws, at: int) -> np.ndarray:
    complete_rows = np.asarray(frame.notna().all(axis=1), dtype=bool)
    truth = np.full((draws.m, len(frame)), np.nan)
    if fit.encoder.missing == "drop" and not complete_rows.any():
        return truth
    arrays = fit.encoder.transform(frame, design=False)
    places = at + np.flatnonzero(arrays.kept)
    truth[:, arrays.kept] = draw_truth(fit.method_fit, arrays, draws, places)
    return truth


def _warn(fit: Fit, rows: int, unanswered: int) -> None:
    texts: list[str] = []
    if fit.why_left_alone:
        texts.append(f"every completed table holds the reports as they are: {fit.why_left_alone}")
    if unanswered:
        texts.append(
            f"{counted(unanswered, 'row')} of {rows} had missing values and got no draw (missing in column "
            f"'{fit.roles.outcome}' of the completed tables): fill the gaps, or fit with missing='impute'"
        )
    for text in texts:
        warnings.warn(text, ProxycalWarning, stacklevel=3)
