"""The exact method on a table in pieces: a sample chooses the models, all rows fit and judge them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from proxycal.engine.covariates import Covariates
from proxycal.engine.likelihood import Elsewhere
from proxycal.engine.search import settled
from proxycal.engine.size_sums import SizeSums
from proxycal.methods.exact.outcome import off_spike
from proxycal.methods.gathered import validated_rows
from proxycal.methods.one_model.collect import answered_by
from proxycal.methods.one_model.compare import choose_models
from proxycal.methods.one_model.fit import finish, judged
from proxycal.methods.one_model.law import Law, reports_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.engine.standard import Standard
    from proxycal.methods.exact.outcome import Outcome
    from proxycal.methods.one_model.record import OneModelFit
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def fit_pieces(table: EncodedPieces, settings: Settings) -> OneModelFit:
    """Choose the models on the sample, fit them to all rows, and conclude there."""
    # A sampled row says as much as one row, whatever it stands for.
    sample = replace(table.sample, weights=table.sample.weights / table.sample.weights.mean())
    compared = choose_models(sample, settings)
    if compared.comparison is None:
        return finish(compared, sample, settings)
    every = Elsewhere(partial(_add_up, table, compared.standard, compared.outcome))
    compared = replace(compared, comparison=settled(compared.comparison, lambda _: every), table=None)
    answered = None
    if compared.comparison is not None:
        fit = compared.comparison.biased.awake()
        sums = every.add_up(partial(SizeSums.of_piece, fit))
        law = Law.of(fit, sums.covariance(fit), compared.standard)
        answered = answered_by(law, sums.sizes(fit), compared)
    fit_of_all = finish(compared, sample, settings, answered)
    return fit_of_all if sample.truth is None else judged(fit_of_all, table.add_up(validated_rows).joined())


def _add_up(table: EncodedPieces, standard: Standard, outcome: Outcome, function: Callable[..., Any]) -> Any:
    return table.add_up(partial(_of_piece, standard, outcome, function))


def _of_piece(standard: Standard, outcome: Outcome, function: Callable[..., Any], arrays: Arrays) -> Any:
    """What a function makes of the rows of a piece as the engine sees them; None, of none, adds nothing."""
    arrays = off_spike(arrays, outcome)
    if not arrays.n:
        return None
    bare = Covariates.of(arrays)
    rows = bare.with_content(standard.content(bare))
    return function(rows, reports_of(arrays, outcome, standard), arrays.weights)
