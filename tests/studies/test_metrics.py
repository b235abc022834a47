"""Metrics against brute force and known answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from proxycal.studies.metrics import align, of_latents, of_who

RNG = np.random.default_rng(3)


def test_the_pairing_is_the_best_of_all_permutations():
    true, found = RNG.normal(size=(40, 4)), RNG.normal(size=(40, 4))
    squared = np.corrcoef(true.T, found.T)[:4, 4:] ** 2
    best = max(itertools.permutations(range(4)), key=lambda p: sum(squared[i, p[i]] for i in range(4)))
    assert align(true, found).pairs.tolist() == list(best)


def test_order_sign_and_scale_cost_nothing():
    z = RNG.normal(size=(200, 3))
    found = np.column_stack([5.0 - 2.0 * z[:, 2], 0.1 * z[:, 0], -z[:, 1]])
    made = of_latents("z", z, found, np.arange(150), np.arange(150, 200))
    assert made["r2_z"] == pytest.approx(1.0)
    assert made["z_mae_aligned"] == pytest.approx(0.0, abs=1e-12)
    assert made["z_mae"] > 0.3, "the paper's figure keeps the recovered scale"


def test_noise_explains_nothing_on_rows_the_alignment_has_not_seen():
    z, found = RNG.normal(size=(400, 5)), RNG.normal(size=(400, 5))
    assert of_latents("z", z, found, np.arange(200), np.arange(200, 400))["r2_z"] < 0.02


def test_a_true_latent_without_a_partner_counts_as_not_recovered():
    z = RNG.normal(size=(500, 2))
    made = of_latents("z", z, z[:, 1:], np.arange(400), np.arange(400, 500))
    assert made["r2_z"] == pytest.approx(0.5, abs=0.02)


def test_who_is_biased():
    made = of_who(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.6, 0.4, 1.0]))
    assert made["accuracy"] == 0.5
    assert made["brier"] == pytest.approx((0.36 + 0.36) / 4)
