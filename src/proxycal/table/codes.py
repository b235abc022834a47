"""How one column becomes numbers: a frozen record, fitted on the training rows, applied to any others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.errors import StoreError, TableError
from proxycal.table.scale import (
    FLAT,
    centre_and_spread,
    centres_and_spreads,
    exponent_of,
    shrink,
    varies,
    weighted_median,
)
from proxycal.table.wording import counted, listed, rows_of, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from proxycal.table.columns import Column

# Numbers that are standardised at a time: what is made of them on the way stays near the processor.
TOGETHER = 16_384


@dataclass(frozen=True, slots=True)
class NumberCode:
    """x -> (x / 2**exponent - centre) / spread, and a 0/1 column for "was missing" where training rows were.

    `spread` is 0 for a column that was constant: it then gives no number. `fill` (in the same shrunk
    units) replaces missing values and is None unless missing="impute".
    """

    name: str
    exponent: int
    centre: float
    spread: float
    fill: float | None
    indicator: bool

    @classmethod
    def fit(cls, column: Column, weights: NDArray[np.float64], impute: bool) -> NumberCode:
        """Fit on training rows alone; weights (n,) count a row of weight 2 twice."""
        x = column.as_numbers()
        assert x is not None
        seen = ~np.isnan(x)
        exponent = exponent_of(x[seen])
        small = shrink(x[seen], exponent)
        centre, spread = centre_and_spread(small, weights[seen])
        if not varies(small):
            spread = 0.0
        fill = weighted_median(small, weights[seen]) if impute else None
        return cls(column.name, exponent, centre, spread, fill, indicator=bool((~seen).any()))

    @classmethod
    def fit_complete(cls, columns: Sequence[Column], weights: NDArray[np.float64]) -> list[NumberCode]:
        """The same for columns without a missing value, some of them at a time."""
        codes = []
        together = max(TOGETHER // max(len(weights), 1), 1)
        for start in range(0, len(columns), together):
            part = columns[start : start + together]
            x = np.stack([column.numbers for column in part if column.numbers is not None])
            exponents = np.frexp(np.abs(x).max(axis=1))[1]
            small = np.ldexp(x, -exponents[:, None])
            even = np.ptp(small, axis=1) <= FLAT
            for column, exponent, flat, (centre, spread) in zip(
                part, exponents, even, centres_and_spreads(small, weights), strict=True
            ):
                spread = 0.0 if flat else spread
                codes.append(cls(column.name, int(exponent), centre, spread, None, indicator=False))
        return codes

    @property
    def unit(self) -> tuple[float, float] | None:
        """Centre and spread in the column's own units, where it has numbers."""
        if self.spread == 0.0:
            return None
        return math.ldexp(self.centre, self.exponent), math.ldexp(self.spread, self.exponent)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What is added to the column's name, one for each encoded column."""
        return ("",) * (self.spread > 0) + ("=missing",) * self.indicator

    @property
    def categorical(self) -> tuple[bool, ...]:
        """Which of the encoded columns are 0/1."""
        return (False,) * (self.spread > 0) + (True,) * self.indicator

    def apply(self, column: Column, index: pd.Index, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n, k) encoded columns of the n kept rows."""
        x = column.as_numbers()
        if x is None:
            raise TableError(
                f"column {shown(self.name)} holds {column.kind} values ({listed(column.levels)}), but it was "
                "numeric when the model was fitted: convert it to numbers"
            )
        small = shrink(x[kept], self.exponent)
        gone = np.isnan(small)
        if self.fill is not None:
            small = np.where(gone, self.fill, small)
        parts = []
        if self.spread > 0:
            with np.errstate(over="ignore"):
                z = (small - self.centre) / self.spread
            if (bad := ~np.isfinite(z)).any():
                where = np.zeros(len(x), dtype=bool)
                where[np.flatnonzero(kept)[bad]] = True
                raise TableError(
                    f"column {shown(self.name)} holds {counted(int(bad.sum()), 'value')} out of all "
                    f"proportion to the rows the model was fitted on, {rows_of(where, index)} "
                    f"({listed(x[where].tolist())}): check the units"
                )
            parts.append(z)
        if self.indicator:
            parts.append(gone.astype(np.float64))
        return np.column_stack(parts) if parts else np.empty((int(kept.sum()), 0))

    def decoded(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Encoded values (m,) in the units of the column."""
        return np.ldexp(self.centre + self.spread * z, self.exponent)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "kind": "number",
            "name": self.name,
            "exponent": self.exponent,
            "centre": self.centre,
            "spread": self.spread,
            "fill": self.fill,
            "indicator": self.indicator,
        }


