"""The simulated nation: its files read back as they were drawn, and the join loses no row unnamed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.datasets import load_sheldus
from proxycal.datasets.losses import HAZARDS, KEYS
from proxycal.errors import SettingsError


def test_bias_and_proxies_are_as_drawn(nation):
    made = load_sheldus(nation.sheldus, nation.transitions, nation.counties)
    both = made.table.merge(nation.truth, on=list(KEYS), how="left", validate="one_to_one")
    np.testing.assert_allclose(both["shift"], 1.8 * both["a"])
    np.testing.assert_allclose(np.log(both["true_loss"] / both["reported_loss"]), both["shift"], atol=1e-9)
    # Proxies see the damage, and given it nothing of who is biased.
    X = np.column_stack([np.ones(len(both)), np.log(both["true_loss"]), both["log_population"]])
    for proxy in made.roles.proxies[1:]:
        assert np.corrcoef(both[proxy], np.log(both["true_loss"]))[0, 1] > 0.6
        left = both[proxy] - X @ np.linalg.lstsq(X, both[proxy], rcond=None)[0]
        assert abs(np.corrcoef(left, both["a"])[0, 1]) < 0.1


def test_the_same_seed_gives_the_same_bytes(nation, tmp_path):
    again = pc.simulate_disasters(tmp_path, n_counties=500, years=[2022, 2023])
    assert again.sheldus.read_bytes() == nation.sheldus.read_bytes()
    pd.testing.assert_frame_equal(again.truth, nation.truth)


def test_a_size_for_each_hazard(tmp_path):
    sizes = dict(zip(HAZARDS, (2.0, 1.5, 1.0, 0.0), strict=True))
    truth = pc.simulate_disasters(tmp_path, n_counties=60, years=[2023], alpha=sizes).truth
    biased = truth[truth["a"] == 1]
    np.testing.assert_allclose(biased["shift"], biased["hazard"].map(sizes))


@pytest.mark.parametrize(
    "wrong", [{"n_counties": 1}, {"years": [1999]}, {"alpha": -1.0}, {"alpha": {"Flooding": 1.0}}]
)
def test_arguments_that_cannot_be_are_refused(tmp_path, wrong):
    with pytest.raises(SettingsError):
        pc.simulate_disasters(tmp_path, **wrong)
