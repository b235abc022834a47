"""The paper's protocol: ten folds by unit, every model refitted per fold, frozen on held-out rows.

    fold f:  nine tenths of the units -> encoder, method (a ninth of them validates: 80/10/10)
             one tenth                -> answers of the frozen fit, put beside the truth

`alpha` is the estimate of the frozen fit, or, asked so, what the frozen networks of the paper's method give
when held-out rows are matched among themselves; `alpha_held_out`, where a method matches, is the mean local
effect of held-out biased rows against the fitted unbiased ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.errors import SettingsError
from proxycal.studies import metrics
from proxycal.table.encode import Encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.methods.exact.record import ExactFit
    from proxycal.methods.paper.fit import PaperFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays
    from proxycal.testing.simulation import Simulation

N_FOLDS = 10


@dataclass(frozen=True, slots=True)
class Truth:
    """What the analyst never sees: y_true (n,), a (n,) in {0, 1}, z (n, d) or None, alpha."""

    y_true: np.ndarray
    a: np.ndarray
    z: np.ndarray | None
    alpha: float


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: all n rows as its own encoder sees them, and positions of fitted and held-out rows."""

    arrays: Arrays
    fitted: np.ndarray
    held_out: np.ndarray


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method says of all n rows of a fold, frozen; None where it says nothing.

    alpha : its estimate from the fitted rows. p_biased, y_cal, y_fit : (n,). z : (n, d). a : (n,).
    P_fit : (n, p) reconstructed proxies, standardised. tau : (n,) local effects against fitted rows.
    """

    alpha: float
    p_biased: np.ndarray | None = None
    y_cal: np.ndarray | None = None
    y_fit: np.ndarray | None = None
    z: np.ndarray | None = None
    a: np.ndarray | None = None
    P_fit: np.ndarray | None = None
    tau: np.ndarray | None = None
    verdict: str = ""


def truth_of(sim: Simulation, alpha: float) -> Truth:
    """The truth of a simulated or semi-synthetic table as arrays."""
    latents = [name for name in sim.truth.columns if name.startswith("z_")]
    return Truth(
        y_true=sim.truth["y_true"].to_numpy(dtype=float),
        a=sim.truth["a"].to_numpy(dtype=float),
        z=sim.truth[latents].to_numpy(dtype=float) if latents else None,
        alpha=alpha,
    )


def assign(n: int, n_folds: int, seed: int, cluster: np.ndarray | None = None) -> np.ndarray:
    """The fold (n,) of every row; units are rows, or whole clusters, spread as evenly as they allow.

    >>> np.bincount(assign(25, 10, seed=0)).tolist()
    [3, 3, 3, 3, 3, 2, 2, 2, 2, 2]
    """
    units = np.arange(n) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    sizes = np.bincount(units)
    if not 2 <= n_folds <= len(sizes):
        raise SettingsError(
            f"{n_folds} folds of {len(sizes)} units: use 2 folds or more, and at most one per unit"
        )
    order = np.random.default_rng(seed).permutation(len(sizes))
    # The largest first, each into the fold with the fewest rows: clusters of unequal size stay balanced.
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold_of, filled = np.empty(len(sizes), dtype=int), np.zeros(n_folds, dtype=int)
    for unit in order.tolist():
        fold_of[unit] = int(np.argmin(filled))
        filled[fold_of[unit]] += sizes[unit]
    return fold_of[units]


def make_folds(sim: Simulation, n_folds: int = N_FOLDS, seed: int = 0) -> list[Fold]:
    """The folds of a table, each with an encoder of its own fitted rows."""
    table: pd.DataFrame = sim.table
    cluster = None
    if sim.roles.cluster is not None:
        cluster = pd.factorize(table[sim.roles.cluster])[0]
    where = assign(len(table), n_folds, seed, cluster)
    folds = []
    for fold in range(n_folds):
        fitted, held_out = np.flatnonzero(where != fold), np.flatnonzero(where == fold)
        encoder = Encoder.fit(table.iloc[fitted], sim.roles)
        folds.append(Fold(encoder.transform(table), fitted, held_out))
    return folds


def judge(answer: Answer, fold: Fold, truth: Truth) -> dict[str, float]:
    """The metrics of one fold: alpha from the frozen fit, everything else on held-out rows."""
    out = fold.held_out
    scores = {
        "alpha": answer.alpha,
        "alpha_error": abs(answer.alpha - truth.alpha),
        "rmse_y_uncalibrated": metrics.rmse(outcome_of(fold)[out], truth.y_true[out]),
    }
    if answer.verdict:
        scores["bias_found"] = float(answer.verdict == "bias found")
    if answer.p_biased is not None:
        scores |= metrics.of_who(truth.a[out], answer.p_biased[out])
    if answer.y_cal is not None:
        scores["rmse_y_cal"] = metrics.rmse(answer.y_cal[out], truth.y_true[out])
    if answer.y_fit is not None:
        scores["rmse_y_obs"] = metrics.rmse(answer.y_fit[out], outcome_of(fold)[out])
    if answer.P_fit is not None:
        scores["rmse_proxies"] = metrics.rmse(answer.P_fit[out], fold.arrays.P[out])
    if answer.z is not None and truth.z is not None:
        scores |= metrics.of_latents("z", truth.z, answer.z, fold.fitted, out)
    if answer.a is not None:
        scores |= metrics.of_latents("a", truth.a[:, None], answer.a[:, None], fold.fitted, out)
    if answer.tau is not None and answer.p_biased is not None:
        chosen = out[answer.p_biased[out] > 0.5]
        local = answer.tau[chosen]
        scores["alpha_held_out"] = (
            float(np.mean(local)) if chosen.size and np.isfinite(local).all() else np.nan
        )
    return scores


def paper_answers(
    folds: Sequence[Fold], settings: Settings, batched: bool = True, among_held_out: bool = False
) -> list[Answer]:
    """The paper's method on every fold; batched, the networks of all folds are trained as one model.

    among_held_out : whether alpha comes from the held-out rows alone, not from the fitted ones.
    """
    # Torch is loaded only where it is needed.
    from proxycal.methods.paper.fit import fit_paper, fit_paper_together

    answers: dict[int, Answer] = {}
    for group in _alike(folds):
        parts, rows = [folds[f].arrays for f in group], [folds[f].fitted for f in group]
        if batched:
            fits = fit_paper_together(parts, rows, settings)
        else:
            fits = [fit_paper(part.take(own), settings) for part, own in zip(parts, rows, strict=True)]
        answers |= {f: _of_paper(fit, folds[f], among_held_out) for f, fit in zip(group, fits, strict=True)}
    return [answers[f] for f in range(len(folds))]


def exact_answers(folds: Sequence[Fold], settings: Settings) -> list[Answer]:
    """The exact method on every fold."""
    from proxycal.methods.exact.fit import fit_exact_method

    return [_of_exact(fit_exact_method(fold.arrays.take(fold.fitted), settings), fold) for fold in folds]


def _alike(folds: Sequence[Fold]) -> list[list[int]]:
    """Folds whose encoders made the same columns; only those can share one tensor."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for f, fold in enumerate(folds):
        names = (*fold.arrays.proxy_names, "|", *fold.arrays.environment_names)
        groups.setdefault(names, []).append(f)
    return list(groups.values())


