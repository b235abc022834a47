"""The candidates: ways to predict the truth from a report, each learned from the rows whose truth is shown.

report, offset, linear, ridge        simple: the best of them is the base to return to
exact, gradual                       what the other methods say without any truth, and gradual's level from it
two errors, graded errors, three errors, validated errors      mixtures of reporting errors
trees, ridge on answers              corrections of the first mixture, on all answers above as features
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import RidgeCV

from proxycal.methods.packing import pack, unpack
from proxycal.methods.validated.error_mixture import ErrorMixture, fit_all_rows, fit_validated_rows
from proxycal.methods.validated.taught import Taught
from proxycal.methods.validated.trees import Trees, grow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.methods.validated.error_mixture import Posterior
    from proxycal.methods.validated.rows import Rows

    Array = NDArray[np.float64]

SIMPLE = ("report", "offset", "linear", "ridge")
MIXTURES = {"two errors": (2, False), "graded errors": (2, True), "three errors": (3, False)}
FIRST, VALIDATED = "two errors", "validated errors"
ON_ANSWERS, TREES = "ridge on answers", "trees"
# What a candidate counts before any evidence, 1 for the others: all rows speak for the exact fit, not only
# validated ones; graded errors have two errors as a part.
PRIOR = {"exact": 6.0, "graded errors": 2.0}
# Trees need this many validated rows to learn from.
ROWS_FOR_TREES = 48
# What sums in another order may differ by, of the size of the numbers.
ROUNDING = 1e-12
STRENGTHS = np.logspace(-2.0, 4.0, 13)
STRENGTHS_ON_ANSWERS = np.logspace(-1.0, 5.0, 13)


@dataclass(frozen=True, slots=True)
class Answers:
    """What k candidates say of n rows: values (n, k), and from the first mixture sd, p, content (n,)."""

    values: Array
    sd: Array
    p: Array
    content: Array


@dataclass(frozen=True, slots=True)
class Candidates:
    """Fitted candidates. `given` are the answers (n, g) of other methods, in the order of `given_names`.

    centre, scale : (2, w) of reports, features, marks and given answers; and of the features on answers.
    taught : the levels that the validated rows have. offset : mean error of the reports.
    linear, ridge : coefficients of the error, constant first. levels : (g,) what the
    truth adds to each given answer on average.
    """

    given_names: tuple[str, ...]
    taught: Taught
    features: Array
    answer_features: Array
    offset: float
    linear: Array
    ridge: Array
    levels: Array
    mixtures: dict[str, ErrorMixture]
    on_answers: Array
    trees: Trees | None

    @property
    def names(self) -> tuple[str, ...]:
        """The candidates in the order of the columns of `Answers.values`."""
        last = (ON_ANSWERS,) if self.trees is None else (ON_ANSWERS, TREES)
        return (*SIMPLE, *self.given_names, *self.mixtures, *last)

    @property
    def prior(self) -> Array:
        """What each candidate counts before any evidence, (k,)."""
        return np.array([PRIOR.get(name, 1.0) for name in self.names])

    @property
    def one_kind(self) -> bool:
        """Whether the first mixture has one kind of error, so that nobody is simply unbiased."""
        return len(self.mixtures[FIRST].variance) == 1

    def predict(self, rows: Rows, given: Array) -> Answers:
        """Answers for rows; their own truth is not looked at."""
        rows = replace(rows, x=self.taught.pooled(rows.x))
        d = _standard(_plain_features(rows), self.features)
        posteriors = {name: mixture.posterior(rows) for name, mixture in self.mixtures.items()}
        first = posteriors[FIRST]
        f = _standard(_answer_features(rows, given, posteriors), self.answer_features)
        columns = [
            rows.y,
            rows.y - self.offset,
            rows.y + _with_constant(d[:, : 1 + rows.x.shape[1]]) @ self.linear,
            rows.y + _with_constant(d) @ self.ridge,
            *(given + self.levels).T,
            *(posterior.mean for posterior in posteriors.values()),
            first.mean + _with_constant(f) @ self.on_answers,
        ]
        if self.trees is not None:
            columns.append(first.mean + self.trees.predict(f))
        return Answers(np.column_stack(columns), first.sd, first.p, first.content)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and named arrays that rebuild the candidates."""
        own = {name: getattr(self, name) for name in _ARRAYS}
        parts = {"own": own, "taught": self.taught.state()} | {
            f"mixture {i}": m.state() for i, m in enumerate(self.mixtures.values())
        }
        if self.trees is not None:
            parts["trees"] = self.trees.state()
        values = {
            "given": list(self.given_names),
            "offset": self.offset,
            "mixtures": list(self.mixtures),
            "trees": self.trees is not None,
        }
        return values, pack(parts)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Candidates:
        """The reverse of `state`."""
        own: dict[str, Any] = unpack(tensors, "own")
        return cls(
            given_names=tuple(values["given"]),
            taught=Taught.from_state(unpack(tensors, "taught")),
            offset=float(values["offset"]),
            mixtures={
                name: ErrorMixture.from_state(unpack(tensors, f"mixture {i}"))
                for i, name in enumerate(values["mixtures"])
            },
            trees=Trees.from_state(unpack(tensors, "trees")) if values["trees"] else None,
            **{name: own[name] for name in _ARRAYS},
        )


