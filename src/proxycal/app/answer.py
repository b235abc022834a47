"""The answer as the page shows it, in the words and pictures of the report.

The process of the job writes it to answer.json, so that the page has only to read it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from proxycal.files import write_text
from proxycal.questions.refute import REFUTERS
from proxycal.report.helps import helps
from proxycal.report.numbers import total_text
from proxycal.report.pictures import Picture
from proxycal.report.summary import change_text, facts, refutations, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from proxycal.result import Fit

REPORT = "run/report.html"
_FILE = "answer.json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished run: verdict and sentence, facts (name, value), pictures, and what the model warned of.

    totals : rows of text: what is added up, reported, calibrated, interval, change; none without a finding.

    open_findings, findings : how many ask for attention, of how many. power : its reading, "" if not asked.
    helps : what would help, most helpful first. refutations : attempts to break the fit, in words.
    """

    verdict: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    totals: tuple[tuple[str, ...], ...]
    pictures: tuple[Picture, ...]
    warnings: tuple[str, ...]
    open_findings: int
    findings: int
    power: str
    helps: tuple[str, ...] = ()
    refutations: tuple[str, ...] = ()


def write_answer(fit: Fit, pictures: Sequence[Picture], warnings: Sequence[str], folder: Path) -> None:
    """Write the answer into a job folder."""
    answer = Answer(
        verdict=fit.verdict,
        sentence=sentence(fit),
        facts=facts(fit),
        totals=_totals(fit) if fit.verdict == "bias found" else (),
        pictures=tuple(pictures),
        warnings=tuple(warnings),
        open_findings=sum(not finding.ok for finding in fit.findings),
        findings=len(fit.findings),
        power=fit.questions["power"].reading if "power" in fit.questions else "",
        helps=tuple(item.text for item in helps(fit)),
        refutations=tuple(f"{_asked(one.kind)} {one.reading}" for one in refutations(fit)),
    )
    write_text(folder / _FILE, json.dumps(asdict(answer)))


def _asked(kind: str) -> str:
    return REFUTERS[kind].question if kind in REFUTERS else kind


def _totals(fit: Fit) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            ("mean of " if part.statistic == "mean" else "")
            + ("all rows" if part.by is None else f"{part.by}: {row['group']}"),
            *total_text(row),
            change_text(part, row),
        )
        for part in fit.totals
        for row in (part.records() if part.by is None else part.records()[:-1])
    )


def read_answer(folder: Path) -> Answer:
    """The answer in a job folder."""
    values = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return Answer(
        verdict=values["verdict"],
        sentence=values["sentence"],
        facts=tuple((name, value) for name, value in values["facts"]),
        totals=tuple(tuple(row) for row in values["totals"]),
        pictures=tuple(Picture(**picture) for picture in values["pictures"]),
        warnings=tuple(values["warnings"]),
        open_findings=values["open_findings"],
        findings=values["findings"],
        power=values["power"],
        helps=tuple(values["helps"]),
        refutations=tuple(values["refutations"]),
    )


def picture_of(answer: Answer, kind: object) -> Picture:
    """The picture of that kind; the residuals, or the first picture, where there is none such."""
    by_kind = {picture.kind: picture for picture in answer.pictures}
    return by_kind.get(str(kind)) or by_kind.get("residual") or answer.pictures[0]
