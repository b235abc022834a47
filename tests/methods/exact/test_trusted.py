"""Rows known to be free of the bias, in the exact method: nobody among them is called biased."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc

ROLES = pc.Roles("y", ["p1", "p2", "p3"], ["e1", "e2"], trusted="ok")


def draw(seed=3, n=900, size=3.5):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.5 * e + 0.8 * rng.normal(size=(n, 2))
    p = z @ np.array([[1.0, 0.3, 0.8], [0.2, 1.0, -0.5]]) + 0.7 * rng.normal(size=(n, 3))
    trusted = rng.random(n) < 0.2
    chance = 1.0 / (1.0 + np.exp(0.8 - 1.2 * e[:, 0] + 0.7 * e[:, 1]))
    biased = (rng.random(n) < chance) & ~trusted
    true = z @ [1.5, 1.0] + rng.normal(size=n)
    return pd.DataFrame({
        "e1": e[:, 0], "e2": e[:, 1], "p1": p[:, 0], "p2": p[:, 1], "p3": p[:, 2],
        "y": true + size * biased, "ok": trusted, "true": true,
    })  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return draw()


@pytest.fixture(scope="module")
def model(rows):
    return pc.ProxyCalibrator(ROLES, direction="over", method="exact", random_state=0).fit(rows)


def test_trusted_rows_keep_their_report_and_the_others_come_closer(rows, model):
    answer, ok = model.calibrate(rows), rows["ok"]
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(3.5, abs=0.4)
    assert (answer.loc[ok, "p_biased"] == 0.0).all()
    pd.testing.assert_series_equal(answer.loc[ok, "y_cal"], rows.loc[ok, "y"], check_names=False)
    left = (answer["y_cal"] - rows["true"])[~ok]
    assert np.sqrt((left**2).mean()) < 0.6 * np.sqrt(((rows["y"] - rows["true"])[~ok] ** 2).mean())


def test_the_gate_is_that_of_the_rows_nobody_vouches_for(rows, model):
    """Were trusted rows counted as unbiased ones, a fifth of them, the others would seem honest too often."""
    free = ~rows["ok"].to_numpy()
    found = model.calibrate(rows)["p_biased"].to_numpy()
    assert found[free].mean() == pytest.approx(((rows["y"] - rows["true"]) > 1.0)[free].mean(), abs=0.05)


def test_new_rows_may_be_trusted_too_and_totals_leave_them(rows, model):
    trusted = rows.assign(ok=True)
    assert (model.calibrate(trusted)["shift"] == 0.0).all()
    totals = model.totals(trusted)
    assert totals["calibrated"].iloc[0] == pytest.approx(totals["reported"].iloc[0])
    assert totals["low"].iloc[0] == pytest.approx(totals["high"].iloc[0])
