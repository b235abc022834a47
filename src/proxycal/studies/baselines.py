"""Baselines: proxy-only, environment-only, TEDVAE, and an oracle, matching that knows A.

A is not observed, so a baseline infers its groups: it cuts its own residual by a two-component Gaussian
mixture, fitted on the fitted rows and kept on all others. Biases here are upward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.match import match_effect, match_new
from proxycal.methods.paper.groups import split
from proxycal.methods.parts import hold_out
from proxycal.studies.protocol import Answer, outcome_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.methods.paper.groups import Split
    from proxycal.studies.protocol import Fold, Truth
    from proxycal.studies.tedvae import TedvaeSettings

K_MATCH = 5
VALIDATION = 1 / 9


@dataclass(frozen=True, slots=True)
class Groups:
    """A regression frozen on the fitted rows and its inferred groups, for all n rows of a fold.

    fitted_y, residual : (n,) prediction of the regression, and y less it. rule : the cut of the residual.
    """

    fitted_y: np.ndarray
    residual: np.ndarray
    rule: Split

    @property
    def biased(self) -> np.ndarray:
        """(n,) the rows on the upper side of the cut."""
        return self.rule.biased(self.residual)

    @property
    def p_biased(self) -> np.ndarray:
        """(n,) how likely each row is on the upper side."""
        return self.rule.probability(self.residual)


def regress(y: np.ndarray, X: np.ndarray, fitted: np.ndarray) -> Groups:
    """Least squares of y (n,) on X (n, c), and the groups of its residual, both from the fitted rows alone.

    >>> rng = np.random.default_rng(0)
    >>> x, a = rng.normal(size=(200, 1)), np.arange(200) % 2
    >>> groups = regress(x[:, 0] + 9.0 * a + 0.1 * rng.normal(size=200), x, np.arange(200))
    >>> bool((groups.biased == (a == 1)).all())
    True
    """
    design = np.column_stack([np.ones(len(X)), X])
    beta = np.linalg.lstsq(design[fitted], y[fitted], rcond=None)[0]
    fitted_y = design @ beta
    residual = y - fitted_y
    return Groups(fitted_y, residual, split(residual[fitted], residual[fitted], "mixture"))


def proxy_only(folds: Sequence[Fold]) -> list[Answer]:
    """y_obs on P; alpha = difference of the mean residuals between the groups."""
    answers = []
    for fold in folds:
        groups = regress(outcome_of(fold), fold.arrays.P, fold.fitted)
        answers.append(_answer(fold, groups, contrast(groups.residual, groups.biased, fold.fitted)))
    return answers


def environment_only(folds: Sequence[Fold]) -> list[Answer]:
    """y_obs on E; alpha = the difference between the groups that the regression attributes to E."""
    answers = []
    for fold in folds:
        groups = regress(outcome_of(fold), fold.arrays.E, fold.fitted)
        answers.append(_answer(fold, groups, contrast(groups.fitted_y, groups.biased, fold.fitted)))
    return answers


def tedvae(
    folds: Sequence[Fold], settings: TedvaeSettings, seed: int, treatment: str | None = None
) -> list[Answer]:
    """TEDVAE with x = (E, P) and the treatment = the groups of the residual of y_obs on x.

    treatment : a two-valued environment column to be the treatment instead, which then leaves x. Its effect
    is not the bias; it is what TEDVAE is made to estimate where a table has such a column.
    """
    # Torch is loaded only where it is needed.
    from proxycal.studies.tedvae import fit_tedvae

    groups = [
        regress(outcome_of(fold), np.column_stack([fold.arrays.E, fold.arrays.P]), fold.fitted)
        for fold in folds
    ]
    held = [_validated(fold, seed) for fold in folds]
    at = [_columns_of(fold, treatment) for fold in folds]
    fits = fit_tedvae(
        x=[np.column_stack([fold.arrays.E[:, ~k], fold.arrays.P]) for fold, k in zip(folds, at, strict=True)],
        t=[
            (fold.arrays.E[:, k] > 0.0).any(axis=1).astype(float) if treatment else own.biased.astype(float)
            for fold, own, k in zip(folds, groups, at, strict=True)
        ],
        y=outcome_of(folds[0]),
        train=[kept for kept, _ in held],
        validation=[out for _, out in held],
        settings=settings,
        seed=seed,
    )
    return [_answer(fold, own, fit.alpha) for fold, own, fit in zip(folds, groups, fits, strict=True)]


def _columns_of(fold: Fold, column: str | None) -> np.ndarray:
    """Which encoded environment columns a column of the table became, (q,) bool."""
    return np.array([source == column for source in fold.arrays.environment_source])


def oracle(folds: Sequence[Fold], truth: Truth) -> list[Answer]:
    """Matching in (P, E), all that anyone sees of the content, with the true A: the limit of matching.

    Where the outcome has an atom, as earnings of zero in JOBS, its shape tells more than matching can use.
    """
    answers = []
    biased = truth.a == 1.0
    for fold in folds:
        y, X, rows = outcome_of(fold), np.column_stack([fold.arrays.P, fold.arrays.E]), fold.fitted
        matched = match_effect(y[rows], X[rows], biased[rows], K_MATCH, fold.arrays.weights[rows])
        answers.append(
            Answer(
                alpha=matched.alpha,
                p_biased=truth.a,
                y_cal=y - matched.alpha * truth.a,
                tau=match_new(matched.controls, y, X, biased).tau,
            )
        )
    return answers


def contrast(values: np.ndarray, biased: np.ndarray, rows: np.ndarray) -> float:
    """Mean of the biased less mean of the others, over these rows.

    >>> contrast(np.array([1.0, 5.0, 9.0]), np.array([False, True, True]), np.arange(3))
    6.0
    """
    high, low = values[rows[biased[rows]]], values[rows[~biased[rows]]]
    return float(high.mean() - low.mean())


def _validated(fold: Fold, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the fitted rows: for training, and a ninth that chooses the epoch."""
    own, cluster = fold.fitted, fold.arrays.cluster
    kept, out = hold_out(len(own), VALIDATION, seed, None if cluster is None else cluster[own])
    return own[kept], own[out]


def _answer(fold: Fold, groups: Groups, alpha: float) -> Answer:
    y = outcome_of(fold)
    return Answer(alpha=alpha, p_biased=groups.p_biased, y_cal=y - alpha * groups.p_biased)
