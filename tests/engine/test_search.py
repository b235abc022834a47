from dataclasses import dataclass

import numpy as np
import pytest

from proxycal.datasets import load_jobs
from proxycal.engine.average import averaged, by_true_value, quantiles
from proxycal.engine.claims import broken
from proxycal.engine.covariates import Covariates
from proxycal.engine.inference import posterior, sizes
from proxycal.engine.maximise import CEILING
from proxycal.engine.search import Comparison, Table, compare, family_of
from proxycal.engine.standard import standardise
from proxycal.table.encode import Encoder
from proxycal.testing import inject_bias, wider_world


@dataclass(frozen=True)
class Fitted:
    """A comparison of one table, with the truth beside it."""

    comparison: Comparison
    table: Table
    unit: float
    a: np.ndarray
    alpha: float

    @property
    def sizes(self):
        return sizes(self.comparison.biased, self.sample)

    @property
    def sample(self):
        return self.table.sample(self.comparison.biased.model)


def fitted(name, seed=5, n=900, y_unit=1.0, rows=None, weights=None):
    """A wider world through the engine, in other units, with some of its rows, with weights."""
    drawn = wider_world(name).draw(seed, n)
    take = np.arange(n) if rows is None else rows
    columns = drawn.table.iloc[take]

    def standard(names):
        values = drawn.table[list(names)].to_numpy(dtype=float)
        return ((values - values.mean(axis=0)) / values.std(axis=0))[take]

    covariates = Covariates(
        P=standard(drawn.roles.proxies),
        E=standard(drawn.roles.environment),
        m=np.zeros((len(take), 0)),
        environment_names=tuple(drawn.roles.environment),
    )
    w = np.ones(len(take)) if weights is None else weights
    y = y_unit * columns["y"].to_numpy(dtype=float)
    units = standardise(y, covariates, w, 1.0 if drawn.direction == "over" else -1.0)
    covariates = covariates.with_content(units.content(covariates))
    table = Table.of(units.outcome(y), covariates, w)
    return Fitted(compare(table), table, units.unit, drawn.a[take], drawn.alpha)


@pytest.fixture(scope="module")
def biased():
    return fitted("one size, 3 sd")


def test_a_bias_is_found_with_its_size(biased):
    found = biased.sizes
    assert broken(biased.comparison.lead, found) == ()
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
    assert broken(under.comparison.lead, under.sizes) == ()
    assert under.unit * under.sizes.alpha == pytest.approx(under.alpha, rel=0.1)


@pytest.mark.parametrize("name", ["noise two-humped, no bias", "E hinge, no bias", "skew by E, no bias"])
def test_what_everybody_shares_is_no_bias(name):
    null = fitted(name)
    assert "lead" in broken(null.comparison.lead, null.sizes)


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
    assert broken(found.comparison.lead, found.sizes) == ()
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
    assert broken(found.lead, size) == ()
    assert units.unit * size.alpha == pytest.approx(10.0, rel=1e-3)


def test_content_that_proxies_show_with_noise_decides_through_the_true_value():
    # Who is biased follows content, and what proxies do not show of it is in the true value: rows with a
    # high one are biased more often, which a size alone takes for a larger bias.
    found = fitted("y2", seed=1000, n=2000)
    fit, alone, true = found.comparison.biased, found.sizes, found.alpha / found.unit
    assert alone.alpha - 2.0 * alone.se > true
    over_models = averaged(found.table, fit)
    assert over_models.low < true < over_models.high
    assert abs(over_models.alpha - true) < abs(alone.alpha - true)
    assert over_models.weights.sum() == pytest.approx(1.0)


def test_where_one_size_is_right_other_models_change_little():
    found = fitted("one size, 3 sd", seed=1001, n=1000)
    fit, alone = found.comparison.biased, found.sizes
    assert by_true_value(found.table, fit) is None
    over_models = averaged(found.table, fit)
    assert over_models.weights[0] > 0.5
    assert over_models.alpha == pytest.approx(alone.alpha, abs=alone.se)
    assert alone.se < over_models.se < 1.4 * alone.se


def test_small_sizes_that_hardly_show_make_the_mean_size_less_sure():
    # One or four sds: rows biased by one sd look unbiased, and one size is all that pays.
    found = fitted("states 0, 1 and 4", seed=4242, n=2000)
    over_models, true = averaged(found.table, found.comparison.biased), found.alpha / found.unit
    assert found.sizes.alpha - 5.0 * found.sizes.se > true
    assert over_models.low < found.sizes.alpha - 5.0 * found.sizes.se
    assert over_models.low < 1.1 * true
    assert abs(over_models.alpha - true) < abs(found.sizes.alpha - true)


def test_quantiles_of_two_models_apart():
    low, high = quantiles(np.array([0.5, 0.5]), np.array([0.0, 10.0]), np.ones(2), 0.9)
    # Each end leaves a tenth of its own model outside.
    assert (low, high) == pytest.approx((-1.2816, 11.2816), abs=1e-3)
