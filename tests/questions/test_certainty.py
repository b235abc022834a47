"""How well totals would be known is near to what happens: with more rows, and with checked ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import proxycal as pc
from loss_tables import ROLES, losses
from proxycal.questions.certainty import certainty


def fitted(n, **changes):
    table, true, _ = losses(n=n, zeros=0.0)
    model = pc.ProxyCalibrator(ROLES, direction="under", scale="log", method="moments", log_proxies=[])
    return model.set_params(**changes).fit(table).result_, table, true


def test_twice_the_rows_bring_what_was_said():
    small, large = (fitted(n)[0] for n in (1000, 2000))
    said = certainty(small)
    assert not said.supposed
    # The widths of single tables of skewed losses differ by a fifth or so.
    assert said.twice == pytest.approx(certainty(large).now, rel=0.4)
    assert said.twice == pytest.approx(said.now / math.sqrt(2.0))


def test_checked_rows_bring_about_what_was_said():
    fit, table, true = fitted(1000)
    said = certainty(fit).audited
    rng = np.random.default_rng(0)
    calibrated = pc.ProxyCalibrator(ROLES, direction="under", scale="log", method="moments").fit(table)
    error = true - calibrated.calibrate(table)["y_cal"].to_numpy()
    chosen = [error[rng.choice(1000, 50, replace=False)].mean() * 1000 for _ in range(200)]
    real = 1.96 * np.std(chosen) / true.sum()
    # A planned audit is better than this random one, and its floor allows for what the fit does not know.
    assert 0.3 * real < said < 2.0 * real


def test_nothing_is_said_where_nothing_is_known():
    sim = pc.simulate(n=60, alpha=0.0, random_state=0)
    fit = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).result_
    assert math.isnan(certainty(fit).audited)
