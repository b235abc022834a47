"""A memo about a fit as a Word document: one to two pages, to be edited and passed on."""

from __future__ import annotations

import io
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

from proxycal.errors import StoreError, UnavailableError
from proxycal.extras import is_installed
from proxycal.report.memo_text import memo_plot, memo_text

if TYPE_CHECKING:
    from proxycal.report.memo_text import Memo
    from proxycal.result import Fit

_DPI, _WIDTH_CM, _MARGIN_CM = 200, 11.0, 2.2
# Of the table of totals: group, rows, reported, calibrated, interval, change.
_COLUMNS_CM = (3.6, 1.6, 2.7, 2.7, 4.0, 2.0)
# A minus stays with its number.
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
_FONT, _SIZE, _SMALL = "Calibri", 10.5, 9.0


def check_memo(path: str | os.PathLike[str]) -> None:
    """Refuse what is no name of a Word document, and any where none can be written, before any work."""
    if not os.fspath(path).lower().endswith(".docx"):
        raise StoreError(f"'{os.fspath(path)}' must end in .docx: a memo is a Word document")
    if not is_installed("docx"):
        raise UnavailableError("a memo needs python-docx: pip install 'proxycal[word]', or write a report")


def memo_bytes(fit: Fit, language: str = "en") -> bytes:
    """The memo as the bytes of a .docx file; language : "en", "de" or "es"."""
    memo, document = memo_text(fit, language), _blank(fit, language)
    asked, answer, rests, change, citing = memo.headings
    document.add_heading(memo.title, level=1)
    _section(document, asked, memo.asked)
    _section(document, answer, memo.answer)
    _totals(document, memo)
    _picture(document, fit)
    _points(document, rests, memo.rests_on)
    _points(document, change, memo.would_change)
    document.add_heading(citing, level=2)
    for line in memo.cite:
        _small(document.add_paragraph(_words(line)))
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _blank(fit: Fit, language: str) -> Any:
    """A4 with the styles of the memo."""
    from docx import Document
    from docx.shared import Cm, Pt, RGBColor

    document = Document()
    page = document.sections[0]
    page.page_width, page.page_height = Cm(21.0), Cm(29.7)
    page.left_margin = page.right_margin = Cm(_MARGIN_CM)
    page.top_margin = page.bottom_margin = Cm(_MARGIN_CM - 0.4)
    for name, size, before, after in (
        ("Normal", _SIZE, 0, 4),
        ("Heading 1", 16, 0, 6),
        ("Heading 2", 11.5, 8, 2),
        ("List Bullet", _SIZE, 0, 2),
    ):
        style = document.styles[name]
        style.font.name, style.font.size = _FONT, Pt(size)
        style.font.color.rgb = RGBColor(0x1A, 0x1A, 0x1A)
        # Headings of the template name a font of their theme, which would win.
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for theme in [key for key in fonts.attrib if key.endswith("Theme")]:
            del fonts.attrib[theme]
        style.paragraph_format.space_before, style.paragraph_format.space_after = Pt(before), Pt(after)
    document.core_properties.title = f"Calibration of {fit.roles.outcome}"
    document.core_properties.author = "proxycal"
    document.core_properties.language = language
    document.core_properties.comments = ""
    return document


def _section(document: Any, heading: str, text: str) -> None:
    document.add_heading(heading, level=2)
    document.add_paragraph(_words(text))


def _words(text: str) -> str:
    """A sentence as a document has it: what a reader would type stands in no backticks."""
    return _MINUS.sub("\u2212", text.replace("`", ""))


def _points(document: Any, heading: str, points: tuple[str, ...]) -> None:
    document.add_heading(heading, level=2)
    for point in points:
        document.add_paragraph(_words(point), style="List Bullet")


def _totals(document: Any, memo: Memo) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm

    if memo.rows:
        table = document.add_table(rows=1 + len(memo.rows), cols=len(memo.heads))
        table.autofit = False
        for column, width in zip(table.columns, _COLUMNS_CM, strict=True):
            column.width = Cm(width)
        for at, line in enumerate((memo.heads, *memo.rows)):
            for column, (cell, text) in enumerate(zip(table.rows[at].cells, line, strict=True)):
                cell.width = Cm(_COLUMNS_CM[column])
                paragraph = cell.paragraphs[0]
                # An interval is read in one line.
                run = paragraph.add_run(_words(text) if column == 0 else _words(text).replace(" ", "\u00a0"))
                run.bold = at in (0, len(memo.rows))
                paragraph.paragraph_format.space_after = 0
                if column:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        _rules(table)
        _repeat_heads(table)
    _small(document.add_paragraph(_words(memo.note)))


def _rules(table: Any) -> None:
    """Thin lines between rows and none between columns."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    borders = OxmlElement("w:tblBorders")
    for side in ("top", "bottom", "insideH"):
        line = OxmlElement(f"w:{side}")
        for name, value in (("val", "single"), ("sz", "4"), ("space", "0"), ("color", "9AA0A6")):
            line.set(qn(f"w:{name}"), value)
        borders.append(line)
    table._tbl.tblPr.append(borders)


def _repeat_heads(table: Any) -> None:
    """The names of the columns again where the table goes on over a page; screen readers read them too."""
    from docx.oxml import OxmlElement

    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))


def _picture(document: Any, fit: Fit) -> None:
    from docx.shared import Cm

    plot = memo_plot(fit)
    figure = plot.draw(fit, None).figure
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # Alphabets that the bundled font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(drawn, format="png", dpi=_DPI, facecolor="white", bbox_inches="tight")  # type: ignore[union-attr]
    drawn.seek(0)
    shape = document.add_picture(drawn, width=Cm(_WIDTH_CM))
    shape._inline.docPr.set("descr", plot.alt(fit))
    document.paragraphs[-1].paragraph_format.keep_with_next = True
    _small(document.add_paragraph(plot.caption(fit)))


def _small(paragraph: Any) -> None:
    from docx.shared import Pt

    for run in paragraph.runs:
        run.font.size = Pt(_SMALL)
