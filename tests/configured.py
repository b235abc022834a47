"""Every test again in another configuration: what scripts/configurations.py asks for, by variables.

PROXYCAL_TEST_PIECES=7         tables are read, fitted and written seven rows at a time
PROXYCAL_TEST_TABLES=polars    every pandas frame that is fitted or calibrated comes as polars
PROXYCAL_TEST_TABLES=parquet   every pandas frame is fitted as a Parquet file; with arrow, as an Arrow reader
PROXYCAL_TEST_SAVED=1          every fit is saved, loaded and asked again, and answers the same to the bit
PROXYCAL_TEST_LOCALE=de_DE     numbers and dates of the C library are those of that language
"""

from __future__ import annotations

import functools
import importlib
import locale
import os
import tempfile
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa

from proxycal import load
from proxycal.model import ProxyCalibrator

# Where the number of rows of a piece stands.
_PIECES = {
    "proxycal.scale.sources": "BATCH",
    "proxycal.scale.streams": "BATCH",
    "proxycal.scale.parts": "BATCH",
    "proxycal.scale.pieces": "BATCH",
    "proxycal.scale.writers": "BATCH",
}


def configure(patch) -> None:
    """Make the configuration that the environment asks for that of this process."""
    asked = {
        name.removeprefix("PROXYCAL_TEST_"): value
        for name, value in os.environ.items()
        if name.startswith("PROXYCAL_TEST_")
    }
    for module, name in _PIECES.items() if "PIECES" in asked else ():
        patch.setattr(importlib.import_module(module), name, int(asked["PIECES"]))
    if "PIECES" in asked:
        # Parts of an output hold whole pieces.
        patch.setattr("proxycal.scale.parts.ROWS", int(asked["PIECES"]))
    if "TABLES" in asked:
        patch.setattr(ProxyCalibrator, "fit", _fitted_as(asked["TABLES"], ProxyCalibrator.fit))
        if asked["TABLES"] == "polars":
            patch.setattr(ProxyCalibrator, "calibrate", _in_polars(ProxyCalibrator.calibrate))
    if "SAVED" in asked:
        patch.setattr(ProxyCalibrator, "fit", _asked_again(ProxyCalibrator.fit))
    if "LOCALE" in asked:
        locale.setlocale(locale.LC_ALL, asked["LOCALE"])


def _plain(table) -> bool:
    """Whether a frame holds nothing that only pandas knows: an index, mixed columns, other names."""
    if not isinstance(table, pd.DataFrame) or not all(type(name) is str for name in table.columns):
        return False
    if not table.columns.is_unique or not isinstance(table.index, pd.RangeIndex) or not len(table):
        return False
    mixed = any(
        column.dtype == object and len({type(value) for value in column.dropna()}) > 1
        for _, column in table.items()
    )
    return not mixed and table.index.start == 0 and table.index.step == 1


def _fitted_as(kind: str, fit):
    @functools.wraps(fit)
    def fitted(self, X, y=None):
        if not _plain(X):
            return fit(self, X, y)
        if kind == "polars":
            return fit(self, pl.from_pandas(X), y)
        if kind == "arrow":
            return fit(self, pa.Table.from_pandas(X, preserve_index=False).to_reader(max_chunksize=100), y)
        with tempfile.TemporaryDirectory() as folder:
            X.to_parquet(f"{folder}/table.parquet", index=False)
            return self.fit_files([f"{folder}/table.parquet"])

    return fitted


def _in_polars(calibrate):
    @functools.wraps(calibrate)
    def calibrated(self, df):
        if not _plain(df):
            return calibrate(self, df)
        return calibrate(self, pl.from_pandas(df)).to_pandas().set_axis(df.index)

    return calibrated


def _asked_again(fit):
    @functools.wraps(fit)
    def asked_again(self, X, y=None):
        model = fit(self, X, y)
        if isinstance(X, (pd.DataFrame, pl.DataFrame)):
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.save(Path(folder, "run"))
                first, second = model.calibrate(X), load(Path(folder, "run")).calibrate(X)
            assert first.equals(second), "loaded, it answers otherwise"
        return model

    return asked_again
