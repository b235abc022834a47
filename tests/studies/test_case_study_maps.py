"""Maps and bars: the colours that a reader sees are those of the numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import cbook
from matplotlib.colors import to_rgb

from proxycal.datasets.county_shapes import county_list
from proxycal.datasets.losses import HAZARDS
from proxycal.studies.case_study_maps import COLOURS, NO_EVENT, bar_chart, colours_of, four_maps
from proxycal.studies.case_study_measures import PER_HEAD, TAU


def picture(figure):
    """The drawn figure as an array of colours, and where the axes of a panel lie in it."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3] / 255.0


def colour_at(figure, pixels, panel, fips):
    place = county_list().loc[fips]
    x, y = panel.transData.transform((place["x"], place["y"]))
    return pixels[round(pixels.shape[0] - y), round(x)]


def test_counties_are_drawn_where_they_are_in_the_colour_of_their_tau():
    # Three large counties of the West and one hazard; every other county has no event.
    rows = [("32031", 0.1), ("06071", np.log(4.0)), ("49037", np.log(20.0)), ("04015", np.nan)]
    table = pd.DataFrame(rows, columns=["fips", "tau_abs"]).assign(hazard="Wildfire", year=2023)
    old = table.assign(year=2020, fips="41045", tau_abs=5.0)
    figure = four_maps(pd.concat([table, old]), 2023, {"Wildfire": "bias found"}, TAU)
    pixels = picture(figure)
    panel = figure.axes[HAZARDS.index("Wildfire")]
    seen = {fips: colour_at(figure, pixels, panel, fips) for fips in ("32031", "06071", "49037", "41045")}
    np.testing.assert_allclose(seen["32031"], to_rgb(COLOURS[0]), atol=0.02)
    np.testing.assert_allclose(seen["06071"], to_rgb(COLOURS[2]), atol=0.02)
    np.testing.assert_allclose(seen["49037"], to_rgb(COLOURS[4]), atol=0.02)
    np.testing.assert_allclose(seen["41045"], to_rgb(NO_EVENT), atol=0.02)
    other = figure.axes[HAZARDS.index("Tornado")]
    np.testing.assert_allclose(colour_at(figure, pixels, other, "06071"), 1.0, atol=0.02)
    assert "bias found" in panel.get_title()
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["no event with a reported loss", *TAU.words, TAU.unknown]


def test_dollars_of_the_legend_are_no_formulas():
    table = pd.DataFrame({"fips": ["32031"], "hazard": "Wildfire", "year": 2023, "population": 100.0})
    figure = four_maps(table.assign(reported=5.0, calibrated=50.0), 2023, {}, PER_HEAD)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any("dollar" in word or "$" in word for word in words)
    assert not any(cbook.is_math_text(word) for word in words)


def test_the_scale_is_an_order_of_lightness_and_never_white():
    # Relative luminance, which grey print and colour-blind eyes keep.
    light = [float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722])) for colour in COLOURS]
    steps = -np.diff(light)
    assert (steps > 0.1).all()
    assert light[0] < 0.9


def test_steps_begin_where_the_words_say():
    factors = np.array([1.49, 1.51, 2.49, 2.51, 4.9, 5.1, 9.9, 10.1])
    steps = [COLOURS.index(colour) for colour in colours_of(TAU, factors)]
    assert steps == [0, 1, 1, 2, 2, 3, 3, 4]


def test_bars_have_the_heights_and_intervals_of_the_table():
    bars = pd.DataFrame(
        {
            "hazard": HAZARDS, "rows": 10, "tau_abs": [1.0, 2.0, 3.0, 4.0], "low": [0.5, 1.5, 2.5, 3.5],
            "high": [1.5, 2.5, 3.5, 4.5], "alpha": 1.8, "alpha_low": 1.7, "alpha_high": 1.9,
        }
    )  # fmt: skip
    figure = bar_chart(bars, dict.fromkeys(HAZARDS, 1.75))
    axes = figure.axes[0]
    assert [patch.get_height() for patch in axes.patches] == [1.0, 2.0, 3.0, 4.0]
    ends = axes.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([segment[:, 1] for segment in ends], bars[["low", "high"]])
    assert [label.get_text() for label in axes.get_xticklabels()] == list(HAZARDS)
