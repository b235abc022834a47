"""Answers as an Excel workbook: the table, what its columns mean and in which unit, and how it was made."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from proxycal.errors import StoreError, UnavailableError
from proxycal.extras import is_installed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

    from proxycal.result import Fit

# The most that a sheet can hold, its line of names among them.
ROWS = 1_048_576
# Of totals; those of calibration are declared with the columns.
_TOTALS = {
    "rows": ("rows that are added up", "rows"),
    "reported": ("what was reported", "outcome"),
    "calibrated": ("what it is without the bias", "outcome"),
    "low": ("lower end of the interval of the calibrated value", "outcome"),
    "high": ("upper end of the interval of the calibrated value", "outcome"),
    "as_reported_rows": ("rows without an answer, which are in the total as reported", "rows"),
    "as_reported": ("what those rows report", "outcome"),
    "change_pct": ("change from reported to calibrated", "per cent of reported"),
}


# Of totals under an assumption, whose low and high are no interval.
_BAND = {
    "low": (
        "lower end of the truth under the assumption, biased rows being as large as the others",
        "outcome",
    ),
    "high": (
        "upper end of the truth under the assumption, biased rows being as large as the others",
        "outcome",
    ),
    "lowest": ("lower end of the truth under the assumption, whichever rows are biased", "outcome"),
    "highest": ("upper end of the truth under the assumption, whichever rows are biased", "outcome"),
    "assumption": ("what was assumed; nothing of it was found in the table", ""),
}


def write_workbook(parquet: Path, out: Path, run: Path) -> None:
    """Write the table of a Parquet file as a workbook with three sheets: table, columns, methods."""
    if not is_installed("openpyxl"):
        raise UnavailableError(f"'{out}' needs openpyxl: pip install 'proxycal[excel]', or write a .csv")
    import pyarrow.parquet as pq
    from openpyxl import Workbook

    from proxycal.files import atomic_file
    from proxycal.store import load_fit

    rows = pq.read_metadata(parquet).num_rows
    if rows >= ROWS:
        raise StoreError(f"'{out}' cannot hold {rows:,} rows: a sheet has {ROWS:,}; write a .csv or .parquet")
    fit = load_fit(run)
    book = Workbook(write_only=True)
    with pq.ParquetFile(parquet) as file:
        names = list(file.schema_arrow.names)
        sheet = _sheet(book, "table", names)
        for batch in file.iter_batches(batch_size=65_536):
            columns = [column.to_pylist() for column in batch.columns]
            for values in zip(*columns, strict=True):
                sheet.append([_cell(sheet, value) for value in values])
    _fill(book, "columns", ("column", "meaning", "unit"), _meanings(names, fit))
    _fill(book, "methods", ("", ""), _methods(fit))
    with atomic_file(out) as place:
        book.save(place)


def _meanings(names: Collection[str], fit: Fit) -> list[tuple[str, str, str]]:
    from proxycal.result import OUTPUT_COLUMNS

    known = _TOTALS | {column.name: (column.meaning, column.unit) for column in OUTPUT_COLUMNS}
    if _BAND.keys() <= set(names):
        known |= _BAND
    roles = {column: role for role, column in fit.roles}
    outcome = fit.roles.outcome
    listed = []
    for name in names:
        meaning, unit = known.get(name, (f"as in the table ({roles.get(name, 'no role')})", ""))
        listed.append((name, meaning, f"as {outcome}" if unit == "outcome" else unit))
    return listed


def _methods(fit: Fit) -> list[tuple[str, str]]:
    from proxycal.report.summary import cite, facts, options, sentence

    lines = [("result", sentence(fit)), ("verdict", fit.verdict), *facts(fit)]
    if fit.why_left_alone:
        lines.append(("note", fit.why_left_alone))
    lines += [*options(fit).items(), ("seed", str(fit.settings.random_state))]
    lines += [(f"version of {name}", version) for name, version in sorted(fit.versions.items())]
    return [*lines, ("how to cite", cite(fit))]


def _fill(book: Any, name: str, heads: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> None:
    sheet = _sheet(book, name, heads)
    for line in lines:
        sheet.append([_cell(sheet, value) for value in line])


def _sheet(book: Any, name: str, heads: Iterable[str]) -> WriteOnlyWorksheet:
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    sheet = book.create_sheet(name)
    sheet.freeze_panes = "A2"
    cells = [_cell(sheet, head) for head in heads]
    for at, cell in enumerate(cells):
        cell.font = Font(bold=True)
        sheet.column_dimensions[get_column_letter(at + 1)].width = 40 if name == "methods" else 20
    sheet.append(cells)
    return sheet


def _cell(sheet: WriteOnlyWorksheet, value: Any) -> Any:
    """A cell that holds the value and nothing else: text is text, whatever it begins with."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if value is None or (isinstance(value, float) and value != value):
        return WriteOnlyCell(sheet)
    if isinstance(value, float) and abs(value) == float("inf"):
        value = str(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.isoformat()  # a sheet knows no time zones
    if not isinstance(value, bool | int | float | date | datetime):
        value = ILLEGAL_CHARACTERS_RE.sub("", str(value))
    cell = WriteOnlyCell(sheet, value)
    if isinstance(value, str):
        cell.data_type = "s"
    return cell
