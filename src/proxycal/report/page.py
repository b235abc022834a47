"""One self-contained HTML page from a fitted result: no network, no script, every user string escaped."""

from __future__ import annotations

import io
import math
import re
import warnings
from functools import cache
from typing import TYPE_CHECKING

import jinja2
import matplotlib
from markupsafe import Markup

from proxycal.report import plots, style
from proxycal.report.diagram import WIDTH, diagram
from proxycal.report.pictures import pictures_of
from proxycal.report.summary import (
    between,
    cite,
    gate_label,
    number,
    options,
    percent,
    refutations,
    reproduce,
    sentence,
    shares,
    sources,
)

if TYPE_CHECKING:
    from proxycal.result import Fit

# Colours of the figures become the page's own variables, so that one figure serves light, dark and print.
_THEME = {
    style.INK: "var(--ink)",
    style.MUTED: "var(--muted)",
    style.GRID: "var(--line)",
    style.UNBIASED: "var(--unbiased)",
    style.BIASED: "var(--biased)",
}


def render(fit: Fit) -> str:
    """The whole page as text; write it to one .html file."""
    return _template().render(
        fit=fit,
        sentence=sentence(fit),
        between=between,
        calibrates=fit.verdict == "bias found",
        open_findings=[finding for finding in fit.findings if not finding.ok],
        diagram=diagram(fit),
        width=WIDTH,
        pictures={picture.kind: picture for picture in pictures_of(fit)},
        shares=shares(fit),
        svg=svg,
        gate_label=gate_label,
        command=reproduce(fit),
        cite=cite(fit),
        sources=sources(fit),
        options=options(fit),
        refutations=refutations(fit),
        power=fit.questions.get("power"),
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
    environment.filters.update(number=number, percent=percent, log=math.log)
    return environment.get_template("report.html")


def svg(kind: str, fit: Fit) -> Markup:
    """One picture as inline SVG in the page's colours, the same bytes for the same data."""
    axes = plots.draw(kind, fit)
    buffer = io.StringIO()
    # Text stays text: sharper, searchable, and set in the reader's own font, which also has the glyphs of
    # alphabets that the bundled font lacks.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": kind}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        axes.figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)  # type: ignore[union-attr]
    # Safe as markup: matplotlib escapes every text on its way into SVG.
    return Markup(_inline(buffer.getvalue(), kind))


def _inline(text: str, kind: str) -> str:
    """Cut an SVG file down to its element, with ids that cannot meet those of another figure."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Only inside tags: a user string that looks like an attribute or a colour stays as it is.
    text = re.sub(r"<[a-z][^>]*>", lambda tag: _tag(tag.group(), kind), text)
    return re.sub(r'^<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', text)


def _tag(tag: str, kind: str) -> str:
    tag = re.sub(r'\bid="', f'id="{kind}-', tag)
    tag = re.sub(r'href="#', f'href="#{kind}-', tag)
    tag = tag.replace("url(#", f"url(#{kind}-")
    for colour, variable in _THEME.items():
        tag = tag.replace(colour, variable)
    return tag
