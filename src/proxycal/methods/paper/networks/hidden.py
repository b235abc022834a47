"""The hidden layer of F models, with batch norm and ReLU, and its derivative by hand.

    out = relu(gamma * (h - mean) / sd + beta),   h = W x,   mean and sd of each unit over its model's rows

The variance of h is diag(W C W'), C the covariance of the few columns of x, so the hundreds of units are
touched only by one product with [gamma W / sd, beta] and by the ReLU; the derivative is arranged in the same
way. That is several times fewer passes over memory than autograd makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_NORM_EPS = 1e-5


@dataclass(frozen=True, slots=True)
class _Folded:
    """A normalised linear map written as one product: folded (F, out, in + 1) @ with_ones (F, in + 1, B).

    with_ones : the centred inputs and a row of ones, both zero on padding. weight_cov : W C. scale : 1 / sd.
    mean, variance : (F, out, 1) of h, for the running statistics.
    """

    with_ones: Tensor
    weight_cov: Tensor
    folded: Tensor
    scale: Tensor
    count: Tensor
    mean: Tensor
    variance: Tensor

    def saved(self, weight: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        """What `_unfold` needs of the forward pass."""
        return self.with_ones, weight, self.weight_cov, self.folded, gamma, self.scale, self.count


def _fold(x: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor, mask: Tensor) -> _Folded:
    n_in = x.shape[1]
    count = mask.sum(-1, keepdim=True)
    x_mean = (x * mask).sum(-1, keepdim=True) / count
    with_ones = torch.cat([(x - x_mean) * mask, mask], dim=1)
    covariance = torch.bmm(with_ones, with_ones.transpose(1, 2))[:, :n_in, :n_in] / count
    weight_cov = torch.bmm(weight, covariance)
    variance = (weight_cov * weight).sum(-1, keepdim=True).clamp_(min=0)
    scale = torch.rsqrt(variance + BATCH_NORM_EPS)
    folded = torch.cat([weight * (gamma * scale), beta], dim=2)
    mean = (weight * x_mean.transpose(1, 2)).sum(-1, keepdim=True)
    return _Folded(with_ones, weight_cov, folded, scale, count, mean, variance)


def _unfold(
    saved: tuple[Tensor, ...], g_ones: Tensor, first: Tensor | None
) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    """Derivatives by x, W, gamma and beta, from two products with g = dL/d(gamma s h + beta).

    g_ones = g [x, 1]' (F, out, in + 1), first = folded' g (F, in + 1, B), None where x needs no derivative.
    With x and h = W x centred, s = 1 / sd, sums and means over rows:

        dL/dbeta = sum g,   dL/dgamma = s sum(g h) = s diag(g x' W'),
        dL/dh = gamma s (g - mean g - h k),   k = s^2 mean(g h).

    Because x is centred, mean g drops out of

        dL/dW = dL/dh x' = gamma s (g x' - k n W C),

    and because h is, it becomes the mean of the first product in

        dL/dx = W' dL/dh = (gamma s W)' g - mean - (gamma s W)' diag(k) W x.
    """
    with_ones, weight, weight_cov, folded, gamma, scale, count = saved
    n_in = weight.shape[2]
    g_x, d_beta = g_ones.split([n_in, 1], dim=2)
    g_h = (g_x * weight).sum(-1, keepdim=True)
    k = scale.square() * g_h / count
    d_weight = gamma * scale * (g_x - k * count * weight_cov)
    if first is None:
        return None, d_weight, scale * g_h, d_beta
    mask, own = with_ones[:, n_in:], first[:, :n_in]
    own_mean = own.sum(-1, keepdim=True) / count
    # The row of ones stays in the product, so that even one input makes it one of matrices.
    back = torch.bmm(folded.transpose(1, 2), torch.cat([k * weight, torch.zeros_like(k)], dim=2))
    d_x = (own - own_mean) * mask - torch.bmm(back, with_ones)[:, :n_in]
    return d_x, d_weight, scale * g_h, d_beta


class LinearNormRelu(torch.autograd.Function):
    """The hidden layer alone: x (F, in, B) -> (F, out, B), with the mean and the variance of h."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The layer, the mean and the variance."""
        part = _fold(x, weight, gamma, beta, mask)
        out = torch.bmm(part.folded, part.with_ones).relu_()
        ctx.save_for_backward(*part.saved(weight, gamma), out)
        ctx.mark_non_differentiable(part.mean, part.variance)
        return out, part.mean, part.variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Derivatives by x, W, gamma and beta."""
        *saved, out = ctx.saved_tensors
        with_ones, folded = saved[0], saved[3]
        # In place: nothing else reads the gradient of a hidden layer, and fresh memory costs more than this.
        g = torch.ops.aten.threshold_backward.grad_input(grads[0], out, 0, grad_input=grads[0])
        g_ones = torch.bmm(g, with_ones.transpose(1, 2))
        first = torch.bmm(folded.transpose(1, 2), g) if ctx.needs_input_grad[0] else None
        return *_unfold(tuple(saved), g_ones, first), None


class LinearNormReluLinear(torch.autograd.Function):
    """A hidden layer and the linear map after it: x (F, in, B) -> (F, out, B), mean and variance of h.

    On a CPU one model after the other: its hidden layer, half a megabyte, stays in the cache between the
    products, where those of all models would go to memory and back. For the same reason the derivative
    computes it again instead of keeping it. Elsewhere all models at once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        gamma: Tensor,
        beta: Tensor,
        mask: Tensor,
        weight_out: Tensor,
        bias_out: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The map, the mean and the variance of h."""
        part = _fold(x, weight, gamma, beta, mask)
        out = x.new_empty(len(x), weight_out.shape[1], x.shape[2])
        for f, hidden in _by_blocks(part.folded, part.with_ones):
            torch.baddbmm(bias_out[f], weight_out[f], hidden, out=out[f])
        ctx.save_for_backward(*part.saved(weight, gamma), weight_out)
        ctx.mark_non_differentiable(part.mean, part.variance)
        return out, part.mean, part.variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Derivatives by x, W, gamma, beta, and the weight and bias of the linear map."""
        *saved, weight_out = ctx.saved_tensors
        with_ones, folded = saved[0], saved[3]
        d_out = grads[0].contiguous()
        d_weight_out, g_ones = torch.empty_like(weight_out), torch.empty_like(folded)
        first = torch.empty_like(with_ones) if ctx.needs_input_grad[0] else None
        g = None
        for f, hidden in _by_blocks(folded, with_ones):
            torch.bmm(d_out[f], hidden.transpose(1, 2), out=d_weight_out[f])
            g = torch.empty_like(hidden) if g is None else g
            torch.bmm(weight_out[f].transpose(1, 2), d_out[f], out=g)
            torch.ops.aten.threshold_backward.grad_input(g, hidden, 0, grad_input=g)
            torch.bmm(g, with_ones[f].transpose(1, 2), out=g_ones[f])
            if first is not None:
                torch.bmm(folded[f].transpose(1, 2), g, out=first[f])
        return *_unfold(tuple(saved), g_ones, first), None, d_weight_out, d_out.sum(-1, keepdim=True)


def _by_blocks(folded: Tensor, with_ones: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """The hidden layer of some models at a time, always in the same memory: which models, (f, out, B)."""
    n_models = len(folded)
    at_once = 1 if folded.device.type == "cpu" else n_models
    hidden = folded.new_empty(at_once, folded.shape[1], with_ones.shape[2])
    for begin in range(0, n_models, at_once):
        f = slice(begin, begin + at_once)
        yield f, torch.bmm(folded[f], with_ones[f], out=hidden).relu_()
