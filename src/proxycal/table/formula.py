"""A fit as one line: outcome ~ proxies | environment, read with formulaic, and written back.

    loss ~ wind + outage | income + hazard
    log(loss) ~ log(area) + outage | income        the bias is a factor; the area is taken as a logarithm

    own + register ~ 0 | income                    two reports of the same truth; 0 where there are no proxies

A formula names columns. What would make new columns of them is refused, for calibration must find the same
columns in other tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import RolesError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxycal.table.roles import Roles

_SHAPE = "write outcome ~ proxies | environment, such as loss ~ wind + outage | income + hazard"
_LOG = re.compile(r"log\(\s*(?:`([^`]+)`|([^\W\d]\w*))\s*\)")
# Stands before the name of a column of which the logarithm is taken: Python's own reader, which formulaic
# asks about calls, changes letters (ª is a) and knows no name such as ¼.
_TAKEN = "\0"
_CALL = re.compile(r"(\w+)\(")
# What formulaic would do with columns that a formula of a calibration does not do.
_REFUSED = {
    "-": "columns are added with +, and what is not named is left out: there is nothing to subtract",
    "^": "powers are not taken: name the column once",
    "**": "powers are not taken: name the column once",
    "in": "columns are not nested: name each with +",
}
_PRODUCT = "columns are not multiplied or nested: add the product to the table as a column and name that"


@dataclass(frozen=True, slots=True)
class Formula:
    """What a formula says: columns by role, and which of them are taken as logarithms.

    >>> parse("log(loss) ~ log(area) + wind | income").log_proxies
    ('area',)
    """

    outcomes: tuple[str, ...]
    proxies: tuple[str, ...]
    environment: tuple[str, ...]
    scale: str
    log_proxies: tuple[str, ...]

    def roles(self) -> dict[str, Any]:
        """The arguments of `Roles`; several outcomes, reports of the same truth, are a list.

        >>> parse("loss ~ wind | income").roles()
        {'outcome': 'loss', 'proxies': ['wind'], 'environment': ['income']}
        """
        outcome = self.outcomes[0] if len(self.outcomes) == 1 else list(self.outcomes)
        return {"outcome": outcome, "proxies": list(self.proxies), "environment": list(self.environment)}


def parse(text: str) -> Formula:
    """Read a formula; what it asks for and cannot have is one RolesError.

    >>> parse("loss ~ wind + `power outage` | income").proxies
    ('wind', 'power outage')
    """
    if not isinstance(text, str):
        raise RolesError(f"a formula must be text, not {type(text).__name__}: {_SHAPE}")
    left, proxies, environment = _sides(text)
    outcomes, logs = _columns(text, left, "outcome")
    if logs and set(logs) != set(outcomes):
        raise RolesError(
            f"formula {text!r} takes the logarithm of some outcomes only: take it of all or none"
        )
    proxy_names, log_proxies = _columns(text, proxies, "proxies")
    environment_names, log_environment = _columns(text, environment, "environment")
    if log_environment:
        name = log_environment[0]
        raise RolesError(
            f"formula {text!r} takes log({name}) in the environment: add the logarithm to the table as a "
            f"column, such as df['log_{name}'] = np.log(df['{name}']), and name that"
        )
    return Formula(outcomes, proxy_names, environment_names, "log" if logs else "linear", log_proxies)


def formula_of(roles: Roles, scale: str = "linear", log_proxies: Sequence[str] = ()) -> str:
    """The formula of a fit, as `parse` reads it; it has no way to write a backtick or backslash in a name.

    >>> from proxycal.table.roles import Roles
    >>> formula_of(Roles("loss", ["wind", "power outage"], ["income"]), "log", ["wind"])
    'log(loss) ~ log(wind) + `power outage` | income'
    """
    left = _sum(roles.report_names, roles.report_names if scale == "log" else ())
    sides = [_sum(roles.proxies, log_proxies) or "0", _sum(roles.environment, ()) or "0"]
    return f"{left} ~ {' | '.join(sides)}"


def _sum(names: Iterable[str], logs: Iterable[str]) -> str:
    taken = set(logs)
    return " + ".join(f"log({_quoted(name)})" if name in taken else _quoted(name) for name in names)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def _sides(text: str) -> tuple[Any, Any, Any]:
    """The terms of outcome, proxies and environment."""
    # Loaded here: it takes half a second, and most fits are asked for with Roles.
    from formulaic.errors import FormulaicError
    from formulaic.parser import DefaultFormulaParser
    from formulaic.parser.algos.tokenize import tokenize

    try:
        plain = " ".join(_plain(text, str(token), token.kind.value) for token in tokenize(text))
        terms = DefaultFormulaParser(include_intercept=False).get_terms(plain)
    except (FormulaicError, KeyError, IndexError, SyntaxError) as error:
        said = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0].rstrip(". ")
        raise RolesError(f"formula {text!r} cannot be read ({said}): {_SHAPE}") from error
    parts = getattr(terms, "_structure", {})
    left, right = parts.get("lhs"), parts.get("rhs")
    if left is None or isinstance(left, tuple):
        raise RolesError(f"formula {text!r} must have the outcome, and nothing else, before ~: {_SHAPE}")
    if not isinstance(right, tuple) or len(right) != 2:
        raise RolesError(
            f"formula {text!r} must have one bar, the proxies before it and the environment after: {_SHAPE}"
        )
    return left, *right


def _columns(text: str, terms: Iterable[Any], role: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that terms name, in their order, and those of which the logarithm is taken."""
    names, logs = [], []
    for term in terms:
        if len(term.factors) != 1:
            shown = str(term).replace(_TAKEN, "")
            raise RolesError(f"formula {text!r} holds {shown} in the {role}: {_PRODUCT}")
        (factor,) = term.factors
        name = str(factor.expr)
        names.append(name.removeprefix(_TAKEN))
        if name.startswith(_TAKEN):
            logs.append(names[-1])
    return tuple(names), tuple(logs)


def _plain(text: str, word: str, kind: str) -> str:
    """A token for formulaic; what a formula does not have is refused before it becomes something else."""
    if kind == "operator":
        # Signs that stand together are one operator to formulaic: "~-".
        for sign in filter(word.endswith, _REFUSED):
            raise RolesError(f"formula {text!r} holds {sign!r}: {_REFUSED[sign]}")
    if word == "." or (kind == "value" and word.isdigit() and word != "0"):
        raise RolesError(f"formula {text!r} holds {word!r}: name every column; {_SHAPE}")
    if kind != "python":
        return f"`{word}`" if kind == "name" else word
    log = _LOG.fullmatch(word)
    if log is None:
        raise RolesError(f"formula {text!r} holds {word}: {_other_call(word)}")
    return f"`{_TAKEN}{log[1] or log[2]}`"


def _other_call(expression: str) -> str:
    call = _CALL.match(expression)
    if call is not None and call[1] == "C":
        inside = expression[2:-1]
        return (
            "columns of text are categories already; make a column of codes one with "
            f"df[{inside!r}] = df[{inside!r}].astype(str), and name it without C()"
        )
    return "only log(column) is taken: add what you need to the table as a column and name that"
