"""One self-contained HTML page from a fitted result: no network, no script, every user string escaped."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import jinja2
import matplotlib
from markupsafe import Markup

from proxycal.report import plots
from proxycal.report.summary import between, number, percent, reproduce, sentence

if TYPE_CHECKING:
    from proxycal.report.data import ReportData

# Colours of the figures become the page's own variables, so that one figure serves light, dark and print.
_THEME = {
    plots.INK: "var(--ink)",
    plots.MUTED: "var(--muted)",
    plots.GRID: "var(--line)",
    plots.UNBIASED: "var(--unbiased)",
    plots.BIASED: "var(--biased)",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure of the page: inline SVG, what it shows for those who cannot see it, and how to read it."""

    title: str
    svg: Markup
    alt: str
    caption: str


def render(data: ReportData) -> str:
    """The whole page as text; write it to one .html file."""
    return _template().render(
        data=data,
        sentence=sentence(data),
        between=between,
        calibrates=data.verdict == "bias found",
        open_findings=[finding for finding in data.findings if not finding.ok],
        estimates=_estimates_picture(data),
        pictures=_pictures(data),
        command=reproduce(data),
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("proxycal.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent)
    return environment.get_template("report.html")


def _estimates_picture(data: ReportData) -> Picture:
    known = ", ".join(f"{row.name} {number(row.alpha)}" for row in data.estimates)
    return Picture(
        "Estimators side by side",
        svg("estimates", data),
        f"Estimated size of the bias by estimator: {known}.",
        "Each estimator rests on something else. Where they agree, the answer does not hang on one of them.",
    )


def _pictures(data: ReportData) -> list[Picture]:
    y = data.outcome
    residual = Picture(
        "Reported minus content",
        svg("residual", data),
        f"Histogram of {y} minus its content prediction, split into unbiased and biased rows.",
        "What is left of the outcome once the content is taken away. A reporting bias is the same shape a "
        "second time, moved to the dashed line; each row counts for both colours by its probability.",
    )
    content = Picture(
        "Reported against content",
        svg("content", data),
        f"Scatter of reported {y} against its content prediction, coloured by the probability of bias.",
        "Each dot is a row. On the dotted line the report is what its content predicts.",
    )
    calibrated = Picture(
        "Reported against calibrated",
        svg("calibrated", data),
        f"Scatter of calibrated against reported {y}, coloured by the probability of bias.",
        "Rows on the dotted line were left alone; the others were moved by the bias times the probability "
        "that the row is biased.",
    )
    some = f" Shown: the {plots.MAX_COLUMNS} columns in which it moves most."
    who = Picture(
        "Who is biased",
        svg("who", data),
        f"Share of biased {y} reports by groups of the environment columns.",
        f"Mean probability of bias by level or quartile, with pointwise {data.level * 100:g}% intervals "
        f"that take the fit as given.{some if len(data.environment) > plots.MAX_COLUMNS else ''}",
    )
    # Without a calibration the third picture is the dotted line and nothing else.
    return [residual, content, calibrated, who] if data.verdict == "bias found" else [residual, content, who]


def svg(kind: str, data: ReportData) -> Markup:
    """One picture as inline SVG in the page's colours, the same bytes for the same data."""
    axes = plots.draw(kind, data)
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
