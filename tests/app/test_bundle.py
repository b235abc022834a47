"""Files that are made when somebody asks: each opens, and the zip has all of them."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pandas as pd
import pytest

from proxycal.app import bundle
from proxycal.errors import SettingsError


def test_everything_is_in_the_zip_and_opens(finished):
    done, _ = finished
    with zipfile.ZipFile(io.BytesIO(bundle.everything(done, "state"))) as files:
        names = set(files.namelist())
        totals = pd.read_excel(io.BytesIO(files.read("totals.xlsx")))
        calibrated = openpyxl.load_workbook(io.BytesIO(files.read("calibrated.xlsx")))["table"]
    assert names == {"calibrated.csv", "calibrated.xlsx", "totals.xlsx", "memo.docx", "report.html",
                     "reproduce.py", "reproduce.sh"}  # fmt: skip
    assert totals["state"].tolist() == ["Iowa", "Ohio", "overall"]
    heads = [cell.value for cell in calibrated[1]]
    assert calibrated.cell(2, heads.index("code") + 1).value == "00000"
    assert isinstance(calibrated.cell(2, heads.index("y_cal") + 1).value, float)


def test_the_sheet_of_an_audit_has_the_rows_that_were_asked_for(finished):
    done, _ = finished
    sheet = openpyxl.load_workbook(io.BytesIO(bundle.audit_sheet(done, 40)))["rows to check"]
    assert sheet.max_row == 41
    with pytest.raises(SettingsError, match="more than"):
        bundle.audit_sheet(done, 4000)
