"""The notebooks say what their pages say, are valid notebooks, and hold what tests run."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).parent.parent / "docs"
maker = SimpleNamespace(**runpy.run_path(str(DOCS / "make_notebooks.py")))
runner = SimpleNamespace(**runpy.run_path(str(DOCS / "run_blocks.py")))
FILES = sorted((DOCS / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[dict]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_there_are_three_and_each_is_that_of_its_page():
    assert {path.stem for path in FILES} == set(maker.PAGES)
    for path in FILES:
        hint = f"{path.stem}.ipynb is older than its page: run `python docs/make_notebooks.py`"
        assert path.read_text(encoding="utf-8") == maker.written(path.stem), hint


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_a_notebook_without_outputs_and_with_links_that_work(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    assert all(cell["outputs"] == [] for cell in cells(path, "code"))
    for cell in cells(path, "markdown"):
        for target in maker.LINK.findall("".join(cell["source"])):
            assert (path.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_cells_are_the_python_of_its_page_in_order(path):
    """tests/test_docs.py runs that Python, in one process and from the top, as a notebook does."""
    examples = runner.blocks((DOCS / f"{path.stem}.md").read_text(encoding="utf-8"))
    python = [block for block in examples if block.language == "python"]
    assert examples[: len(python)] == python, "a cell may rest on what a command wrote, which no cell runs"
    found = [
        ("".join(cell["source"]), "slow" in cell["metadata"].get("tags", [])) for cell in cells(path, "code")
    ]
    assert found == [(block.code.rstrip(), block.slow) for block in python]
    assert sum(not block.slow for block in python) >= 2


def test_the_maker_tells_text_code_and_slow_code_apart():
    page = (
        "# A\n\n[b](c.md)\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
        "<!-- slow -->\n```python\nf()\n```\n"
    )
    made = maker.notebook(page)["cells"]
    assert [cell["cell_type"] for cell in made] == ["markdown", "code", "code"]
    assert made[0]["source"] == ["# A\n", "\n", "[b](../c.md)"]
    assert made[1]["source"] == ["print(1)"]
    assert made[2]["metadata"] == {"tags": ["slow"]}
