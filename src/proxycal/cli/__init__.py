"""The command line: parse, call, print. Exit 0 done, 2 bad input, 130 stopped by Ctrl-C, 1 anything else.

An error is one line on standard error; PROXYCAL_DEBUG=1 adds the traceback. Each command has a module, and
imports the heavy rooms inside its function, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import traceback
import warnings
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proxycal.cli import (
    audit,
    band,
    bench,
    calibrate,
    check,
    console,
    demo,
    diff,
    drift,
    experiment,
    export,
    fit,
    impute,
    look,
    memo,
    questions,
    report,
    reporters,
    schema,
    simulate,
    standard,
    totals,
    web,
)
from proxycal.cli.reading import reads
from proxycal.cli.streams import streamed
from proxycal.errors import AnswerError, ProxycalError, ProxycalWarning, ReadingNote, failed_arithmetic
from proxycal.limits import out_of_memory
from proxycal.table.surface import speaking

if TYPE_CHECKING:
    from collections.abc import Sequence

# The exit code of a program that was stopped with Ctrl-C.
INTERRUPTED = 130

app = typer.Typer(
    name="proxycal",
    help="Calibrate a biased measurement with proxies that never saw the report.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    demo.demo,
    look.look,
    check.check,
    fit.fit,
    calibrate.calibrate,
    audit.audit,
    totals.totals,
    band.band,
    drift.drift,
    reporters.reporters,
    impute.impute,
    report.report,
    memo.memo,
    export.export,
    diff.diff,
    schema.schema,
    questions.refute,
    questions.power,
    simulate.simulate,
    experiment.experiment,
    bench.bench,
):
    app.command()(streamed(reads(_command)))
app.command("app")(web.serve_app)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from proxycal import __version__

        typer.echo(f"proxycal {__version__}")
        raise typer.Exit


@cache
def _program() -> Any:
    """All commands, made of their functions once, however many are run in one process."""
    return typer.main.get_command(app)


@cache
def _spare_collector() -> None:
    """Let the garbage collector look less often at what is no garbage.

    The libraries are 200,000 objects that stay to the end. By default the collector goes through them many
    times while they load and again at the exit, which takes a sixth of the time of a small fit.
    """
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _spare_collector()
    standard.stand_in()
    console.notes_kept_back.set(False)
    console.SPOKEN_OF.clear()
    with warnings.catch_warnings(record=True) as caught, speaking("shell"):
        warnings.simplefilter("always", ProxycalWarning)
        try:
            given = None if argv is None else list(argv)
            code = _program()(args=given, prog_name="proxycal", standalone_mode=False)
            standard.flush()
        except Exception as error:
            return _explain(error)
        except KeyboardInterrupt:
            code = INTERRUPTED
    if code == INTERRUPTED:  # what typer makes of Ctrl-C
        console.complain("error: interrupted; no partial files were left behind")
        return INTERRUPTED
    # Only now: a command that was refused prints its one line and nothing else.
    ours = [warning for warning in caught if issubclass(warning.category, ProxycalWarning)]
    kinds = {str(warning.message): issubclass(warning.category, ReadingNote) for warning in ours}
    with speaking("shell"):
        for message, note in kinds.items():
            if note and console.notes_kept_back.get():
                continue
            console.complain(f"{'understood' if note else 'warning'}: {message}")
    return int(code or 0)


def _explain(error: Exception) -> int:
    if isinstance(error, MemoryError):
        error = out_of_memory("working")
    if os.environ.get("PROXYCAL_DEBUG") == "1":
        traceback.print_exc()
    error = standard.lost_output(error) or failed_arithmetic(error, "the command") or error
    usage = getattr(error, "format_message", None)  # click's own errors, wherever typer takes click from
    if usage is not None:
        console.complain(f"error: {usage()} (see --help)")
        return 2
    if isinstance(error, ProxycalError):
        console.complain(f"error: {error}")
        return 1 if isinstance(error, AnswerError) else 2
    console.complain(
        f"error: unexpected {type(error).__name__}: {error}. This is a bug in proxycal, not in your data; "
        "run again with PROXYCAL_DEBUG=1 for details to report"
    )
    return 1
