import numpy as np
import pytest

from proxycal.testing.reports import SD, SeveralReports


def test_reports_are_the_truth_with_errors_and_biased_ones_are_too_low():
    drawn = SeveralReports(reporters=3).draw(0, 20_000)
    reports = drawn.table[list(drawn.roles.report_names)].to_numpy()
    errors = reports - drawn.truth[:, None]
    own = drawn.biased[:, 0]
    # The standard errors are below 0.01.
    assert errors[own, 0].mean() == pytest.approx(-2.0, abs=0.05)
    np.testing.assert_allclose(errors[~own].mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(errors[~own].std(axis=0), SD, atol=0.05)
    assert not drawn.biased[:, 1:].any()


def test_rows_that_agree_have_the_truth_and_no_bias():
    drawn = SeveralReports(agree=0.4).draw(0, 2_000)
    same = (drawn.table["own"] == drawn.table["register"]).to_numpy()
    assert same.mean() == pytest.approx(0.4, abs=0.05)
    np.testing.assert_array_equal(drawn.table["own"][same], drawn.truth[same])
    assert not drawn.biased[same].any()


@pytest.mark.parametrize("errors", ["normal", "tails", "one side", "spread by E", "slope by E", "level"])
def test_odd_errors_can_be_drawn_and_gaps_leave_the_first_report(errors):
    drawn = SeveralReports(0.0, 4, errors, proxies=True, gaps=0.5).draw(1, 300)
    assert np.isfinite(drawn.table["own"]).all()
    assert 0.3 < drawn.table["employer"].isna().mean() < 0.7
    assert not drawn.biased.any()
    assert drawn.roles.proxies == ("p_1", "p_2")
