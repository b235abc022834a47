"""Shapes: every county, closed rings, areas in the right proportion."""

from __future__ import annotations

import numpy as np

from proxycal.datasets.county_shapes import HEIGHT, WIDTH, counties, county_list, states


def area(shape):
    total = 0.0
    for ring in shape.rings:
        x, y = ring[:, 0], ring[:, 1]
        total += 0.5 * np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])
    return abs(total)


def test_every_county_has_closed_rings_on_the_map():
    shapes = counties()
    assert len({shape.code for shape in shapes}) == 3142
    for shape in shapes:
        assert shape.rings
        for ring in shape.rings:
            np.testing.assert_array_equal(ring[0], ring[-1])
            assert len(ring) >= 4
            assert -60 <= ring[:, 0].min() <= ring[:, 0].max() <= WIDTH
            assert 0 <= ring[:, 1].min() <= ring[:, 1].max() <= HEIGHT


def test_the_counties_of_a_state_make_up_its_area():
    of_state = {shape.code: area(shape) for shape in states()}
    by_state = dict.fromkeys(of_state, 0.0)
    for shape in counties():
        by_state[shape.code[:2]] += area(shape)
    for code, whole in of_state.items():
        np.testing.assert_allclose(by_state[code], whole, rtol=0.01)


def test_areas_are_in_proportion_to_the_ground():
    # Albers keeps areas: Texas is 268,596 square miles, Kansas 82,278.
    of_state = {shape.name: area(shape) for shape in states()}
    np.testing.assert_allclose(of_state["Texas"] / of_state["Kansas"], 268_596 / 82_278, rtol=0.03)


def test_the_list_names_county_and_state_and_knows_east_from_west():
    places = county_list()
    assert places.loc["06037", ["county", "state"]].tolist() == ["Los Angeles", "California"]
    assert places.loc["06037", "x"] < places.loc["36061", "x"]
    assert places.loc["53033", "y"] < places.loc["06037", "y"]
