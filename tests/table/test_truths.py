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
    ("known", "words"),
    [(known, f"the true value of {known} of 100 rows") for known in (29, 1, 0)],
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


def test_every_row_may_be_validated():
    assert "enough validated rows to learn from" in asked(100).reading


def test_text_for_a_truth_is_said_once_and_nothing_is_called_usable():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"y": rng.random(100), "p": rng.random(100), "e": rng.random(100)})
    table["t"] = np.where(np.arange(100) < 40, "high", None)
    findings = audit(table, ROLES)
    assert not [finding for finding in findings if finding.topic == "truth"]
    [wrong] = [finding for finding in findings if not finding.ok]
    assert (wrong.topic, wrong.must_fix) == ("numeric", True)
    assert wrong.reading == "The truth must be numeric, and 't' is not."


def test_one_text_among_the_truths_is_named():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"y": rng.random(100), "p": rng.random(100), "e": rng.random(100)})
    table["t"] = [f"{value:.3f}" for value in rng.random(40)] + [None] * 60
    table.loc[3, "t"] = "about 5"
    [wrong] = [finding for finding in audit(table, ROLES) if not finding.ok]
    assert wrong.reading == "Column 't' holds numbers written as text, beside 'about 5'."
