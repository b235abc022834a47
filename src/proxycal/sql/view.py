"""The view: the columns of a table, and beside them y_cal, p_biased and shift, computed by the database.

t  ->  s1: what is used more than once  ->  s2: what is made of that  ->  ...  ->  the answer
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxycal.methods.expression import ClosedForm, Expression, NoClosedForm, as_expression
from proxycal.sql.columns import encoded, incomplete, number_of
from proxycal.sql.dialects import dialect_of

if TYPE_CHECKING:
    from proxycal.methods.expression import Columns
    from proxycal.result import Fit
    from proxycal.sql.dialects import Dialect

ANSWERS = ("y_cal", "p_biased", "shift")
# What is as short as the name that would stand for it.
_LEAVES = ("number", "column", "text", "null")


def view(fit: Fit, database: str, table: str = "reports", name: str = "calibrated") -> str:
    """The statement that makes the view.

    Parameters
    ----------
    fit : Fit
        A finished fit whose answer is closed form; any other is one NoClosedForm.
    database : {"duckdb", "postgres", "spark"}
        Who reads it.
    table, name : str
        Names of the table of reports and of the view.

    """
    dialect = dialect_of(database)
    answers = _answers(fit)
    shared = _Shared()
    answers = {column: shared.one(value) for column, value in answers.items()}
    stages, known = _stages(list(answers.values()), dialect)
    lines = [f"CREATE OR REPLACE VIEW {dialect.identifier(name)} AS", "SELECT t.*,"]
    wanted = [f"  {dialect.write(value, known)} AS {column}" for column, value in answers.items()]
    lines += [",\n".join(wanted), f"FROM {dialect.identifier(table)} AS t"]
    for number, stage in enumerate(stages, start=1):
        inside = ",\n    ".join(f"{text} AS {column}" for column, text in stage)
        lines.append(f"CROSS JOIN LATERAL (SELECT\n    {inside}\n  ) AS s{number}")
    return "\n".join([*_comment(fit), *lines]) + ";\n"


def _answers(fit: Fit) -> dict[str, Expression]:
    """The columns of the view, as `calibrate` has them."""
    encoder = fit.encoder
    y, form = number_of(encoder.roles.outcome), closed_form(fit)
    y_cal, p = form.y_cal(y), form.p_biased
    if fit.why_left_alone:
        y_cal = y
    if encoder.roles.trusted is not None or encoder.roles.truth is not None:
        raise NoClosedForm(
            "rows whose truth is known, or that are trusted, are answered apart: fit without those columns, "
            "or use calibrate"
        )
    gone = incomplete(encoder)
    # A gap would otherwise be taken for the smaller, or the larger, of two numbers.
    missing = Expression("or", tuple(gone)) if len(gone) > 1 else gone[0]
    null = Expression("null", ())
    return {
        "y_cal": Expression("case", (missing, null, y_cal)),
        "p_biased": Expression("case", (missing, null, p)),
        "shift": Expression("case", (missing, null, as_expression(0.0) if y_cal is y else y - y_cal)),
    }


def closed_form(fit: Fit) -> ClosedForm:
    """The answer of the method as arithmetic, or NoClosedForm with the reason."""
    made = getattr(fit.method_fit, "closed_form", None)
    if made is None:
        raise NoClosedForm(
            f"method='{fit.settings.method}' has no answer in closed form: use calibrate, or a fit with "
            "method='exact' or method='moments'"
        )
    columns: Columns = encoded(fit.encoder)
    form: ClosedForm = made(columns)
    return form


@dataclass
class _Shared:
    """Expressions that are alike, as one node."""

    nodes: dict[tuple[Any, ...], Expression] = field(default_factory=dict)

    def one(self, expression: Expression) -> Expression:
        """The node that stands for all that are like this one."""
        parts = tuple(self.one(part) if isinstance(part, Expression) else part for part in expression.parts)
        key = (expression.kind, *(id(part) if isinstance(part, Expression) else part for part in parts))
        return self.nodes.setdefault(key, Expression(expression.kind, parts))


def _stages(roots: list[Expression], dialect: Dialect) -> tuple[list[list[tuple[str, str]]], dict[int, str]]:
    """What is used more than once, by stages that need only earlier ones: (name, SQL); and names by node."""
    uses, order = Counter[int](), dict[int, Expression]()

    def visit(node: Expression) -> None:
        uses[id(node)] += 1
        if uses[id(node)] > 1:
            return
        for part in node.parts:
            if isinstance(part, Expression):
                visit(part)
        order[id(node)] = node  # after its parts

    for root in roots:
        visit(root)
    level: dict[int, int] = {}
    for place, node in order.items():
        within = max((level[id(part)] for part in node.parts if isinstance(part, Expression)), default=0)
        level[place] = within + (uses[place] > 1 and node.kind not in _LEAVES)
    shared = [
        (level[place], node) for place, node in order.items() if uses[place] > 1 and node.kind not in _LEAVES
    ]
    stages: list[list[tuple[str, str]]] = [[] for _ in range(max((at for at, _ in shared), default=0))]
    known: dict[int, str] = {}
    for at, node in sorted(shared, key=lambda pair: pair[0]):
        name = f"pc_{len(known) + 1}"
        stages[at - 1].append((name, dialect.write(node, known)))
        known[id(node)] = f"s{at}.{name}"
    return stages, known


def _comment(fit: Fit) -> list[str]:
    from proxycal.report.summary import cite, formula

    said = [formula(fit), cite(fit), *([fit.why_left_alone] if fit.why_left_alone else [])]
    return [f"-- {' '.join(text.split())}" for text in said]
