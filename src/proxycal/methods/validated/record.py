"""A finished fit of validated rows: answers for rows, out of fold where validated, and its state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtr

from proxycal.methods.packing import pack, unpack
from proxycal.methods.parts import outcome_of
from proxycal.methods.registry import METHODS
from proxycal.methods.validated.candidates import Candidates
from proxycal.methods.validated.draws import draw_by_validated
from proxycal.methods.validated.gaps import GapReading
from proxycal.methods.validated.learn import answer, fold_of, row_key
from proxycal.methods.validated.rows import Rows, on_grid
from proxycal.methods.validated.taught import blocks_of
from proxycal.methods.validated.thresholds import LEAST_ROWS
from proxycal.methods.validated.totals import Design
from proxycal.result import Estimate, Finding, Gaps, Prediction, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.effect.draws import Draws
    from proxycal.effect.row_truth import RowTruth
    from proxycal.effect.totals import TotalSums
    from proxycal.methods.registry import MethodFit
    from proxycal.methods.validated.learn import RowAnswers
    from proxycal.result import Details, Effects, Verdict
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reader:
    """How arrays become the rows that candidates see.

    scales : (2, p) centre and scale of the features. heap_unit : of round reports, 0 for none.
    exact, gradual : fits of the other methods, without any truth.
    """

    scales: Array
    heap_unit: float
    exact: MethodFit
    gradual: MethodFit | None

    @property
    def names(self) -> tuple[str, ...]:
        """The other methods whose answers are candidates."""
        return ("exact",) if self.gradual is None else ("exact", "gradual")

    def rows(self, arrays: Arrays) -> Rows:
        """Reports, features and truths."""
        y = outcome_of(arrays)
        x = (np.hstack([arrays.P, arrays.E]) - self.scales[0]) / self.scales[1]
        truth = np.full(arrays.n, np.nan) if arrays.truth is None else arrays.truth
        block = blocks_of(sources_of(arrays), arrays.proxy_categorical + arrays.categorical)
        return Rows(y, x, truth, on_grid(y, self.heap_unit), block)

    def given(self, arrays: Arrays) -> Array:
        """Answers of the other methods, (n, 1 or 2)."""
        blind = replace(arrays, truth=None)
        fits = [self.exact] if self.gradual is None else [self.exact, self.gradual]
        return np.column_stack([fit.predict(blind).y_cal for fit in fits])


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedFit:
    """Candidates learned from validated rows and how they are combined, with what those rows show.

    sign : +1 for over-, -1 for under-reporting; level : of all intervals. weights : (k,) of the candidates.
    full, folds, cuts, quantile, floor : as in `Learned`. reading : what the validated errors look like.
    gaps : those errors. design : how totals are corrected by the validated rows.
    spread_power : to which power of the model's spread the errors of validated rows rise.
    """

    sign: float
    level: float
    verdict: Verdict
    findings: tuple[Finding, ...]
    estimates: tuple[Estimate, ...]
    share_biased: float
    reader: Reader
    full: Candidates
    folds: tuple[Candidates, ...]
    cuts: Array
    weights: Array
    quantile: float
    floor: float
    reading: GapReading
    gaps: Gaps
    design: Design
    spread_power: float

    @property
    def estimate(self) -> Estimate:
        """Mean bias among the biased, as validated rows show it."""
        return self.estimates[0]

    @property
    def details(self) -> Details:
        """What the exact fit knows, the gaps, and that validated rows carry the answer."""
        claim = "on average; the errors are continuous and no row is simply unbiased"
        return replace(
            self.reader.exact.details,
            gaps=self.gaps,
            by_validation=True,
            claim=claim if self.reading.shape == "continuous" else "",
        )

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones; as if none of them had been validated."""
        rows = self.reader.rows(arrays)
        own = answer(self.full, self.weights, self.floor, rows, self.reader.given(arrays))
        half = self.quantile * own.scale
        p = self._p(rows, own)
        return Prediction(
            y_cal=own.value,
            y_cal_low=own.value - half,
            y_cal_high=own.value + half,
            p_biased=p,
            shift=rows.y - own.value,
            mu=own.content,
            z=own.content[:, None],
            a=p,
        )

    def _p(self, rows: Rows, own: RowAnswers) -> Array:
        """Probability that a row is biased: by its kind of error, or by its sign where there is one kind."""
        if self.full.one_kind:
            return np.asarray(ndtr(self.sign * (rows.y - own.value) / np.maximum(own.scale, 1e-300)))
        return own.p

    def out_of_fold(self, arrays: Arrays) -> tuple[Array, Array]:
        """Answers and scales (n,), of a validated row by the candidates that were not shown its truth.

        A row that is not validated has the same answer as in `predict`.
        """
        rows, given = self.reader.rows(arrays), self.reader.given(arrays)
        own = answer(self.full, self.weights, self.floor, rows, given)
        value, scale = own.value.copy(), own.scale.copy()
        known = np.flatnonzero(rows.known)
        fold = fold_of(self.cuts, key_of(arrays)[known])
        for k in np.unique(fold):
            at = known[fold == k]
            part = answer(self.folds[k], self.weights, self.floor, rows.take(at), given[at])
            value[at], scale[at] = part.value, part.scale
        return value, scale

    def audit_spread(self, arrays: Arrays) -> Array:
        """Spread (n,) that the error of each answer is expected to have, by that of validated rows."""
        rows = self.reader.rows(arrays)
        own = answer(self.full, self.weights, self.floor, rows, self.reader.given(arrays))
        return np.asarray(own.scale**self.spread_power)

    def row_truth(self, arrays: Arrays) -> RowTruth:
        """Answers out of fold, and what validated rows say of their error, to be added up."""
        value, _ = self.out_of_fold(arrays)
        truth = np.full(arrays.n, np.nan) if arrays.truth is None else arrays.truth
        return self.design.row_truth(value, truth, arrays.inclusion)

    def finish_totals(self, sums: TotalSums) -> tuple[Array, Array]:
        """Totals by prediction-powered inference; a warning names groups with too few validated rows."""
        return self.design.finish(sums)

    @property
    def shared_cov(self) -> Array:
        """No parameters are shared: validated rows judge the answers as they are."""
        return np.zeros((0, 0))

    def draw_truth(
        self, arrays: Arrays, draws: Draws, places: NDArray[np.intp], outside: Array | None
    ) -> Array:
        """The truth (m, n) of rows by the validated rows among them; by those of the fit without any."""
        value, scale = self.out_of_fold(arrays)
        scale = scale**self.spread_power
        truth = np.full(arrays.n, np.nan) if arrays.truth is None else arrays.truth
        if np.isfinite(truth).sum() >= LEAST_ROWS:
            groups: list[Array] = [] if outside is None else [outside]
            groups += [self.reader.rows(arrays).x, outcome_of(arrays)[:, None]]
            chosen = np.ones(arrays.n) if arrays.inclusion is None else arrays.inclusion
            weights = arrays.weights / np.where(np.isfinite(chosen), chosen, 1.0)
            return draw_by_validated(value, scale, tuple(groups), truth, weights, draws, places)
        shown = self.gaps.truth
        # In the stated direction: report less truth, and report less answer.
        given = shown + self.sign * (self.gaps.seen - self.gaps.expected)
        more = len(shown)
        typical = np.full(more, float(np.median(scale)))
        made = draw_by_validated(
            np.r_[given, value],
            np.r_[typical, scale],
            (),
            np.r_[shown, np.full(arrays.n, np.nan)],
            np.ones(more + arrays.n),
            draws,
            np.r_[np.zeros(more, dtype=np.intp), places],
        )
        return made[:, more:]

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects, as the exact fit sees them."""
        return self.reader.exact.effects(arrays)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        reader = self.reader
        fits = {"exact": reader.exact} | ({} if reader.gradual is None else {"gradual": reader.gradual})
        states = {name: fit.state() for name, fit in fits.items()}
        learned = [part.state() for part in (self.full, *self.folds)]
        values: dict[str, Any] = {name: getattr(self, name) for name in _VALUES}
        values |= {
            "heap_unit": reader.heap_unit,
            "methods": {name: state[0] for name, state in states.items()},
            "candidates": [state[0] for state in learned],
        }
        arrays = {
            "own": {"scales": reader.scales, "cuts": self.cuts, "weights": self.weights},
            "gaps": self.gaps.arrays(),
        }
        parts = arrays | {name: state[1] for name, state in states.items()}
        parts |= {f"candidates {i}": state[1] for i, state in enumerate(learned)}
        return values, {name: np.ascontiguousarray(array) for name, array in pack(parts).items()}

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        own = unpack(tensors, "own")
        fits = {
            name: METHODS[name].restore(kept, unpack(tensors, name))
            for name, kept in values["methods"].items()
        }
        full, *folds = (
            Candidates.from_state(kept, unpack(tensors, f"candidates {i}"))
            for i, kept in enumerate(values["candidates"])
        )
        return cls(
            sign=number(values["sign"]),
            level=number(values["level"]),
            verdict=values["verdict"],
            findings=tuple(Finding(**row) for row in values["findings"]),
            estimates=tuple(Estimate.from_dict(row) for row in values["estimates"]),
            share_biased=number(values["share_biased"]),
            reader=Reader(own["scales"], number(values["heap_unit"]), fits["exact"], fits.get("gradual")),
            full=full,
            folds=tuple(folds),
            cuts=own["cuts"],
            weights=own["weights"],
            quantile=number(values["quantile"]),
            floor=number(values["floor"]),
            reading=GapReading.from_dict(values["reading"]),
            gaps=Gaps(**unpack(tensors, "gaps")),
            spread_power=number(values["spread_power"]),
            design=Design(**{name: number(value) for name, value in values["design"].items()}),
        )


_VALUES = (
    "sign",
    "level",
    "verdict",
    "findings",
    "estimates",
    "share_biased",
    "quantile",
    "floor",
    "reading",
    "design",
    "spread_power",
)


def sources_of(arrays: Arrays) -> tuple[str, ...]:
    """The column of the table that each feature comes from."""
    return arrays.proxy_source + arrays.environment_source


def key_of(arrays: Arrays) -> Array:
    """The key of each row, by its report, truth and columns."""
    truth = np.full(arrays.n, np.nan) if arrays.truth is None else arrays.truth
    return row_key(outcome_of(arrays), truth, *arrays.P.T, *arrays.E.T)
