"""Wider worlds through the comparison of the engine."""

from dataclasses import dataclass

import numpy as np

from proxycal.engine.covariates import Covariates
from proxycal.engine.inference import sizes
from proxycal.engine.search import Comparison, Table, compare
from proxycal.engine.standard import standardise
from proxycal.testing import wider_world


@dataclass(frozen=True)
class Fitted:
    """A comparison of one table, with the truth beside it."""

    comparison: Comparison
    table: Table
    unit: float
    a: np.ndarray
    alpha: float

    @property
    def sizes(self):
        return sizes(self.comparison.biased, self.sample)

    @property
    def sample(self):
        return self.table.sample(self.comparison.biased.model)


def fitted(name, seed=5, n=900, y_unit=1.0, rows=None, weights=None):
    """A wider world through the engine, in other units, with some of its rows, with weights."""
    drawn = wider_world(name).draw(seed, n)
    take = np.arange(n) if rows is None else rows
    columns = drawn.table.iloc[take]

    def standard(names):
        values = drawn.table[list(names)].to_numpy(dtype=float)
        return ((values - values.mean(axis=0)) / values.std(axis=0))[take]

    covariates = Covariates(
        P=standard(drawn.roles.proxies),
        E=standard(drawn.roles.environment),
        m=np.zeros((len(take), 0)),
        environment_names=tuple(drawn.roles.environment),
    )
    w = np.ones(len(take)) if weights is None else weights
    y = y_unit * columns["y"].to_numpy(dtype=float)
    units = standardise(y, covariates, w, 1.0 if drawn.direction == "over" else -1.0)
    covariates = covariates.with_content(units.content(covariates))
    table = Table.of(units.outcome(y), covariates, w)
    return Fitted(compare(table), table, units.unit, drawn.a[take], drawn.alpha)
