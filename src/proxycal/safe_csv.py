"""Text that a spreadsheet would run, made text again.

A cell of a CSV that begins with = + - @ or a tab is a formula to most spreadsheets, whoever wrote it. With an
apostrophe before it, it is shown as it stands. Numbers are left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_RUN = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[\d.,\u2009\u00a0 ]+([eE][+-]?\d+)?%?")


def safe_text(value: Any) -> Any:
    """The value; if it is text that a spreadsheet would run, with an apostrophe before it.

    >>> safe_text("=1+1"), safe_text("-3.5"), safe_text("a"), safe_text(2)
    ("'=1+1", '-3.5', 'a', 2)
    """
    runs = isinstance(value, str) and _RUN.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if runs else value


def safe_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with safe text in every cell and name."""
    from pandas.api import types

    columns = {
        safe_text(name): column
        if types.is_numeric_dtype(column.dtype)
        else column.astype(object).map(safe_text)
        for name, column in frame.items()
    }
    return type(frame)(columns, index=frame.index)


def safe_table(table: pa.Table) -> pa.Table:
    """The same for an Arrow table, whose columns of text are treated."""
    import pyarrow as pa

    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = pa.array([safe_text(value) for value in column.to_pylist()], type=kind)
        columns.append(column)
    return pa.table(columns, names=[safe_text(name) for name in table.column_names])
