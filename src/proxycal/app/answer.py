"""The answer as the page shows it, in the words and pictures of the report.

The process of the job writes it to answer.json, so that the page has only to read it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.files import write_text
from proxycal.questions.refute import REFUTERS
from proxycal.report.certain import learned, more_certain
from proxycal.report.memo_text import answer_text
from proxycal.report.pictures import Picture
from proxycal.report.summary import facts, refutations, sentence
from proxycal.table.audit import TOPICS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from proxycal.result import Finding, Fit

REPORT = "run/report.html"
_FILE = "answer.json"
# Findings whose remedy is another column or more rows; all others are about what the method assumes.
_OF_TABLE = {
    *TOPICS, "relevance", "gate", "overlap", "share", "dependence", "zeros", "proxies", "few-clusters",
    "truths", "validated-rows", "level", "level-not-validated", "rare", "rounding", "two-valued", "training",
    "events", "exclusion", "too-few-proxies", "all-validated", "form", "units",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A finding in words: what was asked, what is so, and what to do ("" where nothing is)."""

    question: str
    reading: str
    remedy: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished run: verdict and sentence, facts (name, value), pictures, and what the model warned of.

    memo : two sentences to quote. certain : what would make it more certain, with numbers. learned : what an
    audit showed, "" without one. about_table, about_method : findings. power : its reading, "" if not asked.
    refutations : attempts to break the fit, in words. direction, factor : as they were asked.
    """

    verdict: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    pictures: tuple[Picture, ...]
    warnings: tuple[str, ...]
    memo: str
    certain: tuple[str, ...]
    learned: str
    about_table: tuple[Said, ...]
    about_method: tuple[Said, ...]
    power: str
    refutations: tuple[str, ...]
    direction: str
    factor: bool


def write_answer(fit: Fit, pictures: Sequence[Picture], warnings: Sequence[str], folder: Path) -> None:
    """Write the answer into a job folder."""
    answer = Answer(
        verdict=fit.verdict,
        sentence=sentence(fit),
        facts=facts(fit),
        pictures=tuple(pictures),
        warnings=tuple(warnings),
        memo=answer_text(fit),
        certain=more_certain(fit),
        learned=_learned(fit),
        about_table=_said([finding for finding in fit.findings if finding.topic in _OF_TABLE]),
        about_method=_said([finding for finding in fit.findings if finding.topic not in _OF_TABLE]),
        power=fit.questions["power"].reading if "power" in fit.questions else "",
        refutations=tuple(f"{_asked(one.kind)} {one.reading}" for one in refutations(fit)),
        direction=str(fit.settings.direction),
        factor=fit.settings.factor,
    )
    write_text(folder / _FILE, json.dumps(asdict(answer)))


def _asked(kind: str) -> str:
    return REFUTERS[kind].question if kind in REFUTERS else kind


def _said(findings: Sequence[Finding]) -> tuple[Said, ...]:
    """What asks for something first."""
    ordered = sorted(findings, key=lambda finding: finding.ok)
    return tuple(Said(one.question, one.reading, "" if one.ok else one.remedy, one.ok) for one in ordered)


def _learned(fit: Fit) -> str:
    truth, y = fit.training.truth, fit.training.y
    if truth is None or y is None or not np.isfinite(truth).any():
        return ""
    known = np.isfinite(truth)
    return learned(truth[known], y[known], fit.settings.sign)


def read_answer(folder: Path) -> Answer:
    """The answer in a job folder."""
    values = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    values["facts"] = tuple((name, value) for name, value in values["facts"])
    values["pictures"] = tuple(Picture(**picture) for picture in values["pictures"])
    for name in ("warnings", "certain", "refutations"):
        values[name] = tuple(values[name])
    for name in ("about_table", "about_method"):
        values[name] = tuple(Said(**one) for one in values[name])
    return Answer(**values)


def picture_of(answer: Answer, kind: object) -> Picture:
    """The picture of that kind; the residuals, or the first picture, where there is none such."""
    by_kind = {picture.kind: picture for picture in answer.pictures}
    return by_kind.get(str(kind)) or by_kind.get("residual") or answer.pictures[0]
