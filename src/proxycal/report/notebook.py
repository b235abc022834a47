"""A fitted result in a notebook: verdict, size, the main picture, and the findings that need attention."""

from __future__ import annotations

import base64
import html
import io
import warnings
from typing import TYPE_CHECKING

from proxycal.report.helps import helps
from proxycal.report.numbers import size_text
from proxycal.report.plots import main_plot
from proxycal.report.style import BIASED, INK, MUTED
from proxycal.report.summary import facts, ratio_between, ratio_text, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxycal.result import Fit

# Own colours on an own background: notebooks are light or dark, and say so in many ways.
_CARD = f"background:#fff;color:{INK};padding:.8em 1em;border-left:.4em solid {BIASED};max-width:46em"
_DPI = 110


def notebook(fit: Fit) -> str:
    """The result as one piece of HTML, every string escaped, the picture inside it."""
    quotable = fit.verdict != "not identified"
    shown = "<b>{}</b>" if quotable else "{}"
    numbers = " &nbsp; ".join(f"{_text(name)}: {shown.format(_text(value))}" for name, value in facts(fit))
    return (
        f'<div style="{_CARD}"><p><b>{_text(fit.verdict)}</b>: {_text(sentence(fit))}</p>'
        f'<p style="color:{INK if quotable else MUTED}">{numbers}</p>{_helps(fit)}{_picture(fit)}'
        f"{_attention(fit)}{_estimators(fit)}</div>"
    )


def _helps(fit: Fit) -> str:
    listed = "".join(f"<li>{_text(item.text)}</li>" for item in helps(fit))
    return f"<p>What would help, most helpful first:</p><ol>{listed}</ol>" if listed else ""


def _picture(fit: Fit) -> str:
    plot = main_plot(fit)
    figure = plot.draw(fit, None).figure
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Alphabets that the bundled font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="png", dpi=_DPI, facecolor="white")  # type: ignore[union-attr]
    drawn = base64.b64encode(buffer.getvalue()).decode()
    return (
        f'<img src="data:image/png;base64,{drawn}" alt="{_text(plot.alt(fit))}" style="max-width:100%">'
        f'<p style="color:{MUTED}">{_text(plot.caption(fit))}</p>'
    )


def _attention(fit: Fit) -> str:
    asking = [finding for finding in fit.findings if not finding.ok]
    if not asking:
        return f"<p>{len(fit.findings)} checks, none of which needs attention.</p>"
    items = "".join(
        f"<li><b>{_text(finding.question)}</b> {_text(finding.reading)} {_text(finding.remedy)}"
        f'<br><span style="color:{MUTED}">{_text(finding.statistic)}</span></li>'
        for finding in asking
    )
    return f"<p>{len(asking)} of {len(fit.findings)} findings need attention:</p><ul>{items}</ul>"


def _estimators(fit: Fit) -> str:
    log = fit.settings.factor
    heads = ["estimator", "alpha", "se", f"{fit.settings.level * 100:g}% interval"]
    heads += ["biased rows report"] if log else []
    rows = [
        (row.name, *size_text(row), *([f"{ratio_text(fit, row)} ({ratio_between(fit, row)})"] if log else []),
         row.note)
        for row in fit.estimates
    ]  # fmt: skip
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return (
        "<details><summary>Estimators side by side</summary><table><thead><tr>"
        + "".join(f"<th>{_text(head)}</th>" for head in (*heads, "note"))
        + f"</tr></thead><tbody>{body}</tbody></table></details>"
    )


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{_text(text)}</td>" for text in texts)


def _text(text: str) -> str:
    return html.escape(text)
