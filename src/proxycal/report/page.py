"""One self-contained HTML page from a fitted result: no network, one script, every user string escaped.

The script shows values under the pointer and sorts the rows. The page's own policy names its hash, so that a
browser runs no other; without it the page shows the same numbers.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from proxycal.errors import StoreError
from proxycal.report.diagram import WIDTH, diagram
from proxycal.report.helps import helps
from proxycal.report.numbers import between, number, percent, rows_as_reported, size_text, sized, total_text
from proxycal.report.pictures import pictures_of
from proxycal.report.prose import prose
from proxycal.report.rows import row_table
from proxycal.report.summary import (
    change_text,
    cite,
    facts,
    gate_label,
    headline,
    options,
    ratio_between,
    ratio_text,
    refutations,
    reproduce,
    shares,
    sources,
    unseen,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.report.pictures import Picture
    from proxycal.result import Fit


def render(fit: Fit, pictures: Sequence[Picture] | None = None) -> str:
    """The whole page as text, to write to one .html file; the pictures are drawn unless they are given."""
    pictures = pictures_of(fit) if pictures is None else pictures
    rows, script = row_table(fit), report_script()
    own_script = Markup(script)  # nosec B704 # a file of the package
    return _template().render(
        fit=fit,
        headline=headline(fit),
        unseen=unseen(fit),
        facts=facts(fit),
        log=fit.settings.factor,
        ratio_text=ratio_text,
        ratio_between=ratio_between,
        as_share=lambda size: percent(math.exp(fit.settings.sign * size)),
        between=between,
        calibrates=not fit.why_left_alone,
        helps=helps(fit),
        open_findings=[finding for finding in fit.findings if not finding.ok],
        fine_findings=[finding for finding in fit.findings if finding.ok],
        rows=rows,
        row_data=rows.to_dict(fit),
        script=own_script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        size_text=size_text,
        total_text=total_text,
        rows_as_reported=rows_as_reported,
        change_text=change_text,
        diagram=diagram(fit),
        width=WIDTH,
        pictures=pictures,
        shares=shares(fit),
        markup=Markup,
        gate_label=gate_label,
        command=reproduce(fit),
        cite=cite(fit),
        sources=sources(fit),
        options=options(fit),
        refutations=refutations(fit),
        power=fit.questions.get("power"),
    )


def page_kind(path: str | os.PathLike[str]) -> str:
    """Whether a report of this name is "html" or "pdf"; nothing else is written.

    >>> page_kind("report.PDF")
    'pdf'
    """
    name = os.fspath(path).lower()
    kinds = {".html": "html", ".htm": "html", ".pdf": "pdf"}
    for ending, kind in kinds.items():
        if name.endswith(ending):
            return kind
    raise StoreError(
        f"'{os.fspath(path)}' must end in .html or .pdf: a report is a page for the browser or a PDF"
    )


def page_bytes(fit: Fit, pdf: bool = False) -> bytes:
    """The page as the bytes of a file."""
    if not pdf:
        return render(fit).encode()
    from proxycal.report.pdf import print_pdf

    return print_pdf(fit)


@cache
def report_script() -> str:
    """The one script of the page."""
    return (files("proxycal.report") / "templates" / "report.js").read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("proxycal.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, sized=sized, percent=percent, log=math.log, prose=prose)
    return environment.get_template("report.html")
