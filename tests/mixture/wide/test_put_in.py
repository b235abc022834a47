"""A bias put into rows: all draws of who is biased at once, and the rule by which it would lead."""

import numpy as np
import pytest
from scipy.special import expit

from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.put_in import GATE_SD, NINE_OF_TEN, SIZES, USUAL, put_in, smallest


@pytest.fixture
def put():
    return put_in(np.random.default_rng(0).normal(size=(300, 3)), seed=1)


def test_a_row_is_biased_with_the_chance_that_its_environment_gives(put):
    E = np.random.default_rng(0).normal(size=(300, 3))
    logit = put.gate[0] + E @ put.gate[1:]
    assert logit.std() == pytest.approx(GATE_SD)
    np.testing.assert_allclose(put.share[300:], expit(logit))
    np.testing.assert_allclose(put.share[:300] + put.share[300:], 1.0)
    np.testing.assert_array_equal(put.rows[:300], put.rows[300:])
    assert put.biased[:300].sum() == 0.0
    assert put.biased[300:].all()


def test_all_draws_at_once_lead_where_nine_of_ten_draws_do(put):
    """Rows are drawn anew in each table, so that a lead varies by who is biased and by the rows."""
    rng = np.random.default_rng(2)
    lead = np.concatenate([rng.normal(-0.05, 0.3, 300), rng.normal(0.4, 0.6, 300)])
    totals = []
    for _ in range(4_000):
        rows = rng.integers(0, 300, 300)
        biased = rng.random(300) < put.share[300 + rows]
        totals.append(2.0 * lead[rows + 300 * biased].sum())
    tenth = float(np.quantile(totals, 0.1))
    for price, leads in ((tenth - THRESHOLDS.narrow_gain - 5.0, True), (tenth + 2.0, False)):
        assert put.leads(lead, price, np.ones(300), 1.0) is leads


def test_a_part_of_a_table_foretells_all_of_it(put):
    lead = np.where(put.biased > 0.0, 0.5, -0.1) + 0.3 * np.random.default_rng(3).normal(size=600)
    mean, spread = float(put.share @ lead) / 300.0, 2.0 * NINE_OF_TEN * np.sqrt(300.0)
    sd = np.sqrt(float(put.share @ (lead - mean) ** 2) / 300.0)
    ends = [2.0 * 300.0 * times * mean - spread * sd * np.sqrt(times) for times in (1.0, 4.0)]
    for times, end in zip((1.0, 4.0), ends, strict=True):
        assert put.leads(lead, end - THRESHOLDS.narrow_gain - 0.01, np.ones(300), times)
        assert not put.leads(lead, end - THRESHOLDS.narrow_gain + 0.01, np.ones(300), times)


def test_the_size_that_the_verdict_asks_for_is_one_of_those_tried():
    assert np.isclose(SIZES, THRESHOLDS.detectable).any()
    assert SIZES[USUAL] < THRESHOLDS.detectable
    assert smallest(lambda size: size >= THRESHOLDS.detectable - 1e-9) == pytest.approx(THRESHOLDS.detectable)
    assert smallest(lambda size: False) == np.inf
