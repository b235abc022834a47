"""The hidden layer's derivatives by hand are the numerical ones."""

import pytest
import torch

from proxycal.methods.paper.networks.hidden import LinearNormRelu, LinearNormReluLinear


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _of_the_hidden_layer() -> tuple[torch.Tensor, ...]:
    """x, W, gamma and beta of two models."""
    shapes = (2, 3, 7), (2, 4, 3), (2, 4, 1), (2, 4, 1)
    return tuple(_normal(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes))


def _mask(masked: bool) -> torch.Tensor:
    mask = torch.ones(2, 1, 7, dtype=torch.float64)
    if masked:
        mask[1, 0, 5:] = 0
    return mask


@pytest.mark.parametrize("masked", [False, True])
def test_the_derivative_of_the_hidden_layer_is_the_numerical_one(masked: bool) -> None:
    mask = _mask(masked)

    def layer(*tensors: torch.Tensor) -> torch.Tensor:
        out, _, _ = LinearNormRelu.apply(*tensors, mask)
        return out * mask

    assert torch.autograd.gradcheck(layer, _of_the_hidden_layer())


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("n_out", [1, 3])
def test_so_is_that_of_the_hidden_layer_and_what_follows(masked: bool, n_out: int) -> None:
    mask = _mask(masked)
    after = _normal(2, n_out, 4, seed=4).requires_grad_(), _normal(2, n_out, 1, seed=5).requires_grad_()

    def layers(*tensors: torch.Tensor) -> torch.Tensor:
        out, _, _ = LinearNormReluLinear.apply(*tensors[:4], mask, *tensors[4:])
        return out * mask

    assert torch.autograd.gradcheck(layers, (*_of_the_hidden_layer(), *after))
