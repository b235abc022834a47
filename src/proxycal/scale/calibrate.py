"""Calibrate tables on disk that are larger than memory, in parallel, and go on after a kill.

    tables -> parts (parts.py) -> each: batches (sources.py) -> calibrated (piece.py) -> a file (writers.py)

Into a folder, every part is a file of it, and the ledger (ledger.py) says which are finished. Into one file,
the parts stand in a hidden folder beside it until all are there and are then joined in order.
"""

from __future__ import annotations

import logging
import os
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal import __version__
from proxycal.drift.run import warn_of
from proxycal.drift.wording import facts_of
from proxycal.errors import EngineError, ProxycalError, ProxycalWarning, StoreError, TableError
from proxycal.files import explained, kind_of
from proxycal.locks import alone, clean, hidden_name
from proxycal.parallel import Engine, cluster, map_as_done
from proxycal.safe_csv import safe_table
from proxycal.scale.digests import digest_of, digests
from proxycal.scale.drift import check_sources
from proxycal.scale.ledger import Finished, abandon, claim, record, remove
from proxycal.scale.parts import Part, plan, stem_and_ending
from proxycal.scale.piece import calibrate_piece, needed_columns, refuse_taken
from proxycal.scale.sources import Source, batches, labels_of, look_at
from proxycal.scale.writers import join, style_like, table_writer
from proxycal.store import check_folder, check_output, load_fit, run_digest
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from proxycal.result import Fit

    Name = str | os.PathLike[str]


_LOG = logging.getLogger("proxycal")
# Bytes of tables below which starting further processes takes longer than the work.
SMALL = 16 * 2**20


@dataclass(frozen=True, slots=True)
class CalibratedFiles:
    """What was written: rows of how many tables, in which files, with what verdict.

    rows : in the tables, and as many in the files: both are counted. unanswered : rows with gaps among them.
    resumed : parts that an earlier run had finished. left_alone : whether the outcome was left as reported.
    drift : what changed since the fit.
    """

    verdict: str
    tables: int
    rows: int
    unanswered: int
    files: tuple[str, ...]
    resumed: int
    left_alone: bool
    drift: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """One part and all that a worker needs to know of it; a CSV without `header` has no line of names."""

    run: str
    digest: str
    source: Source
    part: Part
    header: bool
    safe: bool


@dataclass(frozen=True, slots=True)
class _How:
    jobs: int
    engine: Engine
    scheduler: str | None
    resume: bool
    progress: Callable[[int, int], None] | None


def calibrate_files(
    run: Name,
    tables: Sequence[Name],
    out: Name,
    *,
    jobs: int | None = 1,
    engine: Engine = "joblib",
    scheduler: str | None = None,
    resume: bool = False,
    part_rows: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    safe: bool = False,
) -> CalibratedFiles:
    """Calibrate files with a run folder: their rows and columns, then those of `calibrate`.

    tables : CSV, TSV, Excel or Parquet files. A text table that is written as text keeps every value as it
    stands, its separator and its decimal sign.
    out : a folder for any number of tables, in which each becomes one file, or several (NAME-00000.parquet,
    ...) where it is large; or for one table a file, by its ending. Rows keep their order.
    jobs, engine, scheduler : as in `engine.map_as_done`; the bytes written do not depend on them. jobs=None
    is all cores, or one for small tables. Workers of a Dask cluster must see the same folders.
    resume : resume an interrupted run of the same work.
    part_rows : rows of a Parquet table that are one piece of work; chosen by its size if not given.
    progress : called with (done, total) as parts are finished.
    safe : whether text of a CSV that a spreadsheet would run as a formula gets an apostrophe before it.

    >>> import tempfile, pandas, proxycal
    >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments")
    ...     model.fit(sim.table).save(f"{folder}/run")
    ...     sim.table.to_parquet(f"{folder}/table.parquet")
    ...     done = calibrate_files(f"{folder}/run", [f"{folder}/table.parquet"], f"{folder}/out")
    ...     len(pandas.read_parquet(f"{folder}/out")), done.rows
    (400, 400)
    """
    names, run, place = [os.path.abspath(one) for one in tables], os.path.abspath(run), Path(out)
    how = _How(_workers(jobs, names), engine, scheduler, resume, progress)
    into_folder = _is_folder(place, names)
    fit, digest = load_fit(run), run_digest(run)
    sources = _look(names, fit, how)
    drift = check_sources(fit, sources)
    _LOG.info("calibrating %s rows of %s tables", sum(one.rows for one in sources), len(sources))
    parts = plan(sources, part_rows, None if into_folder else stem_and_ending(place.name)[1])
    # Parts that are joined to one file have one header between them.
    todo = [_Work(run, digest, sources[one.table], one, into_folder or one.start == 0, safe) for one in parts]
    # One local cluster for all that is to be done.
    with cluster(how.jobs, engine, scheduler) as address:
        how = replace(how, scheduler=address)
        # Whoever is at work there is at work for long: it is said at once.
        with explained(place, "written"):
            place.parent.mkdir(parents=True, exist_ok=True)
        with alone(Path(os.path.realpath(place)), patience=0):
            done = _into_folder(todo, place, how) if into_folder else _into_file(todo, place, how)
    rows = _verified_rows(todo, done.parts, done.files)
    unanswered = sum(one.unanswered for one in done.parts)
    _warn(fit, rows, unanswered)
    warn_of(drift, stacklevel=2)
    changed = () if drift is None else tuple(facts_of(drift))
    files = tuple(str(path) for path in done.files)
    left_alone = bool(fit.why_left_alone)
    return CalibratedFiles(
        fit.verdict, len(sources), rows, unanswered, files, done.resumed, left_alone, changed
    )


