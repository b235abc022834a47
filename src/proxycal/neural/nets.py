"""Multilayer perceptrons for F models at once.

Every tensor has the model axis first and the rows last: inputs (F, in, B), weights (F, out, in),
outputs (F, out, B). Rows last keeps the statistics of a unit in one contiguous stretch of memory,
which makes batch norm about twice as fast on a CPU as the usual (B, in) layout.

A mask (F, 1, B) of ones and zeros marks padding where the models have unequal numbers of rows.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor, nn

BATCH_NORM_EPS = 1e-5
BATCH_NORM_MOMENTUM = 0.1


class _LinearNormRelu(torch.autograd.Function):
    """relu(gamma * (h - mean) / sd + beta) with h = W x, mean and sd of each unit over its model's rows.

    One function with its own derivative, because the chain of small operations that autograd would
    record spends most of its time allocating.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor, mask: Tensor | None, count: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        h = torch.bmm(weight, x)
        if mask is not None:
            h.mul_(mask)
        mean = h.sum(-1, keepdim=True).div_(count)
        h.sub_(mean)
        if mask is not None:
            h.mul_(mask)
        variance = torch.linalg.vector_norm(h, dim=-1, keepdim=True).square_().div_(count)
        scale = torch.rsqrt(variance + BATCH_NORM_EPS)
        h.mul_(scale)
        out = torch.addcmul(beta, gamma, h).relu_()
        ctx.save_for_backward(x, weight, gamma, h, out, scale, count)
        ctx.mask = mask
        ctx.mark_non_differentiable(mean, variance)
        return out, mean, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # With h_hat = (h - mean) / sd and g = dL/d(gamma h_hat + beta), over the B rows of a model:
        #   dL/dgamma = sum g h_hat, dL/dbeta = sum g,
        #   dL/dh = gamma / sd * (g - mean(g) - h_hat mean(g h_hat)).
        x, weight, gamma, h_hat, out, scale, count = ctx.saved_tensors
        g = grads[0] * (out > 0)
        if ctx.mask is not None:
            g.mul_(ctx.mask)
        d_gamma = torch.linalg.vecdot(g, h_hat).unsqueeze(-1)
        d_beta = g.sum(-1, keepdim=True)
        d_h = g.addcmul_(h_hat, -d_gamma / count).sub_(d_beta / count).mul_(gamma * scale)
        if ctx.mask is not None:
            d_h.mul_(ctx.mask)
        d_weight = torch.bmm(d_h, x.transpose(1, 2))
        d_x = torch.bmm(weight.transpose(1, 2), d_h) if ctx.needs_input_grad[0] else None
        return d_x, d_weight, d_gamma, d_beta, None, None


class Linear(nn.Module):
    """F linear maps: (F, in, B) -> (F, out, B)."""

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_models, n_out, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each model's map to its own rows."""
        return torch.baddbmm(self.bias, self.weight, x)


class BatchNormLayer(nn.Module):
    """Linear map without bias, batch norm, ReLU; every model keeps its own running statistics."""

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models, n_out, n_in))
        self.gamma = nn.Parameter(torch.ones(n_models, n_out, 1))
        self.beta = nn.Parameter(torch.zeros(n_models, n_out, 1))
        self.register_buffer("running_mean", torch.zeros(n_models, n_out, 1))
        self.register_buffer("running_variance", torch.ones(n_models, n_out, 1))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise by the batch in training, by the running statistics otherwise."""
        if not self.training:
            scale = self.gamma * torch.rsqrt(self.running_variance + BATCH_NORM_EPS)
            return torch.baddbmm(self.beta - self.running_mean * scale, self.weight * scale, x).relu_()
        count = x.new_full((x.shape[0], 1, 1), x.shape[-1]) if mask is None else mask.sum(-1, keepdim=True)
        out, mean, variance = _LinearNormRelu.apply(x, self.weight, self.gamma, self.beta, mask, count)
        with torch.no_grad():
            unbiased = variance * (count / (count - 1).clamp(min=1))
            self.running_mean.lerp_(mean, BATCH_NORM_MOMENTUM)
            self.running_variance.lerp_(unbiased, BATCH_NORM_MOMENTUM)
        return out


class LayerNormLayer(nn.Module):
    """Linear map, layer norm over the units of a row, ReLU; rows do not see each other."""

    def __init__(self, n_models: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.linear = Linear(n_models, n_in, n_out)
        self.gamma = nn.Parameter(torch.ones(n_models, n_out, 1))
        self.beta = nn.Parameter(torch.zeros(n_models, n_out, 1))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Normalise every row by its own mean and variance; padding needs no mask here."""
        h = self.linear(x)
        variance, mean = torch.var_mean(h, dim=1, keepdim=True, correction=0)
        h_hat = (h - mean) * torch.rsqrt(variance + BATCH_NORM_EPS)
        return torch.addcmul(self.beta, self.gamma, h_hat).relu_()


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
        for layer in self.hidden:
            x = layer(x, mask)
        out: Tensor = self.out(x)
        return out


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
