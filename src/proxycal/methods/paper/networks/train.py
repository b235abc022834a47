"""The training loop of both stages: mini-batches of permuted rows, F models per step."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from proxycal.errors import TrainingError
from proxycal.methods.paper.networks.batches import ROWS_AT_ONCE, RowSets, batch_bounds
from proxycal.methods.paper.networks.device import CPU, device_named
from proxycal.methods.paper.networks.nets import PRECISION
from proxycal.methods.paper.networks.rows import MemoryRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

    from proxycal.methods.paper.networks.rows import Rows
    from proxycal.methods.paper.settings import PaperSettings


class Vae(Protocol):
    """What the loop needs of a stage: a module of F models whose loss comes as named terms per row."""

    n_latents: int

    def terms(self, rows: Mapping[str, Tensor], noise: Tensor, mask: Tensor | None) -> dict[str, Tensor]:
        """Nats per row, (F, B): "reconstruction" and "kl"; `noise` is standard normal (F, n_latents, B)."""

    def train(self, mode: bool = True) -> Vae:
        """Normalise by the batch (True) or by the running statistics (False)."""

    def to(self, device: torch.device) -> object:
        """Move parameters and running statistics to a device, in place."""

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Everything that is learned; observation variances shared by all rows are called "log_variance"."""

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and running statistics by name, each (F, ...)."""

    def load_state_dict(self, state: dict[str, Tensor]) -> object:
        """Take parameters and running statistics."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run of the loop leaves beside the module, which then holds every model's best state.

    history : "train_loss", "validation_kl", ...: (F, epochs) weighted means per epoch, in nats per row; the
        KL weight in "train_loss" is the one of the moment, in "validation_loss" always beta
    best_epoch : (F,) the kept epoch, counted from 1
    """

    history: dict[str, np.ndarray]
    best_epoch: np.ndarray


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, so that sums have one order whatever n_jobs; restore the setting after."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def generators_for(seeds: Sequence[int]) -> list[torch.Generator]:
    """One private stream of random numbers per model."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def kl_weight(step: int, n_steps: int, beta: float, warmup: float) -> float:
    """The weight of the KL term at a step (from 0): beta after a linear rise over the first `warmup` share.

    >>> [kl_weight(step, 100, 2.0, 0.5) for step in (0, 25, 50, 99)]
    [0.0, 1.0, 2.0, 2.0]
    """
    rise = warmup * n_steps
    return beta if step >= rise else beta * step / rise


def n_epochs(n_rows: int, settings: PaperSettings) -> int:
    """The epochs asked for, or as many as reach `min_steps` optimiser steps."""
    per_epoch = len(batch_bounds(n_rows, settings.batch_size)) - 1
    return max(settings.epochs, math.ceil(settings.min_steps / per_epoch))


def check_row_sets(train: Sequence[np.ndarray], validation: Sequence[np.ndarray], stage: str) -> None:
    """Refuse models without enough rows to train on or without rows to validate on."""
    if len(train) != len(validation) or not train:
        raise TrainingError(
            f"The {stage} stage got {len(train)} sets of training rows and {len(validation)} of validation "
            "rows: give one of each per model."
        )
    for f, (rows, held_out) in enumerate(zip(train, validation, strict=True)):
        if len(rows) < 2 or len(held_out) < 1:
            raise TrainingError(
                f"The {stage} stage cannot train model {f}: it has {len(rows)} training and {len(held_out)} "
                "validation rows, and needs at least 2 and 1. Give it more rows."
            )


def _normals(n_latents: int, generators: Sequence[torch.Generator], rows: Sequence[Tensor]) -> Tensor:
    """Standard normal noise (F, n_latents, N), model f's from generator f, zero on padding."""
    longest = max(len(row) for row in rows)
    noise = torch.zeros(len(rows), n_latents, longest, dtype=PRECISION)
    for f, generator in enumerate(generators):
        n = len(rows[f])
        noise[f, :, :n] = torch.randn(n_latents, n, generator=generator, dtype=PRECISION)
    return noise


