"""What the paper's method can be asked: plain values, no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from proxycal.settings import Section, choice, flag, real, share, whole


@dataclass(frozen=True, slots=True)
class PaperSettings(Section):
    """Settings of `method="paper"`: the two networks, the groups and the matching.

    d_z : number of content latents. k : neighbours per match.
    cut : how a_hat is split into two groups. prior : p(z|E), p(a|E), or N(0, I) for both.
    encode_environment : whether the encoders see E. beta : weight of the KL terms.
    warmup : share of the steps of stage 2 over which beta rises from 0, against collapse.
    restarts : starts of stage 2, the best is kept.
    variance_learning_rate : of the decoders' variances, which have far to go in few steps.
    min_steps : floor on optimiser steps, since 400 rows at batch 512 for 50 epochs are only 50 steps.
    adjust : regression adjustment of what matching leaves of the distance in content.
    validation : share of the rows (whole clusters, where declared) kept from training; a ninth of the
    training folds makes the 80/10/10 protocol.
    device : where the networks are trained, "auto" for a GPU where torch sees one and else the CPU.

    >>> PaperSettings(k=3).k
    3
    """

    section: ClassVar[str] = "paper"

    d_z: int = whole(5, 1)
    k: int = whole(5, 1)
    cut: str = choice("mixture", "mixture", "median", "otsu")
    prior: str = choice("conditional", "conditional", "standard")
    encode_environment: bool = flag(True)
    norm: str = choice("batch", "batch", "layer")
    beta: float = real(1.0, 0.0)
    warmup: float = share(0.3)
    restarts: int = whole(2, 1)
    width: int = whole(256, 1)
    depth: int = whole(2, 1)
    epochs: int = whole(50, 1)
    batch_size: int = whole(512, 2)
    learning_rate: float = real(1e-3, 0.0)
    variance_learning_rate: float = real(2e-2, 0.0)
    min_steps: int = whole(400, 0)
    adjust: bool = flag(True)
    validation: float = real(1 / 9, 0.0, 0.5)
    device: str = choice("auto", "auto", "cpu", "cuda", "mps", prefix="cuda:", placeholder="NUMBER")

    @classmethod
    def literal(cls) -> PaperSettings:
        """The published values to the letter: one start, one rate, no warm-up, no step floor.

        >>> PaperSettings.literal().min_steps
        0
        """
        return cls(warmup=0.0, restarts=1, variance_learning_rate=1e-3, min_steps=0, adjust=False)
