"""`proxycal memo`: one to two pages about a run, to be edited and passed on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run


def memo(
    run: Run,
    out: Annotated[Path, typer.Option(help="Word document to write.", metavar="FILE.docx")] = Path(
        "memo.docx"
    ),
    language: Annotated[str, typer.Option(help="Language of the memo: en, de or es.")] = "en",
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write one to two pages about a run as a Word document, to be edited and passed on."""
    from proxycal.files import write_bytes
    from proxycal.report.memo import check_memo, memo_bytes
    from proxycal.report.wording import words
    from proxycal.store import check_output, load_fit

    check_memo(out)
    words(language)
    check_output(out, endings=(".docx",))
    fit = load_fit(run)
    with console.working("writing the memo", quiet):
        write_bytes(out, memo_bytes(fit, language))
    if json_output:
        console.print_json({"memo": str(out), "verdict": fit.verdict})
    elif not quiet:
        console.say(f"memo: {out}")
