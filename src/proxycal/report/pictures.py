"""The pictures of a result, drawn once: the report and the app show the same records."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib

from proxycal.report import style
from proxycal.report.plots import plots_of

if TYPE_CHECKING:
    from proxycal.report.plots.plot import Plot
    from proxycal.result import Fit

# Colours of the figures become the page's own variables, so that one figure serves light, dark and print.
_THEME = {
    style.INK: "var(--ink)",
    style.MUTED: "var(--muted)",
    style.GRID: "var(--line)",
    style.UNBIASED: "var(--unbiased)",
    style.BIASED: "var(--biased)",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot of one result, drawn.

    kind, section, title, wide : as its `Plot` declares them. svg : the drawing, as markup.
    alt : what it shows, for those who cannot see it. caption : how to read it.
    """

    kind: str
    section: str
    title: str
    alt: str
    caption: str
    wide: bool
    svg: str


def pictures_of(fit: Fit) -> tuple[Picture, ...]:
    """The pictures of this result, in the order of the page."""
    return tuple(
        Picture(
            plot.kind, plot.section, plot.title, plot.alt(fit), plot.caption(fit), plot.wide, svg(plot, fit)
        )
        for plot in plots_of(fit)
    )


def svg(plot: Plot, fit: Fit) -> str:
    """A plot as inline SVG in the page's colours, the same bytes for the same data.

    Safe as markup: matplotlib escapes every text on its way into SVG.
    """
    axes = plot.draw(fit, None)
    buffer = io.StringIO()
    # Text stays text: sharper, searchable, and set in the reader's own font, which also has the glyphs of
    # alphabets that the bundled font lacks.
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": plot.kind}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        axes.figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)  # type: ignore[union-attr]
    return _inline(buffer.getvalue(), plot.kind)


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
