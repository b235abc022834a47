"""The edge to data-frame libraries: any eager frame in, pandas inside, the same kind out."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.errors import TableError
from proxycal.table.wording import columns_named, counted, listed, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import narwhals as nw


def to_pandas(frame: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """The frame as pandas, all columns or only the named ones; pandas keeps its index.

    >>> to_pandas(pd.DataFrame({"a": [1], "b": [2]}), ["b"])
       b
    0  2
    """
    if isinstance(frame, pd.DataFrame):
        if isinstance(frame.columns, pd.MultiIndex):
            raise TableError(
                "the table's column names have several levels: flatten them, for instance with "
                "df.columns = ['_'.join(map(str, name)) for name in df.columns]"
            )
        labels = [name for name in frame.index.names if name in (columns or ()) and name not in frame.columns]
        if labels:
            raise TableError(
                f"{shown(labels[0])} is the index of the table and no column: call .reset_index() on it first"
            )
        _check_names(list(frame.columns), columns)
        _check_rows(len(frame))
        return pd.DataFrame(frame if columns is None else frame.loc[:, list(columns)])
    eager = _eager(frame)
    _check_names(eager.columns, columns)
    _check_rows(len(eager))
    chosen = eager if columns is None else eager.select(list(columns))
    try:
        return pd.DataFrame(chosen.to_pandas())
    except Exception as error:
        raise TableError(
            f"the table ({type(frame).__name__}, {columns_named(chosen.columns)}) cannot be turned into "
            f"pandas ({error}): cast its columns to numbers or text first"
        ) from error


def column_names(frame: Any) -> tuple[str, ...]:
    """The column names of any accepted frame.

    >>> column_names(pd.DataFrame({"a": [1], "b": [2]}))
    ('a', 'b')
    """
    return tuple(frame.columns if isinstance(frame, pd.DataFrame) else _eager(frame).columns)


def answer(question: Any, columns: Mapping[str, np.ndarray]) -> Any:
    """The columns as a frame of the kind of `question`, and with its index where it has one.

    >>> answer(pd.DataFrame({"y": [1.0, 2.0]}, index=["r", "s"]), {"y_cal": np.array([1.0, 1.5])})
       y_cal
    r    1.0
    s    1.5
    """
    is_pandas = isinstance(question, pd.DataFrame)
    rows = len(question) if is_pandas else len(_eager(question))
    for name, values in columns.items():
        if np.shape(values) != (rows,):
            raise TableError(
                f"answer column {shown(name)} has shape {np.shape(values)}, the table has {rows} rows"
            )
    if is_pandas:
        # Built without an index first: pandas would otherwise try to align, which duplicated labels forbid.
        made = pd.DataFrame(dict(columns))
        return made.set_axis(question.index, axis=0)
    import narwhals as nw

    # Object arrays (ids, lists of ids) go through Python values, so that the library finds their type itself.
    plain = {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
    return nw.from_dict(plain, backend=nw.get_native_namespace(question)).to_native()


def replaced(frame: Any, name: str, values: np.ndarray) -> Any:
    """The frame with other values (n,) in one of its columns; the rest, and its index, as they are.

    >>> replaced(pd.DataFrame({"y": [1, 2], "e": ["a", "b"]}, index=["r", "s"]), "y", np.array([0.5, 2.0]))
         y  e
    r  0.5  a
    s  2.0  b
    """
    if isinstance(frame, pd.DataFrame):
        made = frame.copy()
        made[name] = values
        return made
    import narwhals as nw

    wrapped = _eager(frame)
    return wrapped.with_columns(nw.new_series(name, values, backend=wrapped.implementation)).to_native()


def from_columns(columns: Mapping[str, np.ndarray], like: Any = None) -> Any:
    """A frame of these columns, of the kind of `like` where that is an eager frame, else pandas.

    >>> from_columns({"total": np.array([3.0])})
       total
    0    3.0
    """
    if like is None or isinstance(like, pd.DataFrame) or type(like).__module__.startswith("dask"):
        return pd.DataFrame(dict(columns))
    import narwhals as nw

    plain = {name: values.tolist() for name, values in columns.items()}
    return nw.from_dict(plain, backend=nw.get_native_namespace(like)).to_native()


def _eager(frame: Any) -> nw.DataFrame[Any]:
    # Loaded here and above: it takes a twentieth of a second, and most tables are pandas frames.
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame)
    except Exception as error:
        if "duplicate" in str(error).lower() or "unique" in str(error).lower():
            raise TableError(f"the table has duplicate column names ({error}): rename them") from error
        raise TableError(
            f"a table must be a pandas or polars data frame, not {type(frame).__name__}: "
            "wrap it, for instance with pandas.DataFrame(...)"
        ) from error
    if isinstance(wrapped, nw.LazyFrame):
        raise TableError(f"the table is lazy ({type(frame).__name__}): call .collect() on it first")
    if not isinstance(wrapped, nw.DataFrame):
        raise TableError(f"a table must be a data frame, not a single column ({type(frame).__name__})")
    return wrapped


def _check_names(have: Sequence[Any], wanted: Sequence[str] | None) -> None:
    """No name twice, no wanted name absent."""
    twice = [name for name, count in Counter(have).items() if count > 1]
    if twice:
        raise TableError(f"the table has {columns_named(twice)} more than once: rename or drop the repeats")
    known = set(have)
    absent = [name for name in wanted or () if name not in known]
    if not absent:
        return
    texts = [name for name in have if isinstance(name, str)]
    close = difflib.get_close_matches(absent[0], texts, n=3, cutoff=0.6) or [
        name for name in texts if name.strip().lower() == absent[0].strip().lower()
    ]
    also = f" (nor {columns_named(absent[1:])})" if len(absent) > 1 else ""
    if close:
        hint = f"did you mean {' or '.join(shown(name) for name in close)}?"
    elif any(str(name) == absent[0] for name in have):
        hint = "the name is there but not as text: rename with df.columns = df.columns.astype(str)"
    else:
        hint = f"it has {counted(len(have), 'column')}: {listed(have, limit=8)}"
    raise TableError(f"the table has no column {shown(absent[0])}{also}: {hint}")


def _check_rows(rows: int) -> None:
    if rows == 0:
        raise TableError("the table is empty (0 rows): check the file or the filter that made it")
