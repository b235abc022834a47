"""TEDVAE (Zhang, Liu and Li 2021), written from its equations, for all folds at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from proxycal.errors import SettingsError
from proxycal.methods.paper.networks.batches import as_positions, groups_of_equal_steps, model_axis
from proxycal.methods.paper.networks.gaussian import (
    clamp_log_variance,
    kl_divergence,
    mean_and_log_variance,
    negative_log_likelihood,
    sample,
)
from proxycal.methods.paper.networks.nets import PRECISION, Mlp, draw_parameters
from proxycal.methods.paper.networks.train import check_row_sets, generators_for, one_thread, train_models
from proxycal.methods.paper.settings import PaperSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STAGE = "TEDVAE"


@dataclass(frozen=True, slots=True)
class TedvaeSettings:
    """Settings of TEDVAE.

    network : size and training of the networks, as in the paper's method, but without a warm-up.
    d_latent : latents of each of the three kinds. aux_t, aux_y : weights of the auxiliary losses.

    >>> TedvaeSettings(PaperSettings(width=64)).d_latent
    5
    """

    network: PaperSettings = field(default_factory=PaperSettings)
    d_latent: int = 5
    aux_t: float = 1.0
    aux_y: float = 1.0

    def __post_init__(self) -> None:
        if self.d_latent < 1 or self.aux_t < 0 or self.aux_y < 0:
            raise SettingsError("d_latent must be at least 1, aux_t and aux_y at least 0.")


class Tedvae(nn.Module):
    """Three kinds of latents, told apart by what they are asked to explain.

    Generative model, for every unit, x and y standardised:

        z_t, z_c, z_y ~ N(0, I)
        x | z_t, z_c, z_y ~ N(g(z_t, z_c, z_y), diag v_x)
        t | z_t, z_c      ~ Bernoulli(logistic(f(z_t, z_c)))
        y | t, z_c, z_y   ~ N(t h_1(z_c, z_y) + (1 - t) h_0(z_c, z_y), v_y)

    Inference:  q(z_t | x), q(z_c | x), q(z_y | x), each a diagonal Gaussian. Loss per unit:

        -log p(x|.) - log p(t|.) - log p(y|.)  +  KL(q(z_t,z_c,z_y|x) || N(0, I))
            - aux_t log q(t | z_t, z_c)  -  aux_y log q(y | t, z_c, z_y)

    The auxiliary networks have the form of the decoders of t and y; effects are read from q(y | t, z_c, z_y).
    """

    def __init__(self, settings: TedvaeSettings, n_models: int, n_columns: int) -> None:
        super().__init__()
        network = settings.network
        d, shape = settings.d_latent, (network.width, network.depth, network.norm)
        self.n_latents = 3 * d
        self.d = d
        self.weights = (settings.aux_t, settings.aux_y)
        self.encoders = nn.ModuleList(Mlp(n_models, n_columns, 2 * d, *shape) for _ in range(3))
        self.x_decoder = Mlp(n_models, 3 * d, n_columns, *shape)
        self.t_decoder = Mlp(n_models, 2 * d, 1, *shape)
        self.y_decoder = Mlp(n_models, 2 * d, 2, *shape)
        self.t_aux = Mlp(n_models, 2 * d, 1, *shape)
        self.y_aux = Mlp(n_models, 2 * d, 2, *shape)
        # One variance each for the columns of x, for y in the decoder and for y in the auxiliary network.
        self.log_variance = nn.Parameter(torch.zeros(n_models, n_columns + 2, 1, dtype=PRECISION))

    def posterior(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of (z_t, z_c, z_y), each (F, 3 d, B)."""
        parts = [mean_and_log_variance(encoder(x, mask)) for encoder in self.encoders]
        return torch.cat([mean for mean, _ in parts], dim=1), torch.cat([log for _, log in parts], dim=1)

    def outcomes(self, z: Tensor, mask: Tensor | None = None) -> Tensor:
        """Standardised E[y | t = 0] and E[y | t = 1] of the auxiliary network, (F, 2, B)."""
        both: Tensor = self.y_aux(z[:, self.d :], mask)
        return both

    def terms(self, rows: Mapping[str, Tensor], noise: Tensor, mask: Tensor | None) -> dict[str, Tensor]:
        """The named terms of the loss in nats per row, (F, B)."""
        x, t, y = rows["x"], rows["t"], rows["y"]
        mean, log_variance = self.posterior(x, mask)
        z = sample(mean, log_variance, noise)
        zero = torch.zeros_like(mean)
        kl = kl_divergence(mean, log_variance, zero, zero).sum(1)
        variances = clamp_log_variance(self.log_variance)
        k = x.shape[1]
        misfit = negative_log_likelihood(x, self.x_decoder(z, mask), variances[:, :k]).sum(1)
        for_t, for_y = z[:, : 2 * self.d], z[:, self.d :]
        aux_t, aux_y = self.weights
        networks = (
            (1.0, 1.0, self.t_decoder(for_t, mask), self.y_decoder(for_y, mask), variances[:, k : k + 1]),
            (aux_t, aux_y, self.t_aux(for_t, mask), self.outcomes(z, mask), variances[:, k + 1 :]),
        )
        for weight_t, weight_y, logit, heads, variance in networks:
            expected = heads[:, :1] * (1 - t) + heads[:, 1:] * t
            misfit = misfit + weight_t * binary_cross_entropy_with_logits(logit, t, reduction="none")[:, 0]
            misfit = misfit + weight_y * negative_log_likelihood(y, expected, variance)[:, 0]
        return {"reconstruction": misfit, "kl": kl}


