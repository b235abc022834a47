"""The memo as a Word document: reopened, its parts in order, rendered on one or two pages."""

from __future__ import annotations

import io
import subprocess
from shutil import which

import docx
import numpy as np
import pytest

import proxycal
from proxycal.errors import StoreError, UnavailableError
from proxycal.report import memo
from proxycal.report.memo import check_memo, memo_bytes


@pytest.fixture(scope="module")
def model():
    sim = proxycal.simulate(n=300, d_z=2, d_e=2, n_proxies=3, alpha=5.0, random_state=0)
    table = sim.table.assign(region=np.where(np.arange(300) % 3, "east", "west & `north`"))
    return proxycal.fit("y ~ p_1 + p_2 + p_3 | e_1 + region", table, direction="over", method="moments")


def opened(content: bytes):
    return docx.Document(io.BytesIO(content))


def test_the_memo_has_its_parts_in_order(model, tmp_path):
    model.memo(tmp_path / "memo.docx")
    document = docx.Document(tmp_path / "memo.docx")
    heads = [part.text for part in document.paragraphs if part.style.name.startswith("Heading")]
    assert heads == [
        "y: is it over-reported, and by how much?",
        "What was asked",
        "The answer",
        "What the answer rests on",
        "What would change it",
        "How to cite",
    ]
    cells = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    assert cells[0] == ["region", "Rows", "Reported", "Calibrated", "95%\u00a0interval", "Change"]
    assert {line[0] for line in cells[1:]} == {"east", "west & north", "All rows"}
    overall = model.result_.totals[0].records()[-1]
    assert cells[-1][1] == f"{overall['rows']:,}"
    (picture,) = document.inline_shapes
    assert "reported" in picture._inline.docPr.get("descr")
    text = "\n".join(part.text for part in document.paragraphs)
    assert "`" not in text
    assert model.formula_.replace("`", "") in text
    assert "Proxy-Guided Measurement Calibration" in text


def test_a_fit_without_an_answer_has_a_memo_that_says_so():
    sim = proxycal.simulate(n=300, alpha=0.0, random_state=3)
    model = proxycal.ProxyCalibrator(sim.roles, direction="under", method="moments").fit(sim.table)
    text = "\n".join(part.text for part in opened(memo_bytes(model.result_)).paragraphs)
    assert "left as reported" in text
    assert "neither confirmed nor corrected" in text


@pytest.mark.skipif(which("soffice") is None or which("pdftotext") is None, reason="no LibreOffice")
def test_the_memo_renders_on_one_or_two_pages(model, tmp_path):
    model.memo(tmp_path / "memo.docx")
    profile = f"-env:UserInstallation=file://{tmp_path / 'profile'}"
    command = ["soffice", profile, "--headless", "--convert-to", "pdf", "memo.docx"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = subprocess.run(
        ["pdftotext", "-layout", "memo.pdf", "-"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert text.count("\f") in (1, 2)
    assert "How to cite" in text
    overall = next(line for line in text.splitlines() if line.strip().startswith("All rows"))
    assert " to " in overall  # an interval stands in one line of its cell


def test_another_ending_and_a_missing_package_are_refused(monkeypatch):
    with pytest.raises(StoreError, match=r"must end in \.docx"):
        check_memo("memo.pdf")
    monkeypatch.setattr(memo, "is_installed", lambda package: False)
    with pytest.raises(UnavailableError, match=r"pip install 'proxycal\[word\]'"):
        check_memo("memo.docx")
