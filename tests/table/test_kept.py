"""A table that was encoded comes back, and takes new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.table.answers import row_labels
from proxycal.table.encode import Encoder
from proxycal.table.kept import kept_table, like_kept, readable
from proxycal.table.roles import Roles


def table(n=60):
    rng = np.random.default_rng(0)
    made = pd.DataFrame(
        {
            "y": rng.normal(1e5, 1e4, n).round(2),
            "p": np.where(rng.random(n) < 0.2, 0.0, rng.integers(1, 90, n)),
            "age": rng.integers(20, 80, n).astype(float),
            "kind": rng.choice(["fire", "flood"], n).astype(object),
            "owner": rng.random(n) < 0.5,
            "truth": np.nan,
            "name": [f"r{i}" for i in range(n)],
        }
    )
    made.loc[3, "age"] = np.nan
    made.loc[5, "kind"] = None
    made.loc[7, "truth"] = 9e4
    return made


ROLES = Roles("y", ["p"], ["age", "kind", "owner"], truth="truth", id="name")


def test_a_table_comes_back_as_it_was():
    given = table()
    encoder, arrays = Encoder.fit_transform(given, ROLES, "impute", log_proxies=["p"])
    made = kept_table(encoder, arrays, row_labels(given, ROLES))
    for name in ("y", "p", "age", "truth", "name", "kind"):
        assert (
            made[name].astype(object).fillna("gap").tolist()
            == given[name].astype(object).fillna("gap").tolist()
        )
    assert made["owner"].tolist() == [str(value) for value in given["owner"]]
    # What is made of both is the same.
    again, rows = Encoder.fit_transform(
        pd.concat([made, like_kept(encoder, given)]), ROLES, "impute", log_proxies=["p"]
    )
    assert again.encoded_names() == encoder.encoded_names()
    np.testing.assert_allclose(rows.E[:60], rows.E[60:], atol=1e-12)  # rounding of a mean of twice the rows


def test_levels_that_the_fit_has_not_seen_cannot_be_compared():
    given = table()
    encoder = Encoder.fit(given, ROLES, "impute")
    new = given.head(6).assign(kind=["fire", "quake", "flood", None, "fire", "fire"])
    assert readable(encoder, new).tolist() == [True, False, True, True, True, True]


def test_what_was_not_kept_is_named():
    given = table().assign(w=1.0, same=2.0)
    for roles, name in (
        (Roles("y", ["p"], ["age"], weights="w"), "'w'"),
        (Roles("y", ["p"], ["age"], cluster="kind"), "'kind'"),
        (Roles("y", ["p"], ["age", "same"]), "'same'"),
    ):
        rows = given.drop(index=[3, 5])
        encoder, arrays = Encoder.fit_transform(rows, roles)
        with pytest.raises(TableError, match=f"does not keep column {name}.*old=table"):
            kept_table(encoder, arrays, row_labels(rows, roles))
    encoder = Encoder.fit(given, ROLES, "impute")
    with pytest.raises(TableError, match="the new rows have no column 'age'"):
        like_kept(encoder, given.drop(columns="age"))
