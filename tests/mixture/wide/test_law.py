"""Laws: what they are called, where their parameters stand, what they cost, and gamma laws in bins."""

from dataclasses import fields, replace

import numpy as np
import pytest

from proxycal.mixture.wide.law import (
    NOISE_BINS,
    SIZE_BINS,
    Law,
    gamma_bins,
    gate_columns,
    layout,
    lognormal_bins,
    n_paid,
    pairs,
    with_one_size,
    without_environment,
)


@pytest.mark.parametrize("cv", [0.3, 0.7, 1.2])
@pytest.mark.parametrize("ends", [SIZE_BINS, NOISE_BINS], ids=["sizes", "noise"])
@pytest.mark.parametrize("bins_of", [gamma_bins, lognormal_bins])
def test_bins_have_the_mean_and_the_spread_of_their_law(cv, ends, bins_of):
    bins = bins_of(cv, ends)
    share = np.exp(bins.log_share)
    assert share.sum() == pytest.approx(1.0)
    assert share @ bins.mean == pytest.approx(1.0)
    assert share @ (bins.sd**2 + (bins.mean - 1.0) ** 2) == pytest.approx(cv**2)
    assert (np.diff(bins.mean) > 0.0).all()


@pytest.mark.parametrize(
    "law",
    [
        Law(),
        Law(components=3, weights_by_content=True, own_slopes=True, scale="Em", scale_by_component=True),
        Law(states=2, spread=True, by_content=True, gate="E Q m"),
        Law(states=3, shared_gate=True),
        Law(states=1, gate="E y"),
        Law(skew=-1.0, scale="E"),
    ],
    ids=lambda law: law.label,
)
def test_blocks_of_parameters_stand_side_by_side(law):
    at = layout(law, 4, 3)
    taken = np.concatenate(
        [np.arange(at.size)[getattr(at, item.name)] for item in fields(at) if item.name != "size"]
    )
    np.testing.assert_array_equal(taken, np.arange(at.size))


def test_what_laws_cost():
    assert n_paid(Law(), 4, 3) == 5
    assert n_paid(Law(states=1), 4, 3) == 5 + 1 + 4
    # A coefficient of variation that was chosen is one more parameter, and a column of the mean that a gate
    # made costs as much as the gate's slopes.
    assert n_paid(Law(states=1, cv=0.7), 4, 3) == n_paid(Law(states=1), 4, 3) + 1
    assert n_paid(Law(columns=1), 5, 3) == n_paid(Law(), 5, 3) + 3
    # A further size with a gate of its own pays for the gate too, one that shares it for its share only.
    assert n_paid(Law(states=2), 4, 3) == n_paid(Law(states=1), 4, 3) + 5
    assert n_paid(Law(states=2, shared_gate=True), 4, 3) == n_paid(Law(states=1), 4, 3) + 2
    assert n_paid(Law(components=2), 4, 3) == n_paid(Law(), 4, 3) + 3


def test_columns_of_a_gate():
    assert gate_columns(Law(), 3) == 0
    assert gate_columns(Law(states=1), 3) == 4
    assert gate_columns(Law(states=1, gate="E m"), 3) == 5
    assert gate_columns(Law(states=1, gate="E Q"), 3) == 4 + 6
    assert gate_columns(Law(states=1, gate="m"), 3) == 2
    assert pairs(2) == [(0, 0), (0, 1), (1, 1)]


def test_a_bias_is_one_only_where_the_environment_decides_who():
    bias = Law(states=1, gate="E m")
    assert bias.claims_bias
    assert not without_environment(bias).claims_bias
    assert not Law(components=2).claims_bias


def test_laws_say_what_they_are():
    assert Law().label == "plain"
    assert Law().says == Law(states=1).says == ()
    wide = Law(states=2, spread=True, by_content=True, gate="E Q m", components=2, scale="E")
    for word in (
        "J=2",
        "3 states",
        "sizes vary",
        "size by content",
        "products of E",
        "by content too",
        "sd by",
    ):
        assert word in wide.label
    assert len(wide.says) == 5
    assert wide.varies
    assert not Law(states=1, gate="E y").varies
    assert Law(states=1, cv=0.7).label == "gamma sizes, cv 0.7"
    assert Law(states=1, cv=0.7, heavy=True).label == "lognormal sizes, cv 0.7"
    assert Law(states=3, shared_gate=True).says == (
        "there are four states: unbiased and three sizes of bias",
    )
    assert with_one_size(wide) == Law(states=1, gate="E Q m", components=2, scale="E")
    assert Law(states=1, gate="E y").says == ("who is biased depends on the true value too",)
    assert "skew" in Law(skew=1.0, scale="E").label
    assert replace(wide, spread=False) != wide
