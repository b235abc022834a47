"""The further checks: each question in worlds where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.methods.checks.instruments import direct_p
from proxycal.methods.checks.outcome import content_gap, normality
from proxycal.methods.checks.slopes import row_influence, size_of_noise_p
from proxycal.model import ProxyCalibrator
from proxycal.questions.assumptions import (
    agreement_of_models,
    direct_environment,
    even_noise,
    exclusion,
    gap_in_content,
    leverage,
    multiplicity,
    noise_shape,
)
from proxycal.result import Finding
from proxycal.testing.worlds import draw_world


def world(n: int = 600, seed: int = 0):
    """(P, E, a): three proxies of one latent, who is biased follows E alone."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 2))
    z = E[:, 0] + rng.normal(size=n)
    P = z[:, None] * [1.0, -0.8, 1.2] + 0.4 * rng.normal(size=(n, 3))
    a = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * E[:, 1]))).astype(float)
    return P, E, a


NAMES = ("built", "roads", "lights")
NONE = np.full(3, np.nan)


def test_clean_proxies_pass_and_a_leaking_one_is_named():
    alarms = 0
    for seed in range(30):
        P, E, a = world(seed=seed)
        w = np.ones(len(a))
        alarms += not exclusion(P, NAMES, E, a, NONE, NONE, w).ok
        P[:, 1] += 0.5 * a
        finding = exclusion(P, NAMES, E, a, NONE, NONE, w)
        assert not finding.ok
        assert finding.reading.startswith("Proxy 'roads' is related to the bias (t = ")
    assert alarms == 0


def test_a_bias_of_its_own_names_the_proxy_whatever_p_biased_says():
    P, E, a = world()
    finding = exclusion(P, NAMES, E, a, np.array([-20.0, np.nan, 40.0]), NONE, np.ones(len(a)))
    assert not finding.ok
    assert "'lights'" in finding.statistic
    assert exclusion(P, NAMES, E, a, np.array([-20.0, 3.0, 10.0]), NONE, np.ones(len(a))).ok


def test_a_proxy_that_the_environment_moves_is_an_alarm_without_a_name():
    P, E, a = world()
    finding = exclusion(P, NAMES, E, a, NONE, np.array([0.2, 1e-7, np.nan]), np.ones(len(a)))
    assert not finding.ok
    assert finding.value == pytest.approx(3e-7)
    assert finding.reading.startswith("The environment moves some proxy beyond content (p = 3e-07)")
    assert exclusion(P, NAMES, E, a, NONE, np.array([0.2, 1e-4, np.nan]), np.ones(len(a))).ok


def test_even_noise_passes_and_uneven_noise_is_seen_unless_modelled():
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        E = rng.normal(size=(500, 3))
        noise = rng.normal(size=500)
        alarms += not even_noise(noise**2, E, np.ones(500), modelled=False).ok
        uneven = (noise * np.exp(0.5 * E[:, 0])) ** 2
        assert not even_noise(uneven, E, np.ones(500), modelled=False).ok
    assert alarms <= 1
    seen = even_noise(uneven, E, np.ones(500), modelled=True)
    assert seen.ok
    assert seen.value == size_of_noise_p(uneven, E, np.ones(500))
    assert "depends on the environment (p = " in seen.reading


def test_noise_that_a_cluster_shares_is_one_observation():
    rng = np.random.default_rng(0)
    rejected = [0, 0]
    for _ in range(20):
        E = np.repeat(rng.normal(size=(40, 2)), 20, axis=0)
        cluster = np.repeat(np.arange(40), 20)
        square = np.repeat(rng.normal(size=40) ** 2, 20)
        for i, codes in enumerate((None, cluster)):
            rejected[i] += not even_noise(square, E, np.ones(800), False, codes).ok
    assert rejected[0] >= 12
    assert rejected[1] <= 4


