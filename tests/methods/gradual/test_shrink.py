"""Shrinkage: how much the data choose, and that the reference level does not matter."""

import json
from pathlib import Path

import numpy as np
import pytest

from proxycal.methods.gradual.sensitivity import robustness_value, sensitivity
from proxycal.methods.gradual.shrink import bends_group, levels_group, shrink, smoothed
from proxycal.methods.gradual.structure import Structure

REFERENCE = json.loads((Path(__file__).parent / "data" / "references.json").read_text())


def contrasts(levels, reference):
    others = [i for i in range(len(levels)) if i != reference]
    take = np.eye(len(levels))[others] - np.eye(len(levels))[reference]
    return take @ levels, take @ np.diag(np.full(len(levels), 0.25)) @ take.T


def test_equal_levels_are_pulled_together_and_different_ones_are_left():
    rng = np.random.default_rng(0)
    noise = 0.5 * rng.normal(size=30)
    same = shrink(*contrasts(noise, 0), [levels_group(np.arange(29))])
    apart = shrink(*contrasts(5.0 * rng.normal(size=30) + noise, 0), [levels_group(np.arange(29))])
    assert same.spreads[0] < 0.4
    assert apart.spreads[0] > 4.0
    raw = contrasts(noise, 0)
    assert same.coefficients.std() < 0.5 * raw[0].std()
    assert (np.diag(same.covariance) < np.diag(raw[1])).all()


def test_the_reference_level_does_not_matter():
    levels = np.array([0.0, 0.3, 2.0, -1.0, 0.7, 0.1])
    first = shrink(*contrasts(levels, 0), [levels_group(np.arange(5))]).coefficients
    last = shrink(*contrasts(levels, 5), [levels_group(np.arange(5))]).coefficients
    np.testing.assert_allclose(first[1] - first[2], last[2] - last[3], rtol=1e-3)


def test_free_coefficients_follow_those_they_were_estimated_with():
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    result = shrink(np.array([1.0, 0.1]), covariance, [bends_group(np.array([1]))])
    # A bend near zero is noise: what is left is the regression of the free one on a bend of zero.
    assert result.coefficients[1] == pytest.approx(0.0, abs=0.02)
    assert result.coefficients[0] == pytest.approx(1.0 - 0.8 * 0.1, abs=0.02)
    assert result.covariance[0, 0] == pytest.approx(1.0 - 0.64, abs=0.05)


def test_errors_are_those_of_the_estimates_whatever_was_believed_of_them():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(31, 31)) / 5.0
    true = root @ root.T + np.eye(31)
    believed = np.diag(np.diag(true))
    groups = [bends_group(np.arange(1, 31))]
    draws = []
    for _ in range(400):
        size = np.append(1.0, 2.0 * rng.normal(size=30))
        result = shrink(rng.multivariate_normal(size, true), true, groups, believed)
        draws.append((result.coefficients - size, np.diag(result.covariance)))
    errors, stated = (np.array(part) for part in zip(*draws, strict=True))
    # The spread is estimated, and widened: what is stated is a little more than what is seen.
    ratio = stated.mean(axis=0) / errors.var(axis=0)
    assert 1.0 < ratio.mean() < 1.3
    # The variance of 400 draws has a standard error of 7%.
    assert ratio.min() > 0.8


def test_a_smoothed_covariance_does_not_depend_on_how_columns_are_coded():
    rng = np.random.default_rng(2)
    covariance, normal = (a @ a.T + np.eye(5) for a in rng.normal(size=(2, 5, 5)))
    owners = ["a", "a", "a", "b", "b"]
    recode = np.zeros((5, 5))
    recode[:3, :3], recode[3:, 3:] = rng.normal(size=(3, 3)), rng.normal(size=(2, 2))
    moved = smoothed(recode @ covariance @ recode.T, recode @ normal @ recode.T, owners)
    np.testing.assert_allclose(moved, recode @ smoothed(covariance, normal, owners) @ recode.T, rtol=1e-9)


def test_no_groups_leave_everything():
    values, covariance = np.array([1.0, 2.0]), np.eye(2)
    assert shrink(values, covariance, []).coefficients is values


def test_robustness_is_that_of_sensemakr():
    for r2, value in zip(REFERENCE["robustness"]["r2"], REFERENCE["robustness"]["value"], strict=True):
        assert robustness_value(r2) == pytest.approx(value, rel=1e-9)


def test_sensitivity_of_a_system_that_can_be_worked_out_by_hand():
    # b(E) has variance 4, content accounts for none of it, noise 1: R2 = 4/5. e0 moves y by 1.5 * 2 through
    # content.
    structure = Structure(
        np.array([[1.0], [1.0], [1.5]]),
        np.ones(3),
        np.array([[2.0, 0.0]]),
        np.array([0.0, 2.0]),
        0.0,
        settled=True,
    )
    figures = sensitivity(structure, np.eye(2), ["e0", "e1"])
    assert figures.r2 == pytest.approx(0.8)
    assert figures.content_r2 == pytest.approx(2.25 / 3.25)
    assert (figures.benchmark, figures.benchmark_r2) == ("e0", pytest.approx(0.9))
    assert figures.times_benchmark == pytest.approx(2.0 / 3.0)
