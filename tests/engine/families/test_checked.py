import numpy as np
import pytest
from scipy.stats import binom

from proxycal.engine.families.cells import Derivatives
from proxycal.engine.families.checked import add_checked, log_checked

OUTCOME = {"checked": np.array([10.0, 0.0]), "confirmed": np.array([8.0, 0.0])}


def test_what_was_confirmed_is_binomial():
    share = np.array([[0.3, 0.3], [1.5, 1.5]])
    logs = [log_checked(OUTCOME, at) for at in share]
    rates = 1.0 / (1.0 + np.exp(-share[:, 0]))
    # Up to a constant: the difference of two shares has none.
    wanted = binom.logpmf(8, 10, rates[1]) - binom.logpmf(8, 10, rates[0])
    assert logs[1][0] - logs[0][0] == pytest.approx(wanted)
    assert logs[0][1] == 0.0


def test_rows_without_a_check_say_nothing():
    rows = Derivatives(np.zeros(2), np.zeros((3, 2)), np.zeros((3, 3, 2)))
    add_checked(rows, OUTCOME, np.zeros(2), 2)
    assert rows.first[2].tolist() == [3.0, 0.0]
    assert rows.second[2, 2].tolist() == [-2.5, 0.0]
    add_checked(rows, {}, np.zeros(2), 2)
    assert rows.first[2].tolist() == [3.0, 0.0]
