"""Arithmetic as a tree: what a method computes of a row, for others to write in another language.

    u = y - 2.0 * p            Expressions made of columns and numbers, with Python's own signs
    logistic(u)                and the few functions that an answer in closed form needs

A part that is used twice is one node of the tree, so that whoever writes it out computes it once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import ProxycalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

# Beyond this the logistic function is 0 or 1 to the last digit, and some databases refuse to exponentiate.
STEEPEST = 700.0


class NoClosedForm(ProxycalError):
    """A fit has no answer in closed form; the message says why, and what to use in its place."""


@dataclass(frozen=True, eq=False)
class Expression:
    """A number, a column, or an operation on other expressions.

    kind : "number" (its value), "column" (its name), "text" (its value), or an operation: "+" (of any number
    of parts), "-", "*", "/", "exp", "ln", "case" (condition, then, otherwise), "<", "in"; and what a database
    adds to these. parts : what it operates on.
    """

    kind: str
    parts: tuple[Any, ...]
    # Numbers of numpy leave the arithmetic to this class.
    __array_ufunc__ = None

    def __add__(self, other: Expression | float) -> Expression:
        return Expression("+", (self, as_expression(other)))

    def __radd__(self, other: float) -> Expression:
        return as_expression(other) + self

    def __sub__(self, other: Expression | float) -> Expression:
        return Expression("-", (self, as_expression(other)))

    def __rsub__(self, other: float) -> Expression:
        return as_expression(other) - self

    def __mul__(self, other: Expression | float) -> Expression:
        return Expression("*", (self, as_expression(other)))

    def __rmul__(self, other: float) -> Expression:
        return as_expression(other) * self

    def __truediv__(self, other: Expression | float) -> Expression:
        return Expression("/", (self, as_expression(other)))

    def __rtruediv__(self, other: float) -> Expression:
        return as_expression(other) / self

    def below(self, other: Expression | float) -> Expression:
        """Whether it is smaller."""
        return Expression("<", (self, as_expression(other)))


def as_expression(value: Expression | float) -> Expression:
    """The value itself, or a number as an expression."""
    return value if isinstance(value, Expression) else Expression("number", (float(value),))


def column(name: str) -> Expression:
    """A column of the table, as it stands there."""
    return Expression("column", (name,))


def choose(condition: Expression, then: Expression | float, otherwise: Expression | float) -> Expression:
    """One of two values."""
    return Expression("case", (condition, as_expression(then), as_expression(otherwise)))


def exp(value: Expression) -> Expression:
    """The exponential, of what a database can exponentiate."""
    return Expression("exp", (clipped(value, -STEEPEST, STEEPEST),))


def ln(value: Expression) -> Expression:
    """The natural logarithm."""
    return Expression("ln", (value,))


def clipped(value: Expression, low: float, high: float) -> Expression:
    """The value, or the end that it lies beyond."""
    return choose(value.below(low), low, choose(as_expression(high).below(value), high, value))


def logistic(value: Expression) -> Expression:
    """1 / (1 + exp(-value))."""
    return 1.0 / (1.0 + exp(0.0 - value))


def total(parts: Iterable[Expression]) -> Expression:
    """The sum; 0 of none."""
    listed = tuple(parts)
    return Expression("+", listed) if len(listed) > 1 else listed[0] if listed else as_expression(0.0)


def linear(constant: float, slopes: np.ndarray, columns: Sequence[Expression]) -> Expression:
    """Constant + slopes (m,) times m columns; what has a slope of 0 is left out."""
    terms = [float(slope) * each for slope, each in zip(slopes, columns, strict=True) if slope != 0.0]
    return total([as_expression(constant), *terms])


def largest(values: Sequence[Expression]) -> Expression:
    """The largest of the values."""
    top = values[0]
    for value in values[1:]:
        top = choose(top.below(value), value, top)
    return top


@dataclass(frozen=True, slots=True)
class Columns:
    """The encoded columns of a row as a method sees them: y, P (p,), E (q,), and 0/1 for a level."""

    y: Expression
    P: tuple[Expression, ...]
    E: tuple[Expression, ...]
    levels: dict[str, tuple[Expression, ...]]


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """The answer for a row: p_biased, and size, the signed bias that it has if it is biased.

    factor : whether the size is a logarithm, so that a biased row reports exp(size) times the truth.
    """

    p_biased: Expression
    size: Expression
    factor: bool = False

    def y_cal(self, y: Expression) -> Expression:
        """The calibrated value of the report y."""
        if self.factor:
            return y * (1.0 - self.p_biased + self.p_biased * exp(0.0 - self.size))
        return y - self.size * self.p_biased
