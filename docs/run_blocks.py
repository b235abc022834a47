"""Runs the examples of a page: what they print is what the page shows.

    python docs/run_blocks.py [PAGE ...]     run the pages and write their outputs into them

A page is run from the top, in an empty folder. Python blocks share their names; of shell blocks the lines
that begin with `proxycal` are run. A `text` block right below a block is what that one prints. A block below
`<!-- slow -->` is run only on demand. tests/test_docs.py runs every page and compares.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = re.compile(
    r"(?P<slow><!-- slow -->\n+)?^```(?P<language>python|sh)\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<shown>.*?)^```\n)?",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One example of a page.

    language : "python" or "sh". shown : the output that the page shows, if any. span : its place in the page.
    """

    language: str
    code: str
    shown: str | None
    slow: bool
    span: tuple[int, int]


def blocks(page: str) -> list[Block]:
    """The examples of a page, in order."""
    return [
        Block(
            match["language"],
            match["code"],
            match["shown"],
            match["slow"] is not None,
            match.span("shown"),
        )
        for match in _BLOCK.finditer(page)
    ]


def commands(code: str) -> list[list[str]]:
    """The `proxycal` commands of a shell block, as arguments."""
    lines = code.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("proxycal ")]


def run(page: str, slow: bool = False) -> Iterator[tuple[Block, str]]:
    """Run the examples in the current folder, and say what each printed."""
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.slow and not slow:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if block.language == "python":
                exec(compile(block.code, "page", "exec"), names)
            else:
                _run_commands(block.code)
        yield block, _trimmed(printed.getvalue())


def _run_commands(code: str) -> None:
    from proxycal.cli import main

    for arguments in commands(code):
        status = main(arguments)
        assert status == 0, f"proxycal {shlex.join(arguments)}: exit {status}"


def _trimmed(text: str) -> str:
    """Without spaces at the ends of lines, which no reader sees."""
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """A new folder to run in, deleted after."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _rewrite(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    with empty_folder():
        ran = list(run(page, slow=True))
    for block, printed in reversed(ran):
        if block.shown is not None:
            page = page[: block.span[0]] + printed + page[block.span[1] :]
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    here = Path(__file__).parent
    for name in sys.argv[1:] or sorted(str(path) for path in here.glob("*.md")):
        _rewrite(Path(name).resolve())
