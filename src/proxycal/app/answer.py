"""The answer as the page shows it, in the words and pictures of the report.

The process of the job writes it down, so that the page has only to read it: answer.json and
pictures/KIND.svg.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from markupsafe import escape

from proxycal.files import write_text
from proxycal.report.summary import between, number, percent, sentence

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.result import Fit

REPORT = "run/report.html"
_FILE, _PICTURES = "answer.json", "pictures"


@dataclass(frozen=True, slots=True)
class Shown:
    """One picture: which, its title, what it shows for those who cannot see it, and how to read it."""

    kind: str
    title: str
    alt: str
    caption: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished run: verdict and sentence, facts (name, value), pictures, and what the model warned of.

    open_findings, findings : how many ask for attention, of how many. power : its reading, "" if not asked.
    """

    verdict: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[Shown, ...]
    warnings: tuple[str, ...]
    open_findings: int
    findings: int
    power: str


def write_answer(fit: Fit, warnings: list[str], folder: Path) -> None:
    """Write the answer into a job folder, whose run has its report already."""
    from proxycal.report.pictures import pictures_of

    pictures = pictures_of(fit)
    answer = Answer(
        verdict=fit.verdict,
        sentence=sentence(fit),
        facts=(
            ("Estimated size", number(fit.estimate.alpha)),
            (f"{fit.settings.level * 100:g}% interval", between(fit.estimate.low, fit.estimate.high)),
            ("Rows taken as biased", percent(fit.share_biased)),
            ("Rows in the fit", f"{fit.n:,}"),
        ),
        pictures=tuple(Shown(one.kind, one.title, one.alt, one.caption) for one in pictures),
        warnings=tuple(warnings),
        open_findings=sum(not one.ok for one in fit.findings),
        findings=len(fit.findings),
        power=fit.questions["power"].reading if "power" in fit.questions else "",
    )
    page = (folder / REPORT).read_text(encoding="utf-8")
    (folder / _PICTURES).mkdir()
    for one in answer.pictures:
        write_text(folder / _PICTURES / f"{one.kind}.svg", drawn_in(page, one))
    write_text(folder / _FILE, json.dumps(asdict(answer)))


def drawn_in(page: str, shown: Shown) -> str:
    """The drawing of a picture in the report: drawn once, and the same in both places.

    >>> drawn_in('<div role="img" aria-label="a &lt; b"><svg>...</svg></div>', Shown("x", "", "a < b", ""))
    '<svg>...</svg>'
    """
    start = page.index("<svg", page.index(f'aria-label="{escape(shown.alt)}"'))
    end = page.index("</svg>", start)
    return page[start:end] + "</svg>"


def read_answer(folder: Path) -> Answer:
    """The answer in a job folder."""
    values = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return Answer(
        verdict=values["verdict"],
        sentence=values["sentence"],
        facts=tuple((name, value) for name, value in values["facts"]),
        pictures=tuple(Shown(**one) for one in values["pictures"]),
        warnings=tuple(values["warnings"]),
        open_findings=values["open_findings"],
        findings=values["findings"],
        power=values["power"],
    )


def picture_of(answer: Answer, kind: object) -> Shown:
    """The picture of that kind; the first that convinces, the residuals, where there is none such."""
    by_kind = {one.kind: one for one in answer.pictures}
    return by_kind.get(str(kind)) or by_kind.get("residual") or answer.pictures[0]


def svg_of(folder: Path, shown: Shown) -> str:
    """The drawing of a picture of this answer, as markup of our own making."""
    return (folder / _PICTURES / f"{shown.kind}.svg").read_text(encoding="utf-8")
