"""Outcomes drawn from a fitted model have its mean and its variance."""

import numpy as np

from proxycal.engine.covariates import Covariates
from proxycal.engine.draw import draw_unbiased
from proxycal.engine.likelihood import predictors
from proxycal.engine.search import Table, family_of, without_bias


def test_draws_have_the_mean_and_the_variance_of_the_model():
    rng = np.random.default_rng(0)
    n = 600
    z, e = rng.normal(size=n), rng.normal(size=n)
    y = z + 0.5 * e + np.exp(0.4 * e) * rng.normal(size=n)
    rows = Covariates(P=(z + 0.1 * rng.normal(size=n))[:, None], E=e[:, None], m=z[:, None])
    table = Table.of(y, rows, np.ones(n))
    fit = without_bias(table)[0]
    sample = table.sample(fit.model)
    draws = np.array([draw_unbiased(fit, sample, np.random.default_rng(k)) for k in range(300)])
    eta = predictors(fit.model, sample, fit.theta)
    parts = family_of(fit).states_of(eta)[0]
    mean = sum(share * centre for share, centre, _ in parts)
    variance = sum(share * (own + centre**2) for share, centre, own in parts) - mean**2
    error = (draws.mean(axis=0) - mean) / np.sqrt(variance / 300)
    # 600 normal errors: the largest is beyond 4.5 once in 250 such runs.
    assert np.abs(error).max() < 4.5
    assert np.abs(np.log(draws.var(axis=0) / variance)).mean() < 0.1
