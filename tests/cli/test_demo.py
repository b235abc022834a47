"""The comparison of the demo against numbers worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.cli.demo import Comparison, compare, lines
from proxycal.table.roles import Roles
from proxycal.testing import Simulation


def test_compare_by_hand():
    sim = Simulation(
        table=pd.DataFrame({"y": [3.0, 1.0, 5.0, 2.0], "p": 0.0, "e": 0.0}),
        roles=Roles("y", ["p"], ["e"]),
        truth=pd.DataFrame({"y_true": [1.0, 1.0, 3.0, 2.0], "a": [1, 0, 1, 0]}),
    )
    calibrated = pd.DataFrame({"y_cal": [1.0, 1.0, 4.0, 2.0], "p_biased": [0.9, 0.1, 0.4, 0.2]})
    compared = compare(calibrated, sim, alpha_true=2.0, alpha_found=1.9)
    assert compared == Comparison(
        alpha_true=2.0,
        alpha_found=1.9,
        share_true=0.5,
        share_found=pytest.approx(0.4),
        accuracy=0.75,
        rmse_reported=pytest.approx((8 / 4) ** 0.5),
        rmse_calibrated=pytest.approx((1 / 4) ** 0.5),
    )


@pytest.mark.parametrize(
    ("verdict", "after", "says"),
    [
        ("bias found", 0.5, "removed 75% of the error"),
        ("bias found", 3.0, "made the error larger"),
        ("not identified", 2.0, "left as reported"),
        ("no bias found", 2.0, "could not detect it"),
    ],
)
def test_the_demo_is_honest(verdict, after, says):
    text = "\n".join(lines(Comparison(5.0, 4.9, 0.5, 0.48, 0.97, 2.0, after), verdict))
    assert says in text
    for number in ("5.0", "4.9", "50%", "48%", "97%", "2.0"):
        assert number in text
