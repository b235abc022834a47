import numpy as np
import pytest

from engine_worlds import fitted
from proxycal.datasets import load_jobs
from proxycal.engine.covariates import Covariates
from proxycal.engine.inference import posterior, sizes
from proxycal.engine.maximise import CEILING
from proxycal.engine.search import Table, compare, family_of
from proxycal.engine.standard import standardise
from proxycal.methods.one_model.thresholds import RULES
from proxycal.table.encode import Encoder
from proxycal.testing import inject_bias


def claimed(lead, found):
    """Whether a bias so found may be claimed."""
    shares = RULES.least_share <= found.share <= RULES.most_share
    return lead >= RULES.lead and found.separation >= RULES.size and shares and found.alone <= RULES.alone


@pytest.fixture(scope="module")
def biased():
    return fitted("one size, 3 sd")


def test_a_bias_is_found_with_its_size(biased):
    found = biased.sizes
    assert claimed(biased.comparison.lead, found)
    # Four standard errors: the test is of the arithmetic, coverage is a benchmark's.
    assert biased.unit * found.alpha == pytest.approx(biased.alpha, abs=4.0 * biased.unit * found.se)
    assert 0.02 < found.se / found.alpha < 0.1


def test_who_is_biased_is_told(biased):
    p, bias, square = posterior(biased.comparison.biased, biased.sample)
    assert np.mean((p > 0.5) == biased.a) > 0.85
    assert (square >= bias**2 - 1e-9).all()
    # Probabilities are calibrated: of rows that are biased by so much, so many are.
    assert p.mean() == pytest.approx(biased.a.mean(), abs=0.03)


def test_under_reporting_is_the_mirror():
    under = fitted("one size, under")
    assert claimed(under.comparison.lead, under.sizes)
    assert under.unit * under.sizes.alpha == pytest.approx(under.alpha, rel=0.1)


@pytest.mark.parametrize("name", ["noise two-humped, no bias", "E hinge, no bias", "skew by E, no bias"])
def test_what_everybody_shares_is_no_bias(name):
    null = fitted(name)
    assert not claimed(null.comparison.lead, null.sizes)


def test_a_second_state_that_the_environment_does_not_drive_is_a_shape():
    null = fitted("noise two-humped, no bias")
    assert null.comparison.alike is not None
    assert null.comparison.alike.evidence > null.comparison.biased.evidence - 3.0


def test_other_units_and_another_order_change_nothing(biased):
    rng = np.random.default_rng(0)
    other = fitted("one size, 3 sd", y_unit=1e6, rows=rng.permutation(900))
    # Sums in another order differ in the last digits, and steps stop when 1e-6 is left to gain.
    assert other.sizes.alpha == pytest.approx(biased.sizes.alpha, abs=1e-3 * biased.sizes.se)
    assert other.comparison.lead == pytest.approx(biased.comparison.lead, abs=0.1)


def test_a_weight_of_two_is_a_row_written_twice():
    rng = np.random.default_rng(1)
    times = rng.integers(1, 3, 900)
    weighted = fitted("one size, 3 sd", weights=times.astype(float))
    repeated = fitted("one size, 3 sd", rows=np.repeat(np.arange(900), times))
    assert family_of(weighted.comparison.biased) == family_of(repeated.comparison.biased)
    # Knots of curves and middles of columns are those of distinct rows, so the terms differ a little.
    assert weighted.sizes.alpha == pytest.approx(repeated.sizes.alpha, abs=0.3 * weighted.sizes.se)


def test_sizes_that_vary_are_a_spread():
    found = fitted("gamma sizes, cv 0.6", n=1500)
    assert family_of(found.comparison.biased).spread
    assert found.unit * found.sizes.alpha == pytest.approx(found.alpha, rel=0.15)


def test_a_term_that_says_nothing_sleeps(biased):
    fit = biased.comparison.biased
    edf = dict(zip([(group.predictor, group.about) for group in fit.model.groups], fit.edf, strict=True))
    assert edf["who", "environment, straight lines"] > 1.0
    asleep = fit.ridges >= CEILING
    assert asleep.mean() > 0.25
    assert edf["who", "curve of e_1"] < 1.0 or edf["who", "curve of e_2"] < 1.0
    for group, sleeps in zip(fit.model.groups, asleep, strict=True):
        assert not sleeps or not fit.theta.dense[group.part].any()


def test_a_spike_that_the_bias_moves_tells_its_size():
    found = fitted("zeros shifted too", seed=3, n=600)
    assert claimed(found.comparison.lead, found.sizes)
    assert len(family_of(found.comparison.without).spikes) == 2
    assert len(family_of(found.comparison.biased).spikes) == 1
    # Exact zeros stay exact: their distance is the size.
    assert found.unit * found.sizes.alpha == pytest.approx(found.alpha, rel=1e-3)


def test_a_size_that_dwarfs_the_noise_is_no_content():
    # The environment decides nearly all of such an outcome, through who is biased, and none of its content.
    drawn = inject_bias(load_jobs().table, load_jobs().roles, alpha=10.0, random_state=1)
    arrays = Encoder.fit_transform(drawn.table, drawn.roles)[1]
    rows = Covariates.of(arrays)
    units = standardise(arrays.y, rows, arrays.weights, 1.0)
    table = Table.of(units.outcome(arrays.y), rows.with_content(units.content(rows)), arrays.weights)
    found = compare(table)
    size = sizes(found.biased, table.sample(found.biased.model))
    assert claimed(found.lead, size)
    assert units.unit * size.alpha == pytest.approx(10.0, rel=1e-3)
