"""Rows under a fitted mixture: shares that add up, the law of residuals, and rows of an unknown cluster."""

import numpy as np
import pytest

from proxycal.mixture.answers import answer_rows, residual_shares
from proxycal.mixture.designs import Data, Spec, candidate_frames
from proxycal.mixture.laws import Params, Shape
from proxycal.testing.worlds import draw_world


@pytest.fixture(scope="module")
def known():
    """One component and a shift of 2, whose parameters are chosen and not fitted."""
    world = draw_world("gaussian", 300, 3.0, seed=0)
    data = Data(world.y, world.P, world.E, np.ones(300), np.ones(10, bool))
    frame = candidate_frames(data, "constant")["linear"]
    p, q = frame.content(data.content).shape[1], frame.gate(data.E).shape[1]
    beta = np.zeros((1, 1, p))
    beta[0, 0, :3] = (0.1, 0.4, -0.3)
    gamma = np.zeros((1, q))
    gamma[0, 0], gamma[0, 1] = -0.5, 1.0
    sigma = np.full((1, 1), np.log(0.3))
    params = Params(
        beta, sigma, np.zeros((1, 1, p)), np.zeros((1, q)), np.array([[2.0 / frame.scale]]), gamma
    )
    return data, Spec(Shape(1, shift=True), frame, params)


def test_answers_are_bayes_rule_of_two_normals(known):
    data, spec = known
    made = answer_rows(spec, data, 0.0)
    frame, params = spec.frame, spec.params
    mu = made.rows.X @ params.beta[0, 0] * frame.scale + frame.centre
    np.testing.assert_allclose(made.mu, mu, rtol=1e-10)
    np.testing.assert_allclose(made.size, 2.0, rtol=1e-12)
    sd = 0.3 * frame.scale
    odds = made.rows.G @ params.gamma[0]
    odds += ((data.y - mu) ** 2 - (data.y - mu - 2.0) ** 2) / (2.0 * sd**2)
    np.testing.assert_allclose(made.p_biased, 1.0 / (1.0 + np.exp(-odds)), atol=1e-9)
    np.testing.assert_allclose(made.content[:, 0], mu - frame.centre, atol=1e-9)


def test_a_row_of_an_unknown_cluster_is_less_sure(known):
    data, spec = known
    own, wider = (answer_rows(spec, data, sd).p_biased for sd in (0.0, 1.5 * spec.frame.scale))
    gate = 1.0 / (1.0 + np.exp(-answer_rows(spec, data, 0.0).rows.G @ spec.params.gamma[0]))
    # Wider noise pulls every row towards what its environment says.
    assert np.abs(wider - gate).mean() < np.abs(own - gate).mean()


def test_shares_below_a_place_rise_to_the_shares_of_the_two_kinds(known):
    data, spec = known
    at, below, total = residual_shares(spec, data, 0.0, -3.0, 5.0)
    assert (at[0], at[-1]) == (pytest.approx(-3.4), pytest.approx(5.4))
    assert (np.diff(below, axis=1) >= 0.0).all()
    np.testing.assert_allclose(below[:, -1], total, atol=1e-6)
    assert total.sum() == pytest.approx(1.0)
    # The biased are the unbiased moved by the shift: their medians lie 2 apart.
    medians = [np.interp(half, shares, at) for half, shares in zip(total / 2.0, below, strict=True)]
    assert medians[1] - medians[0] == pytest.approx(2.0, abs=0.02)
