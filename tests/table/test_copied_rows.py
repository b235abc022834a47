"""Rows that are there twice are told, and rows that are equal by chance are not."""

from __future__ import annotations

import numpy as np
import pandas as pd

import proxycal
from proxycal.table.audit import audit
from proxycal.table.copied_rows import copies
from proxycal.table.roles import Roles

ROLES = Roles("y", ["p"], ["e"])


def measured(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=["y", "p", "e"])


def rows_finding(frame, roles=ROLES):
    return next(finding for finding in audit(frame, roles) if finding.topic == "rows")


def test_a_table_below_itself_is_told_with_its_rows():
    table = measured()
    finding = rows_finding(pd.concat([table, table], ignore_index=True))
    assert not finding.ok
    assert not finding.must_fix
    assert finding.value == 200.0
    assert "200 rows of 400 equal to another in every column, first at index 200, 201" in finding.statistic
    assert rows_finding(table).ok


def test_a_column_that_tells_them_apart_says_that_they_are_other_rows():
    table = measured()
    both = pd.concat([table, table], ignore_index=True).assign(person=np.arange(400))
    assert not rows_finding(both).ok
    assert rows_finding(both, Roles("y", ["p"], ["e"], id="person")).ok


def test_answers_of_few_kinds_are_equal_by_chance():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 3, (500, 3)), columns=["y", "p", "e"])
    assert rows_finding(table).ok
    # One column of 3,000 values beside answers: 2% of 500 rows are equal to another.
    table["y"] = rng.integers(0, 3_000, 500)
    assert rows_finding(table.assign(p=table["p"] % 2, e=0 * table["e"])).ok
    jobs = proxycal.datasets.load_jobs()
    assert rows_finding(jobs.table, jobs.roles).ok


def test_gaps_are_equal_to_gaps_and_two_copies_of_many_rows_are_left_in_peace():
    y, p = np.array([1.0, np.nan, 2.0, np.nan]), np.array([1.0, 3.0, 2.0, 3.0])
    assert copies({"y": y, "p": p}).tolist() == [False, False, False, True]
    table = measured(1_000)
    table.loc[1_000] = table.loc[3]
    assert rows_finding(table).ok
