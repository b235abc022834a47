"""The gradual method on the arrays of a table, and its record.

    y = content + b(E) + noise       b in any direction of E that content does not explain

Everything inside speaks of over-reporting, as in the other methods: an outcome that is under-reported is
turned first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.special import ndtr

from proxycal.effect.row_truth import RowBias
from proxycal.errors import TableError
from proxycal.methods.gradual.answer import GradualAnswer, answer_gradual
from proxycal.methods.gradual.basis import OTHER, fit_basis
from proxycal.methods.gradual.surface import Surface
from proxycal.methods.gradual.thresholds import LISTED_LEVELS, MOST_SLOPES, UNITS_PER_COLUMN
from proxycal.methods.gradual.wording import claim, findings
from proxycal.methods.moments.estimate import fit_moments
from proxycal.methods.parts import outcome_of
from proxycal.result import Details, Estimate, Finding, Prediction, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Kind
    from proxycal.methods.gradual.shape import Shape
    from proxycal.result import Verdict
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]

_ROWS = ("gradual", "moments")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradualFit:
    """A bias that grades with the environment, and what new rows need of it.

    sign : +1 for over-, -1 for under-reporting; level : of all intervals
    claim : what follows the size where a bias was found: relative to what, and under which assumption
    gradual, moments : estimates; levels : b by level of each category, against its commonest level
    surface : None where the proxies are too few for any estimate
    """

    sign: float
    level: float
    verdict: Verdict
    findings: tuple[Finding, ...]
    claim: str
    share_biased: float
    gradual: Estimate
    moments: Estimate
    levels: tuple[Estimate, ...]
    surface: Surface | None

    @property
    def estimate(self) -> Estimate:
        """Mean size of the bias over the rows that are not the reference."""
        return self.gradual

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary."""
        match = Estimate.missing("match", "not defined: a graded bias has no unbiased rows to match with")
        return self.gradual, *self.levels, self.moments, match

    @property
    def details(self) -> Details:
        """The condition of the claim."""
        return Details(claim=self.claim)

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        y = outcome_of(arrays)
        if self.surface is None:
            none = np.zeros(arrays.n)
            return Prediction(
                y_cal=y, y_cal_low=y, y_cal_high=y, p_biased=none, shift=none, mu=y, z=none[:, None], a=none
            )
        columns = environment_columns(arrays)
        own = self.surface.bias(columns, self.level)
        content = self.surface.content(arrays.P, columns)
        low, high = (own.low, own.high) if self.sign > 0 else (-own.high, -own.low)
        return Prediction(
            y_cal=y - self.sign * own.bias,
            y_cal_low=y - high,
            y_cal_high=y - low,
            p_biased=p_positive(own.bias, own.se),
            shift=self.sign * own.bias,
            mu=self.sign * (self.surface.expected + content),
            z=self.sign * content[:, None],
            a=own.bias,
        )

    def row_bias(self, arrays: Arrays) -> RowBias:
        """Every row has the bias of its environment; the coefficients and the anchor are shared by all."""
        none = np.zeros(arrays.n)
        if self.surface is None:
            return RowBias(none, none, none[:, None][:, :0], none[:, None][:, :0])
        gap = self.surface.gap(environment_columns(arrays))
        slope = self.sign * np.column_stack([gap, np.ones(arrays.n)])
        size = self.sign * (gap @ self.surface.coefficients + self.surface.offset)
        return RowBias(none + 1.0, size, np.zeros_like(slope), slope)

    @property
    def shared_cov(self) -> np.ndarray:
        """Covariance of the coefficients of the bias, and of the anchor last."""
        if self.surface is None:
            return np.zeros((0, 0))
        return np.asarray(block_diag(self.surface.covariance, [self.surface.offset_var]))

    def effects(self, arrays: Arrays) -> NoReturn:
        """Not defined: there are no unbiased rows to compare with."""
        raise TableError(
            "method='gradual' has no local effects: every row has a bias of its own size and none is "
            "unbiased; read the column shift of calibrate()"
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        names = ("sign", "level", "verdict", "findings", "claim", "share_biased", "levels", *_ROWS)
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.surface is None:
            return values, {}
        surface, tensors = self.surface.state()
        return values | {"surface": surface}, tensors

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        return cls(
            sign=number(values["sign"]),
            level=number(values["level"]),
            verdict=values["verdict"],
            findings=tuple(Finding(**row) for row in values["findings"]),
            claim=str(values["claim"]),
            share_biased=number(values["share_biased"]),
            levels=tuple(Estimate.from_dict(row) for row in values["levels"]),
            surface=Surface.from_state(values["surface"], tensors) if "surface" in values else None,
            **{name: Estimate.from_dict(values[name]) for name in _ROWS},
        )


def p_positive(bias: Array, se: Array) -> Array:
    """Probability that the bias of a row lies in the stated direction, from its estimate and error.

    >>> p_positive(np.array([1.96, 0.0, 2.0]), np.array([1.0, 1.0, 0.0])).round(3).tolist()
    [0.975, 0.5, 1.0]
    """
    sure = np.where(bias == 0.0, 0.0, np.copysign(np.inf, bias))
    return np.asarray(ndtr(np.divide(bias, se, out=sure, where=se > 0.0)))


def fit_gradual_method(arrays: Arrays, settings: Settings) -> GradualFit:
    """Estimate b(E), then put it in the words and the records of the package."""
    sign, w = settings.sign, arrays.weights
    y = sign * outcome_of(arrays)
    columns = environment_columns(arrays)
    kinds = choose_kinds(arrays, columns)
    answer = answer_gradual(
        y,
        arrays.P,
        columns,
        kinds,
        proxy_names=arrays.proxy_names,
        weights=w,
        cluster=arrays.cluster,
        truth=None if arrays.truth is None else sign * arrays.truth,
        level=settings.level,
    )
    moments = fit_moments(y, arrays.P, arrays.E, w, arrays.cluster, settings.level)
    share = math.nan
    if answer.surface is not None:
        own = answer.surface.bias(columns, settings.level)
        share = float(np.average(p_positive(own.bias, own.se), weights=w))
    return GradualFit(
        sign=sign,
        level=settings.level,
        verdict=answer.verdict,
        findings=findings(answer, kinds, 0 if arrays.cluster is None else len(np.unique(arrays.cluster))),
        claim=claim(answer),
        share_biased=share,
        gradual=_size(answer),
        moments=(
            Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note)
            if math.isfinite(moments.alpha)
            else Estimate.missing("moments", moments.note)
        ),
        levels=tuple(row for shape in answer.shapes for row in _by_level(shape, arrays)),
        surface=answer.surface,
    )


