"""Advice and rows are worded for the place where they are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.methods.registry import METHODS
from proxycal.table.require import require
from proxycal.table.roles import Roles
from proxycal.table.surface import choose, speaking


@pytest.mark.parametrize(
    ("surface", "says"),
    [
        ("python", "at index 4: pass missing='drop' or 'impute'"),
        ("shell", "at row 6 (the header is row 1): pass --missing drop or --missing impute"),
        ("app", "“leave out incomplete rows” or “fill in missing values” in step 2"),
    ],
)
def test_a_gap_is_explained_where_it_is_read(surface, says):
    x = np.arange(40.0)
    table = pd.DataFrame({"y": x, "p": x**2, "e": np.where(x == 4, np.nan, x % 3)})
    with speaking(surface), pytest.raises(TableError) as caught:
        require(table, Roles("y", ["p"], ["e"]))
    assert says in str(caught.value)


def test_the_surface_is_python_again_after_the_block():
    with speaking("shell"):
        pass
    assert choose("method", "exact") == "pass method='exact'"


@pytest.mark.parametrize("method", METHODS)
def test_the_app_can_advise_every_method(method):
    with speaking("app"):
        assert choose("method", method) == f"choose “{method}” under More settings"