def _weighted_means(terms: dict[str, Tensor], weights: Tensor, beta: float) -> dict[str, Tensor]:
    """Each term averaged over its model's rows, (F,), and "loss" = reconstruction + beta * kl."""
    share = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    means = {name: (term * share).sum(-1) for name, term in terms.items()}
    means["loss"] = means["reconstruction"] + beta * means["kl"]
    return means


@dataclass(frozen=True, slots=True)
class _Task:
    """Everything that stays the same from epoch to epoch."""

    vae: Vae
    rows: Rows
    train: list[Tensor]
    settings: PaperSettings
    generators: list[torch.Generator]
    stage: str
    names: Mapping[str, Sequence[str]]


def train_models(
    vae: Vae,
    data: Mapping[str, Tensor],
    weights: Tensor,
    train: list[Tensor],
    validation: list[Tensor],
    settings: PaperSettings,
    generators: list[torch.Generator],
    stage: str,
    names: Mapping[str, Sequence[str]],
    report: Callable[[str, int, int], None] | None = None,
) -> Trained:
    """`train_on` with rows in memory: data : name -> (F, c, n) standardised columns; weights : (n,)."""
    rows = MemoryRows(data, weights)
    return train_on(rows, vae, train, validation, settings, generators, stage, names, report)


def train_on(
    rows: Rows,
    vae: Vae,
    train: list[Tensor],
    validation: list[Tensor],
    settings: PaperSettings,
    generators: list[torch.Generator],
    stage: str,
    names: Mapping[str, Sequence[str]],
    report: Callable[[str, int, int], None] | None = None,
) -> Trained:
    """Train F models side by side and leave each at the epoch of its best validation reconstruction.

    train, validation : F index vectors into the rows, whose lengths give every model the same number of
    steps per epoch. Epochs inside the KL warm-up are not candidates for the best: their reconstruction
    was bought with an unpaid KL. The steps are taken on the device of the settings, with random numbers
    drawn on the CPU, so that a seed means the same everywhere; the models come back to the CPU.
    """
    device = device_named(settings.device)
    vae.to(device)
    task = _Task(vae, rows.to(device), train, settings, generators, stage, names)
    epochs = n_epochs(max(len(own) for own in train), settings)
    held_out = RowSets.stack(validation)
    held_out_rows, held_out_weights = task.rows.take(held_out), task.rows.weights_of(held_out)
    held_out_noise = _normals(vae.n_latents, generators, validation).to(device)
    optimiser = _optimiser(vae, settings)

    best = torch.full((len(train),), torch.inf, dtype=PRECISION, device=device)
    best_epoch = torch.zeros(len(train), dtype=torch.int64, device=device)
    best_state = {name: value.clone() for name, value in vae.state_dict().items()}
    log: dict[str, list[Tensor]] = {}
    for epoch in range(1, epochs + 1):
        means = _run_epoch(task, optimiser, epoch, epochs)
        vae.train(False)
        with torch.no_grad():
            terms = vae.terms(held_out_rows, held_out_noise, None)
            checked = _weighted_means(terms, held_out_weights, settings.beta)
        _stop_if_not_finite(checked, task, epoch, "validation")
        for name, value in means.items():
            log.setdefault(f"train_{name}", []).append(value)
        for name, value in checked.items():
            log.setdefault(f"validation_{name}", []).append(value)

        if epoch > settings.warmup * epochs:
            better = checked["reconstruction"] < best
            best = torch.where(better, checked["reconstruction"], best)
            best_epoch[better] = epoch
            for name, value in vae.state_dict().items():
                best_state[name][better] = value[better]
        if report is not None:
            report(stage, epoch, epochs)
    vae.load_state_dict(best_state)
    vae.train(False)
    vae.to(CPU)
    history = {name: torch.stack(values, dim=1).cpu().numpy() for name, values in log.items()}
    return Trained(history, best_epoch.cpu().numpy())


