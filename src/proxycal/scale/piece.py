"""Calibration of some rows of a larger table: what it makes of them does not depend on the other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.answers import CALIBRATED, calibrated
from proxycal.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from proxycal.model import ProxyCalibrator


def needed_columns(model: ProxyCalibrator, columns: Iterable[str]) -> list[str]:
    """Those of a table's columns that calibration reads; all of them where one is absent, to be named."""
    have = list(columns)
    found = model.encoder_
    optional = [name for name in found.dropped if name in have]
    wanted = [model.roles.outcome, *(code.name for code in (*found.proxies, *found.environment)), *optional]
    return wanted if set(wanted) <= set(have) else have


def refuse_taken(columns: Iterable[str], where: str) -> None:
    """Refuse a table that has a column of a name that calibration writes."""
    taken = [name for name in CALIBRATED if name in set(columns)]
    if taken:
        raise TableError(
            f"{where} already has a column '{taken[0]}', which calibration writes: rename it first"
        )


def calibrate_piece(model: ProxyCalibrator, frame: pd.DataFrame) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of `calibrate` for the N rows of `frame`, and which of them (N,) have an answer.

    frame : the `needed_columns` of at least one row. Where no row of the piece is complete, none has an
    answer; of a whole table the same would be refused.
    """
    complete = np.asarray(frame.notna().all(axis=1), dtype=bool)
    if model.encoder_.missing == "drop" and not complete.any():
        return {name: np.full(len(frame), np.nan) for name in CALIBRATED}, complete
    return calibrated(frame, model.encoder_, model.fit_)
