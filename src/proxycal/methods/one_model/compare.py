"""From arrays to the comparison of the engine: units, terms, and the best models with and without a bias.

Where there are many rows, some of them choose the terms; the chosen models are fitted to all rows and judged
on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.covariates import Covariates
from proxycal.engine.likelihood import Sample
from proxycal.engine.search import Table, compare, settled
from proxycal.engine.standard import Terms, sized, standardise
from proxycal.errors import SettingsError
from proxycal.methods.exact.outcome import off_spike, read_outcome
from proxycal.methods.one_model.law import reports_of
from proxycal.methods.parts import outcome_of

if TYPE_CHECKING:
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.search import Comparison
    from proxycal.engine.standard import Standard
    from proxycal.methods.exact.outcome import Outcome
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Rows on which the terms of the models are chosen where there are more.
CHOSEN_ON = 10_000


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of some rows.

    arrays : the rows that it saw, those of a spike set apart. rows, reports : the same as the engine sees
    them. units : codes (n,) of clusters, or None. comparison : None where no model could be fitted.
    chosen_on : rows on which the terms were chosen. table : the
    same rows with all terms, where all of them chose.
    """

    sign: float
    arrays: Arrays
    outcome: Outcome
    standard: Standard
    rows: Covariates
    reports: dict[str, np.ndarray]
    units: np.ndarray | None
    comparison: Comparison | None
    chosen_on: int
    table: Table | None = None

    @property
    def weights(self) -> np.ndarray:
        """How many rows each stands for, (n,)."""
        return self.arrays.weights

    @property
    def clusters(self) -> np.ndarray | None:
        """Codes (n,) of rows that are not independent."""
        return self.units

    def sample(self, fit: Maximum) -> Sample:
        """The rows with the columns of a fit's model."""
        return Sample.of(fit.model, self.rows, self.reports, self.weights, self.units)

    def take(self, chosen: np.ndarray) -> Compared:
        """Some of the rows, by position."""
        return replace(
            self,
            arrays=self.arrays.take(chosen),
            rows=self.rows.take(chosen),
            reports={name: values[chosen] for name, values in self.reports.items()},
            units=None if self.units is None else self.units[chosen],
        )


def compare_models(arrays: Arrays, settings: Settings) -> Compared:
    """Compare the models with and without a bias."""
    compared = choose_models(arrays, settings)
    chosen = compared.comparison
    if chosen is None or compared.chosen_on == compared.arrays.n:
        return compared
    return replace(compared, comparison=settled(chosen, compared.sample))


def choose_models(arrays: Arrays, settings: Settings) -> Compared:
    """The models that some of the rows choose, fitted to these; all rows are beside them."""
    check_effect(settings.effect, arrays)
    outcome = read_outcome(outcome_of(arrays))
    arrays = off_spike(arrays, outcome)
    bare = Covariates.of(arrays)
    standard = standardise(outcome_of(arrays), bare, arrays.weights, settings.sign)
    rows = bare.with_content(standard.content(bare))
    reports = reports_of(arrays, outcome, standard)
    units = None if arrays.cluster is None else np.unique(arrays.cluster, return_inverse=True)[1]
    few = spaced(arrays.n, CHOSEN_ON)
    compared = Compared(settings.sign, arrays, outcome, standard, rows, reports, units, None, len(few))
    part = compared.take(few) if len(few) < arrays.n else compared
    table = table_of(part, settings.effect)
    return replace(compared, comparison=compare(table), table=table if part is compared else None)


def table_of(part: Compared, effect: str) -> Table:
    """The rows as the comparison sees them: as many as they are, with all terms that they may teach."""
    units = None if part.units is None else np.unique(part.units, return_inverse=True)[1]
    terms = sized(Terms.learn(part.rows, () if units is None else ("mean",)), part.rows, effect)
    return Table(part.reports, part.weights, terms, terms.columns(part.rows), units)


def spaced(n: int, most: int) -> np.ndarray:
    """Positions of about `most` of n rows, evenly spaced; all where they are fewer.

    >>> spaced(5, 10).tolist(), spaced(10, 5).tolist()
    ([0, 1, 2, 3, 4], [0, 2, 4, 6, 8])
    """
    return np.arange(0, n, max(1, n // most))


def check_effect(effect: str, arrays: Arrays) -> None:
    """Refuse a size by the levels of a column that has none."""
    column = effect.removeprefix("by:")
    if effect.startswith("by:") and column not in arrays.levels:
        known = ", ".join(f"'by:{name}'" for name in arrays.levels) or "none here"
        raise SettingsError(
            f"effect='{effect}': '{column}' is not a categorical environment column; possible: {known}. "
            "A numeric column can be cut into a few levels first"
        )
