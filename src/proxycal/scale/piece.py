"""Calibration of some rows of a larger table: what it makes of them does not depend on the other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.last_check import answer_rows
from proxycal.errors import TableError
from proxycal.result import OUTPUT_COLUMNS
from proxycal.table.answers import spread
from proxycal.table.reports import gaps_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from proxycal.result import Fit


def needed_columns(fit: Fit, columns: Iterable[str]) -> list[str]:
    """Those of a table's columns that calibration reads; all of them where one is absent, to be named."""
    have = list(columns)
    encoder = fit.encoder
    roles = fit.roles
    known = (*encoder.dropped, roles.truth, roles.inclusion, roles.trusted, roles.exposure)
    optional = [name for name in known if name is not None and name in have]
    read = [code.name for code in (*encoder.proxies, *encoder.environment)]
    wanted = [*fit.roles.report_names, *read, *optional]
    return wanted if set(wanted) <= set(have) else have


def complete_rows(fit: Fit, frame: pd.DataFrame) -> np.ndarray:
    """Which rows (N,) of `frame` have no gap that costs them their answer.

    Truth, its inclusion probability and trust are blank by design in rows that nobody looked into.
    """
    roles = fit.roles
    blank = {roles.truth, roles.inclusion, roles.trusted}
    asked = [name for name in needed_columns(fit, frame.columns) if name not in blank]
    if roles.reports:
        asked = [name for name in asked if name not in roles.reports]
    return ~np.asarray(gaps_of(frame, roles, asked).any(axis=1), dtype=bool)


def refuse_taken(columns: Iterable[str], where: str) -> None:
    """Refuse a table that has a column of a name that calibration writes."""
    taken = [column.name for column in OUTPUT_COLUMNS if column.name in set(columns)]
    if taken:
        raise TableError(
            f"{where} already has a column '{taken[0]}', which calibration writes: rename it first"
        )


def calibrate_piece(fit: Fit, frame: pd.DataFrame) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of `calibrate` for the N rows of `frame`, and which of them (N,) have an answer.

    frame : the `needed_columns` of at least one row. Where no row of the piece is complete, none has an
    answer; of a whole table the same would be refused.
    """
    complete = complete_rows(fit, frame)
    if fit.encoder.missing == "drop" and not complete.any():
        return {column.name: np.full(len(frame), np.nan) for column in OUTPUT_COLUMNS}, complete
    arrays = fit.encoder.transform(frame, design=False)
    predicted = answer_rows(fit.method_fit, fit.support, arrays)
    return spread(predicted.outputs(), arrays.kept), arrays.kept
