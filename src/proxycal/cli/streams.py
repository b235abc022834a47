"""`-` for standard input and output, pipes, JSON lines and workbooks: around any command that reads tables.

    cat losses.csv | proxycal calibrate run - --out - | head
    proxycal totals run <(zcat losses.csv.gz) --by state --out totals.xlsx

A command reads and writes files whose ending says what they are. What is no such file is brought into one, in
a temporary folder, before it runs, and what it wrote is carried to its place afterwards.
"""

from __future__ import annotations

import functools
import inspect
import io
import math
import os
import select
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from proxycal.cli import console
from proxycal.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

Command = Callable[..., None]
# The arguments of commands that hold tables to read.
_READ = ("file", "table", "tables", "filled")
# Seconds after which a pipe without a writer is refused.
PATIENCE = 2.0
_STANDARD = Path("-")
_FORMATS = ("csv", "parquet", "jsonl")
_JSON_LINES, _WORKBOOKS = (".jsonl", ".ndjson"), (".xlsx",)
# What a file is by its first bytes; anything else is text.
_BEGINS = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}
_Format = Annotated[
    str | None,
    typer.Option(help="How --out - is written: csv, parquet or jsonl (default: like the table)."),
]
_Verbose = Annotated[
    int,
    typer.Option("--verbose", "-v", count=True, help="Log the steps on standard error; -vv with details."),
]


@dataclass
class _Temporary:
    """The temporary folder of one command; what is read from it is of this kind, "csv" for text."""

    folder: Path
    kind: str = "csv"
    has_input: bool = False

    def place(self, name: str, said: str) -> Path:
        """A new file, of which messages speak as `said`."""
        path = Path(tempfile.mkdtemp(dir=self.folder), name)
        console.SPOKEN_OF[str(path)] = said
        return path


def streamed(command: Command) -> Command:
    """The command with --verbose, and with streams where it reads or writes tables."""
    parameters = inspect.signature(command).parameters
    reads = bool(parameters.keys() & set(_READ))
    writes = reads and {"safe_csv", "out", "quiet"} <= parameters.keys() and not _writes_a_folder(command)

    @functools.wraps(command)
    def called(**values: Any) -> None:
        console.log_to_stderr(values.pop("verbose", 0))
        form = values.pop("format", None) if writes else None
        if form is not None and (form not in _FORMATS or values["out"] != _STANDARD):
            raise SettingsError(f"--format {form}: it is for --out -, and one of {', '.join(_FORMATS)}")
        out = values["out"] if writes else None
        if not reads or not (any(map(_is_stream, _tables(values))) or _carried(out)):
            command(**values)
            return
        with tempfile.TemporaryDirectory(prefix="proxycal-") as folder:
            _run(command, values, out, form, _Temporary(Path(os.path.realpath(folder))))

    more = {"format": (_Format, None), "verbose": (_Verbose, 0)}
    _add(called, command, {name: more[name] for name in (["format"] if writes else []) + ["verbose"]})
    return called


def _writes_a_folder(command: Command) -> bool:
    """Whether --out is a folder of tables, which no stream and no workbook can hold."""
    options = getattr(get_type_hints(command, include_extras=True)["out"], "__metadata__", ())
    return any(getattr(option, "metavar", None) == "DIR" for option in options)