@dataclass(frozen=True, slots=True)
class TedvaeFit:
    """alpha : mean of E[y|t=1] - E[y|t=0] over the fitted rows. history : named terms by epoch, (epochs,)."""

    alpha: float
    history: dict[str, np.ndarray]


def fit_tedvae(
    x: Sequence[np.ndarray],
    t: Sequence[np.ndarray],
    y: np.ndarray,
    train: Sequence[np.ndarray],
    validation: Sequence[np.ndarray],
    settings: TedvaeSettings,
    seed: int,
) -> list[TedvaeFit]:
    """One TEDVAE per fold, all trained as one batched model.

    x : F arrays (n, c) of standardised columns; t : F groups (n,) in {0, 1}; y : (n,) in its own units;
    train, validation : F index arrays each.

    >>> rng = np.random.default_rng(0)
    >>> x, t, rows = rng.normal(size=(60, 3)), np.arange(60) % 2.0, np.arange(60)
    >>> tiny = TedvaeSettings(PaperSettings(width=8, epochs=2, min_steps=0))
    >>> fit = fit_tedvae([x], [t], x[:, 0] + 2.0 * t, [rows[:50]], [rows[50:]], tiny, seed=0)[0]
    >>> fit.history["train_kl"].shape
    (2,)
    """
    check_row_sets(train, validation, STAGE)
    fits: dict[int, TedvaeFit] = {}
    with one_thread():
        shapes = sorted({part.shape[1] for part in x})
        for columns in shapes:
            same = [f for f in range(len(x)) if x[f].shape[1] == columns]
            for group in groups_of_equal_steps([len(train[f]) for f in same], settings.network.batch_size):
                models = [same[position] for position in group]
                fitted = _fit_group(
                    [x[f] for f in models], [t[f] for f in models], y,
                    [train[f] for f in models], [validation[f] for f in models], settings, seed,
                )  # fmt: skip
                fits |= dict(zip(models, fitted, strict=True))
    return [fits[f] for f in range(len(x))]


def _fit_group(
    x: Sequence[np.ndarray],
    t: Sequence[np.ndarray],
    y: np.ndarray,
    train: Sequence[np.ndarray],
    validation: Sequence[np.ndarray],
    settings: TedvaeSettings,
    seed: int,
) -> list[TedvaeFit]:
    n_models, columns = len(x), x[0].shape[1]
    scale = [(float(y[own].mean()), float(y[own].std()) or 1.0) for own in train]
    data = {
        "x": model_axis(np.stack(x), n_models),
        "t": model_axis(np.stack(t)[:, :, None], n_models),
        "y": model_axis(np.stack([(y - mean) / sd for mean, sd in scale])[:, :, None], n_models),
    }
    vae = Tedvae(settings, n_models, columns)
    generators = generators_for([seed] * n_models)
    draw_parameters(vae, generators)
    weights = torch.ones(len(y), dtype=PRECISION)
    network = replace(settings.network, warmup=0.0)
    trained = train_models(
        vae, data, weights, as_positions(train), as_positions(validation), network, generators, STAGE, {}
    )
    with torch.no_grad():
        heads = vae.outcomes(vae.posterior(data["x"])[0])
        effect = (heads[:, 1] - heads[:, 0]).numpy()
    fits = []
    for f, own in enumerate(train):
        fitted = np.concatenate([own, validation[f]])
        history = {name: values[f] for name, values in trained.history.items()}
        fits.append(TedvaeFit(scale[f][1] * float(effect[f, fitted].mean()), history))
    return fits
