"""Codes as they come, and the repairs that are known."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.datasets.account import balance
from proxycal.datasets.county_shapes import county_list
from proxycal.datasets.fips import SUCCESSORS, clean_fips, repair


@pytest.mark.parametrize(
    "written", ["01001", "'01001'", '"01001"', " 01001 ", 1001, 1001.0, "1001.0", "0500000US01001"]
)
def test_one_county_in_every_spelling(written):
    assert clean_fips(pd.Series([written])).tolist() == ["01001"]


@pytest.mark.parametrize("written", ["", "Autauga", "010010", "1", None, "01-001"])
def test_what_is_no_code_is_missing(written):
    assert clean_fips(pd.Series([written], dtype=object)).isna().all()


def test_successors_are_on_the_list_and_predecessors_are_not():
    listed = set(county_list().index)
    assert {new for new, _ in SUCCESSORS.values()} <= listed
    assert not set(SUCCESSORS) & listed


@pytest.mark.parametrize(
    ("old", "new"),
    [("46113", "46102"), ("02063", "02261"), ("02066", "02261"), ("09190", "09001"), ("51515", "51019")],
)
def test_known_changes_are_repaired_and_named(old, new):
    fixed, known, account = repair(pd.Series([old, "01001"]), "losses")
    assert fixed.tolist() == [new, "01001"]
    assert known.all()
    (entry,) = account
    assert (entry.rows, entry.change) == (1, 0)
    assert f"{old} to {new}" in entry.examples[0]


def test_unknown_codes_are_counted_and_named():
    fixed, known, account = repair(pd.Series(["72001", "72001", None, "01001"]), "losses")
    assert known.tolist() == [False, False, False, True]
    assert fixed[known].tolist() == ["01001"]
    assert balance(account, "losses") == -3
    assert account[-1].examples == ("72001 x2", "blank")
