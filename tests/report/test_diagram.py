"""The causal picture: every column is named or counted, and nothing lies on anything else."""

from __future__ import annotations

from itertools import combinations

import pytest

from proxycal.report.diagram import WIDTH, diagram
from proxycal.table.roles import Roles


def drawn(example, n_proxies=2, n_environment=2, direction="over"):
    proxies = [f"proxy {i}" for i in range(n_proxies)]
    environment = [f"environment {i}" for i in range(n_environment)]
    return diagram(example(roles=Roles("loss", proxies, environment), direction=direction))


@pytest.mark.parametrize("n", [1, 4, 30])
def test_boxes_lie_inside_and_apart(n, example):
    made = drawn(example, n, n)
    for box in made.boxes:
        assert box.left >= 0
        assert box.left + box.width <= WIDTH
        assert box.y >= 0
        assert box.bottom <= made.height
        assert all(box.y < at < box.bottom for at, _ in box.lines)
    for one, two in combinations(made.boxes, 2):
        beside = one.left + one.width <= two.left or two.left + two.width <= one.left
        assert beside or one.bottom <= two.y or two.bottom <= one.y


def test_names_that_do_not_fit_are_counted_and_all_stand_in_the_words(example):
    made = drawn(example, n_proxies=10)
    proxies = next(box for box in made.boxes if box.title == "Proxies")
    assert proxies.names == ("proxy 0", "proxy 1", "proxy 2", "and 7 more")
    assert all(f"proxy {i}" in made.alt for i in range(10))
    assert len(next(box for box in drawn(example, n_proxies=4).boxes if box.title == "Proxies").names) == 4


def test_one_arrow_is_the_bias_and_none_leads_from_it_to_the_proxies(example):
    made = drawn(example)
    places = {box.title: box for box in made.boxes}
    (bias,) = [arrow for arrow in made.arrows if arrow.kind == "bias"]
    assert (bias.y1, bias.y2) == (places["Reporting bias"].bottom, places["Outcome"].y)
    into_proxies = [
        arrow for arrow in made.arrows if (arrow.x2, arrow.y2) == (places["Proxies"].x, places["Proxies"].y)
    ]
    assert [arrow.x1 for arrow in into_proxies] == [places["Content"].x]


@pytest.mark.parametrize(("direction", "sign"), [("over", "+"), ("under", "−")])
def test_the_shift_has_the_sign_of_the_direction(direction, sign, example):
    assert drawn(example, direction=direction).shift.startswith(sign)
