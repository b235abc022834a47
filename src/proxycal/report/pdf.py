"""The report as a PDF: printed by a headless Chromium where there is one, drawn by matplotlib where not."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from proxycal.report.numbers import size_text
from proxycal.report.page import render
from proxycal.report.plots import plots_of
from proxycal.report.style import INK
from proxycal.report.summary import refutations, reproduce, sentence

if TYPE_CHECKING:
    from proxycal.result import Fit

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Seconds: a browser that hangs must not hang the report.
PATIENCE = 120
_A4 = (8.27, 11.69)
_LINES = 62


def print_pdf(fit: Fit) -> bytes:
    """The whole report as a PDF."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path is not None), None)
    printed = None if browser is None else _printed(render(fit), browser)
    return drawn(fit) if printed is None else printed


def _printed(page: str, browser: str) -> bytes | None:
    """The page as that browser prints it; None where it cannot."""
    with tempfile.TemporaryDirectory(prefix="proxycal-") as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_text(page, encoding="utf-8")
        command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   f"--user-data-dir={folder / 'profile'}", "--no-pdf-header-footer",
                   f"--print-to-pdf={target}"]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            # Chromium refuses to start as root otherwise; the page is our own.
            command.append("--no-sandbox")
        try:
            subprocess.run([*command, source.as_uri()], capture_output=True, timeout=PATIENCE, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None


def drawn(fit: Fit) -> bytes:
    """The answer, the estimators and the findings as text, then the pictures, two to a page.

    The same bytes for the same data.
    """
    buffer = io.BytesIO()
    with warnings.catch_warnings(), PdfPages(buffer, metadata={"CreationDate": None}) as pages:
        # Alphabets that the bundled font lacks: the HTML page has them all.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        lines = _text(fit)
        for start in range(0, len(lines), _LINES):
            sheet = Figure(figsize=_A4)
            text = "\n".join(lines[start : start + _LINES]).replace("$", r"\$")
            sheet.text(0.08, 0.95, text, va="top", fontsize=9, linespacing=1.35, color=INK)
            pages.savefig(sheet)
        plots = plots_of(fit)
        for start in range(0, len(plots), 2):
            sheet = Figure(figsize=_A4, layout="constrained")
            halves = np.atleast_1d(np.asarray(sheet.subfigures(2, 1), dtype=object))
            for half, plot in zip(halves, plots[start : start + 2], strict=False):
                half.suptitle(plot.title, fontsize=12, color=INK)
                plot.draw(fit, half.add_subplot())
            pages.savefig(sheet)
    return buffer.getvalue()


def _text(fit: Fit) -> list[str]:
    lines = [fit.verdict.upper(), "", *_wrapped(sentence(fit)), "", "Estimators"]
    for row in fit.estimates:
        note = f"  ({row.note})" if row.note else ""
        shown = size_text(row)
        size = f"{shown.size}, {fit.settings.level * 100:g}% interval {shown.interval}"
        lines += _wrapped(f"  {row.name}: {size}{note}")
    lines += ["", "Findings"]
    for finding in fit.findings:
        mark = "ok" if finding.ok else "TO DO"
        lines += _wrapped(f"  [{mark}] {finding.question} {finding.statistic}. {finding.reading}")
        if not finding.ok and finding.remedy:
            lines += _wrapped(f"      What to do: {finding.remedy}")
    if fit.questions:
        lines += ["", "Attempts to refute it"]
    for attempt in refutations(fit):
        state = attempt.state
        lines += _wrapped(f"  {attempt.kind}: {state}. {attempt.reading} ({attempt.statistic})")
    if "power" in fit.questions:
        lines += _wrapped(f"  power: {fit.questions['power'].reading}")
    return [*lines, "", "Command to reproduce it", *(f"  {line}" for line in reproduce(fit).splitlines())]


def _wrapped(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.wrap(text, 98, subsequent_indent=indent if text.startswith(" ") else "")
