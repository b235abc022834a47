"""The README keeps its word: its example runs, its commands exist, its picture is there."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("python"))
    assert "ProxyCalibrator" in code
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["model"].verdict_ == "bias found"
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_the_commands_of_the_readme_exist():
    from proxycal.cli import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    used = set(re.findall(r"^proxycal ([a-z]+)", "\n".join(blocks("sh")), flags=re.MULTILINE))
    assert used
    assert used <= known


def test_the_picture_is_there_and_small():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert pictures, "a picture with alternative text"
    for name in pictures:
        assert (README.parent / name).stat().st_size < 150_000
