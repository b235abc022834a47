import numpy as np
import pytest
from scipy import stats

from proxycal.tails import chi2_isf, chi2_sf, f_sf, t_ppf, t_sf

STATISTIC = np.array([-1.0, 0.0, 1e-12, 0.3, 1.0, 5.0, 80.0, 1e5, np.inf, np.nan])
P = np.array([1e-12, 0.001, 0.025, 0.5, 0.975, 1.0 - 1e-9])
DF = [0.4, 1, 2, 7.5, 30, 1e6]


@pytest.mark.parametrize("df", DF)
def test_tails_are_those_of_scipy_stats(df):
    np.testing.assert_allclose(chi2_sf(STATISTIC, df), stats.chi2.sf(STATISTIC, df), rtol=1e-12)
    np.testing.assert_allclose(chi2_isf(P, df), stats.chi2.isf(P, df), rtol=1e-12)
    np.testing.assert_allclose(t_sf(STATISTIC, df), stats.t.sf(STATISTIC, df), rtol=1e-12)
    np.testing.assert_allclose(t_ppf(P, df), stats.t.ppf(P, df), rtol=1e-12)
    for rest in DF:
        np.testing.assert_allclose(f_sf(STATISTIC, df, rest), stats.f.sf(STATISTIC, df, rest), rtol=1e-12)


def test_no_degrees_of_freedom_have_no_quantile():
    assert np.isnan([t_ppf(0.975, 0), t_ppf(0.975, -1.0), t_sf(1.0, 0)]).all()
