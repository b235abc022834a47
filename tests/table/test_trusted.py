"""Trusted rows: how the table marks them, and what the audit says of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.table.audit import audit
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles
from proxycal.table.training import take, training_from, training_state

ROLES = Roles("y", ["p"], ["e"], trusted="ok")


def table(marks):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"y": rng.normal(size=60), "p": rng.normal(size=60), "e": rng.normal(size=60), "ok": marks}
    )


def some(true, false):
    return [true if row % 3 == 0 else false for row in range(60)]


@pytest.mark.parametrize(
    "marks",
    [some(True, False), some(1, 0), some(1.0, np.nan), some(True, None)],
    ids=["booleans", "numbers", "blank numbers", "blank booleans"],
)
def test_marks_are_read_however_they_are_written(marks):
    rows = table(marks)
    arrays = Encoder.fit(rows, ROLES).transform(rows)
    np.testing.assert_array_equal(arrays.trusted, np.arange(60) % 3 == 0)
    values, tensors = training_state(take(arrays, np.arange(10)))
    np.testing.assert_array_equal(training_from(values, tensors).trusted, np.arange(10) % 3 == 0)


@pytest.mark.parametrize(("marks", "count"), [(some(2, 0), 20), (some("yes", "no"), 60)], ids=["2", "text"])
def test_other_values_are_refused_with_their_rows(marks, count):
    rows = table(marks)
    with pytest.raises(TableError, match=f"'ok' .trusted. holds {count} values other than True and False"):
        Encoder.fit(rows, ROLES)
    finding = next(one for one in audit(rows, ROLES) if one.topic == "trusted")
    assert finding.must_fix
    assert f"{count} values other than" in finding.reading


def test_a_table_without_the_column_trusts_nobody():
    rows = table(some(True, False))
    encoder = Encoder.fit(rows, ROLES)
    assert encoder.transform(rows.drop(columns="ok")).trusted is None
    assert not encoder.transform(rows.assign(ok=np.nan)).trusted.any()


@pytest.mark.parametrize(
    ("marked", "ok", "words"),
    [
        (20, True, "Enough rows are marked"),
        (9, True, "marks 9 of 60 rows as trusted"),
        (60, False, "marks every row as trusted"),
    ],
)
def test_the_audit_counts_trusted_rows(marked, ok, words):
    finding = next(one for one in audit(table(np.arange(60) < marked), ROLES) if one.topic == "trusted")
    assert finding.ok is ok
    assert words in finding.reading
