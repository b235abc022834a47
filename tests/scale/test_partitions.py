"""A Dask data frame, calibrated where it is: the answer of the whole table, partition by partition."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator, simulate
from proxycal.errors import ProxycalWarning, TableError
from proxycal.scale.partitions import calibrate_partitions

dask = pytest.importorskip("dask")
frames = pytest.importorskip("dask.dataframe")

# A partition begins anywhere in a block of rows, which may change the last digit of a product of matrices.
NEAR = {"rtol": 1e-6, "atol": 1e-6}


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def table(n: int = 3000) -> pd.DataFrame:
    made = simulate(n=n, d_z=2, d_e=3, n_proxies=3, alpha=6.0, random_state=1).table
    return made.set_index(pd.Index(np.arange(n) + 10_000, name="number"))


@pytest.fixture(scope="module")
def model() -> ProxyCalibrator:
    sim = simulate(n=600, d_z=2, d_e=3, n_proxies=3, alpha=6.0, random_state=0)
    return ProxyCalibrator(sim.roles, direction="over", missing="drop").fit(sim.table)


@pytest.mark.parametrize("partitions", [1, 7])
def test_the_answer_of_the_whole_table(partitions, model):
    whole = model.calibrate(table())
    lazy = calibrate_partitions(model.result_, frames.from_pandas(table(), npartitions=partitions))
    assert lazy.npartitions == partitions
    assert lazy.columns.tolist() == whole.columns.tolist()
    pd.testing.assert_frame_equal(lazy.compute(), whole, **NEAR)


def test_partitions_without_rows_or_without_answers(model):
    """A filter may leave nothing of a partition, and one may have a gap in every row."""
    rows = table()
    rows.iloc[1000:2000, rows.columns.get_loc("p_1")] = np.nan
    lazy = frames.from_pandas(rows.assign(late=rows.index >= 12_000), npartitions=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        whole = model.calibrate(rows)
    pd.testing.assert_frame_equal(calibrate_partitions(model, lazy).compute(), whole, **NEAR)
    late = lazy[lazy["late"]]
    pd.testing.assert_frame_equal(calibrate_partitions(model, late).compute(), whole.iloc[2000:], **NEAR)


def test_answers_stand_beside_their_rows(model):
    lazy = frames.from_pandas(table(), npartitions=4)
    joined = lazy.assign(y_cal=calibrate_partitions(model, lazy)["y_cal"]).compute()
    np.testing.assert_allclose(joined["y_cal"], model.calibrate(table())["y_cal"], **NEAR)


def test_no_finding_is_one_warning(model):
    fit = replace(model.result_, verdict="not identified")
    with pytest.warns(ProxycalWarning, match="the verdict is 'not identified'") as caught:
        calibrate_partitions(fit, frames.from_pandas(table(100), npartitions=2)).compute()
    assert len(caught) == 1


def test_other_frames_are_refused(model):
    with pytest.raises(TableError, match=r"use model\.calibrate"):
        calibrate_partitions(model.result_, table(100))
    with pytest.raises(TableError, match="'p_2'"):
        calibrate_partitions(
            model.result_, frames.from_pandas(table(100).drop(columns="p_2"), npartitions=1)
        ).compute()
