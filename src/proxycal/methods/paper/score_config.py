"""What the bias stage can be asked to do: plain values, no torch."""

from __future__ import annotations

from dataclasses import dataclass

from proxycal.errors import SettingsError
from proxycal.methods.paper.networks.config import VaeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasVaeConfig(VaeConfig):
    """Settings of the bias VAE; `restarts` fits differ in their start, the best validation loss is kept.

    The KL warm-up is on by default: without it about every fifth start ends where the score is hardly
    used, with it none did in simulations.

    >>> BiasVaeConfig(restarts=1, min_steps=0).epochs
    50
    """

    warmup: float = 0.3
    restarts: int = 2

    def __post_init__(self) -> None:
        VaeConfig.__post_init__(self)
        if isinstance(self.restarts, bool) or not isinstance(self.restarts, int) or self.restarts < 1:
            raise SettingsError(f"restarts must be a whole number of at least 1, got {self.restarts!r}.")