@dataclass(frozen=True, slots=True)
class _Done:
    parts: list[Finished]
    files: list[Path]
    resumed: int


def _into_folder(todo: Sequence[_Work], folder: Path, how: _How) -> _Done:
    """Do the parts that the ledger of the folder does not have yet."""
    finished = claim(folder, _facts(todo, how), how.resume)
    left = [one for one in todo if one.part.name not in finished]
    resumed, names = len(todo) - len(left), [one.part.name for one in todo]
    try:
        _tell(how, resumed, len(todo))
        for part in _done_by_workers(left, folder, how):
            record(folder, part)
            _LOG.debug("written: %s, %s rows", part.name, part.rows)
            finished[part.name] = part
            _tell(how, len(finished), len(todo))
    except ProxycalError:
        if not finished:
            abandon(folder, names)
        raise
    # Workers of a killed run outlive it by a moment and hold what they were writing: by now they are gone.
    clean(folder)
    return _Done([finished[name] for name in names], [folder / name for name in names], resumed)


def _tell(how: _How, done: int, total: int) -> None:
    if how.progress is not None:
        how.progress(done, total)


def _into_file(todo: Sequence[_Work], path: Path, how: _How) -> _Done:
    """A small table at once; the parts of a large one in a hidden folder, then joined."""
    if len(todo) == 1:
        named = replace(todo[0], part=replace(todo[0].part, name=path.name))
        return _Done(list(_done_by_workers([named], path.parent, how)), [path], 0)
    between = hidden_name("parts", path)
    done = _into_folder(todo, between, how)
    join(done.files, path)
    remove(between, done.parts)
    return _Done(done.parts, [path], done.resumed)


def _done_by_workers(todo: Sequence[_Work], folder: Path, how: _How) -> Iterator[Finished]:
    work = partial(_calibrate_part, os.path.abspath(folder))
    jobs = min(how.jobs, max(len(todo), 1))
    results = map_as_done(work, todo, jobs=jobs, engine=how.engine, scheduler=how.scheduler)
    return (part for _, part in results)


def _calibrate_part(folder: str, work: _Work) -> Finished:
    """Runs in a worker: read a part, calibrate it, write it."""
    fit = _fit(work.run, work.digest)
    path, at, unanswered = Path(folder, work.part.name), work.part.start, 0
    if os.path.getsize(work.source.path) != work.source.bytes:
        raise StoreError(f"'{work.source.path}' changed while it was read: start again in a new folder")
    # Text that becomes text again passes as it stands: 01003 stays 01003, and 1.50 is not made 1.5.
    reading = work.source.plan if kind_of(path) == "csv" else None
    with table_writer(path, work.header, style_like(work.source, path)) as write:
        for table in batches(work.source, work.part.start, work.part.stop, as_text=reading is not None):
            chosen = table.select(needed_columns(fit, table.column_names))
            frame = chosen.to_pandas(ignore_metadata=True) if reading is None else reading.frame(chosen)
            # Messages about rows name them by their number in the table.
            frame.index = labels_of(work.source, at, len(frame))
            try:
                columns, answered = calibrate_piece(fit, frame)
            except TableError as error:
                raise TableError(f"'{work.source.path}': {error}") from error
            for name, values in columns.items():
                table = table.append_column(name, pa.array(values, from_pandas=True))
            write(safe_table(table) if work.safe and kind_of(path) == "csv" else table)
            at += len(frame)
            unanswered += int((~answered).sum())
    return Finished(work.part.name, at - work.part.start, unanswered, digest_of(path))


