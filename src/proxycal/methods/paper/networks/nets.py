"""Multilayer perceptrons for F models at once.

Every tensor has the model axis first and the rows last: inputs (F, in, B), weights (F, out, in),
outputs (F, out, B). Rows last keeps the statistics of a unit in one contiguous stretch of memory,
which makes batch norm about twice as fast on a CPU as the usual (B, in) layout.

A mask (F, 1, B) of ones and zeros marks padding where the models have unequal numbers of rows.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from proxycal.methods.paper.networks.hidden import BATCH_NORM_EPS, LinearNormRelu, LinearNormReluLinear

if TYPE_CHECKING:
    from proxycal.methods.paper.settings import PaperSettings

# Single precision halves the time of a step. Training amplifies the last digit about a million times, so a
# fit may not depend on the models trained beside it in any digit: every sum below runs in an order that is
# the same for one model and for many. Products of matrices do, products with a vector do not (they take
# another path where F = 1), and are avoided.
PRECISION = torch.float32
BATCH_NORM_MOMENTUM = 0.1


class Linear(nn.Module):
    """F linear maps: (F, in, B) -> (F, out, B)."""

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_out, n_in, dtype=PRECISION))
        self.bias = nn.Parameter(torch.zeros(n_models, n_out, 1, dtype=PRECISION))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each model's map to its own rows."""
        if self.weight.shape[1] == 1:
            # A second row of zeros makes the product one of matrices.
            two = torch.cat([self.weight, torch.zeros_like(self.weight)], dim=1)
            return torch.bmm(two, x)[:, :1] + self.bias
        return torch.baddbmm(self.bias, self.weight, x)


class BatchNormLayer(nn.Module):
    """Linear map without bias, batch norm, ReLU; every model keeps its own running statistics."""

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_out, n_in, dtype=PRECISION))
        self.gamma = nn.Parameter(torch.ones(n_models, n_out, 1, dtype=PRECISION))
        self.beta = nn.Parameter(torch.zeros(n_models, n_out, 1, dtype=PRECISION))
        self.register_buffer("running_mean", torch.zeros(n_models, n_out, 1, dtype=PRECISION))
        self.register_buffer("running_variance", torch.ones(n_models, n_out, 1, dtype=PRECISION))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise by the batch in training, by the running statistics otherwise."""
        if not self.training:
            scale = self.gamma * torch.rsqrt(self.running_variance + BATCH_NORM_EPS)
            return torch.baddbmm(self.beta - self.running_mean * scale, self.weight * scale, x).relu_()
        if mask is None:
            mask = x.new_ones(x.shape[0], 1, x.shape[2])
        out, mean, variance = LinearNormRelu.apply(x, self.weight, self.gamma, self.beta, mask)
        self._remember(mean, variance, mask)
        return out

    def then(self, after: Linear, x: Tensor, mask: Tensor | None) -> Tensor:
        """after(self(x)), in training without a hidden layer of all models in memory."""
        if not self.training:
            return after(self(x, mask))
        if mask is None:
            mask = x.new_ones(x.shape[0], 1, x.shape[2])
        own = (self.weight, self.gamma, self.beta)
        out, mean, variance = LinearNormReluLinear.apply(x, *own, mask, after.weight, after.bias)
        self._remember(mean, variance, mask)
        return out

    def _remember(self, mean: Tensor, variance: Tensor, mask: Tensor) -> None:
        """Move the running statistics towards those of a batch."""
        with torch.no_grad():
            count = mask.sum(-1, keepdim=True)
            unbiased = variance * (count / (count - 1).clamp(min=1))
            self.running_mean.lerp_(mean, BATCH_NORM_MOMENTUM)
            self.running_variance.lerp_(unbiased, BATCH_NORM_MOMENTUM)


class LayerNormLayer(nn.Module):
    """Linear map, layer norm over the units of a row, ReLU; rows do not see each other."""

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.linear = Linear(n_models, n_in, n_out)
        self.gamma = nn.Parameter(torch.ones(n_models, n_out, 1, dtype=PRECISION))
        self.beta = nn.Parameter(torch.zeros(n_models, n_out, 1, dtype=PRECISION))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise every row by its own mean and variance; padding needs no mask here."""
        h = self.linear(x)
        variance, mean = torch.var_mean(h, dim=1, keepdim=True, correction=0)
        h_hat = (h - mean) * torch.rsqrt(variance + BATCH_NORM_EPS)
        return torch.addcmul(self.beta, self.gamma, h_hat).relu_()

    def then(self, after: Linear, x: Tensor, mask: Tensor | None) -> Tensor:
        """after(self(x))."""
        return after(self(x, mask))


class Mlp(nn.Module):
    """`depth` weight layers: depth - 1 hidden layers of `width` normalised ReLU units, then a linear one."""

    def __init__(self, n_models: int, n_in: int, n_out: int, width: int, depth: int, norm: str) -> None:
        super().__init__()
        layer = BatchNormLayer if norm == "batch" else LayerNormLayer
        sizes = [n_in] + [width] * (depth - 1)
        self.hidden = nn.ModuleList(layer(n_models, a, b) for a, b in itertools.pairwise(sizes))
        self.out = Linear(n_models, sizes[-1], n_out)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(F, in, B) -> (F, out, B)."""
        if not self.hidden:
            out: Tensor = self.out(x)
            return out
        for layer in self.hidden[:-1]:
            x = layer(x, mask)
        last = cast("BatchNormLayer | LayerNormLayer", self.hidden[-1])
        return last.then(self.out, x, mask)


def decoder_and_variance(
    n_models: int, n_in: int, n_out: int, settings: PaperSettings
) -> tuple[Mlp, nn.Parameter | None]:
    """The network of a decoder, and its log-variances (F, n_out, 1) where the network does not state them."""
    by_row = settings.variance == "by row"
    n_stated = 2 * n_out if by_row else n_out
    net = Mlp(n_models, n_in, n_stated, settings.width, settings.depth, settings.norm)
    if by_row:
        return net, None
    zeros = torch.zeros(n_models, n_out, 1, dtype=PRECISION)
    return net, nn.Parameter(zeros, requires_grad=settings.variance == "learned")


def draw_parameters(module: nn.Module, generators: list[torch.Generator]) -> None:
    """Draw every weight and bias uniformly within 1 / sqrt(inputs), model f from generator f.

    A model's numbers depend on its own generator alone, never on how many models stand beside it.
    """
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, Linear | BatchNormLayer):
                bound = 1 / math.sqrt(layer.weight.shape[-1])
                drawn = [layer.weight, layer.bias] if isinstance(layer, Linear) else [layer.weight]
                for parameter in drawn:
                    for f, generator in enumerate(generators):
                        parameter[f].uniform_(-bound, bound, generator=generator)
