"""Completed tables of real fits: what is kept, what is drawn, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc
from proxycal.analysis.impute import outside_columns


@pytest.fixture(scope="module")
def world():
    """A bias of one and a half residual sds, so that many rows are in doubt."""
    sim = pc.simulate(n=600, d_z=2, d_e=3, n_proxies=3, alpha=0.6, random_state=1)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="exact").fit(sim.table)
    assert model.verdict_ == "bias found"
    return sim, model


def test_tables_keep_everything_but_the_outcome(world):
    sim, model = world
    table = sim.table.assign(note="x").set_axis([f"r{i // 2}" for i in range(600)], axis=0)
    made = model.impute(table, m=3)
    assert len(made) == 3
    for one in made:
        assert list(one.columns) == list(table.columns)
        assert one.index.equals(table.index)
        pd.testing.assert_frame_equal(one.drop(columns="y"), table.drop(columns="y"))
        # An over-report is taken down by about alpha or left.
        gap = (table["y"] - one["y"]).to_numpy()
        assert ((gap == 0.0) | (abs(gap - model.alpha_) < 6.0 * model.alpha_se_)).all()
    assert not made[0]["y"].equals(made[1]["y"])
    share = np.mean([(one["y"] != table["y"]).mean() for one in made])
    assert abs(share - model.share_biased_) < 0.05


def test_the_seed_decides(world):
    sim, model = world
    first, again, other = (model.impute(sim.table, m=2, random_state=s) for s in (4, 4, 5))
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    assert not first[0].equals(other[0])
    plain = model.impute(sim.table, m=2)
    assert plain[0].equals(model.impute(sim.table, m=2, random_state=model.random_state)[0])


def test_a_polars_table_stays_one(world):
    sim, model = world
    made = model.impute(pl.from_pandas(sim.table), m=1)[0]
    assert isinstance(made, pl.DataFrame)
    np.testing.assert_array_equal(made["y"].to_numpy(), model.impute(sim.table, m=1)[0]["y"].to_numpy())


def test_rows_with_gaps_have_no_draw_and_validated_rows_their_truth():
    sim = pc.simulate(n=400, d_z=1, d_e=2, n_proxies=2, alpha=3.0, random_state=2)
    table = sim.table.assign(truth=np.where(np.arange(400) < 20, sim.truth["y_true"], np.nan))
    table.loc[30, "p_1"] = np.nan
    roles = pc.Roles(outcome="y", proxies=sim.roles.proxies, environment=sim.roles.environment, truth="truth")
    model = pc.ProxyCalibrator(roles, direction="over", method="exact", missing="drop")
    model.fit(table)
    with pytest.warns(pc.ProxycalWarning, match="1 row of 400 had missing values"):
        made = model.impute(table, m=2)
    assert np.isnan(made[1]["y"].iloc[30])
    assert made[1]["y"].notna().sum() == 399
    np.testing.assert_array_equal(made[0]["y"].iloc[:20], table["truth"].iloc[:20])


def test_without_a_finding_the_reports_stand_and_a_warning_says_so():
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=0.0, random_state=3)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="exact").fit(sim.table)
    assert model.verdict_ != "bias found"
    with pytest.warns(pc.ProxycalWarning, match="holds the reports as they are: the verdict is"):
        made = model.impute(sim.table, m=2)
    assert all(one["y"].equals(sim.table["y"]) for one in made)
    with pytest.warns(pc.ProxycalWarning, match="verdict"):
        pooled = model.regress("y ~ e_1", sim.table, m=5, vcov="iid")
    assert pooled.fmi.tolist() == [0.0, 0.0]
    assert pooled.df.tolist() == [298.0, 298.0]


def test_validated_rows_draw_the_truth_of_the_others():
    """A continuous error that no shift describes: the mean of the truth is covered, its spread is kept."""
    sim = pc.simulate(n=500, d_z=1, d_e=2, n_proxies=2, alpha=0.0, random_state=4)
    rng = np.random.default_rng(0)
    table = sim.table.assign(
        y=sim.truth["y_true"] + np.abs(rng.normal(size=500)),
        truth=np.where(rng.random(500) < 0.2, sim.truth["y_true"], np.nan),
    )
    roles = pc.Roles("y", sim.roles.proxies, sim.roles.environment, truth="truth")
    model = pc.ProxyCalibrator(roles, direction="over").fit(table)
    made = model.impute(table, m=20)
    known = table["truth"].notna()
    assert (made[3]["y"][known] == table["truth"][known]).all()
    pooled = pc.pool([(t["y"].mean(), t["y"].var() / 500) for t in made]).iloc[0]
    assert abs(pooled.estimate - sim.truth["y_true"].mean()) < 3.0 * pooled.se
    assert abs(made[0]["y"].std() / sim.truth["y_true"].std() - 1.0) < 0.1
    # A table without any validated row is drawn by the errors that the fit has seen.
    fresh = model.impute(table.drop(columns="truth"), m=20)
    assert abs(np.mean([t["y"].mean() for t in fresh]) - sim.truth["y_true"].mean()) < 0.15


@pytest.mark.parametrize(("m", "seed"), [(0, None), (2.5, None), (True, None), (3, -1), (3, "x")])
def test_what_is_no_number_is_refused(world, m, seed):
    sim, model = world
    with pytest.raises(pc.ProxycalError, match="use a whole number"):
        model.impute(sim.table, m=m, random_state=seed)


def test_outside_columns_become_numbers():
    frame = pd.DataFrame({"n": [1.0, None, 3.0], "b": [True, False, True], "c": ["x", "y", "z"]})
    made = outside_columns(frame)
    assert made.shape == (3, 4)
    assert np.isnan(made[1, 0])
    assert made[:, 1].tolist() == [1.0, 0.0, 1.0]
    assert made[:, 2:].sum() == 2.0
