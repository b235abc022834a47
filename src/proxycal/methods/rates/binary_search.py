"""The comparison for yes/no outcomes: models in which some deny against models in which nobody does.

A yes/no outcome has a mean and nothing else, so all evidence is how that mean moves: a denied share shows
the truth is nearly certain and reports stay below it, and where the environment moves reports beyond
content.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scipy.special import ndtri

from proxycal.engine.families.binary import Binary
from proxycal.methods.rates.climb import PAYS, Comparison, as_it_is, best, grown
from proxycal.methods.rates.terms import Shape

if TYPE_CHECKING:
    import numpy as np

    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model
    from proxycal.methods.rates.climb import Begin, Table

# Log odds of an honest answer from where denying is looked for.
STARTS = (1.0, 2.5)


def compare(table: Table, direct: bool) -> Comparison | None:
    """The best models. direct : whether the environment may act on the truth beside content."""
    shape = Shape(direct)
    plain = table.climb(table.terms.model(Binary(), shape), [_level(table)])
    if plain is None:
        return None
    starts = [_denied(at) for at in STARTS]
    alike = table.climb(table.terms.model(Binary(True), replace(shape, driven=False)), starts, plain)
    graded = table.climb(table.terms.model(Binary(True), shape), starts, plain)
    biased = None if graded is None else grown(table, graded, shape, ("who",))[0]
    if biased is None:
        return None
    without = best([plain, alike, _with_alarms(table, alike, replace(shape, driven=False))])
    with_alarms = _with_alarms(table, graded, shape)
    biased = best([biased, with_alarms])
    return None if without is None or biased is None else Comparison(without, biased)


def compare_validated(table: Table, known: dict[str, np.ndarray]) -> Comparison | None:
    """The best model with a report where truths are known; errors both ways where both are seen."""
    shape = Shape(direct=True)
    plain = table.climb(table.terms.model(Binary(), shape), [_level(table)])
    if plain is None:
        return None
    both = replace(table, outcome=table.outcome | known)
    truth = known.get("truth")
    alarms = truth is not None and bool(((truth == 0.0) & (table.outcome["y"] > 0.0)).any())
    fit = both.climb(both.terms.model(Binary(True, alarms), shape), [_denied(at) for at in STARTS], plain)
    return None if fit is None else Comparison(plain, grown(both, fit, shape, ("who",))[0])


def _with_alarms(table: Table, fit: Maximum | None, shape: Shape) -> Maximum | None:
    """The fit with some 0s reported as 1, where that pays."""
    if fit is None:
        return None
    wider = table.climb(table.terms.model(Binary(True, alarms=True), shape), [as_it_is], fit)
    return wider if wider is not None and wider.evidence > fit.evidence + PAYS else None


def _level(table: Table) -> Begin:
    share = float(table.weights @ table.outcome["y"] / table.weights.sum())

    def begin(model: Model, theta: np.ndarray) -> None:
        theta[model.at("mean").start] = float(ndtri(min(max(share, 1e-3), 1.0 - 1e-3)))

    return begin


def _denied(share: float) -> Begin:
    def begin(model: Model, theta: np.ndarray) -> None:
        theta[model.at("mean").start] += 0.3
        theta[model.at("share").start] = share

    return begin