def _of_paper(fit: PaperFit, fold: Fold, among_held_out: bool) -> Answer:
    said = fit.predict(fold.arrays)
    score = fit.split.sign * said.a
    return Answer(
        alpha=fit.alpha_among(fold.arrays.take(fold.held_out)) if among_held_out else fit.estimate.alpha,
        p_biased=said.p_biased,
        y_cal=said.y_cal,
        y_fit=fit.sign * fit.bias.reconstruct(score, said.z),
        z=said.z,
        a=said.a,
        P_fit=fit.content.reconstruct(said.z),
        tau=fit.effects(fold.arrays).tau,
        verdict=fit.verdict,
    )


def _of_exact(fit: ExactFit, fold: Fold) -> Answer:
    said = fit.predict(fold.arrays)
    return Answer(
        alpha=fit.estimate.alpha,
        p_biased=said.p_biased,
        y_cal=said.y_cal,
        y_fit=said.mu + said.shift,
        z=said.z,
        a=said.a,
        tau=None if fit.controls is None else fit.effects(fold.arrays).tau,
        verdict=fit.verdict,
    )


def outcome_of(fold: Fold) -> np.ndarray:
    """The outcome of all rows of a fold, (n,)."""
    y = fold.arrays.y
    if y is None:
        raise SettingsError("a fold needs the outcome: encode the table with it")
    return y
