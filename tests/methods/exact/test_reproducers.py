"""Seven worlds in which one size and a gate on the environment alone would be wrong with confidence."""

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal import ProxyCalibrator
from proxycal.testing import wider_world


def fitted(name, seed=0):
    drawn = wider_world(name).draw(seed)
    return drawn, ProxyCalibrator(drawn.roles, direction=drawn.direction).fit(drawn.table)


@pytest.fixture(scope="module")
def varying():
    return fitted("y1")


def said(model):
    return " ".join(finding.reading for finding in model.findings_)


def test_sizes_that_vary(varying):
    drawn, model = varying
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(drawn.alpha, rel=0.1)
    assert "sizes vary" in said(model)
    answers = model.calibrate(drawn.table)
    before, after = (np.sqrt(np.mean((y - drawn.y_true) ** 2)) for y in (drawn.y, answers["y_cal"]))
    assert after < 0.5 * before
    inside = (answers["y_cal_low"] <= drawn.y_true) & (drawn.y_true <= answers["y_cal_high"])
    assert inside.mean() > 0.9


def test_a_wider_law_answers_the_same_from_its_folder(varying, tmp_path):
    drawn, model = varying
    model.save(tmp_path / "run")
    again = proxycal.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(drawn.table), model.calibrate(drawn.table))
    pd.testing.assert_frame_equal(again.totals(drawn.table), model.totals(drawn.table))
    assert [finding.reading for finding in again.findings_] == [
        finding.reading for finding in model.findings_
    ]


def test_who_is_biased_depends_on_content_too():
    drawn, model = fitted("y2")
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(drawn.alpha, rel=0.1)
    assert "content too" in said(model) or "true value too" in said(model)


def test_a_bias_by_row_in_clusters():
    drawn, model = fitted("y3")
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(drawn.alpha, rel=0.1)


@pytest.mark.parametrize("name", ["y4", "y5", "y6", "y7"])
def test_what_is_no_shift_of_some_is_not_claimed(name):
    drawn, model = fitted(name)
    assert model.verdict_ != "bias found"
    with pytest.warns(proxycal.ProxycalWarning):
        answers = model.calibrate(drawn.table)
    np.testing.assert_array_equal(answers["y_cal"], drawn.y)
    assert answers[["y_cal_low", "y_cal_high"]].isna().all(axis=None)


# --- invariances of a wider law -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    drawn = wider_world("y1").draw(0, 500)
    return drawn, ProxyCalibrator(drawn.roles, direction="over").fit(drawn.table)


def test_units_change_the_numbers_only(small):
    drawn, model = small
    other = drawn.table.assign(y=1000.0 * drawn.table["y"] - 7.0)
    again = ProxyCalibrator(drawn.roles, direction="over").fit(other)
    assert again.verdict_ == model.verdict_
    # Optimisers see the same numbers up to rounding.
    assert again.alpha_ == pytest.approx(1000.0 * model.alpha_, rel=1e-3)
    assert again.alpha_se_ == pytest.approx(1000.0 * model.alpha_se_, rel=2e-2)


def test_under_mirrors_over(small):
    drawn, model = small
    other = drawn.table.assign(y=-drawn.table["y"])
    again = ProxyCalibrator(drawn.roles, direction="under").fit(other)
    assert again.verdict_ == model.verdict_
    assert again.alpha_ == pytest.approx(model.alpha_, rel=1e-6)
    if model.verdict_ == "bias found":
        one, two = model.calibrate(drawn.table), again.calibrate(other)
        np.testing.assert_allclose(two["y_cal"], -one["y_cal"], atol=1e-6)


def test_the_same_seed_gives_the_same_bytes(small):
    drawn, model = small
    again = ProxyCalibrator(drawn.roles, direction="over").fit(drawn.table)
    assert again.alpha_ == model.alpha_
    assert again.alpha_interval_ == model.alpha_interval_
    assert [finding.statistic for finding in again.findings_] == [one.statistic for one in model.findings_]


def test_the_order_of_the_rows_says_nothing_of_the_size(small):
    drawn, model = small
    mixed = drawn.table.sample(frac=1.0, random_state=3)
    again = ProxyCalibrator(drawn.roles, direction="over").fit(mixed)
    assert again.alpha_ == pytest.approx(model.alpha_, rel=1e-3)
    assert again.verdict_ == model.verdict_
