"""The wider comparison on simulated truth: which law wins, and that what is no bias is not called one."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.wide.answer import mean_size
from proxycal.mixture.wide.compare import Setup, compare_widely


def size_of(wide):
    return mean_size(wide.bias.likelihood, wide.bias.theta)


# --- with a bias --------------------------------------------------------------------------------------------


def test_one_size_stays_one_size(draw, who):
    setup, scale = draw(lambda rng, e, z, t: t + 3.5 * who(rng, e))
    wide = compare_widely(setup)
    assert wide.gain > 20.0
    assert not wide.bias.law.varies
    assert wide.bias.law.gate == "E"
    assert size_of(wide) * scale == pytest.approx(3.5, rel=0.07)


def test_sizes_that_vary_are_found_to_vary(draw, who):
    sizes = {}

    def report(rng, e, z, t):
        biased = who(rng, e)
        added = biased * rng.gamma(4.0, 1.25, len(e))
        sizes["mean"] = added[biased].mean()
        return t + added

    setup, scale = draw(report)
    wide = compare_widely(setup)
    assert wide.gain > 10.0
    assert wide.bias.law.varies
    assert size_of(wide) * scale == pytest.approx(sizes["mean"], rel=0.12)


def test_two_sizes_are_found_as_three_states(draw, who):
    def report(rng, e, z, t):
        return t + who(rng, e) * np.where(rng.random(len(e)) < 0.5, 3.0, 9.0)

    setup, scale = draw(report)
    wide = compare_widely(setup)
    assert wide.bias.law.states == 2
    at = wide.bias.likelihood.at
    np.testing.assert_allclose(np.sort(wide.bias.theta[at.alpha]) * scale, [3.0, 9.0], rtol=0.12)
    assert size_of(wide) * scale == pytest.approx(6.0, rel=0.12)


def test_a_gate_that_looks_at_content_is_found(draw, who):
    setup, scale = draw(lambda rng, e, z, t: t + 4.0 * who(rng, e, z @ [1.2, 0.8]))
    wide = compare_widely(setup)
    assert wide.gain > 10.0
    # Content and the true outcome are hard to tell apart as what the gate looks at.
    assert "m" in wide.bias.law.gate or "y" in wide.bias.law.gate
    assert size_of(wide) * scale == pytest.approx(4.0, rel=0.1)
    assert wide.alike


def test_a_gate_by_a_product_of_the_environment_is_found(draw):
    def report(rng, e, z, t):
        return t + 4.0 * (rng.random(len(e)) < 1.0 / (1.0 + np.exp(0.5 - 2.0 * e[:, 0] * e[:, 1])))

    setup, scale = draw(report)
    wide = compare_widely(setup)
    assert wide.gain > 10.0
    assert "Q" in wide.bias.law.gate
    assert size_of(wide) * scale == pytest.approx(4.0, rel=0.07)


# --- without one --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "report",
    [
        None,
        lambda rng, e, z, t: t + 2.0 * (e[:, 0] > 0.5),
        lambda rng, e, z, t: z @ [1.5, 1.0] + (rng.exponential(1.0, len(e)) - 1.0) * np.exp(0.7 * e[:, 0]),
        # Two groups of content that the environment does not choose.
        lambda rng, e, z, t: t + 4.0 * (rng.random(len(e)) < 0.4),
    ],
    ids=["nothing", "step of E", "skew by E", "two humps"],
)
def test_what_is_no_bias_is_not_called_one(report, draw):
    wide = compare_widely(draw(report, n=1000)[0])
    assert wide.gain <= 0.0


# --- invariances --------------------------------------------------------------------------------------------


def test_the_order_of_the_rows_says_nothing(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 3.5 * who(rng, e), n=400)
    mixed = np.random.default_rng(5).permutation(400)
    other = Setup(
        setup.y[mixed], setup.X[mixed], setup.X[mixed], setup.P[mixed], setup.E[mixed], setup.weights[mixed]
    )
    one, two = compare_widely(setup), compare_widely(other)
    assert one.bias.law == two.bias.law
    # Sums in another order differ in the last digits, and optimisers stop within their tolerance.
    assert size_of(one) == pytest.approx(size_of(two), abs=1e-3)
    assert one.gain == pytest.approx(two.gain, abs=0.05)


def test_counts_are_repeated_rows(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 4.0 * who(rng, e), n=300)
    times = np.arange(300) % 2 + 1
    again = np.repeat(np.arange(300), times)
    weighted = replace(setup, weights=times.astype(float))
    repeated = Setup(
        setup.y[again], setup.X[again], setup.X[again], setup.P[again], setup.E[again], np.ones(len(again))
    )
    one, two = compare_widely(weighted), compare_widely(repeated)
    assert one.bias.law == two.bias.law
    assert size_of(one) == pytest.approx(size_of(two), abs=2e-3)
    assert one.gain == pytest.approx(two.gain, abs=0.1)


# --- clusters -----------------------------------------------------------------------------------------------


def test_intercepts_of_clusters_are_the_same_on_both_sides(draw, who):
    setup, scale = draw(lambda rng, e, z, t: t + 3.8 * who(rng, e), intercepts=1.5)
    wide = compare_widely(setup)
    assert wide.gain > 10.0
    assert size_of(wide) * scale == pytest.approx(3.8, rel=0.1)
    assert wide.tau * scale == pytest.approx(1.5, rel=0.3)
    assert wide.intercepts.shape == (800,)
    nothing = compare_widely(draw(intercepts=1.5)[0])
    assert nothing.gain <= 0.0
    # Where no bias leads, nobody asks for the range of its size.
    assert nothing.alike == ()


def test_in_clusters_too_the_laws_that_explain_alike_are_known(draw, who):
    def report(rng, e, z, t):
        return t + who(rng, e) * rng.gamma(3.0, 1.6, len(e))

    wide = compare_widely(draw(report, intercepts=1.0)[0])
    assert wide.bias.law.varies
    sizes = [mean_size(one.likelihood, one.theta) for one in wide.alike]
    assert 1 <= len(sizes) <= 2
    # They live on the outcome without their own intercepts, as the best does.
    assert all(np.ptp(wide.bias.problem.y - one.problem.y) < 1.0 for one in wide.alike)
    assert any(size != pytest.approx(size_of(wide), rel=0.01) for size in sizes)


# --- ranges -------------------------------------------------------------------------------------------------


def test_rounded_values_tell_a_bias_and_its_absence(draw, who):
    def rounded(setup, scale):
        step = 1.0 / scale
        y = np.rint(setup.y / step) * step
        return replace(setup, y=y, low=y - step / 2.0, high=y + step / 2.0)

    setup, scale = draw(lambda rng, e, z, t: t + 4.0 * who(rng, e))
    wide = compare_widely(rounded(setup, scale))
    assert wide.gain > 10.0
    assert size_of(wide) * scale == pytest.approx(4.0, rel=0.1)
    setup, scale = draw()
    assert compare_widely(rounded(setup, scale)).gain <= 0.0
