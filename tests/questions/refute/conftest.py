"""A known fit, and refits of it that differ in one way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from proxycal.questions.refits import Refit

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def base() -> Refit:
    """A bias of 2.0, found."""
    return Refit("as fitted", math.nan, 2.0, 0.1, 1.8, 2.2, 50.0, 0.4, "bias found")


@pytest.fixture(scope="session")
def refits(base: Refit) -> Callable[..., list[Refit]]:
    """`refits(3, field=value, ...)`: as many refits with some fields replaced."""

    def make(count: int, **changed: Any) -> list[Refit]:
        return [replace(base, **{"change": f"change {i}"} | changed) for i in range(count)]

    return make
