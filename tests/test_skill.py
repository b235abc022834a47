"""What machines read of the package: SKILL.md in the wheel and llms.txt keep to what there is."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import proxycal
from proxycal.methods.registry import METHODS

DOCS = Path(__file__).parents[1] / "docs"


def skill() -> str:
    return (files("proxycal.report") / "templates" / "SKILL.md").read_text(encoding="utf-8")


def test_the_skill_says_when_and_when_not_and_names_every_method():
    head, _, body = skill().removeprefix("---\n").partition("\n---\n")
    assert re.search(r"^name: proxycal$", head, re.MULTILINE)
    assert "description: " in head
    assert "# When to refuse" in body
    named = set(re.findall(r"\| (\w+)(?:;[^|]*)? \|$", body, re.MULTILINE)) - {"method"}
    assert named == set(METHODS) - {"auto"}


def test_commands_and_names_of_the_skill_exist():
    import typer

    from proxycal.cli import app

    known = typer.main.get_command(app).commands
    for line in re.findall(r"^    proxycal (.+)$", skill(), re.MULTILINE):
        options = {option for each in known[line.split()[0]].params for option in each.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= options
    for name in re.findall(r"\bmodel\.([a-z_]+)", skill()):
        assert hasattr(proxycal.ProxyCalibrator, name), name


def test_the_pages_that_llms_txt_lists_are_there():
    text = (DOCS / "llms.txt").read_text(encoding="utf-8")
    pages = re.findall(r"\]\(([^)]+)\)", text)
    assert len(pages) > 8
    for page in pages:
        assert (DOCS / page).exists(), page
