"""How messages speak of rows, columns and values: short, on one line, whatever the table holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.table.surface import in_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_WIDTH = 60
# The name of an index that holds the rows of a file, of which some are left out.
FILE_ROW = "row of the file"


def shown(value: Any) -> str:
    """A value in quotes on one line, cut where it is long.

    >>> shown("a" * 100)[-6:]
    "aa...'"
    """
    text = repr(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 4] + "..." + text[-1]


def listed(values: Iterable[Any], limit: int = 3) -> str:
    """The first values in quotes, and how many more there are.

    >>> listed(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    items = list(values)
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(shown(item) for item in items[:limit]) + more


def rows_of(mask: NDArray[np.bool_], index: pd.Index | None = None, limit: int = 3) -> str:
    """The first rows of a mask: by index label of a data frame, by line of a file that the reader opened.

    >>> rows_of(np.array([False, True, False, True]))
    'first at index 1, 3'
    >>> rows_of(np.array([False, True]), pd.Index(["x", "y"]))
    "at index 'y'"
    >>> from proxycal.table.surface import speaking
    >>> with speaking("shell"):
    ...     rows_of(np.array([True, False]))
    'at row 2 (the header is row 1)'
    >>> rows_of(np.array([False, True]), pd.Index([7, 9], name=FILE_ROW))
    'at row 9 of the file'
    """
    positions = np.flatnonzero(mask)
    first = positions[:limit]
    if index is not None and index.name == FILE_ROW:
        text = ", ".join(str(row) for row in index[first])
        return f"at row {text} of the file" if len(positions) == 1 else f"first at rows {text} of the file"
    if in_file() and (index is None or _is_position(index)):
        text = f"{', '.join(str(position + 2) for position in first)} (the header is row 1)"
        return f"at row {text}" if len(positions) == 1 else f"first at rows {text}"
    labels = first if index is None else index[first]
    text = ", ".join(shown(_plain(label)) for label in labels)
    return f"at index {text}" if len(positions) == 1 else f"first at index {text}"


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "missing value"), counted(3, "missing value")
    ('1 missing value', '3 missing values')
    """
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def columns_named(names: Sequence[str]) -> str:
    """One or several columns, named.

    >>> columns_named(["a"]), columns_named(["a", "b"])
    ("column 'a'", "columns 'a', 'b'")
    """
    return f"column{'' if len(names) == 1 else 's'} {listed(names, limit=5)}"


def _is_position(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def _plain(label: Any) -> Any:
    """A numpy scalar as the Python value that users write."""
    if isinstance(label, tuple):
        return tuple(_plain(part) for part in label)
    return label.item() if isinstance(label, np.generic) and not isinstance(label, np.datetime64) else label
