"""A changed ratio is seen, rows chosen by other columns are not taken for one."""

from __future__ import annotations

import numpy as np

from month_tables import rows, values
from proxycal.drift.reported import compare_reports

FITTED = rows(1500, seed=1)
KNOWN = values(FITTED)


def p_of(table, p_biased=None):
    return compare_reports(KNOWN, values(table, FITTED), p_biased).p


def test_a_ratio_from_60_to_35_per_cent_is_seen_in_500_rows():
    seen = [p_of(rows(500, seed=seed, ratio=0.35)) < 0.004 for seed in range(10, 20)]
    assert sum(seen) >= 9


def test_a_change_where_the_fit_puts_the_bias_is_seen_apart():
    """Lower where the bias is likely and higher elsewhere: no change on average, and one of the bias."""
    gate = 1.0 / (1.0 + np.exp(0.8 - 1.2 * (np.log(FITTED["income"]) - 10.8) / 0.25 - 0.8 * FITTED["slope"]))
    told = []
    for seed in range(20, 28):
        new = rows(400, seed=seed)
        z = (np.log(new["income"]) - 10.8) / 0.25
        new["loss"] *= np.exp(-0.12 * z)
        told.append((p_of(new, gate.to_numpy()), p_of(new)))
    assert np.median([with_gate / without for with_gate, without in told]) < 0.1


def test_the_same_law_and_chosen_rows_are_as_before():
    ps = [p_of(rows(300, seed=seed)) for seed in range(30, 70)]
    assert min(ps) > 0.001
    assert 0.2 < np.mean(ps) < 0.8
    many = rows(4000, seed=9)
    for column in ("area", "income", "slope"):
        assert p_of(many.nlargest(400, column)) > 0.001


def test_many_rows_of_the_same_law_are_as_before_few_fitted_ones():
    """All new rows share the error of the regression on the fitted ones: in many it looked like a change."""
    few = rows(400, seed=2)
    known = values(few)
    ps = [compare_reports(known, values(rows(6000, seed=seed), few)).p for seed in range(80, 92)]
    assert min(ps) > 0.001


def test_zeros_are_a_state_of_their_own():
    rng = np.random.default_rng(0)
    known = FITTED.assign(loss=np.where(rng.random(1500) < 0.3, 0.0, FITTED["loss"]))
    new = rows(500, seed=3)
    for share, seen in ((0.3, False), (0.6, True)):
        table = new.assign(loss=np.where(rng.random(500) < share, 0.0, new["loss"]))
        assert (compare_reports(values(known), values(table, known)).p < 0.004) == seen
