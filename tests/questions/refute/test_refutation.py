"""Refuting, end to end on tables whose truth is known, and with every method."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal import load
from proxycal.errors import SettingsError, TableError
from proxycal.found import NotFittedError
from proxycal.model import ProxyCalibrator
from proxycal.questions.refits import Refit
from proxycal.questions.refute import REFUTERS, leak
from proxycal.questions.refute.refutation import Refutation


@pytest.fixture(scope="module")
def told() -> list[tuple[int, int]]:
    """How far `dropped` said it was."""
    return []


@pytest.fixture(scope="module")
def dropped(biased, told) -> Refutation:
    return biased.refute("drop-proxy", progress=lambda done, total: told.append((done, total)))


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


def test_every_proxy_is_dropped_once_and_parts_say_the_same(biased, dropped):
    assert dropped.table.index.tolist() == ["as fitted", *[f"without 'p_{k}'" for k in (1, 2, 3)]]
    np.testing.assert_allclose(dropped.table["alpha"], 3.0, atol=0.4)
    seeds = biased.refute("seed", repetitions=4)
    assert seeds.ok
    # So few rows are compared whole, so a seed changes nothing; a part of the rows does.
    assert (seeds.table["alpha"].iloc[1:4] == biased.alpha_).all()
    assert seeds.table["alpha"].iloc[4] != biased.alpha_


def test_a_leak_shrinks_alpha_and_tips_the_verdict(biased, monkeypatch):
    monkeypatch.setattr(leak, "LEAKS", (0.03, 0.5))
    leaking = biased.refute("leak")
    table = leaking.table
    assert len(table) == 1 + 3 * 2
    little, more = (table.loc[table["share"] == share] for share in (0.03, 0.5))
    assert (little["verdict"] == "bias found").all()
    assert (more["alpha"] < little["alpha"].to_numpy()).all()
    assert little["alpha"].max() < biased.alpha_
    assert leaking.value == 0.5


def test_the_answer_is_the_same_from_a_saved_run_and_whatever_n_jobs(moments, tmp_path):
    moments.save(tmp_path / "run")
    again = load(tmp_path / "run")
    again.n_jobs = 2
    pd.testing.assert_frame_equal(again.refute("null", 3).table, moments.refute("null", 3).table)


def test_the_record_reads_as_text_json_and_html(biased, dropped):
    refutation = dropped
    assert str(refutation).startswith("drop-proxy: survived. ")
    assert refutation.question == "Does the result depend on a single proxy?"
    values = json.loads(json.dumps(refutation.to_dict()))
    assert values["refits"][0]["share"] is None
    assert values["refits"][0]["alpha"] == biased.alpha_
    again = Refutation.from_dict(values)
    pd.testing.assert_frame_equal(again.table, refutation.table)
    assert str(again) == str(refutation)
    assert "<table" in refutation._repr_html_()


def test_progress_is_told(dropped, told):
    assert dropped.kind == "drop-proxy"
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_what_cannot_be_asked_is_refused(biased):
    with pytest.raises(SettingsError, match="null, placebo, drop-proxy, leak, seed"):
        biased.refute("luck")
    with pytest.raises(SettingsError, match="repetitions=1"):
        biased.refute("null", repetitions=1)
    with pytest.raises(NotFittedError):
        ProxyCalibrator(biased.roles, direction="over").refute("null")


def test_one_proxy_cannot_be_dropped():
    sim = proxycal.simulate(n=200, d_z=1, d_e=2, n_proxies=1, alpha=3.0, random_state=0)
    model = ProxyCalibrator(sim.roles, direction="over").fit(sim.table)
    with pytest.raises(TableError, match="two proxies or more"):
        model.refute("drop-proxy")


@pytest.mark.parametrize("kind", REFUTERS)
@pytest.mark.parametrize("method", ["moments", "paper"])
def test_every_method_can_be_refuted(request, method, kind):
    model = request.getfixturevalue(method)
    refutation = model.refute(kind, repetitions=2)
    assert refutation.reading
    first = refutation.refits[0]
    assert (first.alpha, first.verdict) == (pytest.approx(model.alpha_), model.verdict_)


def test_a_method_that_sees_nothing_in_tables_without_bias_passes_the_null(moments):
    refutation = moments.refute("null", repetitions=20)
    assert refutation.ok
    assert "p = 0.048" in refutation.statistic


def test_weights_clusters_and_gaps_go_through_refuters_and_power():
    # A table whose bias leads by far: that of `sim` with clusters is near a tie.
    sim = proxycal.simulate(n=300, d_z=2, d_e=3, alpha=5.0, random_state=2)
    rng = np.random.default_rng(0)
    table = sim.table.assign(w=rng.integers(1, 3, 300), site=np.repeat(np.arange(60), 5))
    column = sim.roles.environment[0]
    table.loc[rng.choice(300, 10, replace=False), column] = np.nan
    roles = proxycal.Roles(
        sim.roles.outcome, sim.roles.proxies, sim.roles.environment, weights="w", cluster="site"
    )
    model = ProxyCalibrator(roles, direction="over", missing="impute").fit(table)
    assert model.verdict_ == "bias found"
    assert model.refute("null", repetitions=2).ok
    parts = model.refute("seed", repetitions=2).table
    assert parts["alpha"].to_numpy() == pytest.approx(5.0, rel=0.15)
    assert model.power([5.0], repetitions=2).table.loc[5.0, "chance"] == 1.0


def test_a_part_of_the_rows_is_said_to_be_one(moments):
    model = ProxyCalibrator(moments.roles, direction="over", method="moments")
    model.result_ = replace(moments.result_, n=5_000)
    assert model.refute("seed", repetitions=2).statistic.endswith(" (on 300 of 5,000 rows)")


def test_few_tables_do_not_make_a_survivor():
    refit = Refit("as fitted", math.nan, 1.0, 0.1, 0.8, 1.2, math.nan, 0.5, "bias found")

    def state(kind: str, n: int, ok: bool = True) -> str:
        return Refutation(kind, (refit,) * (n + 1), "", math.nan, "", ok).state

    assert state("null", 3) == "3 tables: too few to tell"
    assert state("null", 20) == "survived"
    assert state("null", 3, ok=False) == "REFUTED"
    # Two proxies are all there are.
    assert state("drop-proxy", 2) == "survived"
