import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from proxycal.errors import StoreError
from proxycal.methods.paper.networks.batches import RowSets, as_positions, batch_bounds, model_axis
from proxycal.methods.paper.networks.rows import FileRows, MemoryRows, write_rows

N, WIDTHS = 50, {"P": 2, "E": 1}


@pytest.fixture
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=(N, 3)), rng.uniform(0.5, 2, N)]).astype(np.float32)


@pytest.fixture
def in_file(table: np.ndarray, tmp_path: Path) -> FileRows:
    assert write_rows(tmp_path / "rows", [table[:20], table[20:20], table[20:]]) == N
    return FileRows.open(tmp_path / "rows", WIDTHS)


def in_memory(table: np.ndarray, n_models: int) -> MemoryRows:
    columns = {"P": model_axis(table[:, :2], n_models), "E": model_axis(table[:, 2:3], n_models)}
    return MemoryRows(columns, torch.as_tensor(table[:, 3]))


def no_noise(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.zeros(len(rows), 1, max(len(row) for row in rows))


def test_a_file_gives_the_rows_that_were_written(table: np.ndarray, in_file: FileRows) -> None:
    # The second model has fewer rows, so that there is padding.
    sets = RowSets.stack(as_positions([np.array([4, 49, 0]), np.array([20, 19])]))
    other = in_memory(table, 2)
    for name, x in other.take(sets).items():
        assert torch.equal(in_file.take(sets)[name], x)
    assert in_file.weights_of(sets)[1].tolist() == [*table[[20, 19], 3].tolist(), 0.0]
    everything = torch.cat([block["E"] for block in in_file.blocks()], dim=2)
    assert torch.equal(everything[0, 0], torch.as_tensor(table[:, 2]))


def test_the_batches_of_a_file_are_those_of_memory(table: np.ndarray, in_file: FileRows) -> None:
    rows = as_positions([np.random.default_rng(1).permutation(N), np.arange(40)])
    bounds = batch_bounds(40, 16)
    bounds[-1] = N
    pairs = itertools.zip_longest(
        in_file.batches(rows, bounds, no_noise), in_memory(table, 2).batches(rows, bounds, no_noise)
    )
    for one, other in pairs:
        for name in WIDTHS:
            assert torch.equal(one.columns[name], other.columns[name])
        assert torch.equal(one.weights, other.weights)
        assert torch.equal(one.share, other.share)
        assert (one.mask is None) == (other.mask is None)
        if one.mask is not None:
            assert torch.equal(one.mask, other.mask)


def test_a_file_draws_the_noise_of_a_batch_when_it_is_due(in_file: FileRows) -> None:
    drawn = []

    def draw(rows: list[torch.Tensor]) -> torch.Tensor:
        drawn.append(len(rows[0]))
        return no_noise(rows)

    batches = in_file.batches(as_positions([np.arange(N)]), [0, 20, 50], draw)
    assert next(batches).noise.shape == (1, 1, 20)
    assert drawn == [20]
    assert next(batches).columns["P"].shape == (1, 2, 30)
    assert drawn == [20, 30]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(StoreError, match=r"4004 bytes each.*TMPDIR"):
        write_rows("/dev/full", [np.zeros((500, 1001), dtype=np.float32)])
