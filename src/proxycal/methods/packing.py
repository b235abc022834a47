"""Named arrays of several parts as one flat dictionary, as a tensor file keeps them. No torch here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


def pack(parts: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """{"net": {"w": x}} -> {"net/w": x}."""
    return {f"{part}/{name}": value for part, arrays in parts.items() for name, value in arrays.items()}


def unpack(tensors: Mapping[str, np.ndarray], part: str, may_be_empty: bool = False) -> dict[str, np.ndarray]:
    """The arrays of one part, by their own names; none at all is a damaged file, unless it `may_be_empty`."""
    arrays = {
        name.removeprefix(f"{part}/"): value for name, value in tensors.items() if name.startswith(f"{part}/")
    }
    if not arrays and not may_be_empty:
        raise StoreError(
            f"The stored tensors hold no part {part!r}: the file is incomplete. Refit or restore it."
        )
    return arrays
