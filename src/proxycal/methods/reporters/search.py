"""The comparison: which reporters are biased in some rows, against all that has no bias, by evidence.

On differences of the reports alone: the truth is unknown altogether. One reporter more while that pays; then
each is taken out again, with wider errors of some of its rows in place of its bias, or with a second state
that the environment does not drive, to see what speaks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.families.reports import Reports
from proxycal.engine.likelihood import Sample, Theta, predictors
from proxycal.engine.maximise import maximise
from proxycal.methods.rates.climb import as_it_is, best, carried
from proxycal.methods.reporters.terms import Offset, Shape, Terms, columns_of
from proxycal.methods.reporters.thresholds import AGREED, PAYS

if TYPE_CHECKING:
    from proxycal.engine.covariates import Covariates
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model
    from proxycal.engine.terms import Term

# Sizes, in sds of the errors, from which a bias is looked for, and the log odds of being biased at the start.
SIZES, ODDS = (1.0, 2.0, 4.0), -0.8
# Rounds of a climb that only tells which start leads highest; how far behind one may end to be climbed on.
LOOK, HOPE = 6, 8.0

Begin = Callable[["Model", np.ndarray], None]


@dataclass(frozen=True)
class Table:
    """Reports (n, R) in the units of the engine, of rows with covariates and weights (n,).

    step : by how much two reports differ at least where they do not agree exactly.
    """

    rows: Covariates
    y: np.ndarray
    weights: np.ndarray
    terms: Terms
    step: float
    made: dict[int, tuple[Term, np.ndarray]] = field(default_factory=dict)

    @property
    def reporters(self) -> range:
        """Their numbers, from 1."""
        return range(1, self.y.shape[1] + 1)

    def model(self, shape: Shape) -> Model:
        """The model of a shape."""
        return self.terms.model(shape, self.y.shape[1], self.step)

    def sample(self, model: Model) -> Sample:
        """The rows with the columns of a model."""
        return Sample({"y": self.y}, columns_of(model, self.rows, self.made), self.weights)

    def climb(
        self, shape: Shape, begins: Iterable[Begin], source: Maximum | None = None, hope: float = -np.inf
    ) -> Maximum | None:
        """The maximum of a model from the start that leads highest, if it may end above `hope`."""
        model = self.model(shape)
        sample, starts = self.sample(model), []
        for begin in begins:
            theta, ridges = carried(model, source)
            begin(model, theta.dense)
            starts.append((Theta(theta.dense), ridges))
        if len(starts) == 1:
            return maximise(model, sample, *starts[0])
        looked = best(maximise(model, sample, *start, rounds=LOOK) for start in starts)
        if looked is None or looked.evidence < hope:
            return looked
        return maximise(model, sample, looked.theta, looked.ridges)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A shape at its maximum."""

    shape: Shape
    fit: Maximum

    @property
    def evidence(self) -> float:
        """Its evidence."""
        return self.fit.evidence


