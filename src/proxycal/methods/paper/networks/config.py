"""What both VAE stages can be asked to do: plain values, no torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from proxycal.errors import SettingsError

Prior = Literal["conditional", "standard"]
Norm = Literal["batch", "layer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaeConfig:
    """Networks, objective and training budget of one VAE stage.

    `depth` counts the weight layers of every MLP: 2 is one hidden layer of `width` units, 1 is linear.
    `prior` is p(latent | E), a network of its own, or N(0, I). `beta` weighs the KL term; it rises
    linearly from 0 during the first `warmup` share of the steps. Training runs `epochs` epochs, or as
    many as it takes to reach `min_steps` optimiser steps, whichever is more: 400 rows in batches of
    512 would otherwise get 50 steps. There is no early stopping. `device` is where the steps are taken:
    "auto" is a GPU where torch sees one; the fit comes back to the CPU.
    """

    width: int = 256
    depth: int = 2
    norm: Norm = "batch"
    prior: Prior = "conditional"
    beta: float = 1.0
    warmup: float = 0.0
    epochs: int = 50
    batch_size: int = 512
    learning_rate: float = 1e-3
    variance_learning_rate: float = 2e-2
    min_steps: int = 400
    device: str = "auto"

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("depth", 1), ("epochs", 1), ("batch_size", 2), ("min_steps", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SettingsError(f"{name} must be a whole number of at least {least}, got {value!r}.")
        if self.norm not in ("batch", "layer"):
            raise SettingsError(f"norm must be 'batch' or 'layer', got {self.norm!r}.")
        if self.prior not in ("conditional", "standard"):
            raise SettingsError(f"prior must be 'conditional' or 'standard', got {self.prior!r}.")
        if not (math.isfinite(self.beta) and self.beta >= 0):
            raise SettingsError(f"beta must be a number >= 0, got {self.beta!r}.")
        if not 0 <= self.warmup < 1:
            raise SettingsError(f"warmup must be a share of the steps in [0, 1), got {self.warmup!r}.")
        for name in ("learning_rate", "variance_learning_rate"):
            rate = getattr(self, name)
            if not (math.isfinite(rate) and rate > 0):
                raise SettingsError(f"{name} must be a number > 0, got {rate!r}.")

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The settings that `to_dict` wrote; an unknown name is an error that lists the known ones."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise SettingsError(f"Unknown setting {unknown[0]!r}; known settings: {', '.join(known)}.")
        return cls(**values)
