"""What the commands share: reading tables, writing runs, and printing to the right stream."""

from __future__ import annotations

import itertools
import json
import logging
import os
import shlex
import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from proxycal.cli.reading import reading_options
from proxycal.cli.standard import silence
from proxycal.errors import StoreError
from proxycal.report.shell import role_options, setting_options, shell, unseen_as_json, visible
from proxycal.result import plain
from proxycal.table.surface import in_dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from proxycal.result import Fit
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles


# Whether what was understood of a file is not said, as --quiet asks.
notes_kept_back: ContextVar[bool] = ContextVar("notes_kept_back", default=False)


def keep_notes_back(quiet: bool) -> bool:
    """What --quiet does beyond its command: notes on how a file was read are not printed."""
    notes_kept_back.set(quiet)
    return quiet


# Names to say in place of those of temporary files.
SPOKEN_OF: dict[str, str] = {}


def spoken(text: str) -> str:
    """The text with the names that the reader gave, in place of temporary ones."""
    # The longest first: one may be the beginning of another.
    for path, said in sorted(SPOKEN_OF.items(), reverse=True):
        if said == "-":
            text = text.replace(f"'{path}'", "standard input").replace(f"{path}:", "standard input:")
        text = text.replace(path, said)
    return text


def log_to_stderr(verbose: int) -> None:
    """Show what the package logs, on standard error, if that was asked for; the steps, or details too."""
    logger = logging.getLogger("proxycal")
    for handler in [each for each in logger.handlers if isinstance(each, _Shown)]:
        logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)
    if verbose:
        logger.addHandler(_Shown())
        logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)


class _Shown(logging.Handler):
    """A line on standard error for each record, with the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print it."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        complain(f"{at} {record.getMessage()}")


def read(table: Path, roles: Roles) -> pd.DataFrame:
    """A table from a file, with its ids as text."""
    from proxycal.reading.table import read_table

    return read_table(table, text=roles.text)


def write_run(fit: Fit, folder: Path) -> Path:
    """Write the run folder and its report; return where the report is."""
    from proxycal.files import write_bytes
    from proxycal.report.page import page_bytes
    from proxycal.store import save_fit

    save_fit(folder, fit)
    page = folder / "report.html"
    write_bytes(page, page_bytes(fit))
    return page


def refuse_replacing(folder: Path, force: bool) -> None:
    """Refuse to replace a run, with the answers that were asked of it, unless that is meant."""
    from proxycal.store import MANIFEST

    if (folder / MANIFEST).exists() and not force:
        raise StoreError(
            f"'{folder}' already holds a run: name another folder, such as --out {free_name(folder)}, or "
            "pass --force to replace the run, its report and the answers kept with it"
        )


def result(fit: Fit) -> dict[str, Any]:
    """The result of a fit as plain values."""
    from proxycal.report.summary import formula

    ratio = {}
    if fit.settings.factor:
        value, low, high = fit.estimate.ratio(fit.settings.sign)
        ratio = {"ratio": value, "ratio_low": low, "ratio_high": high}
    return {
        "verdict": fit.verdict,
        "alpha": fit.estimate.alpha,
        "se": fit.estimate.se,
        "low": fit.estimate.low,
        "high": fit.estimate.high,
        "scale": fit.settings.scale,
        **ratio,
        "level": fit.settings.level,
        "share_biased": fit.share_biased,
        "rows": fit.n,
        "formula": formula(fit),
        "method": fit.settings.method,
        "direction": fit.settings.direction,
        "seed": fit.settings.random_state,
        "estimates": fit.estimates,
        "findings": fit.findings,
    }


def show(fit: Fit) -> None:
    """Print the verdict, the estimate, the estimators and the findings to look at."""
    from proxycal.report.terminal import show_result

    show_result(fit)


def say(*lines: str) -> None:
    """Plain lines on standard output."""
    print(*map(visible, lines), sep="\n")


def say_next(*command: object) -> None:
    """The command to run next."""
    text = str(command[0]) if len(command) == 1 else shlex.join(map(str, command))
    print(f"\nnext:   {visible(text)}")


def complain(text: str) -> None:
    """One line on standard error, even if the text has several."""
    try:
        print(visible(in_dialect(" ".join(spoken(text).split()))), file=sys.stderr)
    except OSError:
        # A full or closed standard error: there is nowhere to say so.
        silence(sys.stderr)


def print_json(values: dict[str, Any]) -> None:
    """One JSON object; what is not a finite number is null."""
    # JSON has its own way to write what a terminal would obey; a program that reads it gets the same text.
    text = json.dumps(plain(values, infinity=None), indent=2, ensure_ascii=False, allow_nan=False)
    print(unseen_as_json(text))


def say_choice(commands: Mapping[str, str], choices: str) -> None:
    """The commands to run next, by the case each is for; where there are several, the reader must choose."""
    if len(commands) == 1:
        say_next(*commands.values())
        return
    print(f"\nnext:   choose {choices}")
    for case, command in commands.items():
        print(f"  {case}:\n        {visible(command)}")


def free_name(name: str | Path) -> str:
    """The name, with a number where something of that name is there: run, run-2, run-3."""
    stem, ending = os.path.splitext(str(name).rstrip("/"))
    slash = "/" if str(name).endswith("/") else ""
    numbered = (f"{stem}-{count}{ending}" for count in itertools.count(2))
    return (
        next(free for free in itertools.chain([f"{stem}{ending}"], numbered) if not os.path.exists(free))
        + slash
    )


def fit_command(table: Path, roles: Roles, settings: Settings, config: Path | None = None) -> str:
    """The fit of a table with these roles and settings, to be pasted."""
    options = {**role_options(roles), **setting_options(settings), **reading_options()}
    options["--out"] = free_name("run")
    if config is not None:
        # Sections of settings are in the file only.
        options["--config"] = str(config)
    return shell("proxycal", "fit", table, *(part for option in options.items() for part in option))


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A callback (done, total) that moves a bar on standard error; None if that is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn(), TextColumn("time left"), TimeRemainingColumn())  # fmt: skip
    # Pieces take seconds to minutes: the speed is taken over all of this run, not over the last seconds.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=86_400.0)
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def working(what: str, quiet: bool) -> Iterator[None]:
    """A spinner with the elapsed time, on standard error and only if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield
