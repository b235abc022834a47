"""The answers that a run folder keeps: refutations and power by name, as plain values and back."""

from __future__ import annotations

from typing import Any

from proxycal.questions.power import Power
from proxycal.questions.refute.refutation import Refutation

Answer = Refutation | Power


def answers_to_dict(answers: dict[str, Answer]) -> dict[str, Any]:
    """Questions asked of a fit so far, by name, as plain values."""
    return {name: answer.to_dict() for name, answer in sorted(answers.items())}


def answers_from_dict(values: dict[str, Any]) -> dict[str, Answer]:
    """The reverse of `answers_to_dict`."""
    return {
        name: Power.from_dict(answer) if name == "power" else Refutation.from_dict(answer)
        for name, answer in values.items()
    }
