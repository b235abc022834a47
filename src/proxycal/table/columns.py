"""One column, read: numbers or levels, whatever dtype it came in; what is neither is refused by name."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types

from proxycal.errors import TableError
from proxycal.table.wording import listed, rows_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Kind = Literal["number", "boolean", "text", "category"]

# Digits with a leading zero are a code: 01003 is no number.
_CODE = re.compile(r"0\d+")
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period)
_DATE_DTYPES = (
    types.is_datetime64_any_dtype,
    types.is_timedelta64_dtype,
    lambda dtype: isinstance(dtype, pd.PeriodDtype),
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of n rows, either numbers or levels.

    numbers  (n,) float64, NaN where missing; None unless kind is "number"
    codes    (n,) positions in `levels`, -1 where missing; None if kind is "number"
    levels   the distinct values as text, sorted
    missing  (n,) bool
    """

    name: str
    kind: Kind
    missing: NDArray[np.bool_]
    numbers: NDArray[np.float64] | None = None
    codes: NDArray[np.int64] | None = None
    levels: tuple[str, ...] = ()

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """The column at some rows; its levels stay."""
        return Column(
            self.name,
            self.kind,
            self.missing[rows],
            None if self.numbers is None else self.numbers[rows],
            None if self.codes is None else self.codes[rows],
            self.levels,
        )

    def as_numbers(self) -> NDArray[np.float64] | None:
        """(n,) float64; True/False count as 1/0; None where the column is text or categories."""
        if self.kind == "boolean" and self.codes is not None:
            truth = np.array([level == "True" for level in self.levels] + [False], dtype=np.float64)
            return np.where(self.missing, np.nan, truth[self.codes])
        return self.numbers

    def as_levels(self) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """(n,) codes and their levels; numbers become levels by the way they are written."""
        if self.codes is not None:
            return self.codes, self.levels
        assert self.numbers is not None
        return _codes(self.numbers.astype(object), self.missing, self.name)

    def looks_numeric(self) -> list[str]:
        """The levels of a text column that read like numbers ("12", "1,200", "$3.50", "40%")."""
        return [level for level in self.levels if _reads_as_number(level)] if self.kind == "text" else []


def read_column(series: pd.Series, name: str) -> Column:
    """Read one pandas column of any dtype.

    >>> read_column(pd.Series(["b", None, "a"]), "x").levels
    ('a', 'b')
    >>> read_column(pd.Series([1, None], dtype="Int64"), "x").numbers
    array([ 1., nan])
    """
    dtype = series.dtype
    if _is_plain(dtype):
        return _of_numbers(series, name)
    if isinstance(dtype, pd.CategoricalDtype):
        return _from_categorical(series, name)
    if isinstance(dtype, pd.SparseDtype):
        return read_column(series.astype(dtype.subtype), name)
    if any(is_date(dtype) for is_date in _DATE_DTYPES):
        raise _date_error(name, str(dtype))
    if types.is_complex_dtype(dtype):
        raise TableError(f"column {shown(name)} holds complex numbers: pass its real part or its modulus")
    if types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype):
        return _of_numbers(series, name)
    return _from_objects(np.asarray(series.astype(object), dtype=object), name, series.index)


def read_plain(table: pd.DataFrame, names: Iterable[str]) -> dict[str, Column]:
    """Those of the columns that are plain numbers, read at once: pandas takes its time for each column.

    >>> list(read_plain(pd.DataFrame({"x": [1.5], "n": [1], "t": ["a"]}), ["t", "n", "x"]))
    ['n', 'x']
    """
    wanted = set(names)
    dtypes = zip(table.columns, table.dtypes, strict=True)
    plain = [name for name, dtype in dtypes if name in wanted and _is_plain(dtype)]
    if not plain:
        return {}
    numbers = (table if len(plain) == table.shape[1] else table[plain]).to_numpy(dtype=np.float64)
    missing = np.isnan(numbers.T)
    read = {
        name: Column(name, "number", gone, numbers=values)
        for name, values, gone in zip(plain, numbers.T, missing, strict=True)
    }
    return {name: read[name] for name in names if name in read}


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _of_numbers(series: pd.Series, name: str) -> Column:
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return Column(name, "number", np.isnan(values), numbers=values)


def code_hashables(series: pd.Series, name: str) -> tuple[NDArray[np.int64], list[Any]]:
    """(n,) integer codes of any hashable values, -1 where missing, and the values in code order.

    The codes do not depend on the order of the rows, so that neither do draws made per code.

    >>> code_hashables(pd.Series(["b", "a", "b"]), "c")[0]
    array([1, 0, 1])
    """
    values = np.asarray(series.astype(object), dtype=object)
    try:
        codes, uniques = pd.factorize(_blanked(values, _missing(values)), use_na_sentinel=True)
    except TypeError as error:
        raise TableError(
            f"column {shown(name)} holds values that cannot be compared ({error}): use text or whole numbers"
        ) from error
    order = sorted(range(len(uniques)), key=lambda i: _sort_key(uniques[i]))
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = -1
    return rank[codes], [uniques[i] for i in order]


