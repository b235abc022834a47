"""Splines or the content VAE: where content is curved, held-out rows decide which features serve it.

Both are fitted to the same training rows, with the shape that won the race; the one that gives the held-out
outcomes the higher likelihood is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.paper.content_config import ContentConfig
from proxycal.methods.parts import hold_out
from proxycal.mixture.designs import candidate_frames
from proxycal.mixture.refits import held_out_loglik

if TYPE_CHECKING:
    from proxycal.methods.paper.content import ContentFit
    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data
    from proxycal.settings import Settings

HELD_OUT = 0.2


@dataclass(frozen=True, slots=True)
class ContentChoice:
    """Mean held-out log likelihood of a row with splines and with z_hat, and the VAE where it won."""

    splines: float
    latents: float
    content: ContentFit | None

    @property
    def reading(self) -> str:
        """The comparison in words."""
        winner = "z_hat" if self.content is not None else "splines"
        return (
            f"held-out log likelihood per row: splines {self.splines:.4f}, z_hat {self.latents:.4f}: {winner}"
        )


def is_curved(found: ExactBias) -> bool:
    """Whether the race needed curves in the proxies."""
    return "splines of P" in found.bias.frame.features


def choose_content(
    data: Data, found: ExactBias, p_biased: np.ndarray, settings: Settings, names: tuple[str, ...]
) -> ContentChoice:
    """Train stage 1 on the training rows and compare what each says of the others."""
    # Torch is loaded only where content is curved.
    from proxycal.methods.paper.content import fit_content

    seeds = np.random.SeedSequence(settings.random_state).generate_state(3).tolist()
    train, test = hold_out(len(data.y), HELD_OUT, seeds[0], data.cluster)
    inner, validation = hold_out(
        len(train), 1 / 9, seeds[1], None if data.cluster is None else data.cluster[train]
    )
    config = ContentConfig(d_z=settings.section("paper").d_z, device=settings.section("paper").device)
    content = fit_content(
        data.P, data.E, data.weights, [train[inner]], [train[validation]], config, seeds[2], names=names
    )[0]
    extended = replace(data, extra=content.encode(data.P, data.E))
    frames = candidate_frames(extended, found.bias.frame.effect)
    splines, latents = (
        held_out_loglik(frames[name], extended, train, test, found, p_biased)
        for name in (found.bias.frame.features, "z_hat")
    )
    return ContentChoice(splines, latents, content if latents > splines else None)
