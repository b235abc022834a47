"""A finding, and how values of any record become plain ones for JSON and come back."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any


def plain(value: Any, infinity: str | None = "inf") -> Any:
    """A value as JSON has it: records become objects, NaN None, and infinity "inf" and "-inf" (or None).

    >>> plain({"a": (1.0, float("nan"), float("-inf"))})
    {'a': [1.0, None, '-inf']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value), infinity)
    if isinstance(value, dict):
        return {str(key): plain(item, infinity) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, infinity) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if infinity is None or math.isnan(value) else f"{'-' if value < 0 else ''}{infinity}"
    return value


def number(value: Any) -> float:
    """The number that `plain` wrote: None is NaN, "inf" and "-inf" are infinite."""
    return math.nan if value is None else float(value)


@dataclass(frozen=True, slots=True)
class Finding:
    """One question about the data or the fit: a statistic, a reading in plain words and a remedy.

    Parameters
    ----------
    question, statistic, reading, remedy : str
        The reading states the fact on its own, with its column and number.
    ok : bool
        False when the reader should act.
    topic : str, default ""
        A short stable name for programs, such as "separation" or "missing".
    value : float or None, default None
        The statistic as a number, where there is one.
    must_fix : bool, default False
        Whether no fit is possible before it is fixed.

    """

    question: str
    statistic: str
    reading: str
    remedy: str
    ok: bool
    topic: str = ""
    value: float | None = None
    must_fix: bool = False

    def __post_init__(self) -> None:
        for name, kinds in _FINDING_TYPES.items():
            given = getattr(self, name)
            # What numpy computed is meant as the plain value: a run folder has no other.
            plain_value = given.item() if hasattr(given, "item") else given
            if not isinstance(plain_value, kinds) or (bool not in kinds and isinstance(plain_value, bool)):
                raise TypeError(f"Finding({name}={given!r}): {type(given).__name__} is not one of its types")
            object.__setattr__(self, name, plain_value)

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        values: dict[str, Any] = plain(self)
        return values


_FINDING_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("question", "statistic", "reading", "remedy", "topic"), (str,)),
    **dict.fromkeys(("ok", "must_fix"), (bool,)),
    "value": (float, int, type(None)),
}
