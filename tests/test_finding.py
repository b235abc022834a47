"""Findings hold plain values, so that every one of them can be saved."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator
from proxycal.methods.registry import register
from proxycal.result import Finding
from proxycal.table.roles import Roles
from toy_method import TOY


def test_a_finding_holds_plain_values_whatever_computed_them():
    made = Finding("q", "s", "r", "m", ok=np.bool_(False), value=np.float64(2.0), must_fix=np.bool_(True))
    assert (made.ok, made.must_fix, made.value) == (False, True, 2.0)
    assert [type(value) for value in (made.ok, made.must_fix, made.value)] == [bool, bool, float]
    json.dumps(made.to_dict())


@pytest.mark.parametrize(
    ("field", "value"), [("ok", "yes"), ("ok", None), ("reading", 3), ("value", "2"), ("value", True)]
)
def test_a_finding_refuses_values_of_another_kind(field, value):
    given = {"question": "q", "statistic": "s", "reading": "r", "remedy": "m", "ok": True, field: value}
    with pytest.raises(TypeError, match=field):
        Finding(**given)


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_a_fit_with_many_gaps_can_be_saved(tmp_path, missing):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100, 3)), columns=["y", "p", "e"])
    table.loc[:9, "p"] = np.nan
    with register(TOY):
        model = ProxyCalibrator(Roles("y", ["p"], ["e"]), direction="over", method="toy", missing=missing)
        model.fit(table).save(tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").exists()
