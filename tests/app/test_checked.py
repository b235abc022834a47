"""A sheet that was filled in comes back into the table, and what is wrong with it is said by its own name."""

from __future__ import annotations

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest

from proxycal.app import bundle
from proxycal.app.checked import with_checked
from proxycal.errors import TableError


def filled(done, true, path, rows=40):
    """The sheet with what is true of each row, as an auditor returns it."""
    book = openpyxl.load_workbook(io.BytesIO(bundle.audit_sheet(done, rows)))
    sheet = book["rows to check"]
    heads = [cell.value for cell in sheet[1]]
    for row in range(2, sheet.max_row + 1):
        at = int(sheet.cell(row, heads.index("code") + 1).value)
        sheet.cell(row, heads.index("truth") + 1).value = "n/a" if row == 2 else float(true[at])
    book.save(path)


def test_true_values_come_back_with_their_chances(finished, tmp_path):
    done, true = finished
    filled(done, true, tmp_path / "sheet.xlsx")
    table, roles = with_checked(done, tmp_path / "sheet.xlsx", "sheet.xlsx", tmp_path / "audited.parquet")
    assert (roles.truth, roles.inclusion) == ("truth", "inclusion_probability")
    known = table.frame["truth"].notna().to_numpy()
    assert known.sum() == 39
    # A workbook keeps 16 digits.
    np.testing.assert_allclose(table.frame["truth"][known], true[known], rtol=1e-14)
    assert pd.read_parquet(table.path)["code"].tolist() == done.table.frame["code"].tolist()


def test_another_file_is_refused_by_its_own_name(finished, tmp_path):
    done, _ = finished
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "table-7.csv", index=False)
    with pytest.raises(TableError, match="no column 'row'"):
        with_checked(done, tmp_path / "table-7.csv", "mine.csv", tmp_path / "audited.parquet")
