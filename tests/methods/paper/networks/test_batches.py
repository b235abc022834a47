import numpy as np
import pytest
import torch

from proxycal.methods.paper.networks.batches import (
    RowSets,
    as_positions,
    batch_bounds,
    groups_of_equal_steps,
    model_axis,
)
from proxycal.methods.paper.networks.nets import PRECISION


@pytest.mark.parametrize("n", [2, 31, 32, 33, 34, 64, 65, 66, 96, 97, 1000])
def test_batches_cover_all_rows_and_none_has_one_row(n: int) -> None:
    bounds = batch_bounds(n, 32)
    sizes = np.diff(bounds)
    assert bounds[0] == 0
    assert bounds[-1] == n
    assert sizes.min() >= 2
    assert sizes.max() <= 33


def test_models_share_an_axis_only_when_they_take_equally_many_steps() -> None:
    assert groups_of_equal_steps([64, 66, 65, 96, 60], 32) == [[0, 2, 4], [1, 3]]


def test_padding_repeats_a_row_and_is_masked_out() -> None:
    sets = RowSets.stack(as_positions([np.array([4, 2, 0]), np.array([3])]))
    x = model_axis(np.arange(5.0)[:, None], 2)
    assert sets.take(x).tolist() == [[[4, 2, 0]], [[3, 3, 3]]]
    assert sets.mask is not None
    assert sets.mask.tolist() == [[[1, 1, 1]], [[1, 0, 0]]]
    assert sets.weights(torch.arange(5, dtype=PRECISION)).tolist() == [[4, 2, 0], [3, 0, 0]]
    assert sets.mask_of(0, 1) is None


def test_equal_lengths_need_no_mask() -> None:
    assert RowSets.stack(as_positions([np.array([1, 0]), np.array([2, 3])])).mask is None


def test_the_model_axis_takes_shared_and_own_columns() -> None:
    shared = np.arange(6.0).reshape(3, 2)
    own = np.stack([shared, 10 + shared])
    assert torch.equal(model_axis(shared, 2)[1], torch.as_tensor(shared.T))
    assert torch.equal(model_axis(own, 2)[1], torch.as_tensor(10 + shared.T))
