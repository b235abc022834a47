"""What the site takes from the code: options of each command, output columns, benchmarks, and more."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from measured import fill_in
from mkdocs.structure.files import File

from proxycal.cli import app
from proxycal.result import OUTPUT_COLUMNS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_OPTIONS = "<!-- options of {} -->"
_BENCHMARKS = "<!-- benchmarks -->"
_COLUMNS = "<!-- output columns -->"
_CITATION = "<!-- citation -->"
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
    if page.file.src_uri == "reference.md":
        markdown = markdown.replace(_COLUMNS, _output_columns())
    if page.file.src_uri == "citation.md":
        cited = (Path(config.config_file_path).parent / "CITATION.cff").read_text(encoding="utf-8")
        markdown = markdown.replace(_CITATION, f"```yaml\n{cited}```")
    markdown = fill_in(markdown, Path(config.config_file_path).parent / "benchmarks")
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


def _output_columns() -> str:
    """A table of the columns that calibration adds."""
    rows = ["| column | meaning | unit |", "|---|---|---|"]
    rows += [
        f"| `{column.name}` | {_cell(column.meaning)} | {_cell(column.unit)} |" for column in OUTPUT_COLUMNS
    ]
    return "\n".join(rows)


def _options(command: Any) -> str:
    """A table of arguments and options, from the same place as `--help`."""
    rows = ["| option | default | meaning |", "|---|---|---|"]
    for option in command.params:
        if "--help" not in option.opts:
            rows.append(f"| `{_written(option)}` | {_default(option)} | {_cell(option.help or '')} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return escape(text).replace("|", "&#124;")


def _written(option: Any) -> str:
    if option.param_type_name == "argument":
        return str(option.metavar or option.name.upper())
    names = ", ".join(option.opts)
    return names if option.is_flag else f"{names} {option.metavar or 'VALUE'}"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    return "" if option.default in (None, False, "") else f"`{option.default}`"
