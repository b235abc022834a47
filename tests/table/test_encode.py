from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proxycal.errors import StoreError, TableError
from proxycal.table.encode import Arrays, Encoder, row_weights
from proxycal.table.roles import Roles

FULL = Roles(
    "loss",
    ["built", "veg"],
    ["income", "hazard"],
    weights="weight",
    cluster="county",
    id="row",
    truth="audited",
)


def same_bits(one: Arrays, two: Arrays) -> bool:
    """Every field of both, compared byte for byte."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.tobytes()
        return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value

    return all(plain(getattr(one, field.name)) == plain(getattr(two, field.name)) for field in fields(Arrays))


def test_the_arrays_are_what_numpy_says(table: pd.DataFrame) -> None:
    arrays = Encoder.fit(table, Roles("loss", ["built", "veg"], ["income", "hazard"])).transform(table)
    np.testing.assert_array_equal(arrays.y, table["loss"])
    for i, name in enumerate(["built", "veg"]):
        x = table[name].to_numpy()
        np.testing.assert_allclose(arrays.P[:, i], (x - x.mean()) / x.std(), rtol=1e-12, atol=1e-12)
    assert arrays.environment_names == ("income", "hazard=flood", "hazard=storm")
    assert arrays.environment_source == ("income", "hazard", "hazard")
    assert arrays.categorical == (False, True, True)
    assert arrays.proxy_names == arrays.proxy_source == ("built", "veg")
    assert arrays.proxy_categorical == (False, False)
    np.testing.assert_array_equal(arrays.E[:, 1:], pd.get_dummies(table["hazard"]).to_numpy(float)[:, 1:])
    assert arrays.level_names == {"hazard": ("fire", "flood", "storm")}
    np.testing.assert_array_equal(
        np.array(["fire", "flood", "storm"])[arrays.levels["hazard"]], table["hazard"]
    )
    np.testing.assert_array_equal(arrays.weights, np.ones(60))
    assert arrays.cluster is None
    assert arrays.truth is None
    assert arrays.kept.all()
    assert arrays.n == 60


def test_weights_cluster_and_truth_come_along(table: pd.DataFrame) -> None:
    arrays = Encoder.fit(table, FULL).transform(table)
    np.testing.assert_allclose(arrays.weights, table["weight"] / table["weight"].mean())
    np.testing.assert_array_equal(np.array(list("abcd"))[arrays.cluster], table["county"])
    np.testing.assert_array_equal(arrays.truth, table["audited"])
    for name, i in (("built", 0), ("veg", 1)):
        mean = np.average(table[name], weights=table["weight"])
        sd = np.sqrt(np.average((table[name] - mean) ** 2, weights=table["weight"]))
        np.testing.assert_allclose(arrays.P[:, i], (table[name] - mean) / sd, rtol=1e-12, atol=1e-12)


def test_integer_weights_equal_repeated_rows(table: pd.DataFrame) -> None:
    table.loc[[3, 8], "income"] = np.nan
    again = table.loc[table.index.repeat(table["weight"].astype(int))]
    weighted = Encoder.fit(table, FULL, "impute").transform(table)
    plain = Roles("loss", ["built", "veg"], ["income", "hazard"])
    repeated = Encoder.fit(again, plain, "impute").transform(table)
    np.testing.assert_allclose(weighted.P, repeated.P, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(weighted.E, repeated.E, rtol=1e-12, atol=1e-13)


def test_new_rows_use_what_was_learned_and_need_only_what_is_used(table: pd.DataFrame) -> None:
    encoder = Encoder.fit(table, FULL)
    old = encoder.transform(table)
    part = encoder.transform(table.tail(5).drop(columns=["weight", "county", "row", "audited"]))
    np.testing.assert_array_equal(part.P, old.P[-5:])
    np.testing.assert_array_equal(part.E, old.E[-5:])
    np.testing.assert_array_equal(part.levels["hazard"], old.levels["hazard"][-5:])
    np.testing.assert_array_equal(part.weights, np.ones(5))
    assert part.cluster is None
    assert part.truth is None
    bare = encoder.transform(table.tail(5)[["hazard", "veg", "income", "built"]], outcome=False)
    assert bare.y is None
    np.testing.assert_array_equal(bare.P, part.P)
    table["weight"] = -1.0
    np.testing.assert_array_equal(encoder.transform(table, design=False).weights, np.ones(60))
    with pytest.raises(TableError, match="'weight'"):
        encoder.transform(table)


def test_truth_changes_nothing_else(table: pd.DataFrame) -> None:
    other = table.assign(audited=table["audited"].to_numpy()[::-1])
    one, two = Encoder.fit(table, FULL), Encoder.fit(other, FULL)
    assert one == two
    np.testing.assert_array_equal(one.transform(table).P, two.transform(other).P)


def test_state_survives_json_to_the_bit(table: pd.DataFrame) -> None:
    table.loc[[1, 2], "income"] = np.nan
    table.loc[7, "hazard"] = None
    encoder = Encoder.fit(table, FULL, "impute")
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert again == encoder
    assert same_bits(again.transform(table), encoder.transform(table))


@pytest.mark.parametrize("factor", [2.0**-40, 2.0, 2.0**70])
@pytest.mark.parametrize("column", ["built", "income", "weight"])
def test_other_units_give_the_same_bits(table: pd.DataFrame, column: str, factor: float) -> None:
    plain = Encoder.fit(table, FULL).transform(table)
    table[column] *= factor
    scaled = Encoder.fit(table, FULL).transform(table)
    assert plain.P.tobytes() == scaled.P.tobytes()
    assert plain.E.tobytes() == scaled.E.tobytes()


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_the_order_of_rows_and_the_kind_of_frame_change_no_bit(table: pd.DataFrame, missing: Any) -> None:
    table.loc[[3, 8], "income"] = np.nan
    table.loc[5, "hazard"] = None
    plain = Encoder.fit(table, FULL, missing)
    turned = table.sample(frac=1, random_state=1)
    assert Encoder.fit(turned, FULL, missing) == plain
    one, two = plain.transform(table), plain.transform(turned)
    assert one.cluster is not None
    assert two.cluster is not None
    assert dict(zip(table.index[one.kept], one.cluster, strict=True)) == dict(
        zip(turned.index[two.kept], two.cluster, strict=True)
    )
    polars = pl.from_pandas(table)
    assert Encoder.fit(polars, FULL, missing) == plain
    assert same_bits(plain.transform(polars), plain.transform(table))


def test_sizes_beyond_all_measure_stay_finite(table: pd.DataFrame) -> None:
    table["built"] *= 1e300
    table["veg"] *= 1e-300
    table["income"] = np.where(np.arange(60) == 7, 1e300, table["income"] * 1e-300)
    arrays = Encoder.fit(table, FULL).transform(table)
    assert np.isfinite(arrays.P).all()
    assert np.isfinite(arrays.E).all()
    mean, sd = np.average(arrays.P, axis=0, weights=arrays.weights), arrays.P.std(axis=0)
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    assert ((sd > 0.5) & (sd < 2)).all()


def test_drop_keeps_the_complete_rows_and_learns_from_them_alone(table: pd.DataFrame) -> None:
    table.loc[3, "income"], table.loc[9, "loss"] = 1e9, np.nan
    table.loc[3, "hazard"] = None
    table.loc[12, "hazard"], table.loc[12, "veg"] = "quake", np.nan
    encoder = Encoder.fit(table, FULL, "drop")
    arrays = encoder.transform(table)
    assert np.flatnonzero(~arrays.kept).tolist() == [3, 9, 12]
    clean = table.drop(index=[3, 9, 12])
    complete = Encoder.fit(clean, FULL, "raise").transform(clean)
    assert arrays.P.tobytes() == complete.P.tobytes()
    assert arrays.E.tobytes() == complete.E.tobytes()
    np.testing.assert_allclose(arrays.weights, clean["weight"] / clean["weight"].mean())
    np.testing.assert_array_equal(arrays.truth, clean["audited"])
    assert arrays.level_names["hazard"] == ("fire", "flood", "storm")
    assert arrays.y is not None
    assert not np.isnan(arrays.y).any()
    assert encoder.transform(table, outcome=False).kept.sum() == 58
    assert [finding.topic for finding in encoder.findings] == ["missing"]


def test_gaps_in_a_constant_column_count_alike_at_fit_and_transform(table: pd.DataFrame) -> None:
    table["one"] = 1.0
    table.loc[4, "one"], table.loc[4, "hazard"] = np.nan, "quake"
    encoder = Encoder.fit(table, Roles("loss", ["built"], ["income", "hazard", "one"]), "drop")
    assert encoder.dropped == ("one",)
    assert np.flatnonzero(~encoder.transform(table).kept).tolist() == [4]


def test_impute_by_hand(table: pd.DataFrame, roles: Roles) -> None:
    table.loc[[3, 8, 11], "income"] = np.nan
    table.loc[5, "hazard"] = None
    encoder = Encoder.fit(table, roles, "impute")
    arrays = encoder.transform(table)
    assert arrays.environment_names == (
        "income",
        "income=missing",
        "hazard=flood",
        "hazard=storm",
        "hazard=missing",
    )
    seen = table["income"].dropna()
    expected = (seen.median() - seen.mean()) / seen.std(ddof=0)
    np.testing.assert_allclose(arrays.E[[3, 8, 11], 0], expected, rtol=1e-12)
    assert np.flatnonzero(arrays.E[:, 1]).tolist() == [3, 8, 11]
    assert np.flatnonzero(arrays.E[:, 4]).tolist() == [5]
    assert arrays.level_names["hazard"] == ("fire", "flood", "storm", "missing")
    assert encoder.gaps == (("income", 3), ("hazard", 1))
    # A gap where training had none: the training median, no new column.
    table.loc[0, "veg"] = np.nan
    filled = encoder.transform(table).P[0, 1]
    veg = table["veg"].copy()
    full = Encoder.fit(table.fillna({"veg": veg.median()}), roles, "impute")
    assert np.isfinite(filled)
    assert abs(filled - full.transform(table).P[0, 1]) < 0.2


def test_constant_columns_are_left_out_by_name(table: pd.DataFrame) -> None:
    table["one"], table["word"], table["near"] = 1e300, "x", [0.3, 0.1 + 0.2] * 30
    roles = Roles("loss", ["built", "one"], ["income", "word", "near"])
    encoder = Encoder.fit(table, roles)
    assert encoder.dropped == ("one", "word", "near")
    arrays = encoder.transform(table.drop(columns=["one", "word"]))
    assert arrays.proxy_names == ("built",)
    assert arrays.environment_names == ("income",)
    assert arrays.levels == {}
    (finding,) = encoder.findings
    assert finding.topic == "constant"
    assert "'one', 'word', 'near'" in finding.reading
    assert Encoder.from_dict(encoder.to_dict()) == encoder


def test_categorical_proxies_become_columns(table: pd.DataFrame) -> None:
    table["flag"] = np.arange(60) % 3 == 0
    arrays = Encoder.fit(table, Roles("loss", ["hazard", "flag"], ["income"])).transform(table)
    assert arrays.proxy_names == ("hazard=flood", "hazard=storm", "flag=True")
    assert arrays.proxy_source == ("hazard", "hazard", "flag")
    assert arrays.proxy_categorical == (True, True, True)
    np.testing.assert_array_equal(arrays.P[:, 2], table["flag"])
    assert arrays.levels == {}


def test_encoded_names_are_unique_whatever_the_columns_are_called(table: pd.DataFrame) -> None:
    table["hazard=flood"] = np.arange(60.0)
    table["hazard=storm"] = ["a", "b"] * 30
    roles = Roles("loss", ["built", "hazard=flood"], ["income", "hazard", "hazard=storm"])
    arrays = Encoder.fit(table, roles).transform(table)
    names = arrays.proxy_names + arrays.environment_names
    assert len(set(names)) == len(names)
    assert arrays.proxy_names == ("built", "hazard=flood")
    assert len(names) == arrays.P.shape[1] + arrays.E.shape[1]


def test_bad_new_tables_are_refused_by_name(table: pd.DataFrame, roles: Roles) -> None:
    encoder = Encoder.fit(table, roles)
    cases: list[tuple[pd.DataFrame, str]] = [
        (table.assign(hazard="quake"), "'hazard'.*'quake'.*60 rows"),
        (table.drop(columns="income"), "no column 'income'"),
        (table.drop(columns="loss"), "no column 'loss'"),
        (table.assign(income="rich"), "'income'.*numeric"),
        (table.assign(income=np.nan), "'income'"),
        (table.assign(built=np.inf), "'built'.*infinite"),
        (table.assign(loss="much"), "'loss'"),
        (
            table.assign(income=table["income"].where(table.index != 4)),
            "'income' holds 1 missing value, at index 4",
        ),
        (table.head(0), "empty"),
    ]
    for frame, words in cases:
        with pytest.raises(TableError, match=words):
            encoder.transform(frame)


def test_one_row_is_enough_to_transform_gaps_and_all(table: pd.DataFrame, roles: Roles) -> None:
    assert Encoder.fit(table, roles).transform(table.head(1)).P.shape == (1, 2)
    table.loc[[0, 5], ["income", "hazard"]] = None
    encoder = Encoder.fit(table, roles, "impute")
    np.testing.assert_array_equal(encoder.transform(table.head(1)).E, encoder.transform(table).E[:1])


def test_a_category_trained_as_text_accepts_other_dtypes_of_the_same_levels(table: pd.DataFrame) -> None:
    table["zone"] = pd.Categorical(np.arange(60) % 3)
    roles = Roles("loss", ["built"], ["zone", "hazard"])
    encoder = Encoder.fit(table, roles)
    plain = encoder.transform(table)
    other = table.assign(zone=np.arange(60) % 3 * 1.0, hazard=table["hazard"].astype("category"))
    assert same_bits(encoder.transform(other), plain)
    assert same_bits(encoder.transform(table.assign(zone=(np.arange(60) % 3).astype(str))), plain)


@pytest.mark.parametrize(
    "damage",
    [
        {"missing": "ignore"},
        {"proxies": []},
        {"proxies": None},
        {"environment": [{"kind": "number"}]},
        {"dropped": ["built"]},
        {"dropped": [["built"]]},
        {"dropped": ["nothing"]},
        {"rows_seen": "many"},
        {"gaps": []},
        {"roles": {"outcome": "loss", "proxies": ["other"], "environment": ["income", "hazard"]}},
    ],
)
def test_a_damaged_state_is_refused(table: pd.DataFrame, roles: Roles, damage: dict[str, Any]) -> None:
    state = {**Encoder.fit(table, roles).to_dict(), **damage}
    with pytest.raises(StoreError, match="save again"):
        Encoder.from_dict(state)


def test_the_unit_of_survey_weights_is_no_evidence(table: pd.DataFrame) -> None:
    survey = np.random.default_rng(0).uniform(0.5, 2.0, len(table))
    small = Encoder.fit(table.assign(weight=survey), FULL).transform(table.assign(weight=survey))
    large = Encoder.fit(table.assign(weight=1000.5 * survey), FULL).transform(
        table.assign(weight=1000.5 * survey)
    )
    np.testing.assert_allclose(small.weights, large.weights, rtol=1e-12)
    assert small.weights.mean() == pytest.approx(1.0)


def test_sampling_weights_have_no_unit_and_counts_have_one(table: pd.DataFrame) -> None:
    rng = np.random.default_rng(0)
    table = table.assign(w=rng.integers(500, 1500, 60), times=rng.integers(1, 4, 60))
    bare = Roles("loss", ["built", "veg"], ["income", "hazard"])
    weighted = Encoder.fit_transform(table, replace(bare, weights="w"))[1]
    # Whole numbers or not, sampling weights never say that there are more rows.
    assert weighted.weights.sum() == pytest.approx(60.0)
    counted = Encoder.fit_transform(table, replace(bare, counts="times"))[1]
    np.testing.assert_array_equal(counted.weights, table["times"])
    both = Encoder.fit_transform(table, replace(bare, weights="w", counts="times"))[1]
    repeated = table.loc[table.index.repeat(table["times"])]
    rows = Encoder.fit_transform(repeated, replace(bare, weights="w"))[1]
    assert both.weights.sum() == pytest.approx(len(repeated))
    # One by one and at once the same numbers are added in another order.
    np.testing.assert_allclose(both.P, rows.P[~repeated.index.duplicated()], rtol=1e-9)
    np.testing.assert_allclose(
        np.repeat(both.weights / table["times"], table["times"]), rows.weights, rtol=1e-9
    )


@pytest.mark.parametrize("unit", [1e-6, 0.37, 1000.0])
def test_row_weights_are_free_of_the_unit(unit: float) -> None:
    counts, weights = np.array([1.0, 2.0, 5.0]), np.array([0.3, 4.0, 1.0])
    np.testing.assert_allclose(row_weights(counts, unit * weights), row_weights(counts, weights), rtol=1e-12)
