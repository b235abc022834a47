"""How a file is to be read, as the page asks it."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.app.server import checked, reading_from
from proxycal.reading.options import Reading
from proxycal.settings import Settings
from proxycal.table.roles import Roles


@pytest.mark.parametrize(
    ("asked", "then"),
    [
        ('{"sheet": "Data"}', Reading(sheet="Data")),
        ('{"total_rows": "keep"}', Reading(sheet="A", total_rows="keep")),
        ('{"total_rows": "burn"}', Reading(sheet="A", total_rows="drop")),
        ("[]", Reading(sheet="A")),
        ("not json", Reading(sheet="A")),
    ],
)
def test_a_sheet_and_its_totals_are_chosen_on_the_page(asked, then):
    assert reading_from(Reading(sheet="A"), asked) == then


def test_what_stops_a_run_comes_first():
    table = pd.DataFrame({"y": range(40), "p": [None, *range(39)], "e": [0, 1] * 20})
    findings = checked(table, Roles("y", ["p"], ["e"]), Settings(direction="over"))
    assert findings[0].must_fix
