"""The log scale is refused for small counts, and nobody is sent there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.model import ProxyCalibrator
from proxycal.settings import Settings
from proxycal.table.audit import audit
from proxycal.table.encode import Encoder
from proxycal.table.small_counts import are_small_counts, small_share
from proxycal.table.surface import speaking
from tests.count_tables import ROLES, poisson_counts


@pytest.mark.parametrize("unit", [1.0, 0.1, 1000.0])
def test_the_share_counts_steps_of_the_grid(unit):
    values = unit * np.repeat([0.0, 1.0, 2.0, 5.0, 19.0, 20.0, 40.0, 300.0], 3)
    share, step = small_share(values)
    assert step == pytest.approx(unit)
    assert share == pytest.approx(4 / 7)


def test_whole_numbers_of_which_each_occurs_once_are_counts_too():
    assert are_small_counts(np.arange(1.0, 60.0))


@pytest.mark.parametrize(
    "y",
    [
        np.exp(np.random.default_rng(0).normal(size=400)),
        np.rint(np.exp(np.random.default_rng(0).normal(9.0, 1.5, size=400))),
        np.random.default_rng(0).poisson(200.0, 400).astype(float),
        np.arange(-5.0, 60.0),
        np.zeros(20),
        np.full(20, np.nan),
    ],
    ids=["sizes", "full dollars", "large counts", "negative", "zeros", "nothing"],
)
def test_what_the_log_scale_can_take(y):
    assert not are_small_counts(y)


@pytest.mark.parametrize("method", ["auto", "exact", "gradual", "moments"])
def test_no_path_claims_a_bias_of_unbiased_counts_on_the_log_scale(method):
    """Of the tables with these seeds, 2,000 rows each, one was "bias found": ratio 0.67, or ln 1.5."""
    for seed in range(10):
        model = ProxyCalibrator(ROLES, direction="under", scale="log", method=method)
        with pytest.raises(TableError, match=r"'cases'.*whole numbers, .*% of those above 0 below 20"):
            model.fit(poisson_counts(3.7, seed=seed))


def test_zeros_gaps_and_categories_beside_it_change_nothing():
    table = poisson_counts(2.0).assign(e2=lambda rows: np.where(rows.e2 > 0, "north", "south"))
    table.loc[3, "cases"] = np.nan
    with pytest.raises(TableError, match="scale='linear'"):
        Encoder.fit(table, ROLES, "drop", "log")


def test_the_audit_refuses_the_log_scale_and_never_recommends_it():
    # Skewed enough for the audit to speak of decades, were it no count.
    rng = np.random.default_rng(0)
    table = poisson_counts(3.7).assign(cases=rng.poisson(np.exp(1.5 * rng.normal(size=600))).astype(float))
    plain = audit(table, ROLES, Settings(direction="under"))
    assert not [finding for finding in plain if "log" in finding.remedy]
    with speaking("shell"):
        asked = audit(table, ROLES, Settings(direction="under", scale="log"))
    (finding,) = [finding for finding in asked if finding.topic == "small-counts"]
    assert finding.must_fix
    assert not finding.ok
    assert "--scale linear" in finding.remedy
    assert "'cases' holds whole numbers" in finding.reading


def test_losses_in_full_dollars_are_still_sent_to_the_log_scale():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "cases": np.rint(np.exp(8 + 2 * rng.normal(size=400))),
            **{name: rng.normal(size=400) for name in (*ROLES.proxies, *ROLES.environment)},
        }
    )
    assert "pass scale='log'" in " ".join(f.remedy.lower() for f in audit(table, ROLES))
