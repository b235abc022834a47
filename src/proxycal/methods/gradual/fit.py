"""The gradual method on the arrays of a table, and its record.

    y = content + b(E) + noise       b in any direction of E that content does not explain

Everything inside speaks of over-reporting, as in the other methods: an outcome that is under-reported is
turned first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import numpy as np
from scipy.linalg import block_diag
from scipy.special import ndtr

from proxycal.effect.row_truth import RowBias
from proxycal.errors import SettingsError, TableError
from proxycal.methods.gradual.answer import GradualAnswer, answer_pieces
from proxycal.methods.gradual.basis import TRUSTED, fit_basis, splines_within
from proxycal.methods.gradual.rows import OnePiece, Rows
from proxycal.methods.gradual.surface import Surface
from proxycal.methods.gradual.tables import bias_shape, by_level
from proxycal.methods.gradual.thresholds import CLUSTERS_PER_COLUMN, MOST_SLOPES, UNITS_PER_COLUMN
from proxycal.methods.gradual.wording import claim, findings
from proxycal.methods.moments.estimate import fit_moments
from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import outcome_of
from proxycal.methods.repeated import MOST, in_chunks, repeated, stands_for_more
from proxycal.result import BiasShape, Details, Estimate, Finding, Prediction, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Basis, Kind
    from proxycal.methods.gradual.rows import Pieces
    from proxycal.result import Verdict
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]

_ROWS = ("gradual", "moments")
# A record with `+`.
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradualFit:
    """A bias that grades with the environment, and what new rows need of it.

    sign : +1 for over-, -1 for under-reporting; level : of all intervals
    claim : what follows the size where a bias was found: relative to what, and under which assumption
    gradual, moments : estimates; levels : b by level of each category, and from end to end of each number
    shapes : b along each environment column
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
    shapes: tuple[BiasShape, ...]
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
        return Details(claim=self.claim, shapes=self.shapes)

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
        values |= {"surface": surface, "shapes": [[s.column, s.levels, s.relative_to] for s in self.shapes]}
        return values, tensors | pack({f"shape_{i}": _arrays_of(s) for i, s in enumerate(self.shapes)})

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
            shapes=tuple(
                BiasShape(
                    column=str(column),
                    levels=None if names is None else tuple(names),
                    relative_to=str(reference),
                    **unpack(tensors, f"shape_{i}"),
                )
                for i, (column, names, reference) in enumerate(values.get("shapes", ()))
            ),
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
    clusters = _count_clusters(arrays)
    units = clusters or int(arrays.stand_for)
    if arrays.stand_for <= MOST:
        arrays = repeated(arrays)
    rows = rows_of(settings.sign, arrays)
    # Rows of a cluster count together, whatever each stands for.
    whole = arrays.cluster is not None or not stands_for_more(arrays)
    pieces = OnePiece(rows) if whole else WrittenOut(arrays, settings.sign)
    return conclude(arrays, rows, pieces, units, clusters, settings)


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """Rows that stand for more than can be written out at once, some of them at a time."""

    arrays: Arrays
    sign: float

    def add_up(self, function: Callable[[Rows], R]) -> R:
        """The sum of what the function makes of the rows, each as often as it stands for."""
        return reduce(add, (function(rows_of(self.sign, part)) for part in in_chunks(self.arrays)))


def fit_gradual_row(arrays: Arrays, settings: Settings) -> GradualFit:
    """The same for a row of another method's summary: its size, verdict and findings, and nothing beside."""
    clusters = _count_clusters(arrays)
    units = clusters or int(arrays.stand_for)
    if arrays.stand_for <= MOST:
        arrays = repeated(arrays)
    rows = rows_of(settings.sign, arrays)
    answer, kinds = _answer(arrays, rows, OnePiece(rows), units, settings, shaped=False)
    missing = Estimate.missing("moments", "")
    return _record(answer, kinds, clusters, settings, missing, math.nan, (), ())


def _count_clusters(arrays: Arrays) -> int:
    return 0 if arrays.cluster is None else len(np.unique(arrays.cluster))


def conclude(
    arrays: Arrays, sample: Rows, pieces: Pieces, units: int, clusters: int, settings: Settings
) -> GradualFit:
    """The fit of a table in pieces.

    arrays, sample : its rows, or some that stand for them. units : independent rows or clusters of the
    table; clusters : how many there are, 0 without any.
    """
    answer, kinds = _answer(arrays, sample, pieces, units, settings)
    w, level = arrays.weights, settings.level
    moments = fit_moments(sample.outcome, arrays.P, arrays.E, w, arrays.cluster, level)
    share = math.nan
    if answer.surface is not None:
        total = pieces.add_up(partial(_shares, answer.surface))
        share = float(total[0] / total[1])
    own = Estimate.missing("moments", moments.note)
    if math.isfinite(moments.alpha):
        own = Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note)
    levels = tuple(row for shape in answer.shapes for row in by_level(shape, arrays))
    along = tuple(bias_shape(shape, arrays) for shape in answer.shapes)
    return _record(answer, kinds, clusters, settings, own, share, levels, along)


