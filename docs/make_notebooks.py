"""Make notebooks of pages, so that both say the same: `python docs/make_notebooks.py`.

Prose becomes text cells, Python becomes code cells; commands of the shell stay text. A block below
`<!-- slow -->` is tagged "slow". tests/test_notebooks.py compares the notebooks with their pages, which
tests/test_docs.py runs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FOLDER = DOCS / "notebooks"
PAGES = ("tutorial", "losses", "not-identified")
# Where notebooks find the other pages and pictures of the site.
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
_CODE = re.compile(
    r"(?P<slow><!-- slow -->\n+)?^```python\n(?P<code>.*?)^```\n(?:\n```text\n.*?^```\n)?",
    flags=re.DOTALL | re.MULTILINE,
)


def notebook(page: str) -> dict[str, Any]:
    """A page as a notebook of version 4, without outputs: whoever runs it sees their own."""
    cells, start = [], 0
    for match in _CODE.finditer(page):
        cells += _text(page[start : match.start()])
        cells.append(_code(match["code"], match["slow"] is not None))
        start = match.end()
    cells += _text(page[start:])
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _text(markdown: str) -> list[dict[str, Any]]:
    linked = LINK.sub(r"](../\1)", markdown.replace("<!-- slow -->\n", "")).strip()
    lines = linked.splitlines(keepends=True)
    return [{"cell_type": "markdown", "metadata": {}, "source": lines}] if lines else []


def _code(code: str, slow: bool) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["slow"]} if slow else {},
        "outputs": [],
        "source": code.rstrip().splitlines(keepends=True),
    }


def written(name: str) -> str:
    """The notebook of a page as the text of its file."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / f"{name}.ipynb").write_text(written(name), encoding="utf-8")
