import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles

ROLES = Roles("y", ["p"], ["unit"], checked="m", confirmed="v")


def table(m, v, n=40):
    rows = np.arange(n)
    frame = pd.DataFrame({"y": rows % 5, "p": rows % 7, "unit": np.where(rows % 2, "a", "b")})
    return frame.assign(m=np.nan, v=np.nan) if m is None else frame.assign(m=m, v=v)


def test_blanks_are_rows_without_a_check():
    m, v = [50.0] + [np.nan] * 39, [43.0] + [np.nan] * 39
    arrays = Encoder.fit_transform(table(m, v), ROLES)[1]
    assert arrays.checked.tolist() == [50.0] + [0.0] * 39
    assert arrays.confirmed.tolist() == [43.0] + [0.0] * 39
    assert arrays.take(np.array([0, 3])).confirmed.tolist() == [43.0, 0.0]
    assert Encoder.fit_transform(table(None, None), ROLES)[1].checked.sum() == 0.0


@pytest.mark.parametrize(
    ("m", "v", "words"),
    [
        ([5.0] * 40, [6.0] * 40, "do not fit together"),
        ([50.0] * 40, [43.0] * 40, "counts once"),
        (["many"] * 39 + ["few"], [1.0] * 40, "numeric"),
    ],
)
def test_sums_that_cannot_be_are_refused(m, v, words):
    with pytest.raises(TableError, match=words):
        Encoder.fit_transform(table(m, v), ROLES)
