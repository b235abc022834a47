import numpy as np
import pytest

import proxycal as pc
from proxycal.errors import SettingsError
from proxycal.questions.injected_counts import injected_counts, true_counts
from proxycal.testing import ReportedWorld


@pytest.mark.parametrize(("sign", "times"), [(-1.0, 0.5), (1.0, 2.0)])
def test_the_biased_report_their_share_and_the_others_all(sign, times):
    free, biased = np.full(20_000, 8.0), np.arange(20_000) % 2 == 0
    y = injected_counts(free, np.log(2.0), biased, sign, np.random.default_rng(0))
    assert (y[~biased] == 8.0).all()
    # The mean of 10,000 counts is known to 0.3%.
    assert y[biased].mean() == pytest.approx(8.0 * times, rel=0.02)
    assert (y == np.rint(y)).all()


def test_true_counts_get_back_what_was_missed_with_its_chance():
    y, y_cal = np.full(10_000, 4.0), np.full(10_000, 5.0)
    drawn = true_counts(y, y_cal, np.full(10_000, 0.25), True, np.random.default_rng(0))
    assert set(np.unique(drawn)) == {4.0, 8.0}
    assert drawn.mean() == pytest.approx(5.0, abs=0.1)
    assert (true_counts(y, y_cal, np.full(10_000, 0.25), False, np.random.default_rng(0)) == y).all()


def test_power_of_counts_is_in_shares_and_refuters_of_numbers_are_refused():
    drawn = ReportedWorld(level=8.0).draw(0, 400)
    model = pc.ProxyCalibrator(drawn.roles, direction="under", family="counts").fit(drawn.table)
    power = model.power([3.0], repetitions=2)
    assert power.sd == 1.0
    for kind in ("null", "leak"):
        with pytest.raises(SettingsError, match="does not apply"):
            model.refute(kind, repetitions=2)
    assert model.refute("placebo", repetitions=2).ok
    answers = ReportedWorld("yes/no", level=0.4).draw(0, 300)
    with pytest.raises(SettingsError, match="binary"):
        pc.ProxyCalibrator(answers.roles, direction="under").fit(answers.table).power([1.0], repetitions=2)
