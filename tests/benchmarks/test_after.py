"""The benchmark of regressions: its slopes in closed form, one table, and its page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import after


@pytest.mark.parametrize("model", after.MODELS[:4], ids=lambda model: model.kind + " " + model.term)
def test_slopes_in_closed_form_are_those_of_many_rows(model, monkeypatch):
    monkeypatch.setattr(after, "N", 400_000)
    table, truth = after.draw("close", 3)
    x = np.column_stack([np.ones(len(truth)), table[list(model.right)]])
    beta = np.linalg.lstsq(x, truth, rcond=None)[0]
    # A slope has a standard error of about 0.002 here.
    assert abs(beta[1 + model.right.index(model.term)] - after.slope_of(model)) < 0.008


def test_one_table_and_the_page(monkeypatch):
    monkeypatch.setattr(after, "M", 3)
    rows = after.run_block({"world": "treatment", "seeds": [1, 2]})
    assert [row["error"] for row in rows] == [None] * 4
    frame = pd.DataFrame([{"world": "treatment", **row} for row in rows])
    page = after.bench(quick=True).page(frame)
    lines = next(part for part in page.parts if part.rows).rows
    assert len(lines) == 6
    assert {line["by"] for line in lines} == {"regress()", "plain, on y_cal", "plain, on the truth"}
