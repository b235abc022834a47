"""Sizes over decades: seen, worded for the surface, silent once the log scale is chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import skew

from proxycal.settings import Settings
from proxycal.table.audit import audit
from proxycal.table.roles import Roles
from proxycal.table.skew import is_skewed_size, skewness
from proxycal.table.surface import speaking

ROLES = Roles("loss", ["area", "p"], ["e"])


def dollars():
    rng = np.random.default_rng(0)
    z, e = rng.normal(size=(2, 300))
    return pd.DataFrame(
        {"loss": np.exp(8 + 2 * z) * (e > -1), "area": np.exp(2 * z + rng.normal(size=300)), "p": z, "e": e}
    )


def troubles(table, topic, **asked):
    found = audit(table, ROLES, Settings(**{"direction": "over", **asked}))
    return [finding for finding in found if finding.topic == topic and not finding.ok]


def test_what_is_a_skewed_size():
    rng = np.random.default_rng(1)
    z = rng.normal(size=500)
    assert is_skewed_size(np.exp(2 * z))
    assert is_skewed_size(np.where(z < -1, 0.0, np.exp(2 * z)))
    assert not is_skewed_size(np.exp(0.3 * z))
    assert not is_skewed_size(np.exp(2 * z) - 1.0)
    assert not is_skewed_size(np.where(np.arange(500) == 0, 1e6, 1.0))


def test_outcome_and_proxies_are_told_with_the_remedy_of_the_surface():
    outcome, proxies = troubles(dollars(), "skew")
    assert "pass scale='log'" in outcome.remedy.lower()
    assert "times the median" in outcome.statistic
    assert "pass log_proxies=['area']" in proxies.remedy.lower()
    with speaking("shell"):
        outcome, proxies = troubles(dollars(), "skew")
    assert "pass --scale log" in outcome.remedy.lower()
    assert "--log-proxies area" in proxies.remedy
    with speaking("app"):
        outcome, _ = troubles(dollars(), "skew")
    assert "“the bias is a factor” in step 2" in outcome.remedy


def test_nothing_is_told_once_it_is_done():
    assert not troubles(dollars(), "skew", scale="log", log_proxies=["area"])
    # Where the bias is a factor a zero is immune, and no spike.
    assert troubles(dollars(), "atom")
    assert not troubles(dollars(), "atom", scale="log")


def test_negative_values_are_told_where_the_bias_is_a_factor():
    table = dollars()
    table.loc[4, "loss"] = -1.0
    assert not troubles(table, "negative")
    (finding,) = troubles(table, "negative", scale="log")
    assert "index 4" in finding.statistic


def test_skewness_is_that_of_scipy():
    x = np.random.default_rng(0).lognormal(size=500)
    np.testing.assert_allclose(skewness(x), skew(x), rtol=1e-12)
