"""Proxies whose names say that they would hurt are named before a fit, with the reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.table.audit import audit
from proxycal.table.roles import Roles


def said(proxy, outcome="loss"):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=[outcome, proxy, "e"])
    return next(one for one in audit(table, Roles(outcome, [proxy], ["e"])) if one.topic == "role")


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("rural", "belongs to the environment"),
        ("reported_cost", "another report"),
        ("Einkommen", "who reports"),
    ],
)
def test_a_proxy_that_would_hurt_is_said(proxy, reason):
    found = said(proxy)
    assert not found.ok
    assert not found.must_fix
    assert reason in found.reading
    assert proxy in found.remedy


def test_a_measurement_and_an_earlier_value_of_the_outcome_are_fine():
    assert said("flooded_area").ok
    assert said("income_before", outcome="reported_income").ok
