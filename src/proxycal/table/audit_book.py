"""The sheet for an auditor as a workbook: one column to fill in, checked as it is typed, ready to print."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api import types

from proxycal.errors import UnavailableError
from proxycal.extras import is_installed
from proxycal.table.audit_sheet import PROBABILITY, ROW, STRATUM, truth_name

if TYPE_CHECKING:
    from proxycal.table.roles import Roles

SHEET, HELP = "rows to check", "how to fill in"
_FILL, _GREY, _LINE = "FFF2CC", "808080", "BFBFBF"
_WIDTHS = (10, 34)


def audit_book(plan: pd.DataFrame, roles: Roles) -> bytes:
    """The rows of a plan as the bytes of an .xlsx file; `take_back` reads it again when it is filled in."""
    if not is_installed("openpyxl"):
        raise UnavailableError("a workbook needs openpyxl: pip install 'proxycal[excel]', or write a .csv")
    from openpyxl import Workbook

    truth = truth_name(roles)
    # What the auditor reads first, then what is filled in, then what only the way back needs.
    own = (ROW, truth, STRATUM, PROBABILITY)
    names = [ROW, *(name for name in plan.columns if name not in own), truth, STRATUM, PROBABILITY]
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = SHEET
    for at, name in enumerate(names, start=1):
        _column(sheet, at, name, plan[name], name == truth, name in own[2:])
    _check_entries(sheet, names.index(truth) + 1, plan[roles.outcome], roles.outcome)
    _for_paper(sheet, roles.outcome)
    _explain(book.create_sheet(HELP), roles.outcome, truth)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _column(sheet: Any, at: int, name: str, values: pd.Series, filled_in: bool, behind: bool) -> None:
    """One column: its name, its values, and a colour where it is filled in."""
    from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
    from openpyxl.utils import get_column_letter

    line = Border(bottom=Side(style="thin", color=_LINE))
    head = sheet.cell(1, at, str(name))
    head.data_type = "s"
    head.font = Font(bold=True, color=_GREY if behind else None)
    head.alignment = Alignment(wrap_text=True, vertical="top")
    longest = len(str(name))
    for row, value in enumerate(values, start=2):
        cell = sheet.cell(row, at)
        plain = _plain(value)
        if plain is not None:
            cell.value = plain
            if isinstance(plain, str):
                cell.data_type = "s"  # a code keeps its zeros, and nothing is taken for a formula
        cell.border = line
        if behind:
            cell.font = Font(color=_GREY)
        longest = max(longest, len(str(plain)))
    if filled_in:
        for row in range(1, len(values) + 2):
            sheet.cell(row, at).fill = PatternFill("solid", start_color=_FILL)
    width = 20 if filled_in else longest + 2
    sheet.column_dimensions[get_column_letter(at)].width = min(max(width, _WIDTHS[0]), _WIDTHS[1])


def _plain(value: Any) -> Any:
    """A value as a cell has it; None for a gap."""
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime().replace(tzinfo=None)
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float) or hasattr(value, "isoformat") else str(value)


def _check_entries(sheet: Any, at: int, reports: pd.Series, outcome: str) -> None:
    """Only numbers can be typed in; below 0 only where some report is."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    negative = types.is_numeric_dtype(reports) and bool((reports < 0).any())
    least = "-1E+300" if negative else "0"
    rule = DataValidation(
        type="decimal", operator="between", formula1=least, formula2="1E+300", allow_blank=True
    )
    rule.showErrorMessage = rule.showInputMessage = True
    rule.errorTitle, rule.error = "A number", "Enter the true value as a number, or leave the cell empty."
    rule.promptTitle = "True value"
    rule.prompt = f"What {outcome} really was, in the unit of the report. Empty: it could not be checked."
    letter = get_column_letter(at)
    rule.add(f"{letter}2:{letter}{len(reports) + 1}")
    sheet.add_data_validation(rule)


def _for_paper(sheet: Any, outcome: str) -> None:
    """All columns on one page across, the names on every page."""
    sheet.freeze_panes = "A2"
    sheet.print_title_rows = "1:1"
    sheet.page_setup.orientation, sheet.page_setup.paperSize = "landscape", sheet.PAPERSIZE_A4
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.oddFooter.center.text = "Page &P of &N"
    sheet.oddHeader.left.text = f"Rows to check: true {outcome}".replace("&", "&&")


def _explain(sheet: Any, outcome: str, truth: str) -> None:
    from openpyxl.styles import Alignment

    sheet.column_dimensions["A"].width = 100
    lines = (
        f"Find out the true {outcome} of each row and type it into the yellow column '{truth}'.",
        "The unit is that of the report beside it. Where the report is right, type the same number.",
        "Leave a cell empty where the truth cannot be found out. Do not choose other rows in place of these: "
        "they were drawn with known chances, and the answer rests on that.",
        f"Leave '{ROW}', '{STRATUM}' and '{PROBABILITY}' as they are. Then upload the file where it "
        "came from, or run: proxycal audit RUN TABLE --filled THIS_FILE --out audited.csv",
    )
    for at, line in enumerate(lines, start=1):
        cell = sheet.cell(at, 1, line)
        cell.alignment = Alignment(wrap_text=True, vertical="top")
