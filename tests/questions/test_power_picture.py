from __future__ import annotations

import math

import pytest
from matplotlib.colors import to_hex

from proxycal.questions.power import TARGET, Power, PowerPoint
from proxycal.questions.power_picture import draw_power
from proxycal.report.style import BIASED, UNBIASED

POINTS = tuple(
    PowerPoint(alpha, chance, max(chance - 0.1, 0.0), min(chance + 0.1, 1.0), alpha, 0.1, 0.95, 20)
    for alpha, chance in ((0.0, 0.05), (0.5, 0.4), (1.0, 0.8), (2.0, 1.0))
)


def test_the_line_is_the_chance_by_size_and_no_bias_stands_apart():
    ax = draw_power(Power(POINTS, 1.5, 2.5, "words"))
    line = next(line for line in ax.lines if len(line.get_xdata()) == 3 and line.get_linestyle() == "-")
    assert line.get_ydata().tolist() == [0.4, 0.8, 1.0]
    colours = [to_hex(bar.lines[0].get_color()) for bar in ax.containers]
    assert colours == [UNBIASED, BIASED]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "0.5", "1", "2"]


@pytest.mark.parametrize(("detectable", "place"), [(1.0, 2.0), (1.5, 2.5), (0.25, 0.5)])
def test_the_size_that_would_be_seen_is_marked_at_its_place(detectable, place):
    ax = draw_power(Power(POINTS, detectable, 2.5, "words"))
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [place]
    (text,) = ax.texts
    assert text.get_text().startswith(f"{TARGET:.0%} from ")
    assert text.xy == (place, 1.0)


def test_nothing_is_marked_where_no_size_would_be_seen():
    ax = draw_power(Power(POINTS, math.nan, math.nan, "words"))
    assert not ax.texts
    assert not [line for line in ax.lines if line.get_linestyle() == "--"]
