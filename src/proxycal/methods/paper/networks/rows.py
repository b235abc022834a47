"""Where the rows of a mini-batch come from: columns in memory, or a file of rows too large for it.

Both give the training loop the same batches; they differ in when a row is gathered and its noise drawn. In
memory that is done once for an epoch, which is faster; from a file, batch by batch.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, Protocol

import numpy as np
import torch
from torch import Tensor

from proxycal.errors import StoreError
from proxycal.methods.paper.networks.batches import ROWS_AT_ONCE, RowSets
from proxycal.methods.paper.networks.device import CPU
from proxycal.methods.paper.networks.nets import PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    # Index vectors of F models -> standard normal noise (F, n_latents, N) on the CPU.
    Draw = Callable[[Sequence[Tensor]], Tensor]

# Random rows read through one mapping of a file. Each brings 64 kB of its neighbours into memory, which stay
# as long as the mapping.
ROWS_OF_A_MAP = 128


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of each of F models.

    columns : name -> (F, c, B). noise : (F, n_latents, B). weights : (F, B), zero on padding.
    share : (F,) of the epoch's weight. mask : (F, 1, B), None without padding.
    """

    columns: dict[str, Tensor]
    noise: Tensor
    weights: Tensor
    share: Tensor
    mask: Tensor | None


class Rows(Protocol):
    """The rows that F models are trained on, wherever they are."""

    def to(self, device: torch.device) -> Rows:
        """The same rows, whose batches come on this device."""

    def take(self, sets: RowSets) -> dict[str, Tensor]:
        """The columns of some rows, name -> (F, c, N)."""

    def weights_of(self, sets: RowSets) -> Tensor:
        """The weights of some rows, (F, N), zero on padding."""

    def batches(self, rows: Sequence[Tensor], bounds: Sequence[int], draw: Draw) -> Iterator[Batch]:
        """The batches of an epoch: rows bounds[i] to bounds[i + 1] of each model's shuffled index vector."""

    def blocks(self) -> Iterator[Mapping[str, Tensor]]:
        """All rows, some at a time."""


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """columns : name -> (F, c, n); weights : (n,)."""

    columns: Mapping[str, Tensor]
    weights: Tensor
    device: torch.device = CPU

    def to(self, device: torch.device) -> MemoryRows:
        """All columns go there at once."""
        columns = {name: x.to(device) for name, x in self.columns.items()}
        return MemoryRows(columns, self.weights.to(device), device)

    def take(self, sets: RowSets) -> dict[str, Tensor]:
        """Gather each model's own rows."""
        there = sets.to(self.device)
        return {name: there.take(x) for name, x in self.columns.items()}

    def weights_of(self, sets: RowSets) -> Tensor:
        """The weights of each model's own rows."""
        return sets.to(self.device).weights(self.weights)

    def batches(self, rows: Sequence[Tensor], bounds: Sequence[int], draw: Draw) -> Iterator[Batch]:
        """Gather the epoch, then cut it."""
        sets = RowSets.stack(rows).to(self.device)
        noise = draw(rows).to(self.device)
        columns, weights = self.take(sets), self.weights_of(sets)
        total = weights.sum(-1)
        for begin, end in itertools.pairwise(bounds):
            own = weights[:, begin:end]
            yield Batch(
                {name: x[:, :, begin:end] for name, x in columns.items()},
                noise[:, :, begin:end],
                own,
                own.sum(-1) / total,
                sets.mask_of(begin, end),
            )

    def blocks(self) -> Iterator[Mapping[str, Tensor]]:
        """All of them."""
        yield self.columns


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows in a file that `write_rows` wrote, shared by all models; only their weights are in memory.

    widths : name -> number of columns, in the order of the file; weights : (n,).
    """

    path: str
    widths: Mapping[str, int]
    weights: Tensor
    device: torch.device = CPU

    @classmethod
    def open(cls, path: str | os.PathLike[str], widths: Mapping[str, int]) -> FileRows:
        """The rows of a file whose columns are those of `widths`, and the weight."""
        n = os.path.getsize(path) // (4 * (sum(widths.values()) + 1))
        rows = cls(os.fspath(path), dict(widths), torch.empty(n, dtype=PRECISION))
        for begin in range(0, n, ROWS_AT_ONCE):
            part = slice(begin, begin + ROWS_AT_ONCE)
            rows.weights[part] = torch.from_numpy(np.array(rows._mapped()[part, -1]))
        return rows

    def to(self, device: torch.device) -> FileRows:
        """Batches are read here and sent there."""
        return replace(self, device=device)

    def take(self, sets: RowSets) -> dict[str, Tensor]:
        """Read each model's own rows."""
        index = sets.index.cpu().numpy()
        wanted = index.ravel()
        block = np.empty((len(wanted), sum(self.widths.values()) + 1), dtype=np.float32)
        for begin in range(0, len(wanted), ROWS_OF_A_MAP):
            part = slice(begin, begin + ROWS_OF_A_MAP)
            block[part] = self._mapped()[wanted[part]]
        return self._named(torch.from_numpy(block).view(*index.shape, -1))

    def weights_of(self, sets: RowSets) -> Tensor:
        """The weights of each model's own rows."""
        return sets.weights(self.weights).to(self.device)

    def batches(self, rows: Sequence[Tensor], bounds: Sequence[int], draw: Draw) -> Iterator[Batch]:
        """Read each batch when it is due, and draw its noise then."""
        sets = RowSets.stack(rows)
        total = self.weights_of(sets).sum(-1)
        for begin, end in itertools.pairwise(bounds):
            part = sets.part(begin, end)
            noise = draw([row[begin:end] for row in rows]).to(self.device)
            own = self.weights_of(part)
            mask = part.to(self.device).mask
            yield Batch(self.take(part), noise, own, own.sum(-1) / total, mask)

    def blocks(self) -> Iterator[Mapping[str, Tensor]]:
        """Some rows after the others."""
        for begin in range(0, len(self.weights), ROWS_AT_ONCE):
            part = np.array(self._mapped()[begin : begin + ROWS_AT_ONCE])
            yield self._named(torch.from_numpy(part)[None])

    def _mapped(self) -> np.ndarray:
        """The file as (n, c + 1), mapped anew for every use, so that the pages read are let go after it."""
        shape = len(self.weights), sum(self.widths.values()) + 1
        return np.memmap(self.path, dtype=np.float32, mode="r", shape=shape)

    def _named(self, rows: Tensor) -> dict[str, Tensor]:
        """Rows (F, N, c + 1) as columns (F, c, N) by their names."""
        parts = rows.transpose(1, 2).split([*self.widths.values(), 1], dim=1)
        return {
            name: part.contiguous().to(self.device) for name, part in zip(self.widths, parts, strict=False)
        }


def write_rows(path: str | os.PathLike[str], blocks: Iterable[np.ndarray]) -> int:
    """Write blocks (m, c + 1) as float32, columns and then the weight, row after row; the number of rows."""
    n = 0
    with open(path, "wb") as file:
        for block in blocks:
            _write(block, file)
            n += len(block)
    return n


def _write(block: np.ndarray, file: BinaryIO) -> None:
    try:
        np.asarray(block, dtype=np.float32).tofile(file)
    except OSError as error:
        raise StoreError(
            f"'{file.name}' cannot be written: {error.strerror or error}; the rows to train on take "
            f"{4 * block.shape[1]} bytes each: free some space, or set TMPDIR to a folder that has it"
        ) from error
