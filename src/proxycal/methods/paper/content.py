"""Stage 1, the content VAE: fitted to proxies and environment, then frozen. (P, E) -> z_hat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

from proxycal.methods.packing import pack, unpack
from proxycal.methods.paper.networks.batches import (
    ROWS_AT_ONCE,
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
from proxycal.methods.paper.networks.rows import FileRows, MemoryRows
from proxycal.methods.paper.networks.state import frozen, one_model, state_of
from proxycal.methods.paper.networks.train import (
    check_row_sets,
    generators_for,
    mean_over_rows,
    one_thread,
    train_on,
)
from proxycal.methods.paper.thresholds import ACTIVE_KL

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from proxycal.methods.paper.networks.rows import Rows
    from proxycal.methods.paper.settings import PaperSettings

    Report = Callable[[str, int, int], None]

STAGE = "content"


class ContentVae(nn.Module):
    """Content from proxies, never from the outcome.

    Generative model, for every unit:

        z | E ~ N(m(E), diag s2(E))        prior="conditional", or N(0, I) with prior="standard"
        P | z ~ N(g(z), diag v)            v learned, one variance per proxy, the same for all units;
                                           a network v(z) with variance="by row", or 1 with "fixed"

    Inference:

        q(z | P, E) = N(mu(P, E), diag t2(P, E))      E left out with encode_environment=False

    Loss per unit, in nats (the negative ELBO when beta = 1):

        reconstruction = -log p(P | z), z = mu + t * noise        kl = KL(q(z|P,E) || p(z|E))
        loss = reconstruction + beta * kl

    m, s2, g, mu and t2 are MLPs; z_hat = mu(P, E).
    """

    def __init__(self, settings: PaperSettings, n_models: int, n_proxies: int, n_environment: int) -> None:
        super().__init__()
        self.n_latents = settings.d_z
        self.encode_environment = settings.encode_environment
        n_in = n_proxies + (n_environment if settings.encode_environment else 0)
        shape = (settings.width, settings.depth, settings.norm)
        self.encoder = Mlp(n_models, n_in, 2 * settings.d_z, *shape)
        self.decoder, self.log_variance = decoder_and_variance(n_models, settings.d_z, n_proxies, settings)
        self.prior = (
            Mlp(n_models, n_environment, 2 * settings.d_z, *shape)
            if settings.prior == "conditional" and n_environment > 0
            else None
        )

    def posterior(self, P: Tensor, E: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q(z | P, E), each (F, d_z, B)."""
        x = torch.cat([P, E], dim=1) if self.encode_environment else P
        return mean_and_log_variance(self.encoder(x, mask))

    def proxies(self, z: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean (F, p, B) and log-variance of p(P | z)."""
        return observed(self.decoder(z, mask), self.log_variance)

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
        proxies, spread = self.proxies(sample(mean, log_variance, noise), mask)
        misfit = negative_log_likelihood(P, proxies, spread)
        kl = self.kl_per_latent(mean, log_variance, E, mask)
        return {"reconstruction": misfit.sum(1), "kl": kl.sum(1)}


@dataclass(frozen=True, slots=True)
class ContentFit:
    """A trained content VAE, frozen.

    state : parameters and running statistics by name (float32)
    history : "train_reconstruction", "train_kl", "train_loss" and the same for "validation_": (epochs,)
    kl_per_latent : (d_z,) mean KL over the training rows, in nats
    best_epoch : the kept epoch, counted from 1
    """

    settings: PaperSettings
    n_proxies: int
    n_environment: int
    state: dict[str, np.ndarray]
    history: dict[str, np.ndarray]
    kl_per_latent: np.ndarray
    best_epoch: int

    def encode(self, P: np.ndarray, E: np.ndarray) -> np.ndarray:
        """z_hat, the posterior mean of the content: P (n, p), E (n, q) -> (n, d_z) float64."""
        vae = ContentVae(self.settings, 1, self.n_proxies, self.n_environment)
        frozen(vae, self.state)
        z_hat = np.empty((len(P), self.settings.d_z))
        with one_thread(), torch.no_grad():
            for begin in range(0, len(P), ROWS_AT_ONCE):
                rows = slice(begin, begin + ROWS_AT_ONCE)
                mean, _ = vae.posterior(one_model(P[rows]), one_model(E[rows]))
                z_hat[rows] = mean[0].T.numpy()
        return z_hat

    def reconstruct(self, z_hat: np.ndarray) -> np.ndarray:
        """Mean of p(P | z), standardised: z_hat (n, d_z) -> (n, p) float64."""
        vae = ContentVae(self.settings, 1, self.n_proxies, self.n_environment)
        frozen(vae, self.state)
        P = np.empty((len(z_hat), self.n_proxies))
        with one_thread(), torch.no_grad():
            for begin in range(0, len(z_hat), ROWS_AT_ONCE):
                rows = slice(begin, begin + ROWS_AT_ONCE)
                P[rows] = vae.proxies(one_model(z_hat[rows]))[0][0].T.numpy()
        return P

    @property
    def active(self) -> np.ndarray:
        """Which latents carry content, (d_z,) bool."""
        return np.asarray(self.kl_per_latent > ACTIVE_KL)

    @property
    def active_units(self) -> int:
        """How many latents carry content."""
        return int(self.active.sum())

    @property
    def stopped(self) -> str:
        """Why training ended and which epoch was kept."""
        epochs = len(self.history["train_loss"])
        return f"all {epochs} epochs run; epoch {self.best_epoch} kept for its validation reconstruction"

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        """Everything but the settings, as named arrays for one safetensors file."""
        numbers = {"kl_per_latent": self.kl_per_latent, "best_epoch": np.array([self.best_epoch])}
        return pack({"net": self.state, "history": self.history, "result": numbers})

    @classmethod
    def from_tensors(
        cls, settings: PaperSettings, dims: tuple[int, int], tensors: Mapping[str, np.ndarray]
    ) -> Self:
        """The fit whose `tensors` these are; `dims` are the numbers of proxies and environment columns."""
        numbers = unpack(tensors, "result")
        fit = cls(
            settings, *dims, unpack(tensors, "net"), unpack(tensors, "history"),
            numbers["kl_per_latent"], int(numbers["best_epoch"][0]),
        )  # fmt: skip
        frozen(ContentVae(settings, 1, *dims), fit.state)
        return fit


def fit_content(
    P: np.ndarray,
    E: np.ndarray,
    weights: np.ndarray,
    train: Sequence[np.ndarray],
    validation: Sequence[np.ndarray],
    settings: PaperSettings,
    seed: int,
    report: Report | None = None,
    names: Sequence[str] | None = None,
) -> list[ContentFit]:
    """Fit one content VAE per pair of index arrays, all of them in one batched run.

    P (n, p) and E (n, q) are standardised columns, shared by all models, or (F, n, p) and (F, n, q)
    where every model has its own standardisation; weights (n,). Every model draws from a generator
    of its own seeded with `seed`, so a model's fit does not depend on the models beside it.
    `names` are the columns of P and then of E, for messages. `report(stage, epoch, epochs)` is
    called after every epoch.

    >>> from proxycal.methods.paper.settings import PaperSettings
    >>> rng = np.random.default_rng(0)
    >>> P, E, rows = rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), np.arange(60)
    >>> tiny = PaperSettings(d_z=2, width=8, epochs=2, min_steps=0)
    >>> fit = fit_content(P, E, np.ones(60), [rows[:50]], [rows[50:]], tiny, seed=0)[0]
    >>> fit.encode(P, E).shape, fit.history["validation_kl"].shape
    ((60, 2), (2,))
    """
    check_row_sets(train, validation, STAGE)
    dims = P.shape[-1], E.shape[-1]
    w = torch.as_tensor(weights, dtype=PRECISION)
    fits: dict[int, ContentFit] = {}
    with one_thread():
        for models in groups_of_equal_steps([len(rows) for rows in train], settings.batch_size):
            data = {
                "P": model_axis(P if P.ndim == 2 else P[models], len(models)),
                "E": model_axis(E if E.ndim == 2 else E[models], len(models)),
            }
            own, held_out = [train[f] for f in models], [validation[f] for f in models]
            group = _fit_group(MemoryRows(data, w), dims, own, held_out, settings, seed, report, names)
            fits.update(zip(models, group, strict=True))
    return [fits[f] for f in range(len(train))]


def fit_content_file(
    path: str | os.PathLike[str],
    dims: tuple[int, int],
    train: np.ndarray,
    validation: np.ndarray,
    settings: PaperSettings,
    seed: int,
    report: Report | None = None,
    names: Sequence[str] | None = None,
) -> ContentFit:
    """Fit one content VAE to a file of rows (P, E, weight) by `write_rows`, which may be larger than memory.

    dims : the numbers of proxies and environment columns. Of the rows only those of a mini-batch and the
    validation rows are in memory, beside their positions and weights.

    >>> import os, tempfile
    >>> from proxycal.methods.paper.settings import PaperSettings
    >>> from proxycal.methods.paper.networks.rows import write_rows
    >>> rng = np.random.default_rng(0)
    >>> blocks = [np.column_stack([rng.normal(size=(30, 5)), np.ones(30)]) for _ in range(2)]
    >>> tiny, rows = PaperSettings(d_z=2, width=8, epochs=2, min_steps=0), np.arange(60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows")
    ...     n = write_rows(path, blocks)
    ...     fit = fit_content_file(path, (3, 2), rows[:50], rows[50:], tiny, seed=0)
    >>> n, fit.kl_per_latent.shape
    (60, (2,))
    """
    check_row_sets([train], [validation], STAGE)
    with one_thread():
        source = FileRows.open(path, {"P": dims[0], "E": dims[1]})
        return _fit_group(source, dims, [train], [validation], settings, seed, report, names)[0]


def _fit_group(
    source: Rows,
    dims: tuple[int, int],
    train: Sequence[np.ndarray],
    validation: Sequence[np.ndarray],
    settings: PaperSettings,
    seed: int,
    report: Report | None,
    names: Sequence[str] | None,
) -> list[ContentFit]:
    """Fit the models that take equally many steps."""
    rows, held_out = as_positions(train), as_positions(validation)
    generators = generators_for([seed] * len(rows))
    vae = ContentVae(settings, len(rows), *dims)
    draw_parameters(vae, generators)
    labels = {"P": names[: dims[0]], "E": names[dims[0] :]} if names else {}
    # Only the score of stage 2 is in danger of collapsing; the content is trained without a warm-up.
    steady = replace(settings, warmup=0.0)
    trained = train_on(source, vae, rows, held_out, steady, generators, STAGE, labels, report)
    kl = mean_over_rows(vae.kl_of_rows, source, rows)
    return [
        ContentFit(
            settings, *dims, state_of(vae, f), {name: values[f] for name, values in trained.history.items()},
            kl[f], int(trained.best_epoch[f]),
        )
        for f in range(len(rows))
    ]  # fmt: skip
