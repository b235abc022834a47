"""Diagonal Gaussians: log-likelihood, divergence, sampling; features on axis 1 of (F, d, B)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Standardised inputs never need a standard deviation outside [0.007, 150]; without the clamp one
# steep step makes a variance 0 or infinite and the loss not a number.
LOG_VARIANCE_RANGE = (-10.0, 10.0)


def clamp_log_variance(raw: Tensor) -> Tensor:
    """A network's log-variance output, kept where its exponential is harmless."""
    return raw.clamp(*LOG_VARIANCE_RANGE)


def mean_and_log_variance(output: Tensor) -> tuple[Tensor, Tensor]:
    """Split a network's output (F, 2d, B) into the mean and the clamped log-variance, each (F, d, B)."""
    mean, raw = output.chunk(2, dim=1)
    return mean, clamp_log_variance(raw)


def observed(output: Tensor, shared: Tensor | None) -> tuple[Tensor, Tensor]:
    """Mean and log-variance that a decoder states: both its own output, or the mean beside a shared one."""
    if shared is None:
        return mean_and_log_variance(output)
    return output, clamp_log_variance(shared)


def kl_divergence(mean_q: Tensor, log_var_q: Tensor, mean_p: Tensor, log_var_p: Tensor) -> Tensor:
    """KL(N(mean_q, var_q) || N(mean_p, var_p)) per dimension, in nats; shapes as broadcast."""
    # KL = 1/2 [ log(var_p / var_q) + (var_q + (mean_q - mean_p)^2) / var_p - 1 ]
    distance = (log_var_q.exp() + (mean_q - mean_p).square()) * torch.exp(-log_var_p)
    return 0.5 * (log_var_p - log_var_q + distance - 1)


def negative_log_likelihood(x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """-log N(x; mean, var) per dimension, in nats."""
    return 0.5 * ((x - mean).square() * torch.exp(-log_variance) + log_variance + math.log(2 * math.pi))


def sample(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
    """Draw mean + sd * noise, through which gradients reach both parameters."""
    return mean + torch.exp(0.5 * log_variance) * noise
