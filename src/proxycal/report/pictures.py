"""The pictures of a result, drawn once: the report and the app show the same records."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG

from proxycal.report import style
from proxycal.report.plots import plots_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

    kind, section, title, wide : as its `Plot` declares them. svg : the drawing, as markup, at the width of a
    column. page_svg : the same at the width of the page, "" where it is not wide.
    alt : what it shows, for those who cannot see it. caption : how to read it.
    """

    kind: str
    section: str
    title: str
    alt: str
    caption: str
    wide: bool
    svg: str
    page_svg: str = ""


def pictures_of(fit: Fit) -> tuple[Picture, ...]:
    """The pictures of this result, in the order of the page."""
    return tuple(picture_of(plot, fit) for plot in plots_of(fit))


def picture_of(plot: Plot, fit: Fit) -> Picture:
    """One plot of this result, drawn."""
    return Picture(
        plot.kind,
        plot.section,
        plot.title,
        plot.alt(fit),
        _warning(plot, fit) + plot.caption(fit),
        plot.wide,
        svg(plot, fit),
        svg(plot, fit, wide=True) if plot.wide else "",
    )


def _warning(plot: Plot, fit: Fit) -> str:
    """What stands before the caption where numbers of a bias are shown and none was established."""
    shown = plot.section in ("estimators", "who") and fit.verdict != "bias found"
    return "No bias was established: do not quote these numbers. " if shown else ""


def svg(plot: Plot, fit: Fit, wide: bool = False) -> str:
    """A plot as inline SVG in the page's colours, the same bytes for the same data.

    Safe as markup: matplotlib escapes every text on its way into SVG.
    """
    axes = plot.draw(fit, None)
    figure: Figure = axes.figure  # type: ignore[assignment]
    name = f"{plot.kind}-page" if wide else plot.kind
    if wide:
        figure.set_size_inches(style.PAGE_WIDTH, figure.get_figheight())
    buffer = io.StringIO()
    # Text stays text: sharper, searchable, and set in the reader's own font, which also has the glyphs of
    # alphabets that the bundled font lacks.
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # Not by `savefig`, which would draw everything twice, once to lay it out: drawing does that itself.
        figure.set(facecolor="none", edgecolor="none")
        for part in figure.axes:
            part.patch.set(facecolor="none", edgecolor="none")
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
    return _inline(buffer.getvalue(), name, _dots(axes))


def _dots(axes: Axes) -> str:
    """Where the dots of rows stand in the drawing, as an attribute: x and y in turn, in its own units."""
    figure: Figure = axes.figure  # type: ignore[assignment]
    for part in axes.collections:
        if part.get_gid() == style.POINTS:
            place = axes.transData.transform(np.asarray(part.get_offsets()))
            place = place * 72.0 / figure.dpi
            place[:, 1] = 72.0 * figure.get_figheight() - place[:, 1]
            return f' data-dots="{" ".join(f"{value:.0f}" for value in place.ravel())}"'
    return ""


def _inline(text: str, kind: str, dots: str) -> str:
    """Cut an SVG file down to its element, with ids that cannot meet those of another figure."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Only inside tags: a user string that looks like an attribute or a colour stays as it is.
    text = re.sub(r"<[a-z][^>]*>", lambda tag: _tag(tag.group(), kind), text)
    return re.sub(
        r'^<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" aria-hidden="true"{dots}>', text
    )


def _tag(tag: str, kind: str) -> str:
    said = re.search(rf' id="{re.escape(style.TIP)}([^"]*)"', tag)
    if said is not None:
        # What to say of this part is no name of it; user strings in it are left as they are.
        return f'{tag[: said.start()]} data-tip="{said[1]}"{tag[said.end() :]}'
    tag = re.sub(r'\bid="', f'id="{kind}-', tag)
    tag = re.sub(r'href="#', f'href="#{kind}-', tag)
    tag = tag.replace("url(#", f"url(#{kind}-")
    for colour, variable in _THEME.items():
        tag = tag.replace(colour, variable)
    return tag
