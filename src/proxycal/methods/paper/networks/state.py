"""A trained model as named numpy arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from proxycal.errors import StoreError
from proxycal.methods.paper.networks.nets import PRECISION

if TYPE_CHECKING:
    from collections.abc import Mapping


def state_of(module: nn.Module, model: int) -> dict[str, np.ndarray]:
    """Parameters and running statistics of one of the F models, without the model axis.

    Stored in single precision: half the size, and runs that differ in the last digits of double
    precision end in the same file.
    """
    return {name: value[model].numpy().astype(np.float32) for name, value in module.state_dict().items()}


def frozen(module: nn.Module, state: Mapping[str, np.ndarray]) -> None:
    """Put one model's state into a module with F = 1, ready to be evaluated."""
    expected = {name: tuple(value.shape[1:]) for name, value in module.state_dict().items()}
    stored = {name: tuple(value.shape) for name, value in state.items()}
    if expected != stored:
        names = expected.keys() | stored.keys()
        wrong = sorted(name for name in names if expected.get(name) != stored.get(name))
        raise StoreError(
            f"The stored network does not fit its settings, first at {wrong[0]!r}: expected shape "
            f"{expected.get(wrong[0])}, found {stored.get(wrong[0])}. Refit, or restore the run folder."
        )
    module.load_state_dict({name: torch.from_numpy(np.array(value))[None] for name, value in state.items()})
    module.train(False)


def one_model(x: np.ndarray) -> torch.Tensor:
    """Rows-by-columns (n, c) as (1, c, n), the layout of one model."""
    return torch.as_tensor(x, dtype=PRECISION).T.contiguous()[None]
