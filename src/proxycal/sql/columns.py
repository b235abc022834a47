"""The encoder as arithmetic: the columns of a table as the columns that a method sees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proxycal.methods.expression import Columns, Expression, as_expression, choose, column, ln
from proxycal.table.codes import CategoryCode, LogCode, NumberCode

if TYPE_CHECKING:
    from proxycal.table.codes import Code
    from proxycal.table.encode import Encoder


def encoded(encoder: Encoder) -> Columns:
    """The columns of `Encoder.transform`; what it refuses, such as an unseen level, is `incomplete`."""
    return Columns(
        y=number_of(encoder.roles.outcome),
        P=tuple(each for code in encoder.proxies for each in _of_code(code)),
        E=tuple(each for code in encoder.environment for each in _of_code(code)),
        levels={
            code.name: tuple(_is_level(code, at) for at in range(len(code.level_names)))
            for code in encoder.environment
            if isinstance(code, CategoryCode)
        },
    )


def incomplete(encoder: Encoder) -> list[Expression]:
    """Conditions under which a row has no answer: a gap, or a level that the fit has not seen."""
    conditions = [_is_null(number_of(encoder.roles.outcome))]
    for code in (*encoder.proxies, *encoder.environment):
        if isinstance(code, CategoryCode):
            words = _words(code)
            known = Expression("in", (words, *(Expression("text", (level,)) for level in _levels(code))))
            gap = _is_null(words)
            unseen = choose(gap, 0.0 if code.gap else 1.0, choose(known, 0.0, 1.0))
            conditions.append(as_expression(0.5).below(unseen))
        elif (code.number if isinstance(code, LogCode) else code).fill is None:
            conditions.append(_is_null(number_of(code.name)))
    return conditions


def number_of(name: str) -> Expression:
    """A column as doubles; what is not a number is missing."""
    return Expression("double", (column(name),))


def _of_code(code: Code) -> list[Expression]:
    if isinstance(code, CategoryCode):
        return [_is_level(code, at) for at in range(1, len(code.level_names))]
    if isinstance(code, NumberCode):
        return _of_number(code, number_of(code.name))
    x = number_of(code.name)
    positive = as_expression(0.0).below(x)
    logs = choose(positive, ln(choose(positive, x, 1.0)), code.stand_in)
    return _of_number(code.number, logs, x) + ([choose(positive, 0.0, 1.0)] if code.zero else [])


def _of_number(code: NumberCode, x: Expression, seen: Expression | None = None) -> list[Expression]:
    gone = _is_null(x if seen is None else seen)
    # An exact power of two, as in the encoder.
    small = x * math.ldexp(1.0, -code.exponent)
    if code.fill is not None:
        small = choose(gone, code.fill, small)
    made = [(small - code.centre) / code.spread] if code.spread > 0.0 else []
    return made + ([choose(gone, 1.0, 0.0)] if code.indicator else [])


def _is_level(code: CategoryCode, at: int) -> Expression:
    words = _words(code)
    if code.gap and at == len(code.levels):
        return choose(_is_null(words), 1.0, 0.0)
    return choose(Expression("in", (words, Expression("text", (_levels(code)[at],)))), 1.0, 0.0)


def _words(code: CategoryCode) -> Expression:
    words = Expression("words", (column(code.name),))
    return Expression("lower", (words,)) if _is_flag(code) else words


def _levels(code: CategoryCode) -> tuple[str, ...]:
    return tuple(level.lower() for level in code.levels) if _is_flag(code) else code.levels


def _is_flag(code: CategoryCode) -> bool:
    """Whether the column is True or False, which databases write in small letters."""
    return set(code.levels) <= {"True", "False"}


def _is_null(value: Expression) -> Expression:
    return Expression("is null", (value,))
