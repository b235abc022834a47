"""Any frame of odd columns either encodes to finite arrays or is refused by a message that names a column."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxycal.errors import ProxycalError, TableError
from proxycal.table.audit import audit
from proxycal.table.encode import Encoder
from proxycal.table.frames import answer
from proxycal.table.require import require
from proxycal.table.roles import Roles

# A warning that quotes an odd value cannot be sent from a worker of the test run.
pytestmark = pytest.mark.filterwarnings("ignore")

N = 40
ODD_NAMES = [
    "<script>alert(1)</script>", "naïve\n名前", "a=b", "x" * 300, "'quoted\"", "{0}%s", "\u202eevil", "nan",
]  # fmt: skip
ODD_VALUES = [
    None, np.nan, pd.NA, pd.NaT, np.inf, -np.inf, 0, -0.0, 1, 2.5, 1e300, -1e300, 1e-300, 5e-324, 10**400,
    2**63, True, False, "", " ", "a", "<b>&amp;</b>", "12", "1,200", "missing", "\ud800", "\x00", "é" * 50,
    Decimal("1.5"), Decimal("Infinity"), 1j, b"bytes", (1, 2), [1], {"k": 1}, datetime.date(2020, 1, 1),
    datetime.timedelta(1), np.float32(3), np.datetime64("2020-01-01"), np.int8(3), pd.Timestamp("2020"),
]  # fmt: skip
DTYPES: list[Any] = [
    "float64", "float32", "float16", "int8", "uint64", "Int64", "Float64", "boolean", "string", "category",
    "bool", "datetime64[ns]", "timedelta64[ns]", "complex128", "Sparse[float64]", "int64[pyarrow]",
    "string[pyarrow]",
]  # fmt: skip
POOLS = st.one_of(
    st.lists(st.sampled_from(ODD_VALUES), min_size=1, max_size=4),
    st.lists(st.floats(), min_size=2, max_size=8),
    st.lists(st.floats(-1e40, 1e40), min_size=2, max_size=8),
    st.lists(st.one_of(st.none(), st.text(max_size=4)), min_size=1, max_size=6),
    st.lists(st.one_of(st.none(), st.integers()), min_size=1, max_size=6),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=4),
)


def spread(pool: list[Any], seed: int) -> list[Any]:
    """N values from a small pool: a column is as odd as its values, and small pools are quick to draw."""
    return [pool[i] for i in np.random.default_rng(seed).integers(0, len(pool), N)]


@st.composite
def series(draw: st.DrawFn) -> pd.Series:
    made = pd.Series(spread(draw(POOLS), draw(st.integers(0, 9))), dtype=object)
    dtype = draw(st.sampled_from([None, *DTYPES]))
    if dtype is not None:
        try:
            with np.errstate(all="ignore"):
                made = made.astype(dtype)
        except Exception:  # not every value goes into every dtype; the object column is as good a test
            return made
    return made


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, Roles]:
    naming = st.one_of(st.sampled_from(ODD_NAMES), st.text(min_size=1, max_size=8).filter(str.strip))
    names = draw(st.lists(naming, min_size=5, max_size=5, unique=True))
    tame = np.random.default_rng(draw(st.integers(0, 9))).normal(size=(N, 5))
    tame[:, 4] = np.abs(tame[:, 4])  # good weights, if that is what it becomes
    columns = {name: pd.Series(tame[:, i]) for i, name in enumerate(names)}
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        columns[name] = draw(series())
    frame = pd.DataFrame(columns)
    several = pd.MultiIndex.from_arrays([[1] * N, range(N)])
    frame.index = draw(st.sampled_from([frame.index, pd.Index(["i"] * N), several]))
    kind = draw(st.sampled_from(["weights", "cluster", "truth", "id", "proxy"]))
    last = names[4]
    proxies = [names[1], last] if kind == "proxy" else [names[1]]
    extra: dict[str, Any] = {} if kind == "proxy" else {kind: last}
    return frame, Roles(names[0], proxies, names[2:4], **extra)


def check(frame: Any, roles: Roles, missing: Any) -> None:
    try:
        encoder = Encoder.fit(frame, roles, missing)
        arrays = encoder.transform(frame)
    except ProxycalError as error:
        text = str(error)
        assert "\n" not in text
        assert len(text) < 1200
        assert any(repr(name)[1:20] in text for name in roles.columns) or "usable row" in text, text
        return
    assert arrays.y is not None
    for values in (arrays.y, arrays.P, arrays.E, arrays.weights):
        assert np.isfinite(values).all()
    assert (arrays.weights > 0).all()
    assert arrays.P.shape == (arrays.kept.sum(), len(arrays.proxy_names))
    assert arrays.E.shape == (arrays.kept.sum(), len(arrays.environment_names))
    assert len({*arrays.proxy_names, *arrays.environment_names}) == arrays.P.shape[1] + arrays.E.shape[1]
    assert encoder.rows_kept == arrays.kept.sum()
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert again == encoder
    assert again.transform(frame).E.tobytes() == arrays.E.tobytes()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tables(), st.sampled_from(["raise", "drop", "impute"]))
def test_any_pandas_table_encodes_or_is_refused_by_name(
    made: tuple[pd.DataFrame, Roles], missing: Any
) -> None:
    check(*made, missing)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tables())
def test_any_table_can_be_audited_and_what_a_fit_refuses_is_in_it(made: tuple[pd.DataFrame, Roles]) -> None:
    frame, roles = made
    findings = audit(frame, roles)
    assert all("\n" not in finding.statistic for finding in findings)
    json.dumps([finding.to_dict() for finding in findings], allow_nan=False)
    try:
        require(frame, roles)
    except TableError:
        assert not all(finding.ok for finding in findings)


POLARS = [
    pl.Int8, pl.UInt64, pl.Float32, pl.Boolean, pl.String, pl.Categorical, pl.Date, pl.Datetime, pl.Duration,
    pl.Time, pl.Decimal(20, 3), pl.List(pl.Int64), pl.Struct({"a": pl.Int64}), pl.Binary, pl.Null, pl.Int128,
    pl.Object, pl.Enum(["1", "2", "3"]), pl.Array(pl.Int64, 2),
]  # fmt: skip


@pytest.mark.parametrize("dtype", POLARS, ids=str)
@pytest.mark.parametrize("role", ["y", "p", "e", "w", "c", "i"])
@pytest.mark.parametrize("missing", ["raise", "impute"])
def test_every_polars_dtype_encodes_or_is_refused_by_name(dtype: Any, role: str, missing: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.uniform(1, 2, N) for name in ["y", "p", "q", "e", "f", "w", "c", "i"]})
    whole = rng.integers(1, 4, N).tolist()
    nested: dict[Any, list[Any]] = {
        pl.List: [[v] for v in whole],
        pl.Struct: [{"a": v} for v in whole],
        pl.Array: [[v, v] for v in whole],
    }
    if dtype in (pl.Object, pl.Null):
        odd = pl.Series(role, [{v} for v in whole] if dtype == pl.Object else [None] * N, dtype=dtype)
    elif dtype.base_type() in nested:
        odd = pl.Series(role, nested[dtype.base_type()], dtype=dtype)
    elif dtype in (pl.String, pl.Categorical, pl.Binary) or isinstance(dtype, pl.Enum):
        odd = pl.Series(role, [str(v) for v in whole]).cast(dtype)
    else:
        odd = pl.Series(role, whole).cast(dtype)
    check(
        frame.with_columns(odd), Roles("y", ["p", "q"], ["e", "f"], weights="w", cluster="c", id="i"), missing
    )


def test_ten_thousand_levels_are_refused_quickly_and_one_row_groups_are_fine() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 3)), columns=["y", "p", "e"])
    frame["many"] = [f"level {i % 10_000}" for i in range(20_000)]
    with pytest.raises(TableError, match="'many' makes 9999 of them"):
        Encoder.fit(frame, Roles("y", ["p"], ["e", "many"]))
    assert Encoder.fit(frame, Roles("y", ["p"], ["e"], cluster="many")).transform(frame).cluster.max() == 9999  # type: ignore[union-attr]
    small = frame.head(60).assign(alone=["one"] + ["rest"] * 59)
    arrays = Encoder.fit(small, Roles("y", ["p"], ["e", "alone"])).transform(small)
    assert arrays.E[:, 1].sum() == 59


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.text(max_size=3), st.integers()), min_size=1, max_size=8))
def test_answers_keep_any_index(labels: list[tuple[str, int]]) -> None:
    for index in (pd.MultiIndex.from_tuples(labels), pd.Index([label for label, _ in labels])):
        question = pd.DataFrame({"y": np.zeros(len(labels))}, index=index)
        out = answer(question, {"y_cal": np.arange(len(labels))})
        pd.testing.assert_index_equal(out.index, index)
        assert out["y_cal"].tolist() == list(range(len(labels)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(-300, 300), st.integers(0, 2**32 - 1))
def test_units_and_row_order_change_no_bit(power: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_t(2, size=(N, 4)), columns=["y", "p", "q", "e"])
    frame["w"] = rng.uniform(0.01, 100, N)
    roles = Roles("y", ["p", "q"], ["e"], weights="w")
    plain = Encoder.fit(frame, roles).transform(frame)
    turn = rng.permutation(N)
    other = frame.assign(p=np.ldexp(frame["p"].to_numpy(), power)).iloc[turn]
    turned = Encoder.fit(other, roles).transform(other)
    assert turned.P.tobytes() == np.ascontiguousarray(plain.P[turn]).tobytes()
