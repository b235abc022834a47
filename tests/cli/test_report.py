"""`proxycal report` as a shell sees it."""

from __future__ import annotations

import json

from proxycal.cli import main


def test_report_is_written_again_from_the_saved_run(here, fitted):
    assert main(["report", str(fitted), "--out", "page.html", "--quiet"]) == 0
    assert (here / "page.html").read_bytes() == (fitted / "report.html").read_bytes()


def test_report_as_pdf_beside_the_page(capsys, here, fitted, monkeypatch):
    monkeypatch.setattr("proxycal.report.pdf.BROWSERS", ())
    assert main(["report", str(fitted), "--out", "page.html", "--pdf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": "page.html", "pdf": "page.pdf"}
    assert (here / "page.html").is_file()
    assert (here / "page.pdf").read_bytes().startswith(b"%PDF")
    assert main(["report", str(fitted), "--out", "only.pdf", "--pdf", "--quiet"]) == 0
    assert (here / "only.pdf").is_file()


def test_a_run_that_is_not_there_is_named(capsys, here):
    assert main(["report", "nowhere"]) == 2
    assert "there is no run folder 'nowhere': name the folder that `proxycal fit --out` wrote" in (
        capsys.readouterr().err
    )