@dataclass(frozen=True, slots=True)
class CategoryCode:
    """A level -> 0/1 columns, one for each level but the first; with `gap`, missing is the last level."""

    name: str
    levels: tuple[str, ...]
    gap: bool

    @classmethod
    def fit(cls, column: Column) -> CategoryCode:
        """The levels that the training rows hold, sorted as text."""
        codes, levels = column.as_levels()
        used = np.unique(codes)
        return cls(
            column.name, tuple(levels[code] for code in used if code >= 0), gap=bool((codes < 0).any())
        )

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels as shown, the missing one last."""
        return self.levels + (
            ("missing value" if "missing" in self.levels else "missing",) if self.gap else ()
        )

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What is added to the column's name, one for each encoded column."""
        return tuple(f"={level}" for level in self.level_names[1:])

    @property
    def categorical(self) -> tuple[bool, ...]:
        """Which of the encoded columns are 0/1: all of them."""
        return (True,) * len(self.suffixes)

    def positions(self, column: Column, index: pd.Index, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(n,) position in `level_names` of each kept row; a level never seen in training is an error."""
        codes, levels = column.as_levels()
        place = {level: position for position, level in enumerate(self.levels)}
        lookup = np.array([place.get(level, -2) for level in levels] + [-1], dtype=np.int64)
        found = lookup[codes]
        if self.gap:
            found = np.where(found == -1, len(self.levels), found)
        if (bad := kept & (found < 0)).any():
            unseen = sorted({levels[code] if code >= 0 else "(missing)" for code in np.unique(codes[bad])})
            raise TableError(
                f"column {shown(self.name)} holds {counted(len(unseen), 'level')} that the model was not "
                f"fitted on, {listed(unseen)}, in {counted(int(bad.sum()), 'row')}, {rows_of(bad, index)}: "
                f"recode to one of {listed(self.level_names, limit=6)}, leave those rows out, or fit again"
            )
        return found[kept]

    def apply(self, column: Column, index: pd.Index, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n, k) encoded columns of the n kept rows."""
        at = self.positions(column, index, kept)
        return (at[:, None] == np.arange(1, len(self.level_names))[None, :]).astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"kind": "category", "name": self.name, "levels": list(self.levels), "gap": self.gap}


