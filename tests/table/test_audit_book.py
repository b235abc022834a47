"""The sheet for an auditor: what is filled in is checked, codes stay codes, it prints on one page across."""

from __future__ import annotations

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest

import proxycal as pc
from proxycal.table.audit_book import HELP, SHEET, audit_book
from proxycal.table.audit_sheet import take_back


@pytest.fixture(scope="module")
def place():
    sim = pc.simulate(n=300, alpha=4.0, random_state=0)
    table = sim.table.assign(
        fips=[f"0{1000 + i}" for i in range(300)],
        day=pd.Timestamp("2024-03-01"),
        note="=1+1",
        y=sim.table["y"] + 50,
    )
    roles = pc.Roles("y", list(sim.roles.proxies), list(sim.roles.environment), id="fips")
    model = pc.ProxyCalibrator(roles, direction="over", method="moments").fit(table)
    plan = model.plan_audit(table, 30)
    return table, model, openpyxl.load_workbook(io.BytesIO(audit_book(plan, model.roles)))


def test_the_truth_is_asked_for_as_a_number_of_its_kind(place):
    _, _, book = place
    sheet = book[SHEET]
    heads = [cell.value for cell in sheet[1]]
    assert heads[0] == "row"
    assert heads[-3:] == ["truth", "stratum", "inclusion_probability"]
    (rule,) = sheet.data_validations.dataValidation
    letter = sheet.cell(1, heads.index("truth") + 1).column_letter
    assert str(rule.sqref) == f"{letter}2:{letter}31"
    assert (rule.type, rule.formula1, rule.allow_blank) == ("decimal", "0", True)
    assert book.sheetnames == [SHEET, HELP]
    assert sheet.page_setup.fitToHeight == 0
    assert sheet.print_title_rows == "$1:$1"


def test_codes_dates_and_text_stay_what_they_are(place):
    _, _, book = place
    sheet = book[SHEET]
    heads = [cell.value for cell in sheet[1]]
    row = {name: sheet.cell(2, at + 1) for at, name in enumerate(heads)}
    assert row["fips"].value.startswith("01")
    assert row["day"].is_date


def test_the_filled_sheet_comes_back(place, tmp_path):
    table, model, book = place
    sheet = book[SHEET]
    heads = [cell.value for cell in sheet[1]]
    for line in range(2, 32):
        sheet.cell(line, heads.index("truth") + 1).value = 1.5
    book.save(tmp_path / "filled.xlsx")
    audited = take_back(table, model.roles, pc.read_table(tmp_path / "filled.xlsx", text=["fips"]))
    assert int(np.isfinite(audited["truth"]).sum()) == 30