def _add(called: Command, command: Command, options: dict[str, tuple[Any, Any]]) -> None:
    hints = get_type_hints(command, include_extras=True)
    by_name = inspect.Parameter.KEYWORD_ONLY
    shown = [
        parameter.replace(annotation=hints[parameter.name], kind=by_name)
        for parameter in inspect.signature(command).parameters.values()
    ]
    shown += [
        inspect.Parameter(name, by_name, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    # typer reads the signature, and the annotations beside it.
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}


def _run(
    command: Command, values: dict[str, Any], out: Path | None, form: str | None, temporary: _Temporary
) -> None:
    given = [path for path in _tables(values) if path.is_file()]
    for name in _READ:
        if isinstance(values.get(name), list):
            values[name] = [_brought(path, temporary) for path in values[name]]
        elif values.get(name) is not None:
            values[name] = _brought(values[name], temporary)
    kind = _carried(out) and (form or temporary.kind if out == _STANDARD else _carried(out))
    if out is not None and kind:
        _check(out, given, values.get("json_output", False))
        values["out"] = temporary.place(f"answer.{'csv' if kind == 'csv' else 'parquet'}", str(out))
        values["quiet"] = values["quiet"] or out == _STANDARD
    with redirect_stdout(io.StringIO()) as printed:
        command(**values)
    if printed.getvalue():
        sys.stdout.write(console.spoken(printed.getvalue()))
    if out is not None and kind:
        write = _write_sheet if command.__name__ == "audit" and not values["filled"] else _write_workbook
        _deliver(values["out"], out, kind, partial(write, run=values["run"]))


def _carried(out: Path | None) -> str:
    """What an output is that the commands do not write themselves; "" for the others."""
    if out is None:
        return ""
    ending = out.suffix.lower()
    return "-" if out == _STANDARD else "jsonl" if ending in _JSON_LINES else "xlsx" * (ending in _WORKBOOKS)


def _check(out: Path, tables: list[Path], json_output: bool) -> None:
    from proxycal.store import check_output

    if out != _STANDARD:
        check_output(out, tables, (*_JSON_LINES, *_WORKBOOKS))
    elif json_output:
        raise SettingsError("--out - and --json both write to standard output: leave out one of them")


def _tables(values: dict[str, Any]) -> Iterator[Path]:
    for name in _READ:
        given = values.get(name)
        yield from given if isinstance(given, list) else [] if given is None else [given]


def _is_stream(path: Path) -> bool:
    """Whether a table is brought into a file first: standard input, a pipe, JSON lines."""
    if path == _STANDARD or path.suffix.lower() in _JSON_LINES:
        return True
    return path.exists() and stat.S_ISFIFO(path.stat().st_mode)


def _brought(path: Path, temporary: _Temporary) -> Path:
    """The table as a file that the commands read."""
    if not _is_stream(path):
        return path
    said = str(path)
    raw = temporary.place("table", said)
    if path != _STANDARD:
        from proxycal.files import explained

        with explained(path, "read"):
            _copy(path, raw)
    else:
        if temporary.has_input:
            raise StoreError("- was given twice: standard input is one table; name a file for the other")
        if sys.stdin.isatty():
            raise StoreError(
                "- is standard input, and nothing is piped into it: pipe a table, or name a file"
            )
        temporary.has_input = True
        with raw.open("wb") as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
    return _with_ending(raw, said, temporary)


def _copy(path: Path, raw: Path) -> None:
    if not stat.S_ISFIFO(path.stat().st_mode):
        shutil.copyfile(path, raw)
        return
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reading, "rb", buffering=0) as content, raw.open("wb") as kept:
        kept.write(_first_byte(reading, path))
        os.set_blocking(reading, True)
        shutil.copyfileobj(content, kept)


def _first_byte(reading: int, path: Path) -> bytes:
    """The first byte of a pipe, however long its writer takes; a pipe that nobody writes into is refused.

    Without a writer, reading ends at once; with one that is silent as yet, it would block.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            first = os.read(reading, 1)
        except BlockingIOError:
            deadline = math.inf
            select.select([reading], [], [], 1.0)
            continue
        if first:
            return first
        time.sleep(0.02)
    raise StoreError(
        f"'{path}' is a pipe, and nobody writes into it: start the program that writes it, or name a file"
    )


def _with_ending(raw: Path, said: str, temporary: _Temporary) -> Path:
    with raw.open("rb") as content:
        first = content.read(64).lstrip()
    ending = next((ending for begins, ending in _BEGINS.items() if first.startswith(begins)), ".csv")
    temporary.kind = ending[1:] if ending[1:] in _FORMATS else "csv"
    if ending == ".jsonl":
        named = temporary.place("table.parquet", said)
        _read_json_lines(raw, named)
        return named
    named = raw.with_name(f"table{ending}")
    console.SPOKEN_OF[str(named)] = said
    return raw.rename(named)


def _read_json_lines(raw: Path, parquet: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import json

    try:
        table = json.read_json(raw)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"'{raw}' cannot be read as JSON lines ({reason}): write one object of plain values per line"
        ) from error
    nested = [column.name for column in table.schema if pa.types.is_nested(column.type)]
    if nested:
        raise StoreError(f"'{raw}' holds an object or a list in {nested[0]!r}: write plain values")
    pq.write_table(table, parquet)


def _write_workbook(made: Path, out: Path, run: Path) -> None:
    from proxycal.workbook import write_workbook

    write_workbook(made, out, run)


def _write_sheet(made: Path, out: Path, run: Path) -> None:
    """The sheet of an audit, to be filled in."""
    import pandas as pd

    from proxycal.files import write_bytes
    from proxycal.store import load_fit
    from proxycal.table.audit_book import audit_book

    write_bytes(out, audit_book(pd.read_parquet(made), load_fit(run).roles))


def _deliver(made: Path, out: Path, kind: str, write: Callable[[Path, Path], None]) -> None:
    """Carry what the command wrote to where it was asked for; write : how a workbook is made of it."""
    if kind == "xlsx":
        write(made, out)
    elif out != _STANDARD:
        from proxycal.files import atomic_file

        with atomic_file(out) as place, place.open("wb") as lines:
            _write_json_lines(made, lines)
    else:
        try:
            if kind == "jsonl":
                _write_json_lines(made, sys.stdout.buffer)
            else:
                with made.open("rb") as content:
                    shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # Whoever read has seen enough, as `head` does; nothing further can be written there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_json_lines(made: Path, lines: Any) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(made) as file:
        for batch in file.iter_batches(batch_size=65_536):
            lines.write(_json_lines(batch).encode())


def _json_lines(batch: pa.RecordBatch) -> str:
    frame = batch.to_pandas()
    # Fifteen digits, so that what is read again is what was written, to a part in 1e15.
    return str(frame.to_json(orient="records", lines=True, date_format="iso", double_precision=15))