@dataclass(frozen=True, slots=True)
class LogCode:
    """A size -> its logarithm, standardised as `number` says, and a 0/1 column for zero if there were some.

    A zero has no logarithm: `stand_in` takes its place, so that its 0/1 column says all that is to be said.
    """

    name: str
    number: NumberCode
    stand_in: float
    zero: bool

    @classmethod
    def fit(cls, column: Column, weights: NDArray[np.float64], impute: bool) -> LogCode:
        """Fit on training rows alone."""
        x = _sizes(column, None)
        positive = x > 0.0
        if not positive.any():
            raise TableError(
                f"column {shown(column.name)} is nowhere above 0, so it has no logarithm: leave it out of "
                "the proxies that are sizes"
            )
        stand_in = float(np.average(np.log(x[positive]), weights=weights[positive]))
        number = NumberCode.fit(_in_logs(column, x, stand_in), weights, impute)
        return cls(column.name, number, stand_in, zero=bool((x == 0.0).any()))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What is added to the column's name, one for each encoded column."""
        return self.number.suffixes + ("=zero",) * self.zero

    @property
    def categorical(self) -> tuple[bool, ...]:
        """Which of the encoded columns are 0/1."""
        return self.number.categorical + (True,) * self.zero

    def apply(self, column: Column, index: pd.Index, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(n, k) encoded columns of the n kept rows."""
        x = _sizes(column, index)
        is_zero = x == 0.0
        if (unseen := is_zero & kept).any() and not self.zero:
            raise TableError(
                f"column {shown(self.name)} is zero in {counted(int(unseen.sum()), 'row')}, "
                f"{rows_of(unseen, index)}, and the model was fitted on its logarithm, without a zero: "
                "leave those rows out, or fit again with rows like them"
            )
        logs = self.number.apply(_in_logs(column, x, self.stand_in), index, kept)
        return np.column_stack([logs, is_zero[kept].astype(np.float64)]) if self.zero else logs

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        number = self.number.to_dict()
        return {
            "kind": "log",
            "name": self.name,
            "number": number,
            "stand_in": self.stand_in,
            "zero": self.zero,
        }


Code = NumberCode | CategoryCode | LogCode


def fit_code(column: Column, weights: NDArray[np.float64], impute: bool, log: bool = False) -> Code:
    """The code of one column: numbers, or their logarithms, are standardised; all else becomes levels."""
    if log:
        return LogCode.fit(column, weights, impute)
    return NumberCode.fit(column, weights, impute) if column.kind == "number" else CategoryCode.fit(column)


def fit_codes(
    columns: Sequence[Column], weights: NDArray[np.float64], impute: bool, logs: Collection[str] = ()
) -> dict[str, Code]:
    """The code of each column by its name; logs : the columns of which the logarithm is taken."""
    complete = [
        column
        for column in columns
        if column.kind == "number" and column.name not in logs and not (impute or column.missing.any())
    ]
    codes: dict[str, Code] = {code.name: code for code in NumberCode.fit_complete(complete, weights)}
    return {
        column.name: codes.get(column.name) or fit_code(column, weights, impute, column.name in logs)
        for column in columns
    }


def _sizes(column: Column, index: pd.Index | None) -> NDArray[np.float64]:
    """The numbers of a column that is a size: 0 or more."""
    if column.numbers is None:
        raise TableError(
            f"column {shown(column.name)} holds {column.kind} values ({listed(column.levels)}), which have "
            "no logarithm: leave it out of the proxies that are sizes"
        )
    if (bad := column.numbers < 0.0).any():
        where = f", {rows_of(bad, index)}" if index is not None else ""
        raise TableError(
            f"column {shown(column.name)} holds {counted(int(bad.sum()), 'negative value')}{where}, which "
            "have no logarithm: correct them, or leave it out of the proxies that are sizes"
        )
    return column.numbers


def _in_logs(column: Column, x: NDArray[np.float64], stand_in: float) -> Column:
    """The column with logarithms for numbers."""
    return replace(column, numbers=np.where(x == 0.0, stand_in, np.log(np.where(x > 0.0, x, 1.0)) + 0.0 * x))


def code_from_dict(state: Any) -> Code:
    """Rebuild a code from `to_dict`; a state that was damaged or edited is refused."""
    try:
        state = dict(state)
        kind = state.pop("kind")
        if kind == "category":
            category = CategoryCode(state["name"], tuple(state["levels"]), state["gap"])
            sound = all(isinstance(level, str) for level in category.levels) and isinstance(
                category.gap, bool
            )
            sound = sound and len(set(category.levels)) == len(category.levels) > 0
            made: Code = category
        elif kind == "log":
            inner = code_from_dict(state["number"])
            made = LogCode(state["name"], inner, state["stand_in"], state["zero"])  # type: ignore[arg-type]
            sound = isinstance(inner, NumberCode) and isinstance(made.zero, bool)
            sound = sound and isinstance(made.stand_in, float) and math.isfinite(made.stand_in)
        else:
            made = NumberCode(**state)
            sound = kind == "number" and _is_sound(made)
        sound = sound and isinstance(made.name, str)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"the stored encoder cannot be read ({error!r}): fit and save again") from error
    if not sound:
        raise StoreError(
            f"the stored encoder has a damaged entry for column {shown(made.name)}: fit and save again"
        )
    return made


def _is_sound(code: NumberCode) -> bool:
    reals = [code.centre, code.spread] + ([] if code.fill is None else [code.fill])
    return (
        all(isinstance(value, float) and math.isfinite(value) for value in reals)
        and code.spread >= 0
        and type(code.exponent) is int
        and abs(code.exponent) < 1200
        and isinstance(code.indicator, bool)
    )