@lru_cache(maxsize=1)
def _fit(run: str, digest: str) -> Fit:
    """The fit, read once by each worker; it must be the one that the work was planned for."""
    fit = load_fit(run)
    if run_digest(run) != digest:
        raise StoreError(f"run folder '{run}' was fitted again meanwhile: start again in a new folder")
    return fit


def _is_folder(out: Path, tables: Sequence[str]) -> bool:
    """Whether `out` is meant as a folder; a file is for one table, and its folder must be there."""
    if not tables:
        raise StoreError("no table to calibrate: name CSV, TSV, Excel or Parquet files")
    if out.is_dir() or not out.suffix:
        check_folder(out)
        return True
    kind_of(out)
    if len(tables) > 1:
        raise StoreError(f"{len(tables)} tables do not go into one file '{out}': name a folder with --out")
    check_output(out, tables)
    return False


def _workers(jobs: int | None, tables: Sequence[str]) -> int:
    if jobs is not None:
        return jobs
    size = sum(os.path.getsize(one) for one in tables if os.path.isfile(one))
    return int(joblib.cpu_count()) if size > SMALL else 1


def _look(tables: Sequence[str], fit: Fit, how: _How) -> list[Source]:
    workers = min(how.jobs, len(tables)) if how.engine == "joblib" else 1
    found = dict(map_as_done(partial(look_at, text=fit.roles.text), tables, jobs=workers))
    sources = [found[position] for position in range(len(tables))]
    for source in sources:
        refuse_taken(source.columns, f"'{source.path}'")
    # Workers may have been started in another folder.
    return [replace(source, path=os.path.abspath(source.path)) for source in sources]


def _facts(todo: Sequence[_Work], how: _How) -> dict[str, Any]:
    """What a folder of parts belongs to: this fit, these tables, cut in this way."""
    sources = list({one.part.table: one.source for one in todo}.values())
    content = digests(
        [one.path for one in sources], jobs=how.jobs, engine=how.engine, scheduler=how.scheduler
    )
    tables = [
        {"name": Path(one.path).name, "rows": one.rows, "bytes": one.bytes, "digest": digest}
        for one, digest in zip(sources, content, strict=True)
    ]
    parts = [[one.part.name, one.part.table, one.part.start, one.part.stop] for one in todo]
    facts = {"proxycal": __version__, "run": todo[0].digest, "tables": tables, "parts": parts}
    return facts | ({"safe": True} if todo[0].safe else {})


def _verified_rows(todo: Sequence[_Work], done: Sequence[Finished], files: Sequence[Path]) -> int:
    """The number of rows, which must be the same in the tables, by the workers' count and in the files."""
    for one, part in zip(todo, done, strict=True):
        if part.rows != one.part.rows:
            raise EngineError(
                f"'{part.name}' got {part.rows} of {one.part.rows} rows of '{one.source.path}': the table "
                "changed while it was read; delete what was written and start over"
            )
    rows = sum(part.rows for part in done)
    if all(kind_of(path) == "parquet" for path in files):
        written = sum(pq.read_metadata(path).num_rows for path in files)
        if written != rows:
            raise EngineError(f"{written} of {rows} rows were written: delete the files and start over")
    return rows


def _warn(fit: Fit, rows: int, unanswered: int) -> None:
    texts = [fit.why_left_alone]
    if unanswered:
        texts.append(
            f"{counted(unanswered, 'row')} of {rows} had missing values and got no answer (y_cal, p_biased "
            "and mu are missing): fill the gaps, or fit with missing='impute'"
        )
    for text in filter(None, texts):
        warnings.warn(text, ProxycalWarning, stacklevel=3)
