"""Tables that come in batches: the answers of the same table in memory, a batch at a time."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import proxycal
from proxycal.errors import ProxycalWarning, TableError
from proxycal.scale import streams
from proxycal.scale.streams import is_streamed

SIM = proxycal.simulate(n=900, d_z=2, d_e=2, n_proxies=3, alpha=5.0, random_state=0)
TABLE = SIM.table.assign(
    region=np.where(np.arange(900) % 3, "east", "west"), code=[f"0{i}" for i in range(900)]
)
ROLES = proxycal.Roles("y", ["p_1", "p_2", "p_3"], ["e_1", "region"])


def relation(table: pd.DataFrame):
    return duckdb.connect().from_df(table)


def lazy(table: pd.DataFrame):
    return pl.from_pandas(table).lazy()


def reader(table: pd.DataFrame):
    return pa.Table.from_pandas(table, preserve_index=False).to_reader(max_chunksize=100)


def ibis_table(table: pd.DataFrame):
    """What an ibis table has of it; ibis itself runs with some versions of DuckDB only."""

    class Table:
        __module__ = "ibis.expr.types.relations"

        def __init__(self, held):
            self.held, self.columns = held, tuple(held.schema.names)

        def select(self, columns):
            return Table(self.held.select(columns))

        def to_pyarrow_batches(self, *, chunk_size):
            return self.held.to_reader(max_chunksize=chunk_size)

    return Table(pa.Table.from_pandas(table, preserve_index=False))


KINDS = pytest.mark.parametrize("stream", [relation, lazy, reader, ibis_table])


@pytest.fixture(autouse=True)
def short_batches(monkeypatch):
    """So that this table is several batches, each of whole blocks."""
    monkeypatch.setattr(streams, "BATCH", 256)


@pytest.fixture(scope="module")
def model():
    return proxycal.ProxyCalibrator(ROLES, direction="over", method="moments").fit(TABLE)


@KINDS
def test_a_fit_is_that_of_the_table(model, stream):
    assert is_streamed(stream(TABLE))
    fitted = proxycal.ProxyCalibrator(ROLES, direction="over", method="moments").fit(stream(TABLE))
    assert fitted.result_ == model.result_


@KINDS
def test_rows_are_answered_as_they_are_read(model, stream):
    answer = model.calibrate(stream(TABLE))
    assert isinstance(answer, pa.RecordBatchReader)
    frame = answer.read_pandas()
    assert list(frame["code"]) == list(TABLE["code"])
    expected = model.calibrate(TABLE)
    # Batches of a size that is no multiple of a block: products of matrices round in other ways.
    pd.testing.assert_frame_equal(frame[expected.columns], expected, rtol=1e-9, atol=1e-12)


@KINDS
def test_totals_add_up_batch_by_batch(model, stream):
    totals = model.totals(stream(TABLE), by="region")
    pd.testing.assert_frame_equal(totals, model.totals(TABLE, by="region"), rtol=1e-9)


def test_no_more_than_a_batch_is_asked_for_at_a_time(model):
    given = []

    def batches():
        whole = pa.Table.from_pandas(TABLE, preserve_index=False)
        for batch in whole.to_batches(max_chunksize=128):
            given.append(batch.num_rows)
            yield batch

    schema = pa.Table.from_pandas(TABLE, preserve_index=False).schema
    answer = model.calibrate(pa.RecordBatchReader.from_batches(schema, batches()))
    answer.read_next_batch()
    assert sum(given) <= 4 * 128
    assert sum(batch.num_rows for batch in answer) == 900 - 256


def test_rows_with_gaps_are_counted_at_the_end(model):
    table = TABLE.assign(p_1=TABLE["p_1"].where(TABLE.index > 3))
    dropping = proxycal.ProxyCalibrator(ROLES, direction="over", method="moments", missing="drop").fit(table)
    with pytest.warns(ProxycalWarning, match="4 rows of 900"):
        frame = dropping.calibrate(reader(table)).read_pandas()
    assert frame["y_cal"].isna().sum() == 4


@KINDS
def test_what_is_wrong_is_said_before_any_answer(model, stream):
    with pytest.raises(TableError, match="has no column 'p_2'"):
        model.calibrate(stream(TABLE.drop(columns="p_2")))
    with pytest.raises(TableError, match="already has a column 'mu'"):
        model.calibrate(stream(TABLE.assign(mu=0.0)))
    with pytest.raises(TableError, match="empty"):
        model.calibrate(stream(TABLE.head(0)))
    with pytest.raises(TableError, match="empty"):
        proxycal.ProxyCalibrator(ROLES, direction="over", method="moments").fit(stream(TABLE.head(0)))
    with pytest.raises(TableError, match="has no column 'state'"):
        model.totals(stream(TABLE), by="state")


def test_what_is_in_memory_is_no_stream():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (TABLE, pl.from_pandas(TABLE), pa.Table.from_pandas(TABLE)):
            assert not is_streamed(table)