@dataclass(frozen=True, slots=True)
class Lead:
    """What speaks for a bias of a reporter.

    driven : evidence over all that has none, a second state that the environment does not drive among it.
    alone : the same without the latter.
    """

    reporter: int
    driven: float
    alone: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best without a bias, the best with one, and what speaks for each biased reporter.

    graded : evidence for a difference of the reports that follows the environment gradually, without a bias.
    agreed : evidence that exact agreement is a state of its own; 0 where no reports agree.
    """

    without: Candidate
    biased: Candidate
    leads: tuple[Lead, ...]
    graded: float
    agreed: float


def compare(table: Table) -> Comparison | None:
    """The whole comparison; None where nothing could be fitted."""
    offsets: tuple[Offset, ...] = ("none", "level", "environment") if table.terms.all else ("none", "level")
    agreed = 0.0
    exact = False
    if table.step:
        plain, spike = (_of(table, Shape("level", exact=flag)) for flag in (False, True))
        if plain is not None and spike is not None:
            agreed = spike.evidence - plain.evidence
            exact = agreed >= AGREED
    nulls = [_of(table, Shape(offset, exact=exact)) for offset in offsets]
    without = _best(nulls)
    if without is None:
        return None
    biased = _grow(table, [null for null in nulls if null is not None], without)
    if biased is None:
        return None
    by_offset = {null.shape.offset: null.evidence for null in nulls if null is not None}
    graded = by_offset.get("environment", -np.inf) - max(by_offset.get("none", -np.inf), by_offset["level"])
    leads = tuple(_lead(table, biased, j, nulls) for j in biased.shape.biased)
    return Comparison(without, biased, leads, float(max(graded, -100.0)), agreed)


def _of(
    table: Table,
    shape: Shape,
    begins: Sequence[Begin] = (as_it_is,),
    source: Maximum | None = None,
    hope: float = -np.inf,
) -> Candidate | None:
    fit = table.climb(shape, begins, source, hope)
    return None if fit is None else Candidate(shape, fit)


def _best(candidates: Iterable[Candidate | None]) -> Candidate | None:
    return max((one for one in candidates if one is not None), key=lambda one: one.evidence, default=None)


def _grow(table: Table, nulls: list[Candidate], without: Candidate) -> Candidate | None:
    """The best model with biases: a reporter more while that pays."""
    sources, chosen, limit = nulls, None, without.evidence - HOPE
    while len(sources[0].shape.biased) < len(table.reporters):
        further = [
            _biased(table, source, j, limit)
            for source in sources
            for j in table.reporters
            if j not in source.shape.biased
        ]
        found = _best(one for one in further if one is not None and not _mirrored(table, one))
        if found is None or (chosen is not None and found.evidence < chosen.evidence + PAYS):
            return chosen
        chosen = _widened(table, found)
        sources, limit = [chosen], chosen.evidence
    return chosen


def _biased(table: Table, source: Candidate, j: int, limit: float) -> Candidate | None:
    """The model of a source with a bias of reporter j."""
    begins = [_from_size(j, size, len(table.reporters)) for size in SIZES]
    return _of(table, source.shape.with_bias(j), begins, source.fit, limit)


def _from_size(j: int, size: float, reporters: int) -> Begin:
    """From a bias of this size, without what the environment does in the offsets: that may be the bias."""

    def begin(model: Model, theta: np.ndarray) -> None:
        for group in model.groups:
            if group.predictor.startswith("offset"):
                theta[group.part] = 0.0
        for k in range(2, reporters + 1):
            place = model.at(f"offset{k}")
            if place.stop > place.start and j in (1, k):
                theta[place.start] += 0.3 * size if j == 1 else -0.3 * size
        theta[model.at(f"size{j}").start] = np.log(size)
        theta[model.at(f"who{j}").start] = ODDS
        assert isinstance(model.family, Reports)
        theta[model.at(model.family.scale(j)).start] -= 0.3

    return begin


def _widened(table: Table, found: Candidate) -> Candidate:
    """The candidate with sizes that vary, where that pays."""
    for j in found.shape.biased:
        if j not in found.shape.wide:
            wider = _of(table, found.shape.widened(j), source=found.fit)
            if wider is not None and wider.evidence > found.evidence + PAYS and not _mirrored(table, wider):
                found = wider
    return found


def _mirrored(table: Table, candidate: Candidate) -> bool:
    """Whether the same is said better of the other of two reporters.

    Of two reporters who differ by a level, one who is biased in most rows is, but for that level, the other
    biased in the rest.
    """
    if len(table.reporters) > 2 or candidate.shape.offset == "none" or candidate.shape.exact:
        return False
    return any(share_before(table, candidate, j) > 0.5 for j in candidate.shape.biased)


def share_before(table: Table, candidate: Candidate, j: int) -> float:
    """Mean chance that reporter j is biased, before the reports are seen."""
    model = candidate.fit.model
    eta = predictors(model, table.sample(model), candidate.fit.theta)[model.names.index(f"who{j}")]
    return float(np.average(1.0 / (1.0 + np.exp(-eta)), weights=table.weights))


def _lead(table: Table, biased: Candidate, j: int, nulls: Sequence[Candidate | None]) -> Lead:
    """What speaks for a bias of reporter j: how far all that has none of it stays behind."""
    bare = biased.shape.without(j)
    offsets = {null.shape.offset for null in nulls if null is not None}
    rivals: list[Candidate | None] = list(nulls) if not bare.biased else []
    for offset in sorted(offsets):
        shape = replace(bare, offset=offset)
        rivals.append(_of(table, shape, source=biased.fit))
        # Wider errors of some rows, as the environment says, on both sides.
        rivals.append(_of(table, shape.widened(j), [_tails(j, 0.9), _tails(j, 1.6)], biased.fit))
    rival = max(one.evidence for one in rivals if one is not None)
    alone = biased.evidence - rival
    if not table.terms.all:
        return Lead(j, -np.inf, alone)
    alike = _of(table, replace(biased.shape, alike=(*biased.shape.alike, j)), source=biased.fit)
    driven = alone if alike is None else min(alone, biased.evidence - alike.evidence)
    # Where the environment does not drive it, the smaller model says how well the bias stands alone.
    return Lead(j, driven, alone if alike is None else max(alone, alike.evidence - rival))


def _tails(j: int, more: float) -> Begin:
    def begin(model: Model, theta: np.ndarray) -> None:
        theta[model.at(f"more{j}").start] = more
        theta[model.at(f"who{j}").start] = -1.5

    return begin
