"""The content VAE: proxies and environment to the content, for F models at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from proxycal.methods.paper.networks.gaussian import (
    clamp_log_variance,
    kl_divergence,
    mean_and_log_variance,
    negative_log_likelihood,
    sample,
)
from proxycal.methods.paper.networks.nets import PRECISION, Mlp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.methods.paper.content_config import ContentConfig


class ContentVae(nn.Module):
    """Content from proxies, never from the outcome.

    Generative model, for every unit:

        z | E ~ N(m(E), diag s2(E))        prior="conditional", or N(0, I) with prior="standard"
        P | z ~ N(g(z), diag v)            v learned, one variance per proxy, the same for all units

    Inference:

        q(z | P, E) = N(mu(P, E), diag t2(P, E))      E left out with encode_environment=False

    Loss per unit, in nats (the negative ELBO when beta = 1):

        reconstruction = -log p(P | z), z = mu + t * noise        kl = KL(q(z|P,E) || p(z|E))
        loss = reconstruction + beta * kl

    m, s2, g, mu and t2 are MLPs; z_hat = mu(P, E).
    """

    def __init__(self, config: ContentConfig, n_models: int, n_proxies: int, n_environment: int) -> None:
        super().__init__()
        self.n_latents = config.d_z
        self.encode_environment = config.encode_environment
        n_in = n_proxies + (n_environment if config.encode_environment else 0)
        shape = (config.width, config.depth, config.norm)
        self.encoder = Mlp(n_models, n_in, 2 * config.d_z, *shape)
        self.decoder = Mlp(n_models, config.d_z, n_proxies, *shape)
        self.prior = (
            Mlp(n_models, n_environment, 2 * config.d_z, *shape)
            if config.prior == "conditional" and n_environment > 0
            else None
        )
        self.log_variance = nn.Parameter(torch.zeros(n_models, n_proxies, 1, dtype=PRECISION))

    def posterior(self, P: Tensor, E: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z | P, E), each (F, d_z, B)."""
        x = torch.cat([P, E], dim=1) if self.encode_environment else P
        return mean_and_log_variance(self.encoder(x, mask))

    def kl_per_latent(
        self, mean: Tensor, log_variance: Tensor, E: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """KL of the posterior from the prior for every latent and row, (F, d_z, B)."""
        if self.prior is None:
            zero = torch.zeros_like(mean)
            return kl_divergence(mean, log_variance, zero, zero)
        return kl_divergence(mean, log_variance, *mean_and_log_variance(self.prior(E, mask)))

    def kl_of_rows(self, rows: Mapping[str, Tensor]) -> Tensor:
        """KL for every latent and row, (F, d_z, B), of rows without padding."""
        return self.kl_per_latent(*self.posterior(rows["P"], rows["E"]), rows["E"])

    def terms(self, rows: Mapping[str, Tensor], noise: Tensor, mask: Tensor | None) -> dict[str, Tensor]:
        """The named terms of the loss in nats per row, (F, B)."""
        P, E = rows["P"], rows["E"]
        mean, log_variance = self.posterior(P, E, mask)
        proxies = self.decoder(sample(mean, log_variance, noise), mask)
        misfit = negative_log_likelihood(P, proxies, clamp_log_variance(self.log_variance))
        kl = self.kl_per_latent(mean, log_variance, E, mask)
        return {"reconstruction": misfit.sum(1), "kl": kl.sum(1)}
