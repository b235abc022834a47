"""Calibrate a Dask data frame where its partitions are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.errors import ProxycalWarning, TableError, UnavailableError
from proxycal.parallel import ONE_THREAD
from proxycal.result import OUTPUT_COLUMNS
from proxycal.scale.piece import calibrate_piece, needed_columns
from proxycal.table.frames import answer

if TYPE_CHECKING:
    from proxycal.model import ProxyCalibrator
    from proxycal.result import Fit


def calibrate_partitions(model: ProxyCalibrator | Fit, frame: Any) -> Any:
    """What `calibrate` of a model gives, for a Dask data frame: lazy, with the same partitions and index.

    Runs where Dask runs the rest of the graph, on the client's cluster if there is one, and loads no more
    than a partition at a time. Every row gets the answer that it gets from `calibrate` of the whole table;
    a row that is refused there makes its partition fail.

    >>> import dask.dataframe, numpy, proxycal
    >>> sim = proxycal.simulate(n=400, alpha=5.0, random_state=0)
    >>> model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    >>> frame = dask.dataframe.from_pandas(sim.table, npartitions=3)
    >>> numpy.allclose(calibrate_partitions(model, frame).compute(), model.calibrate(sim.table))
    True
    """
    try:
        import dask.dataframe
    except ImportError as error:
        raise UnavailableError(
            "calibrate_partitions needs Dask: pip install 'proxycal[dask]', or use model.calibrate"
        ) from error
    if not isinstance(frame, dask.dataframe.DataFrame):
        raise TableError(
            f"a Dask data frame is needed, not {type(frame).__name__}: use model.calibrate for any other"
        )
    fit: Fit = getattr(model, "result_", model)
    if fit.why_left_alone:
        warnings.warn(fit.why_left_alone, ProxycalWarning, stacklevel=2)
    wanted = frame[needed_columns(fit, frame.columns)]
    meta = _empty(wanted._meta)
    return wanted.map_partitions(_calibrate_partition, fit, meta=meta)


def _calibrate_partition(frame: pd.DataFrame, fit: Fit) -> pd.DataFrame:
    if len(frame) == 0:
        return _empty(frame)
    with ONE_THREAD:
        columns, _ = calibrate_piece(fit, frame)
    return pd.DataFrame(answer(frame, columns))


def _empty(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({column.name: np.empty(0) for column in OUTPUT_COLUMNS}, index=frame.index[:0])
