import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles

ROLES = Roles("y", ["p"], ["e"], exposure="years")


def table(years):
    n = len(years)
    return pd.DataFrame({"y": np.arange(n) % 5, "p": np.arange(n) % 7, "e": np.arange(n) % 3, "years": years})


def test_exposure_is_read_and_taken_along():
    years = np.linspace(1.0, 2.0, 40)
    arrays = Encoder.fit_transform(table(years), ROLES)[1]
    np.testing.assert_array_equal(arrays.exposure, years)
    np.testing.assert_array_equal(arrays.take(np.array([3, 5])).exposure, years[[3, 5]])


@pytest.mark.parametrize(
    ("years", "words"), [([0.0] + [1.0] * 39, "above 0"), (["long"] * 39 + ["short"], "numeric")]
)
def test_an_exposure_that_is_none_is_refused_by_name(years, words):
    with pytest.raises(TableError, match=f"years.*{words}"):
        Encoder.fit_transform(table(years), ROLES)