def environment_columns(arrays: Arrays) -> dict[str, Array]:
    """Environment columns by name: codes of categories, numbers, and 0/1 for a number that was missing."""
    columns: dict[str, Array] = {}
    named = zip(arrays.environment_names, arrays.environment_source, arrays.E.T, strict=True)
    for name, source, values in named:
        columns[source if source in arrays.levels else name] = arrays.levels.get(source, values)
    return columns


def choose_kinds(arrays: Arrays, columns: dict[str, Array]) -> dict[str, Kind]:
    """Splines for numbers where the rows allow for their coefficients, else straight lines."""
    categories = set(arrays.levels) | {
        name
        for name, is_category in zip(arrays.environment_names, arrays.categorical, strict=True)
        if is_category
    }
    bent: dict[str, Kind] = {name: "category" if name in categories else "spline" for name in columns}
    units = arrays.n if arrays.cluster is None else len(np.unique(arrays.cluster))
    width = len(fit_basis(columns, bent, (), arrays.weights, units).keep)
    if width * UNITS_PER_COLUMN <= units and width * (arrays.P.shape[1] + 1) <= MOST_SLOPES:
        return bent
    return {name: "category" if kind == "category" else "linear" for name, kind in bent.items()}


def _size(answer: GradualAnswer) -> Estimate:
    if answer.anchor is None:
        return Estimate.missing("gradual", answer.sentence)
    note = f"mean size over the other rows, relative to {answer.anchor.kind}"
    return Estimate("gradual", answer.alpha, answer.alpha_se, *answer.alpha_interval, note)


def _by_level(shape: Shape, arrays: Arrays) -> Iterator[Estimate]:
    """The bias of each level of a category against its commonest one; nothing for many levels."""
    if shape.column not in arrays.level_names or len(shape.at) > LISTED_LEVELS:
        return
    names = arrays.level_names[shape.column]
    first, *others = ["rare levels" if code == OTHER else names[int(code)] for code in shape.at]
    for name, bias, se, low, high in zip(
        others, shape.bias[1:], shape.se[1:], shape.low[1:], shape.high[1:], strict=True
    ):
        yield Estimate(
            f"gradual, {shape.column}={name}",
            float(bias),
            float(se),
            float(low),
            float(high),
            f"against {shape.column}={first}",
        )
