"""The sample of a table does not depend on the order of its rows, nor on where it is cut."""

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest

from proxycal.scale import sample
from proxycal.scale.sample import summarise
from proxycal.table.roles import Roles

ROLES = Roles("y", ["p"], ["e", "group"])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=600), "p": rng.normal(size=600), "e": rng.normal(size=600)})
    frame["group"] = np.where(np.arange(600) < 3, "rare", rng.choice(["a", "b"], size=600))
    return frame


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_ROWS", 50)
    monkeypatch.setattr(sample, "LEVEL_ROWS", 4)


def cut(frame, at):
    return [part for part in np.split(np.arange(len(frame)), at) if len(part)]


@pytest.mark.parametrize("at", [[300], [1, 2, 599], [100, 200, 300, 400, 500]])
def test_cuts_do_not_change_it(table, at):
    whole = summarise(table, ROLES)
    parts = reduce(add, (summarise(table.iloc[part], ROLES) for part in cut(table, at)))
    pd.testing.assert_frame_equal(parts.sample, whole.sample)
    np.testing.assert_array_equal(parts.number, whole.number)
    assert (parts.rows, parts.complete, parts.weight, parts.gaps) == (600, 600, 600.0, whole.gaps)


def test_order_and_dtype_do_not_change_it(table):
    whole = summarise(table, ROLES)
    other = table.iloc[::-1].astype({"group": "category", "y": "Float64"})
    again = summarise(other, ROLES)
    np.testing.assert_array_equal(again.number, whole.number)
    assert again.sample.index.tolist() == whole.sample.index.tolist()


def test_it_is_a_sample_that_knows_every_level(table):
    found = summarise(table, ROLES)
    assert set(found.sample["group"]) == {"a", "b", "rare"}
    assert (found.sample["group"] == "rare").sum() == 3
    assert 50 <= len(found.sample) <= 53
    # Hashes are no function of the values' size: the mean of the sample is that of the table.
    assert abs(found.sample["y"].iloc[:50].mean() - table["y"].mean()) < 4 * table["y"].std() / np.sqrt(50)


def test_rows_that_are_alike_count_and_do_not_crowd_the_sample(table):
    repeated = pd.concat([table, *[table.iloc[[7]]] * 400], ignore_index=True)
    found, before = summarise(repeated, ROLES), summarise(table, ROLES)
    np.testing.assert_array_equal(found.number, before.number)
    assert found.count.sum() == before.count.sum() + (400 if 7 in found.sample.index else 0)
    everything = summarise(repeated[["y", "p", "e"]].assign(group="a").iloc[[7] * 3 + [8]], ROLES)
    assert sorted(everything.count.tolist()) == [1, 3]


def test_gaps_and_weights_are_counted_over_all_rows(table):
    roles = Roles("y", ["p"], ["e", "group"], weights="w", counts="times")
    holed = table.assign(w=0.5, times=3).astype({"y": float})
    holed.loc[[3, 5], "p"] = np.nan
    holed.loc[5, "group"] = None
    found = reduce(add, (summarise(holed.iloc[part], roles) for part in cut(holed, [4, 90])))
    assert found.gaps == {"y": 0, "p": 2, "e": 0, "group": 1}
    assert (found.rows, found.complete, found.stand_for) == (600, 598, 1794.0)
    assert found.weight == 897.0


def test_of_several_reports_only_rows_without_any_have_a_gap():
    piece = pd.DataFrame({"own": [1.0, np.nan, np.nan], "register": [2.0, 3.0, np.nan], "e": [0.0, 1.0, 2.0]})
    seen = summarise(piece, Roles(["own", "register"], environment=["e"]))
    assert seen.complete == 2
    assert seen.gaps == {"own": 1, "e": 0}
    # The reports themselves go with the sample.
    assert list(seen.sample.columns) == ["own", "register", "e"]
