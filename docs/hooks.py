"""What the site takes from elsewhere: the options of each command, benchmarks, the changelog."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from mkdocs.structure.files import File

from proxycal.cli import app

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_OPTIONS = "<!-- options of {} -->"
_BENCHMARKS = "<!-- benchmarks -->"
_CHANGELOG = "CHANGELOG.md"
_MADE_BY_QUICK = "-quick"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages outside docs/: the changelog, and benchmarks/, whose program needs no docs."""
    for path in _benchmark_pages(config):
        files.append(File.generated(config, f"benchmarks/{path.name}", abs_src_path=str(path)))
    changelog = Path(config.config_file_path).parent / _CHANGELOG
    files.append(File.generated(config, _CHANGELOG, abs_src_path=str(changelog)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what is marked."""
    if page.file.src_uri == "cli.md":
        for name, command in _commands().items():
            markdown = markdown.replace(_OPTIONS.format(name), _options(command))
    if page.file.src_uri == "benchmarks.md":
        lines = [f"- [{_title(path)}](benchmarks/{path.name})" for path in _benchmark_pages(config)]
        markdown = markdown.replace(_BENCHMARKS, "\n".join(lines))
    return markdown


def _benchmark_pages(config: MkDocsConfig) -> list[Path]:
    folder = Path(config.config_file_path).parent / "benchmarks"
    pages = sorted(folder.glob("*.md"))
    return [path for path in pages if path.name != "README.md" and _MADE_BY_QUICK not in path.name]


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").strip()


def _commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def _options(command: Any) -> str:
    """A table of arguments and options, from the same place as `--help`."""
    rows = ["| option | default | what it is |", "|---|---|---|"]
    for one in command.params:
        if "--help" not in one.opts:
            meaning = escape(one.help or "").replace("|", "&#124;")
            rows.append(f"| `{_written(one)}` | {_default(one)} | {meaning} |")
    return "\n".join(rows)


def _written(one: Any) -> str:
    if one.param_type_name == "argument":
        return str(one.metavar or one.name.upper())
    names = ", ".join(one.opts)
    return names if one.is_flag else f"{names} {one.metavar or 'VALUE'}"


def _default(one: Any) -> str:
    if one.required:
        return "required"
    return "" if one.default is None or one.default is False or one.default == "" else f"`{one.default}`"
