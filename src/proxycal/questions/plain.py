"""Records as JSON has them: a number that is not finite becomes None."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """A record, or values in lists and dictionaries, as JSON has them.

    >>> plain({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float | None) -> float:
    """The number that `plain` wrote.

    >>> number(None), number(2)
    (nan, 2.0)
    """
    return math.nan if value is None else float(value)
