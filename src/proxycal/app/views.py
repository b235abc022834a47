"""What stands on the page: templates filled with text. Everything that comes from a table is escaped."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup
from pandas.api.types import is_numeric_dtype

from proxycal.app.tables import examples, preview, too_large
from proxycal.extras import is_installed
from proxycal.methods.registry import METHODS
from proxycal.questions.refute import REFUTERS
from proxycal.report.prose import prose
from proxycal.result import OUTPUT_COLUMNS
from proxycal.table.guess import UNUSED
from proxycal.table.roles import Roles
from proxycal.table.skew import is_skewed_size
from proxycal.table.small_counts import are_small_counts
from proxycal.table.surface import APP_CHOICES, speaking
from proxycal.testing.example import ADULTS, EXAMPLE_ALPHA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proxycal.app.answer import Answer
    from proxycal.app.shown import Shown
    from proxycal.app.tables import Table
    from proxycal.report.pictures import Picture
    from proxycal.result import Finding
    from proxycal.table.guess import Guess

# Languages of the memo, by their own names.
LANGUAGES = {"en": "English", "de": "Deutsch", "es": "Español"}
# Role, what the page calls it, what it is.
ROLES = (
    (UNUSED, "not used", ""),
    *((role.name, role.metadata["label"] or role.name, role.metadata["what"]) for role in fields(Roles)),
)


def page(limit: int) -> str:
    """The whole page before anything was done."""
    return _filled(
        "page",
        limit=limit,
        too_large=too_large(limit),
        roles=ROLES,
        refuters=REFUTERS.values(),
        adults=ADULTS,
        put_in=EXAMPLE_ALPHA,
    )


def table_read(table: Table) -> str:
    """What was read, with its first rows."""
    header, rows = list(map(str, table.frame.columns)), preview(table.frame)
    return _filled("table", table=table, header=header, rows=rows)


def columns(table: Table, number: int, guesses: Sequence[Guess], direction: str) -> str:
    """A role for each column to choose, the guesses chosen; `number` keeps the ids of two tables apart."""
    values = {guess.column: examples(table.frame[guess.column]) for guess in guesses}
    levels = [
        guess.column
        for guess in guesses
        if guess.role == "environment" and not is_numeric_dtype(table.frame[guess.column])
    ]
    sizes = [
        guess.column
        for guess in guesses
        if is_numeric_dtype(table.frame[guess.column]) and is_skewed_size(_numbers(table, guess.column))
    ]
    outcome = next((guess.column for guess in guesses if guess.role == "outcome"), None)
    spans = outcome in sizes and not are_small_counts(_numbers(table, str(outcome)))
    scale_why = (
        f"The values of {outcome} span several decades: a biased report of such a size is more often a share "
        "of the truth than the truth less a fixed amount."
        if spans
        else ""
    )
    return _filled(
        "columns",
        guesses=guesses,
        values=values,
        number=number,
        roles=ROLES,
        direction=direction,
        levels=levels,
        numeric={str(name) for name in table.frame.columns if is_numeric_dtype(table.frame[name])},
        scale="log" if scale_why else "linear",
        methods=METHODS.values(),
        directions=_choices("direction"),
        missing=_choices("missing"),
        gaps=_gaps(table, guesses),
        rows=len(table.frame),
        scales=_choices("scale"),
        scale_why=scale_why,
        sizes=[name for name in sizes if name != outcome],
    )


def _numbers(table: Table, column: str) -> np.ndarray:
    return table.frame[column].to_numpy(dtype=float, na_value=np.nan)


def _gaps(table: Table, guesses: Sequence[Guess]) -> int:
    """Rows with a missing value in a column that is likely to be used."""
    used = [g.column for g in guesses if g.role in ("outcome", "proxies", "environment")]
    return int(table.frame[used].isna().any(axis=1).sum()) if used else 0


def _choices(setting: str) -> list[tuple[str, str]]:
    """The values of a setting, and what the page calls them."""
    return [(value, label) for (name, value), label in APP_CHOICES.items() if name == setting]


def role_id(number: int, position: int) -> str:
    """The input that holds the role of a column: by its place, never by its name."""
    return f"role_{number}_{position}"


def audit(findings: Sequence[Finding]) -> str:
    """The findings about a table: what must be fixed, what to look at, and the others folded away."""
    return _filled(
        "audit",
        must_fix=[finding for finding in findings if finding.must_fix],
        look_at=[finding for finding in findings if not finding.ok and not finding.must_fix],
        fine=[finding for finding in findings if finding.ok],
    )


def message(text: str, kind: str = "act") -> str:
    """One message: "act" asks for something, "note" does not."""
    return _filled("message", text=text, kind=kind)


def answer(
    answer: Answer,
    links: Mapping[str, str],
    script: str,
    commands: str,
    chosen: str,
    put_in: float | None,
    columns: Sequence[str],
    by: str,
) -> str:
    """The answer, its pictures to choose from, its downloads and the report.

    put_in : the known bias of the example. columns, by : what totals can be by, and are by at first.
    """
    return _filled(
        "answer",
        answer=answer,
        links=links,
        script=script,
        commands=commands,
        chosen=chosen,
        put_in=put_in,
        columns=columns,
        by=by,
        languages=LANGUAGES,
        word=is_installed("docx"),
        excel=is_installed("openpyxl"),
        added=OUTPUT_COLUMNS,
    )


def totals(shown: Shown) -> str:
    """Totals as a picture and a table."""
    drawn = "" if shown.picture is None else picture(shown.picture)
    return _filled("totals", shown=shown, drawn=Markup(drawn))  # nosec B704


def band(assumption: str, rows: Sequence[Sequence[str]], by: str) -> str:
    """Totals under an assumption, which stands above them."""
    return _filled("band", assumption=assumption, rows=rows, by=by)


def picture(shown: Picture) -> str:
    """One picture. Its markup is our own: matplotlib escaped every text on its way into it."""
    svg = Markup(shown.svg + shown.page_svg)  # nosec B704
    return _filled("picture", shown=shown, svg=svg)


def _for_page(text: str) -> Markup:
    with speaking("app"):
        return prose(text)


def _filled(name: str, **values: Any) -> str:
    return _templates().get_template(f"app/{name}.html").render(**values)


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PrefixLoader(
            {
                "app": jinja2.PackageLoader("proxycal.app", "templates"),
                "report": jinja2.PackageLoader("proxycal.report", "templates"),
            }
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["role_id"] = role_id
    environment.filters["prose"] = _for_page
    return environment
