"""The comparison: the best model with a bias against the best without one, by evidence.

Without a bias: one component of the noise more while that pays. With one: from the best without, what the
environment does in the mean emptied, from several sizes; then a further component, sizes that vary, or a
second size, while that pays. Both sides have the same terms in the mean, the scale and the skew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.families.normal import Normal
from proxycal.engine.likelihood import Sample, Theta
from proxycal.engine.maximise import BEHIND, CEILING, FIRST, ROUNDS, leading, maximise, start
from proxycal.engine.spikes import Moved, held_by_many, on_any, pairs, weigh
from proxycal.engine.standard import Terms, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxycal.engine.covariates import Covariates
    from proxycal.engine.likelihood import Elsewhere
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model

# Most components of the noise.
COMPONENTS = 3
# Evidence by which a larger model must lead to be kept.
PAYS = 1.0
# Sizes, in residual sds, from which a bias is looked for, and the log odds of being biased at the start.
SIZES, ODDS = (1.2, 2.0, 3.5), -0.8
# How far behind a look may be whose end is still worth a climb.
HOPE = 8.0
# The same for a look at another way to the whole model.
FAR = 80.0
# Rounds of a climb that only tells which of several starts leads highest.
LOOK = 5
# Where a further component starts: its place and log scale, in units of the scale.
_PLACES = ((1.5, 0.0), (-1.5, 0.0), (0.3, 0.7))

# Changes coefficients and ridges of a model, in place, before a climb.
Begin = Callable[["Model", np.ndarray, np.ndarray], None]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of an outcome in the engine's units, with the terms of its predictors and their columns.

    outcome : what the family reads. weights : (n,). units : (n,) codes of clusters, or None.
    """

    outcome: dict[str, np.ndarray]
    weights: np.ndarray
    terms: Terms
    columns: dict[str, np.ndarray]
    units: np.ndarray | None = None

    @classmethod
    def of(
        cls, y: np.ndarray, rows: Covariates, weights: np.ndarray, units: np.ndarray | None = None
    ) -> Table:
        """The rows with the terms that they teach."""
        terms = Terms.learn(rows, () if units is None else ("mean",))
        return cls({"y": y}, weights, terms, terms.columns(rows), units)

    def sample(self, model: Model, who: str = "who") -> Sample:
        """The rows with the columns of a model."""
        designs = tuple(self.columns[who if name == "who" else terms_of(name)] for name in model.names)
        count = 0 if self.units is None else int(self.units.max()) + 1
        return Sample(self.outcome, designs, self.weights, self.units, count)

    def climb(
        self,
        family: Normal,
        begin: Begin,
        source: Maximum | None = None,
        rounds: int = ROUNDS,
        who: str = "who",
    ) -> Maximum | None:
        """The maximum of a family's model, from that of another with changes; who : its list of terms."""
        model = self.terms.model(family, who)
        sample = self.sample(model, who)
        return maximise(model, sample, *_begun(model, begin, source, sample.unit_count), rounds)

    def look(self, family: Normal, begins: Iterable[Begin], source: Maximum) -> Maximum | None:
        """Where the most promising of several starts stands after a few rounds.

        Without a bias each start has all its rounds: what it misses would be a lead of the bias.
        """
        model = self.terms.model(family)
        sample = self.sample(model)
        starts = [_begun(model, begin, source, sample.unit_count) for begin in begins]
        return leading(model, sample, starts, LOOK, BEHIND if family.states else np.inf)


def _begun(model: Model, begin: Begin, source: Maximum | None, unit_count: int) -> tuple[Theta, np.ndarray]:
    theta, ridges = transplanted(model, source, unit_count)
    begin(model, theta.dense, ridges)
    return theta, ridges


