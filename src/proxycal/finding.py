"""One answer to one question about the data or the fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One question, one statistic, a reading in plain words and a remedy.

    `ok` is False when the reader should act. `topic` is a short stable name for programs
    ("separation", "missing", ...), `value` the statistic as a number where there is one.

    >>> Finding("Enough rows?", "n = 12", "Too few to fit anything.", "Collect 30 or more.", ok=False).ok
    False
    """

    question: str
    statistic: str
    reading: str
    remedy: str
    ok: bool
    topic: str = ""
    value: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return asdict(self)
