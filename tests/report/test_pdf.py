"""The report on paper, with and without a browser."""

from __future__ import annotations

import re

import pytest

from proxycal.report import pdf, pictures


def pages(printed: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", printed))


@pytest.fixture
def no_browser(monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)


@pytest.mark.usefixtures("no_browser")
def test_without_a_browser_matplotlib_draws_it(example):
    data = example(outcome="loss in $ and $")
    printed = pdf.print_pdf(data)
    assert printed.startswith(b"%PDF")
    # One page of text, seven pictures two to a page.
    assert pages(printed) == 5
    assert printed == pdf.print_pdf(data)


def test_a_browser_that_fails_leaves_it_to_matplotlib(example, monkeypatch, tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(pdf.shutil, "which", lambda name: str(broken))
    monkeypatch.setattr(pictures, "svg", lambda plot, fit, wide=False: "")  # the page that nobody prints
    monkeypatch.setattr(pdf, "drawn", lambda fit: b"drawn " + fit.roles.outcome.encode())
    assert pdf.print_pdf(example()) == b"drawn loss"


def test_a_browser_is_given_the_page(example, monkeypatch, tmp_path):
    fake = tmp_path / "chromium"
    # Copies the page it was asked to print to the place where the PDF should be.
    fake.write_text(
        '#!/bin/sh\nfor word in "$@"; do case "$word" in --print-to-pdf=*) to="${word#*=}";; '
        'file://*) from="${word#file://}";; esac; done\ncp "$from" "$to"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setattr(pdf.shutil, "which", lambda name: str(fake))
    monkeypatch.setattr(pictures, "svg", lambda plot, fit, wide=False: "")
    assert b"over-reported by about 5.02 " in pdf.print_pdf(example())


@pytest.mark.usefixtures("no_browser")
def test_long_texts_run_over_pages(example):
    findings = example().findings * 40
    assert pages(pdf.drawn(example(findings=findings))) > 5
