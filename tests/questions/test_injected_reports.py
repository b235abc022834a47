import numpy as np

import proxycal as pc
from proxycal.questions.injected_reports import report_trials
from proxycal.questions.power import draw_biased
from proxycal.questions.refits import KeptFit
from proxycal.testing import SeveralReports


def kept(world, seed):
    drawn = world.draw(seed, 300)
    fit = pc.ProxyCalibrator(drawn.roles, direction="under").fit(drawn.table).result_
    from proxycal.methods.registry import METHODS

    return KeptFit.of(fit.training, fit.settings, METHODS["reporters"], fit.method_fit, fit.n)


def test_a_bias_is_put_into_the_first_report_alone():
    known = kept(SeveralReports(0.0), 3)
    trials, sds = report_trials(known, [0.0, 1.0], 2, draw_biased)
    assert len(trials[0.0]) == 1
    reports = known.arrays.reports
    moved = trials[1.0][0].arrays.reports - reports
    assert set(np.round(np.unique(moved[:, 0]), 9)) == {0.0, round(-sds[0], 9)}
    assert not moved[:, 1].any()
    np.testing.assert_array_equal(trials[1.0][0].arrays.y, trials[1.0][0].arrays.reports[:, 0])


def test_a_bias_that_was_found_is_taken_out_first():
    known = kept(SeveralReports(3.0), 1)
    assert known.fit.verdict == "bias found"
    trials, _ = report_trials(known, [0.0, 1.0], 2, draw_biased)
    before, after = (
        arrays.reports[:, 1] - arrays.reports[:, 0] for arrays in (known.arrays, trials[0.0][0].arrays)
    )
    assert abs(after.mean()) < 0.3 * before.mean()
