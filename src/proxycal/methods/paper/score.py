"""Stage 2, the bias VAE: a Gaussian score of the reporting bias, given the frozen content.

(y, z_hat, E) -> a_hat
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

from proxycal.methods.packing import pack, unpack
from proxycal.methods.paper.networks.batches import (
    ROWS_AT_ONCE,
    RowSets,
    as_positions,
    groups_of_equal_steps,
    model_axis,
)
from proxycal.methods.paper.networks.gaussian import (
    kl_divergence,
    mean_and_log_variance,
    negative_log_likelihood,
    observed,
    sample,
)
from proxycal.methods.paper.networks.nets import PRECISION, Mlp, decoder_and_variance, draw_parameters
from proxycal.methods.paper.networks.rows import MemoryRows
from proxycal.methods.paper.networks.state import frozen, one_model, state_of
from proxycal.methods.paper.networks.train import (
    check_row_sets,
    generators_for,
    mean_over_rows,
    one_thread,
    train_on,
)
from proxycal.methods.paper.thresholds import COLLAPSED_KL, COLLAPSED_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxycal.methods.paper.settings import PaperSettings

STAGE = "bias"
SCORE_QUANTILES = np.linspace(0.05, 0.95, 10)


class BiasVae(nn.Module):
    """A real score a of the bias, from what the content leaves unexplained in the outcome.

    Generative model, for every unit, y standardised (raw with scale_outcome=False):

        a | E ~ N(m(E), s2(E))             prior="conditional", or N(0, 1) with prior="standard"
        y | z_hat, a ~ N(g(z_hat, a), v)   v learned, one variance for all units; a network v(z_hat, a)
                                           with variance="by row", or 1 with "fixed"

    Inference:

        q(a | y, z_hat, E) = N(mu(y, z_hat, E), t2(y, z_hat, E))

    Loss per unit, in nats (the negative ELBO when score_beta = 1):

        reconstruction = -log p(y | z_hat, a), a = mu + t * noise      kl = KL(q(a|y,z_hat,E) || p(a|E))
        loss = reconstruction + score_beta * kl

    m, s2, g, mu and t2 are MLPs; a_hat = mu(y, z_hat, E). Its scale and its sign are arbitrary.
    """

    def __init__(self, settings: PaperSettings, n_models: int, n_content: int, n_environment: int) -> None:
        super().__init__()
        self.n_latents = 1
        shape = (settings.width, settings.depth, settings.norm)
        self.encoder = Mlp(n_models, 1 + n_content + n_environment, 2, *shape)
        self.decoder, self.log_variance = decoder_and_variance(n_models, n_content + 1, 1, settings)
        self.prior = (
            Mlp(n_models, n_environment, 2, *shape)
            if settings.prior == "conditional" and n_environment > 0
            else None
        )

    def posterior(self, y: Tensor, z: Tensor, E: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(a | y, z_hat, E), each (F, 1, B)."""
        return mean_and_log_variance(self.encoder(torch.cat([y, z, E], dim=1), mask))

    def outcome(self, a: Tensor, z: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean (F, 1, B) and log-variance of p(y | z_hat, a), of the standardised outcome."""
        return observed(self.decoder(torch.cat([z, a], dim=1), mask), self.log_variance)

    def kl(self, mean: Tensor, log_variance: Tensor, E: Tensor, mask: Tensor | None = None) -> Tensor:
        """KL of the posterior from the prior, (F, 1, B)."""
        if self.prior is None:
            zero = torch.zeros_like(mean)
            return kl_divergence(mean, log_variance, zero, zero)
        return kl_divergence(mean, log_variance, *mean_and_log_variance(self.prior(E, mask)))

    def kl_of_rows(self, rows: Mapping[str, Tensor]) -> Tensor:
        """KL for every row, (F, 1, B), of rows without padding."""
        return self.kl(*self.posterior(rows["y"], rows["z"], rows["E"]), rows["E"])

    def terms(self, rows: Mapping[str, Tensor], noise: Tensor, mask: Tensor | None) -> dict[str, Tensor]:
        """The named terms of the loss in nats per row, (F, B)."""
        y, z, E = rows["y"], rows["z"], rows["E"]
        mean, log_variance = self.posterior(y, z, E, mask)
        fitted, spread = self.outcome(sample(mean, log_variance, noise), z, mask)
        misfit = negative_log_likelihood(y, fitted, spread)
        kl = self.kl(mean, log_variance, E, mask)
        return {"reconstruction": misfit[:, 0], "kl": kl[:, 0]}


@dataclass(frozen=True, slots=True)
class BiasVaeFit:
    """A trained bias VAE, frozen.

    state : parameters and running statistics by name (float32)
    scale : "y" (2,) and "z" (2, d): mean and standard deviation that were taken out, of the training rows
    history : "train_reconstruction", "train_kl", "train_loss" and the same for "validation_": (epochs,)
    kl : mean KL of the score over the training rows, in nats
    score_share : variance that the score alone moves in the decoder, relative to the outcome's variance; it
        passes 1 where content and score offset each other
    best_epoch : the kept epoch, counted from 1; restart : the kept start, counted from 0
    """

    settings: PaperSettings
    n_content: int
    n_environment: int
    state: dict[str, np.ndarray]
    scale: dict[str, np.ndarray]
    history: dict[str, np.ndarray]
    kl: float
    score_share: float
    best_epoch: int
    restart: int

    def score(self, y: np.ndarray, z_hat: np.ndarray, E: np.ndarray) -> np.ndarray:
        """a_hat, the posterior mean of the score: y (n,), z_hat (n, d), E (n, q) -> (n,) float64."""
        vae = self._module()
        a_hat = np.empty(len(y))
        (y_mean, y_sd), (z_mean, z_sd) = self.scale["y"], self.scale["z"]
        with one_thread(), torch.no_grad():
            for begin in range(0, len(y), ROWS_AT_ONCE):
                rows = slice(begin, begin + ROWS_AT_ONCE)
                mean, _ = vae.posterior(
                    one_model((y[rows, None] - y_mean) / y_sd),
                    one_model((z_hat[rows] - z_mean) / z_sd),
                    one_model(E[rows]),
                )
                a_hat[rows] = mean[0, 0].numpy()
        return a_hat

    def reconstruct(self, a: np.ndarray, z_hat: np.ndarray) -> np.ndarray:
        """Mean of p(y | z_hat, a) in the outcome's units: a (n,), z_hat (n, d) -> (n,) float64."""
        vae = self._module()
        y = np.empty(len(z_hat))
        (y_mean, y_sd), (z_mean, z_sd) = self.scale["y"], self.scale["z"]
        with one_thread(), torch.no_grad():
            for begin in range(0, len(z_hat), ROWS_AT_ONCE):
                rows = slice(begin, begin + ROWS_AT_ONCE)
                z = one_model((z_hat[rows] - z_mean) / z_sd)
                y[rows] = vae.outcome(one_model(a[rows, None]), z)[0][0, 0].numpy()
        return y_mean + y_sd * y

    def _module(self) -> BiasVae:
        vae = BiasVae(self.settings, 1, self.n_content, self.n_environment)
        frozen(vae, self.state)
        return vae

    @property
    def collapsed(self) -> bool:
        """Whether the score is empty: its posterior is its prior, or the decoder ignores it."""
        return self.kl < COLLAPSED_KL or self.score_share < COLLAPSED_SHARE

    @property
    def stopped(self) -> str:
        """Why training ended, which epoch and which start were kept."""
        epochs = len(self.history["train_loss"])
        return (
            f"all {epochs} epochs run; epoch {self.best_epoch} kept for its validation reconstruction, "
            f"start {self.restart + 1} of {self.settings.restarts} for its validation loss"
        )

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        """Everything but the settings, as named arrays for one safetensors file."""
        numbers = {
            "kl": np.array([self.kl]),
            "score_share": np.array([self.score_share]),
            "best_epoch": np.array([self.best_epoch]),
            "restart": np.array([self.restart]),
        }
        return pack({"net": self.state, "scale": self.scale, "history": self.history, "result": numbers})

    @classmethod
    def from_tensors(
        cls, settings: PaperSettings, dims: tuple[int, int], tensors: Mapping[str, np.ndarray]
    ) -> Self:
        """The fit whose `tensors` these are; `dims` are the numbers of latents and environment columns."""
        numbers = unpack(tensors, "result")
        fit = cls(
            settings=settings,
            n_content=dims[0],
            n_environment=dims[1],
            state=unpack(tensors, "net"),
            scale=unpack(tensors, "scale"),
            history=unpack(tensors, "history"),
            kl=float(numbers["kl"][0]),
            score_share=float(numbers["score_share"][0]),
            best_epoch=int(numbers["best_epoch"][0]),
            restart=int(numbers["restart"][0]),
        )
        fit._module()
        return fit


def fit_bias_vae(
    y: np.ndarray,
    z_hat: np.ndarray,
    E: np.ndarray,
    weights: np.ndarray,
    train: Sequence[np.ndarray],
    validation: Sequence[np.ndarray],
    settings: PaperSettings,
    seed: int,
    report: Callable[[str, int, int], None] | None = None,
    names: Sequence[str] | None = None,
) -> list[BiasVaeFit]:
    """Fit one bias VAE per pair of index arrays; models and restarts share one batched run.

    y (n,) in its own units; z_hat (n, d) and E (n, q), or (F, n, d) and (F, n, q) where every model has
    its own; weights (n,). y and z_hat are standardised inside, by the training rows of each model.
    `names` are the columns of E, for messages. `report(stage, epoch, epochs)` is called after every epoch.

    >>> from proxycal.methods.paper.settings import PaperSettings
    >>> rng = np.random.default_rng(0)
    >>> z_hat, E, rows = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), np.arange(60)
    >>> y = z_hat[:, 0] + 5 * (E[:, 0] > 0)
    >>> tiny = PaperSettings(width=8, epochs=2, min_steps=0)
    >>> fit = fit_bias_vae(y, z_hat, E, np.ones(60), [rows[:50]], [rows[50:]], tiny, seed=0)[0]
    >>> fit.score(y, z_hat, E).shape
    (60,)
    """
    check_row_sets(train, validation, STAGE)
    fits: dict[int, BiasVaeFit] = {}
    with one_thread():
        for models in groups_of_equal_steps([len(rows) for rows in train], settings.batch_size):
            parts = [
                _Part(
                    y,
                    z_hat if z_hat.ndim == 2 else z_hat[f],
                    E if E.ndim == 2 else E[f],
                    train[f],
                    validation[f],
                )
                for f in models
            ]
            group = _fit_group(parts, weights, settings, seed, report, names)
            fits.update(zip(models, group, strict=True))
    return [fits[f] for f in range(len(train))]


@dataclass(frozen=True, slots=True)
class _Part:
    """What one model is fitted on: y (n,), z_hat (n, d), E (n, q) and its own rows."""

    y: np.ndarray
    z_hat: np.ndarray
    E: np.ndarray
    train: np.ndarray
    validation: np.ndarray


def _fit_group(
    parts: Sequence[_Part],
    weights: np.ndarray,
    settings: PaperSettings,
    seed: int,
    report: Callable[[str, int, int], None] | None,
    names: Sequence[str] | None,
) -> list[BiasVaeFit]:
    """Fit the models that take equally many steps: model f, restart r stands at f * restarts + r."""
    R = settings.restarts
    dims = parts[0].z_hat.shape[1], parts[0].E.shape[1]
    scales = [_scale(part, weights, settings.scale_outcome) for part in parts]
    data = _columns(parts, scales, R)
    rows = as_positions([part.train for part in parts for _ in range(R)])
    held_out = as_positions([part.validation for part in parts for _ in range(R)])
    generators = generators_for([_restart_seed(seed, restart) for restart in range(R)] * len(parts))
    vae = BiasVae(settings, len(rows), *dims)
    draw_parameters(vae, generators)
    source = MemoryRows(data, torch.as_tensor(weights, dtype=PRECISION))
    labels = {"y": ("the outcome",)} | ({"E": tuple(names)} if names else {})
    weighed = replace(settings, beta=settings.score_beta)
    trained = train_on(source, vae, rows, held_out, weighed, generators, STAGE, labels, report)

    kl, share = mean_over_rows(vae.kl_of_rows, source, rows)[:, 0], _score_share(vae, data, rows)
    at_best = trained.history["validation_loss"][np.arange(len(rows)), trained.best_epoch - 1]
    kept = at_best.reshape(len(parts), R).argmin(axis=1)
    fits = []
    for f, restart in enumerate(kept.tolist()):
        chosen = f * R + restart
        fits.append(
            BiasVaeFit(
                settings=settings,
                n_content=dims[0],
                n_environment=dims[1],
                state=state_of(vae, chosen),
                scale=scales[f],
                history={name: values[chosen] for name, values in trained.history.items()},
                kl=float(kl[chosen]),
                score_share=float(share[chosen]),
                best_epoch=int(trained.best_epoch[chosen]),
                restart=restart,
            )
        )
    return fits


def _restart_seed(seed: int, restart: int) -> int:
    """A seed of its own for every start, the same whatever the number of starts."""
    return int(np.random.SeedSequence([seed, restart]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _scale(part: _Part, weights: np.ndarray, scale_outcome: bool) -> dict[str, np.ndarray]:
    """Mean and standard deviation of y and of z_hat over the training rows; of y, 0 and 1 if it stays raw."""
    w = weights[part.train]
    y = _mean_and_sd(part.y[part.train], w) if scale_outcome else np.array([0.0, 1.0])
    return {"y": y, "z": _mean_and_sd(part.z_hat[part.train], w)}


def _columns(
    parts: Sequence[_Part], scales: Sequence[dict[str, np.ndarray]], restarts: int
) -> dict[str, Tensor]:
    """Standardised columns (F * restarts, c, n) of all models."""
    y = np.stack([((p.y - s["y"][0]) / s["y"][1])[:, None] for p, s in zip(parts, scales, strict=True)])
    z = np.stack([(p.z_hat - s["z"][0]) / s["z"][1] for p, s in zip(parts, scales, strict=True)])
    E = np.stack([part.E for part in parts])
    return {
        name: model_axis(x, len(parts)).repeat_interleave(restarts, dim=0)
        for name, x in (("y", y), ("z", z), ("E", E))
    }


def _mean_and_sd(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean and standard deviation of the rows, (2,) or (2, d); a constant column keeps sd 1."""
    mean = np.average(x, axis=0, weights=weights)
    sd = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weights))
    return np.stack([mean, np.where(sd > 0, sd, 1.0)])


def _score_share(vae: BiasVae, data: Mapping[str, Tensor], rows: list[Tensor]) -> np.ndarray:
    """Variance that the score alone moves in the decoder, relative to the outcome's variance, (F,).

    The mean over units of the variance of g(z_hat, a) while a runs through the quantiles of a_hat and
    z_hat stays.
    """
    sets = RowSets.stack([r[:: 1 + len(r) // ROWS_AT_ONCE] for r in rows])
    with torch.no_grad():
        z = sets.take(data["z"])
        a_hat, _ = vae.posterior(sets.take(data["y"]), z, sets.take(data["E"]))
        if sets.mask is not None:
            a_hat[sets.mask == 0] = torch.nan
        levels = torch.nanquantile(a_hat[:, 0], torch.as_tensor(SCORE_QUANTILES, dtype=a_hat.dtype), dim=-1)
        fitted = [vae.outcome(level[:, None, None].expand(-1, 1, z.shape[-1]), z)[0] for level in levels]
        variance = torch.stack(fitted).var(dim=0, correction=0)[:, 0]
        w = sets.weights(torch.ones(data["z"].shape[-1], dtype=PRECISION))
        w = w / w.sum(-1, keepdim=True)
        y = sets.take(data["y"])[:, 0]
        spread = (y.square() * w).sum(-1) - (y * w).sum(-1).square()
        return ((variance * w).sum(-1) / spread.clamp(min=1e-12)).numpy()
