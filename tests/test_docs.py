"""The site keeps its word: its examples run and print what it shows, and it names what the code has."""

from __future__ import annotations

import functools
import re
import runpy
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import typer

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), DOCS / "studies" / "index.md"]


runner = SimpleNamespace(**runpy.run_path(str(DOCS / "run_blocks.py")))
measured = SimpleNamespace(**runpy.run_path(str(DOCS / "measured.py")))


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the built site and says nothing."""

    def log_message(self, *said) -> None:
        pass


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def with_blocks(slow: bool) -> list[Path]:
    pages = {path: runner.blocks(text_of(path)) for path in PAGES}
    return [path for path, found in pages.items() if any(block.slow == slow for block in found)]


def check(path: Path, slow: bool) -> None:
    for block, printed in runner.run(text_of(path), slow):
        if block.shown is not None:
            hint = f"{path.name} shows another output: run `python docs/run_blocks.py {path}` and look"
            assert printed == block.shown, hint


@pytest.mark.parametrize("path", with_blocks(slow=False), ids=lambda path: path.stem)
def test_examples_print_what_the_page_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("path", with_blocks(slow=True), ids=lambda path: path.stem)
def test_slow_examples_too(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(path, slow=True)


def test_no_block_escapes_the_runner():
    """A fence that the runner does not read would be an example that nothing checks."""
    for path in PAGES:
        text = text_of(path)
        fences = re.findall(r"^ *```(\w+)", text, flags=re.MULTILINE)
        fences = [language for language in fences if language != "toml"]  # files, which nobody runs
        found = runner.blocks(text)
        read = len(found) + sum(block.shown is not None for block in found)
        assert len(fences) == read, f"{path.name}: {fences}"
        for block in found:
            if block.language == "sh":
                lines = block.code.replace("\\\n", " ").splitlines()
                assert len(runner.commands(block.code)) == len(lines), f"{path.name}: {block.code}"


def test_runner_reads_shown_output_and_slow_marks():
    page = (
        "<!-- slow -->\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nproxycal fit \\\n  a.csv\n```\n"
    )
    first, second = runner.blocks(page)
    assert (first.slow, first.shown) == (True, "1\n")
    assert (second.slow, second.shown) == (False, None)
    assert runner.commands(second.code) == [["fit", "a.csv"]]


def test_every_topic_of_a_finding_is_explained():
    source = "\n".join(text_of(path) for path in (ROOT / "src" / "proxycal").rglob("*.py"))
    topics = set(re.findall(r'topic="([a-z-]+)"', source))
    topics |= set(re.findall(r'_Question\(\s*"([a-z]+)"', source))
    assert {"comparison", "missing", "collapse"} <= topics
    guide = text_of(DOCS / "verdict.md")
    named = set(re.findall(r"^#### (\S+)$", guide, flags=re.MULTILINE)) | set(
        re.findall(r"\*([a-z-]+)\*", guide)
    )
    assert topics <= named, f"docs/verdict.md does not explain {sorted(topics - named)}"


def test_every_command_has_its_options_on_the_page():
    from proxycal.cli import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    page = text_of(DOCS / "cli.md")
    assert {f"<!-- options of {name} -->" for name in commands} == set(
        re.findall(r"<!-- options .*? -->", page)
    )
    assert set(re.findall(r"^## (\w+)$", page, flags=re.MULTILINE)) == set(commands)


def test_every_public_name_is_in_the_reference():
    import proxycal

    page = text_of(DOCS / "reference.md")
    shown = {line.rpartition(".")[2] for line in re.findall(r"^::: (\S+)$", page, flags=re.MULTILINE)}
    shown |= {"ProxycalError", "ProxycalWarning"} if "errors" in shown else set()
    wanted = set(proxycal.__all__) | set(proxycal.datasets.__all__)
    assert wanted - {"__version__", "datasets"} <= shown


def test_numbers_of_the_prose_come_from_the_benchmarks(tmp_path):
    row = {"draws": 20, "rmse_report": 4.6, "rmse_regression": 4.0, "rmse_exact": 4.5, "held": 0.95}
    pd.DataFrame(
        [
            row | {"world": "nhanes weight", "share": 0.1, "rmse_validated": 3.84},
            row | {"world": "clean", "share": 0.05, "draws": 30, "rmse_validated": 3.6, "held": 0.96},
            row | {"world": "clean", "share": 0.1, "draws": 30, "rmse_validated": 4.04},
        ]
    ).to_csv(tmp_path / "validated.csv", index=False)
    text = measured.fill_in(f"{measured.VALIDATED}\n{measured.LOSSES}", tmp_path)
    assert "| weight (kg) | 10% | 4.60 | 4.00 | 3.84 |" in text
    assert "0.90 to 1.01 times" in text
    assert "below both in 0 of them" in text
    assert "95.0% to 96.0% of the rows" in text
    assert "No full run of `proxycal bench losses` is in this version." in text
    row = {"world": "dollars", "n": 1000, "repetitions": 20}
    pd.DataFrame(
        [
            row | {"kept": 0.5, "zeros": 0.0, "found": 0.25, "ratio": 0.46, "near": 0.0},
            row | {"kept": 0.5, "zeros": 0.3, "found": 0.75, "ratio": 0.50, "near": 1.0},
            row | {"kept": 1.0, "zeros": 0.3, "found": 0.05, "ratio": 0.9, "near": 0.0},
        ]
    ).to_csv(tmp_path / "losses.csv", index=False)
    text = measured.fill_in(measured.LOSSES, tmp_path)
    assert "| 50% of the truth | 1,000 | 50% | 49.0% | 75% |" in text
    assert "In 20 tables without a bias one was found 1 times" in text


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return out


def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert {"index.html", "tutorial.html", "cli.html", "reference.html"} <= {page.name for page in pages}
    assert (site / "benchmarks" / "speed.html").exists()
    for page in pages:
        html = text_of(page)
        loaded = re.findall(r'<(?:script|img|iframe)[^>]+src="?(https?:[^\s">]+)', html)
        loaded += re.findall(
            r'<link[^>]+rel="?(?:stylesheet|preconnect|icon)"?[^>]+href="?(https?:[^\s">]+)', html
        )
        assert not loaded, f"{page.name} loads {loaded}"


def test_search_finds_a_page(site, browser):
    from selenium.webdriver.support.wait import WebDriverWait

    handler = functools.partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            browser.get(f"http://127.0.0.1:{server.server_address[1]}/index.html")
            browser.execute_script(
                "document.querySelector('#__search').checked = true;"
                "const q = document.querySelector('[data-md-component=search-query]');"
                "q.focus(); q.value = 'choosing proxies'; q.dispatchEvent(new Event('keyup'))"
            )
            found = "a.md-search-result__link[href*='choosing-proxies.html']"
            WebDriverWait(browser, 110).until(lambda page: page.find_elements("css selector", found))
        finally:
            server.shutdown()


def test_the_site_says_what_help_says(site):
    from html import unescape

    from proxycal.result import OUTPUT_COLUMNS

    html = text_of(site / "cli.html")
    assert "<!-- options" not in html
    assert "--direction" in html
    assert "Column that may carry the reporting bias; several reports of the same truth: a,b" in html
    assert "<code>TABLE</code>" in html  # arguments by their own names
    reference = text_of(site / "reference.html")
    assert "alpha_interval_" in reference
    assert "&gt;&gt;&gt;" in reference
    for column in OUTPUT_COLUMNS:
        assert f"<code>{column.name}</code></td>" in reference
        assert f"<td>{column.meaning}</td>" in unescape(reference)
    assert "<!-- output columns" not in reference
    assert "<blockquote>" not in reference  # what Markdown makes of an unfenced example
