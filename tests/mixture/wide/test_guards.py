"""Guards of a claim, each on rows made to set it off."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Data
from proxycal.mixture.wide.guards import proxies_p
from proxycal.mixture.wide.widen import widen


def guards_of(report, n=600, seed=1):
    """The guards of a fit to what report(rng, e, z, t) gives of the true outcome t."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.5 * e + 0.8 * rng.normal(size=(n, 2))
    P = z @ [[1.0, 0.3, 0.8], [0.2, 1.0, -0.5]] + 0.3 * rng.normal(size=(n, 3))
    t = z @ [1.5, 1.0] + rng.normal(size=n)
    y = report(rng, e, z, t)
    data = Data(y, P, e, np.ones(n), np.ones(5, dtype=bool))
    return widen(fit_exact(data), data).guards


@pytest.fixture(scope="module")
def clean():
    """The guards of a plain bias of four sds."""
    return guards_of(lambda rng, e, z, t: t + 4.0 * (rng.random(len(e)) < expit(1.5 * e[:, 0] - 0.8)))


def test_a_plain_bias_sets_off_none(clean):
    assert clean.against == 0.0
    assert clean.gate_r2 < 0.6
    assert clean.proxies_p > 1e-3
    assert abs(clean.autocorrelation) < 0.15
    assert clean.block_z > 3.0
    # What is left without the bias bends with E; nothing does where there is none.
    assert not guards_of(lambda rng, e, z, t: t).direct


def test_a_gate_that_decides_alone(clean):
    sharp = guards_of(lambda rng, e, z, t: t + 4.0 * (e[:, 0] + 0.05 * rng.normal(size=len(e)) > 0.3))
    assert sharp.gate_r2 > 0.85
    assert sharp.gate_r2 > clean.gate_r2


def test_rows_that_depend_along_their_order():
    def report(rng, e, z, t):
        noise = lfilter([1.0], [1.0, -0.6], rng.normal(size=len(e)))
        return z @ [1.5, 1.0] + noise

    assert guards_of(report).autocorrelation == pytest.approx(0.6, abs=0.12)


def test_a_table_sorted_by_its_outcome_does_not_depend_along_its_order():
    rng = np.random.default_rng(3)
    n = 400
    z = rng.normal(size=n)
    y = z + rng.normal(size=n)
    order = np.argsort(y)
    P = np.column_stack([z + 0.3 * rng.normal(size=n), z + 0.3 * rng.normal(size=n)])
    data = Data(y, P, rng.normal(size=(n, 1)), np.ones(n), np.ones(3, dtype=bool)).take(order)
    assert widen(fit_exact(data), data).guards.autocorrelation == 0.0


def test_proxies_that_say_who_is_biased(clean):
    # A kind of content that the proxies see and that one index of content does not hold.
    told = guards_of(
        lambda rng, e, z, t: t + 5.0 * (rng.random(len(e)) < expit(e[:, 0] + 3.0 * z @ [1.0, -1.5]))
    )
    assert told.proxies_p < 1e-4


def test_proxies_that_say_nothing_beside_many_columns_of_few_rows():
    # Who is biased is plain once the outcome is seen, so that the gate is a logistic regression.
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        E, P = rng.normal(size=(600, 20)), rng.normal(size=(600, 8))
        gate = np.column_stack([np.ones(600), E])
        who = (rng.random(600) < expit(3.0 * E[:, 0] - 1.5)).astype(float)
        fitted = LogisticRegression(C=np.inf, tol=1e-8, max_iter=500).fit(E, who)
        prior = fitted.predict_proba(E)[:, 1]
        wide = SimpleNamespace(
            answers=SimpleNamespace(p_biased=who, prior=prior),
            bias=SimpleNamespace(problem=SimpleNamespace(E=E, m=rng.normal(size=600))),
        )
        p_values.append(proxies_p(wide, P, (who - prior)[:, None] * gate))
    # A uniform has this mean; with all rows in place of those that the test rests on it is 0.33.
    assert np.mean(p_values) == pytest.approx(0.5, abs=3.0 * 0.29 / np.sqrt(60))


def test_rounding_says_nothing_of_the_proxies():
    # A model in which E alone decides: what the outcome adds is the rounding of one probability.
    rng = np.random.default_rng(0)
    E, P = rng.normal(size=(600, 2)), rng.normal(size=(600, 3))
    prior = expit(E[:, 0])
    who = prior + 1e-16 * np.sign(P[:, 0])
    wide = SimpleNamespace(
        answers=SimpleNamespace(p_biased=who, prior=prior),
        bias=SimpleNamespace(problem=SimpleNamespace(E=E, m=rng.normal(size=600))),
    )
    assert np.abs(who - prior).max() > 0.0
    assert proxies_p(wide, P, (who - prior)[:, None] * E) == 1.0


def test_humps_and_a_bent_mean_of_the_best_null():
    humps = guards_of(lambda rng, e, z, t: t + 5.0 * (rng.random(len(e)) < 0.4))
    assert humps.humps


def test_a_few_rows_far_above_all_others():
    def report(rng, e, z, t):
        return t + 4.5 * (rng.random(len(e)) < 0.012 * (e[:, 0] > 0.0))

    plain = guards_of(lambda rng, e, z, t: t)
    assert guards_of(report).tail_p < plain.tail_p
    assert plain.tail_p > 0.05