def test_one_wild_row_or_cluster_is_heavy():
    P, E, a = world()
    rng = np.random.default_rng(2)
    y = P[:, 0] + 2.0 * a + rng.normal(size=len(a))
    w = np.ones(len(a))
    assert leverage(y, P, E, a, w).ok
    wild = y.copy()
    wild[np.flatnonzero(a)[0]] += 500.0
    heavy = leverage(wild, P, E, a, w)
    assert not heavy.ok
    assert heavy.reading.startswith(f"A single row moves alpha by {heavy.value:.2f} standard errors")
    influence, se = row_influence(wild, np.column_stack([np.ones(len(y)), P, E]), a, w)
    assert heavy.value == pytest.approx(np.abs(influence).max() / se)
    # Nobody's size is in question where no bias is claimed; the number stays.
    unclaimed = leverage(wild, P, E, a, w, asked=False)
    assert unclaimed.ok
    assert unclaimed.value == heavy.value
    assert unclaimed.reading.startswith("Not applicable")
    pairs = leverage(wild, P, E, a, w, np.arange(len(a)) // 2)
    assert not pairs.ok


def test_models_that_fit_alike_must_name_one_size():
    agreed = agreement_of_models([(-100.0, 2.0), (-97.0, 2.1), (-20.0, 9.0)], se=0.05)
    assert agreed.ok
    assert agreed.reading.startswith(
        "The 2 of 3 models that fit about equally well agree on alpha within 0.1"
    )
    alone = agreement_of_models([(-100.0, 2.0), (-20.0, 9.0)], se=0.05)
    assert alone.ok
    assert alone.reading.startswith("Of 2 models with a bias only the best fits this well")
    finding = agreement_of_models([(-100.0, 2.0), (-97.0, 3.0)], se=0.05)
    assert not finding.ok
    assert finding.value == pytest.approx(1.0)


def test_multiplicity_counts():
    fine, bad = (Finding("q", "s", "r", "m", ok=ok) for ok in (True, False))
    finding = multiplicity([fine, bad, fine])
    assert finding.value == 1.0
    assert "1 of 3" in finding.statistic
    assert finding.ok


def test_direct_effects_are_in_order_only_where_the_model_has_them():
    rng = np.random.default_rng(1)
    E = rng.normal(size=(600, 3))
    z = E[:, 0] + rng.normal(size=600)
    P = z[:, None] * [1.0, -0.8, 1.2] + 0.4 * rng.normal(size=(600, 3))
    a = (E[:, 1] > 0.0).astype(float)
    y = z + 0.5 * rng.normal(size=600) + E[:, 2]
    arguments = (y, P, E, a, 1.0, 0.0, np.ones(len(y)))
    modelled = direct_environment(*arguments, modelled=True)
    assert modelled.ok
    assert modelled.value == direct_p(*arguments)
    assert "The fitted model allows for it" in modelled.reading
    assert not direct_environment(*arguments, modelled=False).ok
    assert not direct_environment(y, P, E, a, 0.0, 0.0, np.ones(len(y)), modelled=False).ok
    assert direct_environment(y, P[:, :1], E, *arguments[3:], modelled=False).statistic == "not tested"


def test_a_gap_counts_only_where_the_environment_tells_the_groups_apart():
    rng = np.random.default_rng(0)
    side = np.repeat([-1.0, 1.0], 500)
    content = 3.0 * side + rng.normal(size=1000)
    E, w = np.column_stack([side + 0.2 * rng.normal(size=1000), rng.normal(size=1000)]), np.ones(1000)
    apart = gap_in_content(content, E, w)
    assert not apart.ok
    assert apart.value == content_gap(content, E, w)[0]
    assert f"gap of {apart.value:.2f} standard deviations" in apart.reading
    assert gap_in_content(content, E[:, 1:], w).ok


def test_a_bias_is_no_skew_and_a_skew_is():
    rng = np.random.default_rng(1)
    a = (rng.random(800) < 0.2).astype(float)
    noise, bias, w = rng.normal(size=800), np.full(800, 4.0), np.ones(800)
    assert noise_shape(noise + 4.0 * a, a, bias, w, modelled=False).ok
    skewed = rng.exponential(size=800)
    assert not noise_shape(skewed + 4.0 * a, a, bias, w, modelled=False).ok
    seen = noise_shape(skewed + 4.0 * a, a, bias, w, modelled=True)
    assert seen.ok
    assert seen.value == normality(skewed + 4.0 * a, a, bias, w)[0]


def test_check_names_the_proxy_that_carries_the_bias():
    world = draw_world("gaussian", 600, 3.0, seed=1)
    clean = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    topics = {finding.topic: finding for finding in clean.check()}
    assert {"exclusion", "heteroscedasticity", "leverage", "starts", "multiplicity"} <= set(topics)
    assert topics["exclusion"].ok
    assert topics["starts"].ok
    leaking = world.table()
    leaking["p_2"] += 0.5 * world.alpha * world.a
    findings = ProxyCalibrator(world.roles, direction="over").fit(leaking).check()
    exclusion = next(finding for finding in findings if finding.topic == "exclusion")
    assert not exclusion.ok
    assert "'p_2'" in exclusion.reading


def test_a_check_that_cannot_be_computed_is_a_finding_among_the_others(monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    world = draw_world("gaussian", 300, 3.0, seed=1)
    model = ProxyCalibrator(world.roles, direction="over", method="moments").fit(world.table())
    before = [finding.topic for finding in model.check()]
    monkeypatch.setattr("proxycal.questions.assumptions.own_bias", fails)
    after = model.check()
    assert [finding.topic for finding in after] == before
    (lost,) = [finding for finding in after if finding.topic == "exclusion"]
    assert "LinAlgError: Singular matrix" in lost.reading
