"""`proxycal memo`: a Word document from a run folder."""

from __future__ import annotations

import json

import docx
import pytest

from cli.shell import refused
from proxycal.cli import main


def test_a_memo_is_written_and_named(fitted, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["memo", str(fitted), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memo"] == "memo.docx"
    assert docx.Document("memo.docx").paragraphs[0].text.startswith("loss: is it over-reported")
    assert main(["memo", str(fitted), "--out", "other.docx"]) == 0
    assert capsys.readouterr().out == "memo: other.docx\n"


@pytest.mark.parametrize(
    ("options", "said"), [(["--out", "memo.doc"], "must end in .docx"), (["--out", "no/m.docx"], "'no'")]
)
def test_what_cannot_be_written_is_refused(fitted, here, capsys, options, said):
    assert said in refused(capsys, here, ["memo", str(fitted), *options])