def transplanted(model: Model, source: Maximum | None, unit_count: int) -> tuple[Theta, np.ndarray]:
    """Coefficients and ridges of a model: those of another where it has the same term, else usual ones."""
    theta, ridges = start(model, unit_count), np.full(len(model.groups), FIRST)
    if source is None:
        return theta, ridges
    for key in model.places.keys() & source.model.places.keys():
        theta.dense[model.places[key]] = source.theta.dense[source.model.places[key]]
    kept = {
        (group.predictor, group.about): ridge
        for group, ridge in zip(source.model.groups, source.ridges, strict=True)
    }
    for at, group in enumerate(model.groups):
        ridges[at] = kept.get((group.predictor, group.about), FIRST)
    return Theta(theta.dense, source.theta.units.copy() if unit_count else theta.units), ridges


def family_of(fit: Maximum) -> Normal:
    """The family of a fit of this room."""
    assert isinstance(fit.model.family, Normal)
    return fit.model.family


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best model without a bias, the best with one, and by how much the evidence is for the latter.

    alike : the same with a second state that the environment does not drive: a shape of the outcome.
    """

    without: Maximum
    biased: Maximum
    alike: Maximum | None

    @property
    def lead(self) -> float:
        """Log of how much better the bias explains the table than all that has none."""
        rival = self.without.evidence if self.alike is None else self.alike.evidence
        return self.biased.evidence - max(self.without.evidence, rival)


def compare(table: Table) -> Comparison | None:
    """The whole comparison; None where nothing could be fitted."""
    nulls = without_bias(table)
    null = best(nulls)
    if null is None:
        return None
    families = {1, family_of(null).components}
    sources = [nulls[count - 1] for count in sorted(families) if count <= len(nulls)]
    biased: Maximum | None = None
    for source in sources:
        for moved in (None, *pairs(family_of(null).spikes)):
            biased = best((biased, with_bias(table, source, moved, biased)))
    if biased is None:
        return None
    alike = None
    if biased.evidence >= null.evidence:
        alike = table.climb(family_of(biased), as_it_is, biased, who="who by content")
    return Comparison(null, biased, alike)


def settled(chosen: Comparison, sample_of: Callable[[Maximum], Sample | Elsewhere]) -> Comparison | None:
    """The models that some rows chose, without the terms that are not there, fitted to all rows."""

    def fitted(fit: Maximum) -> Maximum | None:
        small = fit.awake()
        sample = sample_of(small)
        theta = Theta(small.theta.dense, np.zeros((sample.unit_count, len(small.model.with_units))))
        return maximise(small.model, sample, theta, small.ridges)

    without, biased = fitted(chosen.without), fitted(chosen.biased)
    if without is None or biased is None:
        return None
    return Comparison(without, biased, None if chosen.alike is None else fitted(chosen.alike))


def best(fits: Iterable[Maximum | None]) -> Maximum | None:
    """The fit of most evidence."""
    return max((fit for fit in fits if fit is not None), key=lambda fit: fit.evidence, default=None)


def without_bias(table: Table) -> list[Maximum]:
    """Models without a bias, one component more each, until one does not pay."""
    # A value that stands for a range is no spike, however many rows hold it.
    spikes = () if "low" in table.outcome else held_by_many(table.outcome["y"], table.weights)
    first = table.climb(Normal(1, 0, spikes=spikes), _from_least_squares(table))
    fits = [] if first is None else [first]
    while fits and len(fits) < COMPONENTS:
        further = with_component(table, fits[-1])
        if further is None or further.evidence < fits[-1].evidence + PAYS:
            break
        fits.append(further)
    return fits


def _from_least_squares(table: Table) -> Begin:
    def begin(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
        y, spikes = table.outcome["y"], getattr(model.family, "spikes", ())
        weigh(model, theta, y, table.weights, None)
        free = ~on_any(y, spikes)
        X, y, w = table.columns["mean"][free], y[free], table.weights[free]
        unpenalised = np.flatnonzero(model.prior[model.at("mean")] > 0.0)
        root = np.sqrt(w)
        beta = np.linalg.lstsq(X[:, unpenalised] * root[:, None], y * root, rcond=1e-9)[0]
        theta[unpenalised] = beta
        left = y - X[:, unpenalised] @ beta
        theta[model.at("scale").start] = np.log(max(float(np.sqrt(np.average(left**2, weights=w))), 1e-6))

    return begin


def with_component(table: Table, fit: Maximum) -> Maximum | None:
    """The fit with a component more, from several places, the most promising finished."""
    family = replace(family_of(fit), components=family_of(fit).components + 1)
    number = family.components - 1

    def at(place: float, scale: float) -> Begin:
        def begin(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
            for name, value in ((f"d{number}", place), (f"r{number}", scale), (f"w{number}", -1.0)):
                theta[model.at(name).start] = value

        return begin

    return _finished(table, table.look(family, [at(*place) for place in _PLACES], fit), fit.evidence)


def _finished(table: Table, looked: Maximum | None, evidence: float, hope: float = HOPE) -> Maximum | None:
    """A look climbed to its end, where that may lead past a fit of this evidence."""
    if looked is None or looked.evidence < evidence - hope:
        return None
    return table.climb(family_of(looked), as_it_is, looked)


def as_it_is(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
    """No change."""


def with_bias(
    table: Table, source: Maximum, moved: Moved | None = None, rival: Maximum | None = None
) -> Maximum | None:
    """The best model with a bias that is reached from one without.

    moved : a spike that it may have moved. rival : a fit that it has to lead past; it grows no further
    where it is far behind.
    """
    family, begins = replace(family_of(source), states=1), [_from_size(size) for size in SIZES]
    if moved is not None:
        family, begins = replace(family, spikes=moved.spikes), [_from_moved(table, moved)]
    least = -np.inf if rival is None else rival.evidence
    fit = _finished(table, table.look(family, begins, source), least, FAR if moved is None else np.inf)
    while fit is not None and fit.evidence >= least - HOPE:
        further = best(_grown(table, fit))
        if further is None or further.evidence < fit.evidence + PAYS:
            return fit
        fit = further
    return fit


def _from_size(size: float) -> Begin:
    """From a bias of this size, with the environment out of the mean: what it does there may be the bias."""

    def begin(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
        for at, group in enumerate(model.groups):
            # What sleeps without a bias has none to give up.
            in_mean = group.predictor == "mean" and ridges[at] < CEILING
            if in_mean and not group.about.startswith(("curve of p", "curve of content")):
                theta[group.part] = 0.0
                ridges[at] = min(1e3, CEILING)
        theta[model.at("mean").start] -= 0.3 * size
        theta[model.at("size").start] = np.log(size)
        theta[model.at("who").start] = ODDS
        theta[model.at("scale").start] -= 0.3

    return begin


def _from_moved(table: Table, moved: Moved) -> Begin:
    """From the size by which a spike was moved, and the share of its rows that were."""
    y, w = table.outcome["y"], table.weights
    low, high = (float(w[on_any(y, (value,))].sum()) for value in (moved.low, moved.high))
    share = high / (low + high)

    def begin(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
        _from_size(moved.size)(model, theta, ridges)
        weigh(model, theta, y, w, moved)
        theta[model.at("mean").start] += (0.3 - share) * moved.size
        theta[model.at("who").start] = np.log(share / (1.0 - share))

    return begin


def _grown(table: Table, fit: Maximum) -> list[Maximum | None]:
    """The fit with a component more, with sizes that vary, with a second size."""
    family = family_of(fit)
    out: list[Maximum | None] = []
    if family.components < COMPONENTS:
        out.append(with_component(table, fit))
    if not family.spread:
        looked = table.look(replace(family, spread=True), [as_it_is], fit)
        out.append(_finished(table, looked, fit.evidence))
    if family.states == 1:
        second = replace(family, states=2)
        looked = table.look(second, [second_size(*at) for at in ((-1.0, 0.0), (0.5, 0.5))], fit)
        out.append(_finished(table, looked, fit.evidence))
    return out


def second_size(odds: float, less: float) -> Begin:
    """From a second size of these odds, the first smaller by so much on the log scale."""

    def begin(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
        theta[model.at("second").start] = odds
        theta[model.at("size").start] -= less

    return begin
