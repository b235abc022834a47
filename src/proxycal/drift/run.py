"""New rows of a fit's table beside the fitted ones that it keeps: refused, warned of, or as before."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.drift.compare import compare
from proxycal.drift.units import reference, unit_changes
from proxycal.drift.wording import refusal, warnings_of
from proxycal.errors import ProxycalWarning, TableError, UnitsError
from proxycal.table.decode import decoded, joined
from proxycal.table.frames import column_names, to_pandas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from proxycal.drift.compare import Drift
    from proxycal.result import Fit
    from proxycal.table.decode import Values

# Rows of a table that are compared; more would find smaller changes, and none that matters.
MOST_ROWS = 20_000


def columns_compared(fit: Fit, have: list[str]) -> list[str]:
    """Those of a table's columns that a comparison reads."""
    encoder, roles = fit.encoder, fit.roles
    read = [code.name for code in (*encoder.proxies, *encoder.environment)]
    known = {*roles.report_names, *read, *encoder.dropped, roles.counts, roles.cluster, roles.exposure}
    return [name for name in have if name in known]


def chosen(n: int, most: int = MOST_ROWS) -> np.ndarray:
    """Positions of at most so many rows, drawn evenly, in their order; the same for the same n.

    >>> chosen(3).tolist()
    [0, 1, 2]
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(n).choice(n, most, replace=False))


def compare_fit(fit: Fit, tables: Mapping[str, pd.DataFrame], *, refuse: bool) -> Drift:
    """Compare the rows of tables with the fitted ones; the name of a table is said where it is refused.

    tables : the `columns_compared` of some of their rows. refuse : raise where a column is in other units.
    """
    old = decoded(fit.encoder, fit.training)
    parts = {name: values for name, frame in tables.items() if (values := _values(fit, frame)) is not None}
    if refuse and len(parts) > 1:
        known = reference(old)
        for name, values in parts.items():
            if units := unit_changes(known, values):
                raise UnitsError(refusal(units, name))
    drift = compare(old, joined(list(parts.values()), old), fit.n, _p_biased(fit))
    if refuse and drift.units:
        raise UnitsError(refusal(drift.units, next(iter(parts)) if len(parts) == 1 else ""))
    return drift


def compare_frame(fit: Fit, frame: Any, *, refuse: bool) -> Drift:
    """Compare a pandas or polars frame with the fitted rows."""
    table = to_pandas(frame, columns_compared(fit, list(column_names(frame))))
    at = chosen(len(table))
    return compare_fit(fit, {"": table if len(at) == len(table) else table.iloc[at]}, refuse=refuse)


def check_frame(fit: Fit, frame: Any) -> Drift | None:
    """Refuse a frame in other units before anything is answered; None as in `if_readable`."""
    return if_readable(lambda: compare_frame(fit, frame, refuse=True))


def if_readable(compare: Callable[[], Drift]) -> Drift | None:
    """The comparison; None where rows cannot be read as the fit reads them.

    Who reads all of them says why, and in which rows. Other units are refused.
    """
    try:
        return compare()
    except UnitsError:
        raise
    except TableError:
        return None


def warn_of(drift: Drift | None, stacklevel: int) -> None:
    """Say what a reader of the answer should know; nothing where nothing was compared."""
    for text in [] if drift is None else warnings_of(drift):
        warnings.warn(text, ProxycalWarning, stacklevel=stacklevel + 1)


def _values(fit: Fit, frame: pd.DataFrame) -> Values | None:
    """The values of the rows that have an answer; None where there are none."""
    complete = frame.notna().all(axis=1)
    if not len(frame) or (fit.encoder.missing == "drop" and not complete.any()):
        return None
    return decoded(fit.encoder, fit.encoder.transform(frame))


def _p_biased(fit: Fit) -> np.ndarray | None:
    """Where the fit puts the bias among the rows it keeps, if they are those that it shows."""
    assert fit.training.y is not None  # a fit has its outcome
    same = np.array_equal(fit.rows.y_obs, fit.training.y)
    return fit.rows.predicted.p_biased if same and fit.verdict == "bias found" else None
