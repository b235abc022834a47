"""What would make an answer more certain stands there with its number, and what an audit taught."""

from __future__ import annotations

import numpy as np
import pytest

import proxycal as pc
from loss_tables import ROLES, losses
from proxycal.report.certain import go_on, learned, more_certain


@pytest.fixture(scope="module")
def table():
    return losses(n=500, zeros=0.0)


def test_a_finding_says_what_more_rows_and_an_audit_would_bring(table):
    model = pc.ProxyCalibrator(ROLES, direction="under", scale="log", method="moments").fit(table[0])
    now, audited, *_ = more_certain(model.result_)
    assert "Twice as many rows" in now
    assert "50 rows" in audited
    assert "plan_audit" in audited


def test_after_an_audit_it_says_whether_to_go_on(table):
    frame, true, _ = table
    known = frame.assign(true=np.where(np.arange(500) % 8 == 0, true, np.nan))
    roles = pc.Roles("loss", ROLES.proxies, ROLES.environment, truth="true")
    fit = pc.ProxyCalibrator(roles, direction="under", scale="log").fit(known).result_
    assert fit.settings.method == "validated"
    first, second = go_on(fit)
    assert "With 63 rows checked the total is known to within" in first
    assert "189 more" in second
    assert more_certain(fit) == (first, second)


def test_rows_that_err_the_other_way_are_told():
    said = learned(np.array([10.0, 10.0, -3.0]), np.array([12.0, 9.0, -3.0]), sign=1.0)
    assert said.endswith("1 is too high; it is off by 2.00. 1 is too low. 1 is right to 1%.")
