"""From a table to a `Fit`: the flow of the package as code.

table --Encoder--> arrays --method--> MethodFit --effect--> rows that pages show --> Fit
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proxycal.effect.last_check import Support, answer_rows, answer_totals
from proxycal.effect.totals import Groups, sum_rows_by
from proxycal.errors import ProxycalWarning, arithmetic
from proxycal.methods.auto import teaching
from proxycal.methods.beside import beside
from proxycal.methods.checks.remedies import most_helpful_first
from proxycal.methods.choice import choose_method
from proxycal.methods.registry import METHODS
from proxycal.parallel import ONE_THREAD
from proxycal.result import Fit, FittedRows
from proxycal.scale.fit import fit_large, opened, pieces_of
from proxycal.scale.streams import is_streamed, spooled
from proxycal.scale.totals import left_rows
from proxycal.store import versions
from proxycal.table.answers import describe
from proxycal.table.encode import Encoder
from proxycal.table.frames import to_pandas
from proxycal.table.groups import read_counts, read_weights
from proxycal.table.total_rows import refuse_total_rows
from proxycal.table.truths import VALIDATED_ROWS, too_few_text

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

    from proxycal.effect.grouped import Totals
    from proxycal.effect.totals import Statistic
    from proxycal.finding import Finding
    from proxycal.methods.registry import MethodFit
    from proxycal.parallel import Engine
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays
    from proxycal.table.roles import Roles


_LOG = logging.getLogger("proxycal")


def fit_table(table: Any, roles: Roles, settings: Settings) -> Fit:
    """Fit a frame, or pieces of a table; in pieces where it is large, as `ProxyCalibrator.fit` says.

    With one thread of linear algebra: its matrices are narrow, so that a second thread waits more than it
    works (five times the CPU on busy cores), and the last digits would depend on the number of cores.
    """
    METHODS[settings.method].require_installed()
    if is_streamed(table):
        with spooled(table, roles.columns) as files:
            return fit_files(files, roles, settings, 1, "joblib", None)
    with ONE_THREAD, arithmetic("the fit"):
        return _fit(table, roles, settings)


def _fit(table: Any, roles: Roles, settings: Settings) -> Fit:
    pieces = pieces_of(table, roles, settings)
    if pieces is not None:
        _LOG.info("reading the table in pieces")
        large = fit_large(pieces, roles, settings)
        _say_too_few(settings.method, large.method, roles, large.validated)
        chosen = replace(settings, method=large.method)
        kept = _kept(
            large.frame, large.encoder, large.arrays, large.fit, chosen, large.n, large.findings, large.named
        )
        return _as_asked(kept, settings.method)
    refuse_total_rows(table, settings.total_rows)
    encoder, arrays = Encoder.fit_transform(
        table,
        roles,
        settings.missing,  # type: ignore[arg-type]
        settings.scale,
        settings.log_proxies,
    )
    teach = teaching(arrays, settings.scale)
    choice = choose_method(settings, arrays, roles.outcome, teach)
    asked, settings = settings.method, replace(settings, method=choice.method)
    _say_too_few(asked, settings.method, roles, teach)
    _LOG.info("read: %s rows to fit; method %s, asked for %s", arrays.n, settings.method, asked)
    fitted = METHODS[settings.method].fit(arrays, settings)
    kept = _kept(table, encoder, arrays, fitted, settings, len(arrays.P), choice.findings)
    return _as_asked(kept, asked)


def _as_asked(fit: Fit, method: str) -> Fit:
    """The fit with the method that was asked for, where the data chose another."""
    return fit if method == fit.settings.method else replace(fit, asked_method=method)


def _say_too_few(asked: str, chosen: str, roles: Roles, validated: int) -> None:
    """Warn where a truth column was given for method="auto" and has too few truths to learn from."""
    learned = METHODS[chosen].family != "normal" and validated >= VALIDATED_ROWS
    if roles.truth is not None and METHODS[asked].chooser and chosen != "validated" and not learned:
        warnings.warn(too_few_text(roles.truth, validated), ProxycalWarning, stacklevel=4)


def fit_files(
    tables: Sequence[str | os.PathLike[str]],
    roles: Roles,
    settings: Settings,
    jobs: int,
    engine: Engine,
    scheduler: str | None,
) -> Fit:
    """Fit one table that is spread over files."""
    # Before the files are read, which may take long.
    METHODS[settings.method].require_installed()
    with opened(tables, roles, jobs, engine, scheduler) as table:
        return fit_table(table, roles, settings)


def _kept(
    table: Any,
    encoder: Encoder,
    arrays: Arrays,
    fitted: MethodFit,
    settings: Settings,
    n: int,
    choice: tuple[Finding, ...],
    named: pd.DataFrame | None = None,
) -> Fit:
    """The record of a fit; of a large table `table` and `arrays` are a sample, `named` has its labels.

    choice : what to say of how the method was chosen.
    """
    _LOG.info("fitted: %s, alpha %.4g (se %.2g)", fitted.verdict, fitted.estimate.alpha, fitted.estimate.se)
    for row in fitted.estimates:
        _LOG.debug("estimate: %s %.6g (se %.3g) %s", row.name, row.alpha, row.se, row.note)
    allowed = METHODS[settings.method].allows
    about = describe(table, encoder, arrays, settings, allowed, named)
    support = Support.of(arrays, settings.scale)
    predicted = answer_rows(fitted, support, arrays, about.shown)
    graded = beside(about.training, settings, fitted.verdict)
    return Fit(
        estimate=fitted.estimate,
        estimates=(*fitted.estimates, *graded.estimates),
        share_biased=fitted.share_biased,
        verdict=fitted.verdict,
        findings=most_helpful_first(
            (*about.findings, *choice, *fitted.findings, *graded.findings), fitted.verdict
        ),
        settings=settings,
        roles=encoder.roles,
        n=n,
        versions=versions(settings.method),
        encoder=encoder,
        method_fit=fitted,
        rows=FittedRows(about.y_obs, arrays.weights[about.shown], predicted, about.environment),
        labels=about.labels,
        training=about.training,
        support=support,
        # Of a table in pieces these rows are a sample: `proxycal totals` adds all of them up.
        totals=_totals(table, encoder, arrays, fitted, support, settings.level) if named is None else (),
    )


def _totals(
    table: Any, encoder: Encoder, arrays: Arrays, fitted: MethodFit, support: Support, level: float
) -> tuple[Totals, ...]:
    """Totals of the fitted rows: in all, and by each categorical environment column.

    Values on both sides of zero cancel in a sum, so that of these it is the means.
    """
    frame = to_pandas(table)
    weights = read_weights(frame, encoder.roles.weights)[arrays.kept]
    counts = read_counts(frame, encoder.roles.counts)[arrays.kept]
    groupings = {
        name: Groups(codes, arrays.level_names[name])
        for name, codes in arrays.levels.items()
        if len(arrays.level_names[name]) > 1
    }
    sums = sum_rows_by(fitted, arrays, {"": Groups.one(arrays.n)} | groupings, weights, counts)
    left = {name: left_rows(frame, encoder.roles, ~arrays.kept, name or None) for name in sums}
    statistic: Statistic = "mean" if _goes_below_zero(arrays) else "total"
    with warnings.catch_warnings():
        # Nobody asked for these groups by name: a page shows which of them have no interval.
        warnings.simplefilter("ignore", ProxycalWarning)
        return tuple(
            answer_totals(fitted, support, part, level, statistic, name or None, left[name])
            for name, part in sums.items()
        )


def _goes_below_zero(arrays: Arrays) -> bool:
    assert arrays.y is not None  # a fit has its outcome
    return bool((arrays.y < 0.0).any())
