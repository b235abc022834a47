"""The guess of the curvature: sums of squared scores, above zero for every law."""

import numpy as np
import pytest

from proxycal.mixture.wide.curvature import KEPT, curvature
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood

LAWS = [
    Law(),
    Law(components=2, weights_by_content=True, own_slopes=True),
    Law(components=2, scale="Em", scale_by_component=True),
    Law(components=3, scale="E"),
    Law(states=1),
    Law(states=2, components=2, gate="E m", by_content=True),
    Law(states=1, spread=True),
]


@pytest.mark.parametrize("weights", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.label)
def test_it_is_the_sum_of_squared_scores_of_the_rows(law, weights, draw_problem, draw_theta):
    problem = draw_problem(n=120, weights=weights)
    likelihood, theta = Likelihood(problem, law), draw_theta(law, problem)
    step, squares = 1e-5, np.empty(len(theta))
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i], down[i] = theta[i] + step, theta[i] - step
        score = (likelihood.seen(up).loglik - likelihood.seen(down).loglik) / (2.0 * step)
        squares[i] = float((problem.weights * score) ** 2 @ np.ones(len(score)))
    guess = curvature(likelihood, theta, likelihood.with_squares(theta)[2])
    most = problem.n * np.exp(-2.0 * theta[likelihood.at.log_sigma].min())
    assert np.all(guess >= squares * (1.0 - 1e-5))
    assert np.all(guess <= squares * (1.0 + 1e-5) + KEPT * max(most, 2.0 * problem.n) * (1.0 + 1e-9))


@pytest.mark.parametrize(
    "law", [*LAWS, Law(states=1, cv=0.7), Law(states=1, gate="E y"), Law(skew=1.0, scale="E")], ids=str
)
def test_no_parameter_is_without_it(law, draw_problem, draw_theta):
    problem = draw_problem(n=120)
    likelihood, theta = Likelihood(problem, law), draw_theta(law, problem)
    assert np.all(curvature(likelihood, theta, likelihood.with_squares(theta)[2]) > 0.0)
