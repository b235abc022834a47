"""method="auto" goes by the number of validated rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.errors import ProxycalWarning, TableError
from proxycal.methods.auto import choose
from proxycal.settings import Settings


@pytest.mark.parametrize(("known", "method"), [(0, "exact"), (1, "exact"), (29, "exact"), (30, "validated")])
def test_thirty_validated_rows_are_enough(known, method):
    assert choose(known) == method


def test_a_fit_says_which_method_it_was():
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    assert Settings(direction="over").method == "auto"
    assert pc.ProxyCalibrator(sim.roles, direction="over").fit(sim.table).result_.settings.method == "exact"
    table = sim.table.assign(truth=np.where(np.arange(300) < 29, sim.truth["y_true"], np.nan))
    roles = pc.Roles(sim.roles.outcome, sim.roles.proxies, sim.roles.environment, truth="truth")
    assert pc.ProxyCalibrator(roles, direction="over").fit(table).result_.settings.method == "exact"


@pytest.mark.parametrize("counts", [False, True])
def test_copies_of_a_few_validated_rows_teach_no_more_than_those(counts):
    """One person who stands for 60 was taken for 60 validated rows: a fold had none to learn from."""
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    table = sim.table.assign(truth=np.where(np.arange(300) < 3, sim.truth["y_true"], np.nan), number=1)
    if counts:
        table["number"] = np.where(np.arange(300) < 3, 20, 1)
    else:
        table = pd.concat([table, *[table.iloc[:3]] * 19], ignore_index=True)
    roles = pc.Roles(
        sim.roles.outcome, sim.roles.proxies, sim.roles.environment, truth="truth", counts="number"
    )
    with pytest.warns(ProxycalWarning, match="validates 3 rows"):
        model = pc.ProxyCalibrator(roles, direction="over").fit(table)
    assert model.result_.settings.method == "exact"
    with pytest.raises(TableError, match="copies of a few, and there are 3"):
        pc.ProxyCalibrator(roles, direction="over", method="validated").fit(table)