_ARRAYS = ("features", "answer_features", "linear", "ridge", "levels", "on_answers")


def fit_candidates(
    rows: Rows, given: Array, names: tuple[str, ...], seed: int, start: Candidates | None = None
) -> Candidates:
    """Learn every candidate from the rows whose truth is shown; `given` (n, g) are answers by `names`.

    start : candidates from nearly the same rows, whose kinds are kept.
    """
    known = rows.known
    taught = Taught.by(rows.x[known], rows.block)
    rows = replace(rows, x=taught.pooled(rows.x))
    with_trees = known.sum() >= ROWS_FOR_TREES if start is None else start.trees is not None
    truth, y = rows.truth[known], rows.y[known]
    plain = _plain_features(rows)
    features = _scales(plain, _sizes(rows, 0, 0))
    d = _standard(plain, features)[known]
    mixtures = {
        name: fit_all_rows(rows, *how, None if start is None else start.mixtures[name])
        for name, how in MIXTURES.items()
    }
    mixtures[VALIDATED] = fit_validated_rows(rows)
    posteriors = {name: mixture.posterior(rows) for name, mixture in mixtures.items()}
    base = posteriors[FIRST].mean[known]
    answers = _answer_features(rows, given, posteriors)
    answer_features = _scales(answers, _sizes(rows, len(names), len(posteriors)))
    f = _standard(answers, answer_features)[known]
    return Candidates(
        given_names=names,
        taught=taught,
        features=features,
        answer_features=answer_features,
        offset=float(np.mean(y - truth)),
        linear=_regression(d[:, : 1 + rows.x.shape[1]], truth - y),
        ridge=_ridge(d, truth - y, STRENGTHS),
        levels=np.array(
            [
                np.mean(truth - column) if name == "gradual" else 0.0
                for name, column in zip(names, given[known].T, strict=True)
            ]
        ),
        mixtures=mixtures,
        on_answers=_ridge(f, truth - base, STRENGTHS_ON_ANSWERS),
        trees=grow(f, truth - base, seed) if with_trees else None,
    )


def _plain_features(rows: Rows) -> Array:
    return np.column_stack([rows.y, rows.x, rows.heap])


def _answer_features(rows: Rows, given: Array, posteriors: Mapping[str, Posterior]) -> Array:
    answers = [part for own in posteriors.values() for part in (own.mean - rows.y, own.p)]
    return np.column_stack([rows.y, rows.x, rows.heap, given - rows.y[:, None], *answers])


def _sizes(rows: Rows, given: int, posteriors: int) -> Array:
    """How large the numbers of the features are: of reports and what differs from them, of all else 1."""
    top = float(np.max(np.abs(rows.y))) or 1.0
    return np.r_[top, np.ones(rows.x.shape[1] + 1), np.full(given, top), np.tile([top, 1.0], posteriors)]


def _scales(columns: Array, sizes: Array) -> Array:
    """Mean and spread of columns, (2, w). What varies by rounding alone is constant: trees would learn it.

    An answer that is the report differs from it in the last digits, which depend on the rows beside it.
    """
    sd = columns.std(axis=0)
    return np.stack([columns.mean(axis=0), np.where(sd > ROUNDING * sizes, sd, sizes)])


def _standard(columns: Array, scales: Array) -> Array:
    return np.asarray((columns - scales[0]) / scales[1])


def _with_constant(columns: Array) -> Array:
    return np.column_stack([np.ones(len(columns)), columns])


def _regression(x: Array, target: Array) -> Array:
    """Coefficients of least squares, constant first, with a prior that is worth one row.

    A direction that the rows do not contain has coefficient 0, and one that they hardly contain nearly so:
    without the prior its coefficient may be any number.
    """
    centre = x.mean(axis=0)
    centred = x - centre
    slopes = np.linalg.solve(centred.T @ centred + np.eye(x.shape[1]), centred.T @ (target - target.mean()))
    return np.r_[target.mean() - centre @ slopes, slopes]


def _ridge(x: Array, target: Array, strengths: Array) -> Array:
    """Coefficients of ridge regression, constant first; the penalty by leave-one-out."""
    fitted = RidgeCV(strengths).fit(x, target)
    return np.r_[fitted.intercept_, fitted.coef_]
