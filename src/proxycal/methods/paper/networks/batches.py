"""Which rows stand in which mini-batch: index arrays, padding and masks for F models side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from proxycal.methods.paper.networks.nets import PRECISION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


# Rows evaluated at a time outside training: keeps a million rows within a few hundred megabytes.
ROWS_AT_ONCE = 16_384


def batch_bounds(n: int, batch_size: int) -> list[int]:
    """Where the mini-batches of n rows begin and end.

    A last batch under a sixteenth of `batch_size` joins its neighbour: batch norm over one row is
    undefined, over a handful it is noise.

    >>> batch_bounds(1025, 512), batch_bounds(1200, 512), batch_bounds(3, 512)
    ([0, 512, 1025], [0, 512, 1024, 1200], [0, 3])
    """
    bounds = list(range(0, n, batch_size))
    if len(bounds) > 1 and n - bounds[-1] < max(2, batch_size // 16):
        bounds.pop()
    return [*bounds, n]


def groups_of_equal_steps(sizes: Sequence[int], batch_size: int) -> list[list[int]]:
    """Models that take the same number of steps per epoch, and can therefore share one tensor axis.

    >>> groups_of_equal_steps([400, 401, 700], batch_size=512)
    [[0, 1], [2]]
    """
    groups: dict[int, list[int]] = {}
    for model, n in enumerate(sizes):
        groups.setdefault(len(batch_bounds(n, batch_size)), []).append(model)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class RowSets:
    """The rows of F models as one rectangle.

    index : (F, N) positions, each model's rows first, then padding (repeats of its first row)
    mask : (F, 1, N) ones on rows and zeros on padding, None when all models have N rows
    """

    index: Tensor
    mask: Tensor | None

    @classmethod
    def stack(cls, rows: Sequence[Tensor]) -> RowSets:
        """Pad the index vectors of the models to the longest of them."""
        if len(rows) == 1:
            # No copy of what may be ten million positions.
            return cls(rows[0][None], None)
        longest = max(len(row) for row in rows)
        index = torch.stack([torch.cat([row, row[:1].expand(longest - len(row))]) for row in rows])
        if all(len(row) == longest for row in rows):
            return cls(index, None)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(longest) < lengths[:, None]).to(PRECISION)
        return cls(index, mask[:, None, :])

    def to(self, device: torch.device) -> RowSets:
        """The same on a device."""
        return RowSets(self.index.to(device), None if self.mask is None else self.mask.to(device))

    def part(self, begin: int, end: int) -> RowSets:
        """Some of the columns of the rectangle."""
        return RowSets(self.index[:, begin:end], self.mask_of(begin, end))

    def take(self, x: Tensor) -> Tensor:
        """(F, c, n) -> (F, c, N): each model's own rows."""
        return torch.gather(x, 2, self.index[:, None, :].expand(-1, x.shape[1], -1))

    def weights(self, weights: Tensor) -> Tensor:
        """Observation weights (n,) -> (F, N), zero on padding."""
        chosen = weights[self.index]
        return chosen if self.mask is None else chosen * self.mask[:, 0, :]

    def mask_of(self, begin: int, end: int) -> Tensor | None:
        """The mask of some columns, None where they hold no padding."""
        if self.mask is None:
            return None
        part = self.mask[:, :, begin:end]
        return None if bool(part.all()) else part


def as_positions(rows: Sequence[np.ndarray]) -> list[Tensor]:
    """Index arrays as int64 tensors."""
    return [torch.as_tensor(row, dtype=torch.int64) for row in rows]


def model_axis(x: np.ndarray, n_models: int) -> Tensor:
    """Rows-by-columns data, shared (n, c) or one per model (F, n, c), as (F, c, n)."""
    tensor = torch.as_tensor(x, dtype=PRECISION)
    if tensor.ndim == 2:
        return tensor.T.contiguous().unsqueeze(0).expand(n_models, -1, -1)
    return tensor.transpose(1, 2).contiguous()
