"""One self-contained HTML page from a fitted result: no network, no script, every user string escaped."""

from __future__ import annotations

import math
import os
from functools import cache
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from proxycal.errors import StoreError
from proxycal.report.diagram import WIDTH, diagram
from proxycal.report.pictures import pictures_of
from proxycal.report.summary import (
    between,
    change,
    cite,
    facts,
    gate_label,
    number,
    options,
    percent,
    ratio_between,
    ratio_text,
    refutations,
    reproduce,
    sentence,
    shares,
    sources,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.report.pictures import Picture
    from proxycal.result import Fit


def render(fit: Fit, pictures: Sequence[Picture] | None = None) -> str:
    """The whole page as text, to write to one .html file; the pictures are drawn unless they are given."""
    pictures = pictures_of(fit) if pictures is None else pictures
    return _template().render(
        fit=fit,
        sentence=sentence(fit),
        facts=facts(fit),
        log=fit.settings.scale == "log",
        ratio_text=ratio_text,
        ratio_between=ratio_between,
        as_share=lambda size: percent(math.exp(fit.settings.sign * size)),
        between=between,
        calibrates=not fit.why_left_alone,
        open_findings=[finding for finding in fit.findings if not finding.ok],
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
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("proxycal.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, change=change, log=math.log)
    return environment.get_template("report.html")
