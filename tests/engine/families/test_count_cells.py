import numpy as np
import pytest

from proxycal.engine.families.count_cells import CellMaker, shifts_of

AT = {"mean": 0, "spread": 1, "share": 2}


def test_nodes_keep_the_mean_and_the_spread_of_the_log():
    nodes = shifts_of(0.4)
    weights = np.exp([weight for _, weight in nodes])
    moves = np.array([shift for shift, _ in nodes])
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ np.exp(moves) == pytest.approx(1.0)
    assert weights @ (moves - weights @ moves) ** 2 == pytest.approx(0.16)
    assert shifts_of(0.0) == [(0.0, 0.0)]


def test_one_spread_for_all_rows_takes_the_short_way_to_the_same_cells():
    y = np.arange(12.0) % 5
    eta = np.array([np.full(12, 1.0), np.full(12, 0.7), np.linspace(-1.0, 1.0, 12)])
    many = eta.copy()
    # Not one spread: the gamma functions are asked row by row.
    many[1, -1] += 1e-13
    for biased in (False, True):
        short, long = (
            CellMaker({"y": y}, at, AT, -1.0, 0.3, derivatives=True).count(biased) for at in (eta, many)
        )
        for one, other in zip(short, long, strict=True):
            np.testing.assert_allclose(one.log, other.log, rtol=1e-10)
            for key, value in one.second.items():
                np.testing.assert_allclose(value, other.second[key], rtol=1e-7, atol=1e-9)