def _answer(
    arrays: Arrays, sample: Rows, pieces: Pieces, units: int, settings: Settings, shaped: bool = True
) -> tuple[GradualAnswer, dict[str, Kind]]:
    """The answer, and the form of b along each environment column."""
    pairs = interactions(settings.effect, sample.columns)
    kinds, basis = choose_basis(arrays, sample.columns, units, pairs)
    answer = answer_pieces(
        sample,
        pieces,
        basis,
        proxy_names=arrays.proxy_names,
        level=settings.level,
        shaped=shaped,
    )
    return answer, kinds


def _record(
    answer: GradualAnswer,
    kinds: Mapping[str, Kind],
    clusters: int,
    settings: Settings,
    moments: Estimate,
    share: float,
    levels: tuple[Estimate, ...],
    along: tuple[BiasShape, ...],
) -> GradualFit:
    return GradualFit(
        sign=settings.sign,
        level=settings.level,
        verdict=answer.verdict,
        findings=findings(answer, kinds, clusters),
        claim=claim(answer),
        share_biased=share,
        gradual=_size(answer),
        moments=moments,
        levels=levels,
        shapes=along,
        surface=answer.surface,
    )


def _shares(surface: Surface, rows: Rows) -> Array:
    """(2,) sums over rows: of the weighted probability of a bias in the stated direction, of weights."""
    own = surface.bias(rows.columns, 0.5)
    return np.array([rows.mass @ p_positive(own.bias, own.se), rows.mass.sum()])


def rows_of(sign: float, arrays: Arrays) -> Rows:
    """The rows as the method sees them: the bias upward."""
    return Rows(
        sign * outcome_of(arrays),
        arrays.P,
        environment_columns(arrays),
        arrays.weights,
        arrays.cluster,
        None if arrays.truth is None else sign * arrays.truth,
    )


def environment_columns(arrays: Arrays) -> dict[str, Array]:
    """Environment columns by name: codes of categories, numbers, and 0/1 for a number that was missing.

    Also, under TRUSTED, which rows are trusted.
    """
    columns: dict[str, Array] = {}
    named = zip(arrays.environment_names, arrays.environment_source, arrays.E.T, strict=True)
    for name, source, values in named:
        columns[source if source in arrays.levels else name] = arrays.levels.get(source, values)
    if TRUSTED in columns:
        raise TableError(f"environment column {TRUSTED!r} has a name that this method uses: rename it")
    if arrays.trusted is not None:
        columns[TRUSTED] = arrays.trusted.astype(float)
    return columns


def interactions(effect: str, columns: Mapping[str, Array]) -> list[tuple[str, str]]:
    """Pairs of columns whose effects on the bias depend on each other: "by:COLUMN" is it with others."""
    if effect == "constant":
        return []
    column = effect.removeprefix("by:")
    others = [name for name in columns if name not in (column, TRUSTED)]
    if column not in columns:
        raise SettingsError(
            f"effect='{effect}': '{column}' is not an environment column; use one of {', '.join(others)}"
        )
    return [(column, other) for other in others]


def choose_basis(
    arrays: Arrays, columns: Mapping[str, Array], units: int, pairs: Sequence[tuple[str, str]] = ()
) -> tuple[dict[str, Kind], Basis]:
    """Splines for numbers where the rows or clusters allow for their coefficients, else straight lines."""
    categories = set(arrays.levels) | {
        name
        for name, is_category in zip(arrays.environment_names, arrays.categorical, strict=True)
        if is_category
    }
    bent: dict[str, Kind] = {
        name: "category" if name in categories else "spline" for name in columns if name != TRUSTED
    }
    least = UNITS_PER_COLUMN if arrays.cluster is None else CLUSTERS_PER_COLUMN
    most = min(units / least, MOST_SLOPES / (arrays.P.shape[1] + 1))
    numbers = [columns[name] for name, kind in bent.items() if kind == "spline"]
    # Trusted rows may leave fewer columns.
    if TRUSTED in columns or splines_within(numbers, most, arrays.weights, units):
        basis = fit_basis(columns, bent, pairs, arrays.weights, units)
        if len(basis.keep) <= most:
            return bent, basis
    straight: dict[str, Kind] = {
        name: "category" if kind == "category" else "linear" for name, kind in bent.items()
    }
    return straight, fit_basis(columns, straight, pairs, arrays.weights, units)


def _size(answer: GradualAnswer) -> Estimate:
    if answer.anchor is None:
        return Estimate.missing("gradual", answer.sentence)
    note = f"mean size over the other rows, relative to {answer.anchor.kind}"
    return Estimate("gradual", answer.alpha, answer.alpha_se, *answer.alpha_interval, note)


def _arrays_of(shape: BiasShape) -> dict[str, np.ndarray]:
    return {name: getattr(shape, name) for name in ("at", "bias", "low", "high")}
