"""Refuting and power, end to end on tables whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.errors import SettingsError, TableError
from proxycal.model import NotFittedError, ProxyCalibrator, load
from proxycal.questions import refute
from proxycal.questions.null import fit_null
from proxycal.settings import Settings
from proxycal.table.training import keep, take, training_from, training_state
from proxycal.testing.worlds import draw_world


@pytest.fixture(scope="module")
def biased() -> ProxyCalibrator:
    sim = proxycal.simulate(n=400, d_z=2, d_e=3, n_proxies=3, alpha=3.0, random_state=1)
    return ProxyCalibrator(sim.roles).fit(sim.table)


def test_a_real_bias_survives_the_null_and_falls_with_shuffled_proxies(biased):
    null = biased.refute("null", repetitions=4)
    assert null.ok
    assert null.value == pytest.approx(1 / 5)
    drawn = null.table.iloc[1:]
    assert (drawn["verdict"] != "bias found").sum() >= 3
    assert (drawn["gain"] < null.table["gain"].iloc[0]).all()
    placebo = biased.refute("placebo", repetitions=3)
    assert placebo.ok
    assert not (placebo.table["verdict"].iloc[1:] == "bias found").any()


def test_every_proxy_is_dropped_once_and_parts_say_the_same(biased):
    dropped = biased.refute("drop-proxy")
    assert dropped.table.index.tolist() == ["as fitted", *[f"without 'p_{k}'" for k in (1, 2, 3)]]
    np.testing.assert_allclose(dropped.table["alpha"], 3.0, atol=0.4)
    seeds = biased.refute("seed", repetitions=4)
    assert seeds.ok
    # This few rows race whole, so a seed changes nothing; a part of the rows does.
    assert (seeds.table["alpha"].iloc[1:4] == biased.alpha_).all()
    assert seeds.table["alpha"].iloc[4] != biased.alpha_


def test_a_leak_shrinks_alpha_and_tips_the_verdict(biased, monkeypatch):
    monkeypatch.setattr(refute, "LEAKS", (0.1, 0.25))
    leak = biased.refute("leak")
    assert len(leak.table) == 1 + 3 * 2
    little, more = (leak.table.loc[leak.table["share"] == share] for share in (0.1, 0.25))
    assert (little["verdict"] == "bias found").all()
    assert (more["alpha"] < little["alpha"].to_numpy()).all()
    assert little["alpha"].max() < biased.alpha_
    assert leak.value == 0.25


def test_the_answer_is_the_same_from_a_saved_run_and_whatever_n_jobs(biased, tmp_path):
    biased.save(tmp_path / "run")
    again = load(tmp_path / "run")
    again.n_jobs = 2
    pd.testing.assert_frame_equal(again.refute("seed", 3).table, biased.refute("seed", 3).table)


def test_the_record_reads_as_text_json_and_html(biased):
    found = biased.refute("drop-proxy")
    assert str(found).startswith("drop-proxy: survived. ")
    values = found.to_dict()
    assert values["refits"][0]["share"] is None
    assert values["refits"][0]["alpha"] == biased.alpha_
    assert "<table" in found._repr_html_()


def test_progress_is_told(biased):
    seen = []
    biased.refute("drop-proxy", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_what_cannot_be_asked_is_refused(biased):
    with pytest.raises(SettingsError, match="null, placebo, drop-proxy, leak, seed"):
        biased.refute("luck")
    with pytest.raises(SettingsError, match="repetitions=1"):
        biased.refute("null", repetitions=1)
    with pytest.raises(SettingsError, match="one size above 0"):
        biased.power([])
    with pytest.raises(SettingsError, match="one size above 0"):
        biased.power([-1.0, 2.0])
    with pytest.raises(NotFittedError):
        ProxyCalibrator(biased.roles).refute("null")


def test_one_proxy_cannot_be_dropped():
    sim = proxycal.simulate(n=200, d_z=1, d_e=2, n_proxies=1, alpha=3.0, random_state=0)
    model = ProxyCalibrator(sim.roles).fit(sim.table)
    with pytest.raises(TableError, match="two proxies or more"):
        model.refute("drop-proxy")


def test_power_on_top_of_a_bias_that_was_found(biased):
    found = biased.power([0.02, 2.0], repetitions=3)
    assert found.table.index.tolist() == [0.0, 0.02, 2.0]
    assert found.table["chance"].tolist() == [0.0, 0.0, 1.0]
    # The bias that is there was taken out first: the sd is that of the true outcome, not of the reported one.
    reported = float(np.std(biased.result_.training.y))
    assert found.sd < 0.85 * reported
    assert found.table["size"].iloc[-1] == pytest.approx(2.0 * found.sd)
    assert found.table["mean_alpha"].iloc[-1] == pytest.approx(2.0, abs=0.2)
    assert 0.02 < found.detectable < 2.0
    assert found.to_dict()["sizes"][0]["error"] is None
    ax = found.plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "0.02", "2"]


def test_draws_without_bias_have_the_shape_of_the_winner():
    world = draw_world("heteroscedastic", 800, 0.0, seed=2)
    model = ProxyCalibrator(world.roles).fit(world.table())
    null = fit_null(model.result_.training, model.result_.settings, claimed=False)
    draws = np.array([null.draw(np.random.default_rng(i)) for i in range(40)])
    left = world.y - draws.mean(axis=0)
    assert abs(left.mean()) < 0.1
    # sd by environment: rows that are noisy in truth are noisy in the draws.
    truth = np.exp(0.4 * world.E[:, 0] - 0.3 * world.E[:, 1])
    assert np.corrcoef(draws.std(axis=0), truth)[0, 1] > 0.8


def test_draws_with_clusters_share_within_them_and_under_mirrors_over():
    world = draw_world("clusters", 600, 0.0, seed=0)
    arrays = ProxyCalibrator(world.roles).fit(world.table()).result_.training
    null = fit_null(arrays, Settings(), claimed=False)
    assert 0.2 < null.cluster_sd < 0.7
    mirrored = fit_null(replace(arrays, y=-arrays.y), Settings(direction="under"), claimed=False)
    one, other = (model.draw(np.random.default_rng(0)) for model in (null, mirrored))
    np.testing.assert_allclose(one, -other, atol=1e-8)


def test_kept_rows_come_back_to_the_bit_and_gone_levels_leave_no_gap():
    table = pd.DataFrame({
        "y": np.arange(60.0), "p": np.sin(np.arange(60)), "e": np.cos(np.arange(60)),
        "h": ["a", "b", "c"] * 20, "w": np.arange(60) + 1.0, "g": np.arange(60) // 6,
    })  # fmt: skip
    roles = proxycal.Roles("y", ["p"], ["e", "h"], weights="w", cluster="g")
    from proxycal.table.encode import Encoder

    arrays = Encoder.fit(table, roles).transform(table)
    values, tensors = training_state(arrays)
    again = training_from(values, tensors)
    for name in ("y", "P", "E", "weights", "cluster"):
        np.testing.assert_array_equal(getattr(again, name), getattr(arrays, name))
    assert again.level_names == arrays.level_names
    np.testing.assert_array_equal(again.levels["h"], arrays.levels["h"])
    part = take(arrays, np.flatnonzero(arrays.levels["h"] != 1)[12:])
    assert part.level_names["h"] == ("a", "c")
    assert set(part.levels["h"].tolist()) == {0, 1}
    assert part.cluster.min() == 0
    small = keep(arrays, seed=0, most=20)
    assert small.n == 20
    assert np.isin(small.y, arrays.y).all()


def test_check_names_the_proxy_that_carries_the_bias():
    world = draw_world("gaussian", 600, 3.0, seed=1)
    clean = ProxyCalibrator(world.roles).fit(world.table())
    topics = {one.topic: one for one in clean.check()}
    assert {"exclusion", "heteroscedasticity", "leverage", "starts", "multiplicity"} <= set(topics)
    assert topics["exclusion"].ok
    assert topics["starts"].ok
    leaking = world.table()
    leaking["p_2"] += 0.5 * world.alpha * world.a
    found = {one.topic: one for one in ProxyCalibrator(world.roles).fit(leaking).check()}
    assert not found["exclusion"].ok
    assert "'p_2'" in found["exclusion"].reading
