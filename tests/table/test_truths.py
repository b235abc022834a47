"""The audit of validated rows: their number and their units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.table.audit import audit
from proxycal.table.roles import Roles

ROLES = Roles("y", ["p"], ["e"], truth="t")


def asked(known, times=1.0):
    rng = np.random.default_rng(0)
    y = 5.0 + rng.random(100)
    table = pd.DataFrame({"y": y, "p": rng.normal(size=100), "e": rng.normal(size=100)})
    table["t"] = np.where(np.arange(100) < known, times * y, np.nan)
    return next(finding for finding in audit(table, ROLES) if finding.topic == "truth")


@pytest.mark.parametrize(
    ("known", "words"), [(29, "the true value of 29 of 100 rows"), (1, "the true value of 1 of 100 rows")]
)
def test_few_validated_rows_are_counted(known, words):
    assert asked(known).ok
    assert words in asked(known).reading


def test_thirty_are_enough_and_other_units_are_named():
    assert "enough validated rows to learn from" in asked(30).reading
    wrong = asked(30, times=1000.0)
    assert not wrong.ok
    assert wrong.value == pytest.approx(1000.0)
    assert "other units" in wrong.reading
