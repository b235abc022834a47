"""The files of a finished run that are made when somebody asks for them, and all of them in one."""

from __future__ import annotations

import io
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.app.answer import REPORT
from proxycal.app.reproduce import python_script, shell_commands
from proxycal.app.shown import fit_in
from proxycal.app.worker import CALIBRATED, RUN
from proxycal.errors import ProxycalWarning
from proxycal.extras import is_installed
from proxycal.files import write_table
from proxycal.report.memo import memo_bytes
from proxycal.scale.totals import totals_frame
from proxycal.table.audit_book import audit_book
from proxycal.workbook import write_workbook

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.app.state import Finished

MEMO, CALIBRATED_BOOK, TOTALS_BOOK = "memo.docx", "calibrated.xlsx", "totals.xlsx"
SHEET = "rows to check.xlsx"


def script(finished: Finished) -> bytes:
    """The same run in Python."""
    return python_script(finished.source, finished.request).encode()


def commands(finished: Finished) -> bytes:
    """The same run in a shell."""
    return shell_commands(finished.source, finished.request).encode()


def memo(finished: Finished, language: str = "en") -> bytes:
    """The Word document."""
    return memo_bytes(fit_in(finished.folder / RUN), language)


def calibrated_book(finished: Finished) -> bytes:
    """The calibrated table as a workbook."""
    import pandas as pd

    from proxycal.model import load

    frame = finished.table.frame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        added = load(finished.folder / RUN).calibrate(frame)
    return _book(pd.concat([frame, added], axis=1).reset_index(drop=True), finished)


def totals_book(finished: Finished, by: str) -> bytes:
    """The totals by the column that is shown, as a workbook."""
    fit = fit_in(finished.folder / RUN)
    statistic = fit.totals[0].statistic if fit.totals else "total"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        frame = totals_frame(fit, finished.table.frame, by or None, None, statistic)  # type: ignore[arg-type]
    return _book(frame, finished)


def audit_sheet(finished: Finished, rows: int) -> bytes:
    """Rows to check, to be filled in; SettingsError where there are not so many."""
    from proxycal.model import load

    model = load(finished.folder / RUN)
    with warnings.catch_warnings():
        # Why rows are chosen at random is said on the page.
        warnings.simplefilter("ignore", ProxycalWarning)
        plan = model.plan_audit(finished.table.frame, rows)
    return audit_book(plan, model.result_.roles)


def everything(finished: Finished, by: str) -> bytes:
    """A zip of all files of this answer."""
    parts = {
        CALIBRATED: (finished.folder / CALIBRATED).read_bytes(),
        "report.html": (finished.folder / REPORT).read_bytes(),
        "reproduce.py": script(finished),
        "reproduce.sh": commands(finished),
    }
    if is_installed("docx"):
        parts[MEMO] = memo(finished)
    if is_installed("openpyxl"):
        parts |= {CALIBRATED_BOOK: calibrated_book(finished), TOTALS_BOOK: totals_book(finished, by)}
    if finished.audited:
        parts[finished.source.name] = finished.table.path.read_bytes()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, part in parts.items():
            bundle.writestr(name, part)
    return content.getvalue()


def _book(frame: pd.DataFrame, finished: Finished) -> bytes:
    with tempfile.TemporaryDirectory(prefix="proxycal-") as name:
        parquet, book = Path(name, "table.parquet"), Path(name, "table.xlsx")
        write_table(frame, parquet)
        write_workbook(parquet, book, finished.folder / RUN)
        return book.read_bytes()