def _optimiser(vae: Vae, settings: PaperSettings) -> torch.optim.Optimizer:
    """Adam, the observation variances with a learning rate of their own.

    Not the fused one: it rounds the last elements of a tensor differently from the others, so that a model's
    fit would depend on its place among the models.
    """
    variances = [p for name, p in vae.named_parameters() if name == "log_variance"]
    others = [p for name, p in vae.named_parameters() if name != "log_variance"]
    rates = [
        {"params": others, "lr": settings.learning_rate},
        {"params": variances, "lr": settings.variance_learning_rate},
    ]
    return torch.optim.Adam(rates, foreach=False, fused=False)


def mean_over_rows(
    per_row: Callable[[dict[str, Tensor]], Tensor], rows: Rows, chosen: list[Tensor]
) -> np.ndarray:
    """Weighted mean over each model's chosen rows of a quantity (F, d, B) of them: (F, d), on the CPU."""
    sets = RowSets.stack(chosen)
    w = rows.weights_of(sets)
    total = torch.zeros((), dtype=PRECISION)
    with torch.no_grad():
        for begin in range(0, w.shape[1], ROWS_AT_ONCE):
            part = RowSets(sets.index[:, begin : begin + ROWS_AT_ONCE], None)
            total = total + (per_row(rows.take(part)) * w[:, None, begin : begin + ROWS_AT_ONCE]).sum(-1)
    return (total / w.sum(-1, keepdim=True)).numpy()


def _run_epoch(task: _Task, optimiser: torch.optim.Optimizer, epoch: int, epochs: int) -> dict[str, Tensor]:
    """One pass over every model's own permutation of its rows; the mean of each term, (F,)."""
    shuffled = [
        rows[torch.randperm(len(rows), generator=g)]
        for rows, g in zip(task.train, task.generators, strict=True)
    ]
    bounds = batch_bounds(min(len(rows) for rows in shuffled), task.settings.batch_size)
    bounds[-1] = max(len(rows) for rows in shuffled)
    n_steps = len(bounds) - 1
    draw = partial(_normals, task.vae.n_latents, task.generators)

    task.vae.train(True)
    sums: dict[str, Tensor] = {}
    for step, batch in enumerate(task.rows.batches(shuffled, bounds, draw)):
        done = (epoch - 1) * n_steps + step
        beta = kl_weight(done, epochs * n_steps, task.settings.beta, task.settings.warmup)
        terms = task.vae.terms(batch.columns, batch.noise, batch.mask)
        means = _weighted_means(terms, batch.weights, beta)
        _stop_if_not_finite(means, task, epoch, "training")
        optimiser.zero_grad()
        means["loss"].sum().backward()
        optimiser.step()
        for name, value in means.items():
            sums[name] = sums.get(name, 0.0) + batch.share * value.detach()
    return sums


def _stop_if_not_finite(means: dict[str, Tensor], task: _Task, epoch: int, rows: str) -> None:
    """Raise at the first loss that is not finite, naming the term and the most extreme input column.

    Finite in single precision, that is, in which a fit is stored.
    """
    if bool(torch.isfinite(means["loss"].float()).all()):
        return
    term = next(name for name, value in means.items() if not bool(torch.isfinite(value.float()).all()))
    peaks = (largest_column(block, task.names) for block in task.rows.blocks())
    column, value = max(peaks, key=itemgetter(1))
    raise TrainingError(
        f"The {task.stage} stage stopped in epoch {epoch}: the {term} term on the {rows} rows is not finite. "
        f"The largest standardised value, {value:.3g}, is in column {column!r}: look for wrong entries "
        "there, or transform the column (a logarithm, winsorising) before fitting."
    )


def largest_column(data: Mapping[str, Tensor], names: Mapping[str, Sequence[str]]) -> tuple[str, float]:
    """The input column that holds the largest absolute value, and that value; NaN counts as infinite."""
    worst, where = -1.0, ""
    for key, x in data.items():
        peak = torch.nan_to_num(x.abs(), nan=torch.inf, posinf=torch.inf).amax(dim=(0, 2))
        for j, value in enumerate(peak.tolist()):
            if value > worst:
                worst = value
                where = names[key][j] if key in names else f"{key}[{j}]"
    return where, worst