def _sort_key(value: Any) -> tuple[int, float, str]:
    if isinstance(value, numbers.Real):
        return 0, _float(value), repr(value)
    return 1, 0.0, f"{type(value).__name__} {value!r}"


def _from_categorical(series: pd.Series, name: str) -> Column:
    raw = series.cat.codes.to_numpy().astype(np.int64)
    written = [_text(value) for value in series.cat.categories]
    _refuse_same_text(written, list(series.cat.categories), name)
    used = sorted({written[code] for code in np.unique(raw) if code >= 0})
    place = {level: position for position, level in enumerate(used)}
    lookup = np.array([place.get(level, -1) for level in written] + [-1], dtype=np.int64)
    return Column(name, "category", raw < 0, codes=lookup[raw], levels=tuple(used))


def _from_objects(values: NDArray[np.object_], name: str, index: pd.Index) -> Column:
    """Object values: all text, all True/False or all numbers; a mixture is refused, naming the odd rows."""
    missing = _missing(values)
    kind = types.infer_dtype(values[~missing], skipna=False)
    if kind == "string":
        codes, levels = _codes(values, missing, name)
        return Column(name, "text", missing, codes=codes, levels=levels)
    if kind == "boolean":
        codes, levels = _codes(values, missing, name)
        return Column(name, "boolean", missing, codes=codes, levels=levels)
    kinds = np.array([None if gone else _family(value) for value, gone in zip(values, missing, strict=True)])
    families = {family for family in kinds if family is not None}
    if families <= {"numbers"}:
        floats = np.array([math.nan if gone else _float(v) for v, gone in zip(values, missing, strict=True)])
        floats = floats.astype(np.float64)
        return Column(name, "number", np.isnan(floats), numbers=floats)
    if families == {"text"}:
        codes, levels = _codes(values, missing, name)
        return Column(name, "text", missing, codes=codes, levels=levels)
    if families == {"dates or times"}:
        raise _date_error(name, type(values[~missing][0]).__name__)
    rarest = min(families, key=lambda family: int(np.sum(kinds == family)))
    odd = kinds == rarest
    what = f"mixes {' and '.join(sorted(families))}" if len(families) > 1 else f"holds {rarest}"
    raise TableError(
        f"column {shown(name)} {what}, {rarest} {rows_of(odd, index)} ({listed(values[odd])}): "
        "make it all numbers or all text"
    )


def _missing(values: NDArray[np.object_]) -> NDArray[np.bool_]:
    try:
        return np.asarray(pd.isna(values), dtype=bool)
    except ArithmeticError:  # pandas compares a signalling Decimal NaN with itself, which Decimal forbids
        return np.array(
            [v.is_nan() if isinstance(v, Decimal) else pd.isna(v) is True for v in values], dtype=bool
        )


def _blanked(values: NDArray[np.object_], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    blanked = values.copy()
    blanked[missing] = None
    return blanked


def _family(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "True/False"
    if isinstance(value, str):
        return "text"
    if isinstance(value, numbers.Real | Decimal):
        return "numbers"
    if isinstance(value, _DATES):
        return "dates or times"
    return f"values of type {type(value).__name__}"


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond 1e308 is as unusable as infinity, and is reported as such
        return math.inf if value > 0 else -math.inf


def _codes(
    values: NDArray[np.object_], missing: NDArray[np.bool_], name: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    raw, uniques = pd.factorize(_blanked(values, missing), use_na_sentinel=True)
    written = [_text(value) for value in uniques]
    _refuse_same_text(written, list(uniques), name)
    levels = sorted(written)
    place = {level: position for position, level in enumerate(levels)}
    lookup = np.array([place[level] for level in written] + [-1], dtype=np.int64)
    return np.where(missing, -1, lookup[raw]), tuple(levels)


def _text(value: Any) -> str:
    """A level as text; 1, 1.0 and Decimal(1) are the same level, as a CSV with a gap turns 1 into 1.0."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, str | numbers.Integral):
        return str(value)
    if isinstance(value, numbers.Real | Decimal):
        number = _float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def _refuse_same_text(written: Sequence[str], values: Sequence[Any], name: str) -> None:
    first: dict[str, Any] = {}
    for text, value in zip(written, values, strict=True):
        if text in first:
            raise TableError(
                f"column {shown(name)} has two levels that are written alike, {shown(first[text])} and "
                f"{shown(value)}: make them one type"
            )
        first[text] = value


def _reads_as_number(text: str) -> bool:
    if _CODE.fullmatch(text.strip()):
        return False
    bare = text.strip().strip("$€£%").replace(",", "").replace(" ", "").replace("'", "")
    try:
        float(bare)
    except ValueError:
        return False
    return any(character.isdigit() for character in bare)


def _date_error(name: str, what: str) -> TableError:
    return TableError(
        f"column {shown(name)} holds dates or times ({what}), which have no scale of their own: turn it into "
        "numbers that mean something (year, month, days since a start) or drop it"
    )
