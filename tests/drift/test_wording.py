"""What is said names the column, the factor in words, and what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from month_tables import rows, values
from proxycal.drift.compare import compare
from proxycal.drift.units import UnitChange
from proxycal.drift.wording import columns_of, factor_text, facts_of, named_factor, refusal, warnings_of
from proxycal.table.surface import speaking

UNIT = UnitChange("loss", 0.00098, 0.02, 1.0, 54_000.0, 54.2)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(0.00098, "thousands"), (102.0, "per cent"), (2.19, "pounds"), (9.8, "decimal sign"), (5.3, "")],
)
def test_a_factor_has_its_usual_cause(factor, words):
    named, cause = named_factor(replace(UNIT, factor=factor))
    assert words in cause
    assert (named == factor) == (not words)


def test_a_refusal_names_column_factor_and_remedy():
    text = refusal([UNIT], "'may.csv'")
    for part in ("'may.csv'", "'loss'", "1/1,000", "54.2", "thousands", "fit again"):
        assert part in text
    assert factor_text(5.3) == "5.3 times"


def test_warnings_say_what_moved_and_where_to_look():
    fitted = rows(800, seed=1)
    new = rows(500, seed=2, ratio=0.3, mix=(0.1, 0.1, 0.8))
    found = compare(values(fitted), values(new, fitted), 800)
    texts = " ".join(warnings_of(found))
    assert "'region'" in texts
    assert "model.drift" in texts
    assert "refit" in texts
    with speaking("shell"):
        assert "proxycal drift RUN TABLE" in " ".join(warnings_of(found))
    assert {fact["what"] for fact in facts_of(found)} == {"drift", "refit"}
    columns = columns_of(found)
    assert {len(values) for values in columns.values()} == {9}
    assert columns["p"].dtype == np.float64
