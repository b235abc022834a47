from __future__ import annotations

import pytest

from proxycal.report.pictures import pictures_of
from proxycal.report.plots import plots_of


def kinds(fit) -> list[str]:
    """Of the pictures that a result has, which need not be drawn to know."""
    return [plot.kind for plot in plots_of(fit)]


def test_every_picture_says_what_it_shows_to_those_who_cannot_see_it(example):
    made = pictures_of(example())
    assert [picture.kind for picture in made] == kinds(example())
    assert len({picture.kind for picture in made}) == len(made)
    for picture in made:
        assert picture.title
        assert picture.caption
        assert picture.alt.endswith(".")


@pytest.mark.parametrize(
    ("change", "absent"),
    [
        ({"verdict": "not identified"}, {"calibrated", "totals"}),
        ({"gate": ()}, {"gate"}),
        ({"questions": {}}, {"power"}),
        ({"environment": ()}, {"who"}),
    ],
)
def test_a_picture_that_a_result_has_not_is_left_out(change, absent, example):
    whole = kinds(example())
    if "environment" in change:
        fit = example()
        fit = example(rows=type(fit.rows)(fit.rows.y_obs, fit.rows.weights, fit.rows.predicted, ()))
    else:
        fit = example(**change)
    assert set(whole) - set(kinds(fit)) == absent
    assert [kind for kind in whole if kind not in absent] == kinds(fit)
