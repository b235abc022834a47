"""What the content stage can be asked to do: plain values, no torch."""

from __future__ import annotations

from dataclasses import dataclass

from proxycal.errors import SettingsError
from proxycal.methods.paper.networks.config import VaeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentConfig(VaeConfig):
    """Settings of the content VAE: `d_z` latents, and whether the encoder sees E beside the proxies.

    >>> ContentConfig(d_z=3, prior="standard").beta
    1.0
    """

    d_z: int = 5
    encode_environment: bool = True

    def __post_init__(self) -> None:
        VaeConfig.__post_init__(self)
        if isinstance(self.d_z, bool) or not isinstance(self.d_z, int) or self.d_z < 1:
            raise SettingsError(f"d_z must be a whole number of at least 1, got {self.d_z!r}.")
