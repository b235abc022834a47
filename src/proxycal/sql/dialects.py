"""How databases write the same arithmetic: names, numbers, text and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.methods.expression import Expression


@dataclass(frozen=True, slots=True)
class Dialect:
    """One database: its quotes, its word for a double and for text, and how a double is written."""

    name: str
    quote: str
    double: str
    text: str
    number: Callable[[str], str]
    escape: bool = False

    def identifier(self, name: str) -> str:
        """A name of a column or table.

        >>> print(DIALECTS["duckdb"].identifier('the "loss" here'))
        "the ""loss"" here"
        """
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def literal(self, text: str) -> str:
        """Text as a value.

        >>> print(DIALECTS["postgres"].literal("O'Brien"))
        'O''Brien'
        """
        if self.escape:
            text = text.replace("\\", "\\\\")
            return "'" + text.replace("'", "\\'") + "'"
        return "'" + text.replace("'", "''") + "'"

    def write(self, expression: Expression, known: dict[int, str]) -> str:
        """The expression as SQL; known : names of nodes that have been computed, by id."""
        if id(expression) in known:
            return known[id(expression)]
        kind, parts = expression.kind, expression.parts
        if kind == "number":
            # With an exponent it is a double; without, some read a decimal of few digits.
            digits = repr(parts[0])
            return self.number(digits if "e" in digits else f"{digits}e0")
        if kind == "text":
            return self.literal(parts[0])
        if kind == "null":
            return f"CAST(NULL AS {self.double})"
        if kind == "column":
            return f"t.{self.identifier(parts[0])}"
        written = [self.write(part, known) for part in parts]
        if kind == "case":
            return f"CASE WHEN {written[0]} THEN {written[1]} ELSE {written[2]} END"
        if kind == "in":
            return f"({written[0]} IN ({', '.join(written[1:])}))"
        if kind == "double":
            value = f"CAST({written[0]} AS {self.double})"
            return f"NULLIF({value}, CAST('NaN' AS {self.double}))"
        if kind == "words":
            return f"CAST({written[0]} AS {self.text})"
        if kind in ("exp", "ln", "lower"):
            return f"{kind}({written[0]})"
        if kind == "is null":
            return f"({written[0]} IS NULL)"
        joined = f" {kind.upper()} ".join(written)
        return f"({joined})"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", '"', "DOUBLE", "VARCHAR", lambda digits: f"({digits})"),
        Dialect("postgres", '"', "DOUBLE PRECISION", "TEXT", lambda digits: f"'{digits}'::float8"),
        Dialect("spark", "`", "DOUBLE", "STRING", lambda digits: f"({digits.upper()}D)", escape=True),
    )
}


def dialect_of(name: str) -> Dialect:
    """The dialect of this name; an unknown one is answered with the list of them."""
    if name not in DIALECTS:
        raise SettingsError(f"--sql {name} is not known: use one of {', '.join(DIALECTS)}")
    return DIALECTS[name]
