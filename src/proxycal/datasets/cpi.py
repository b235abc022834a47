"""Constant dollars: the annual average of the US consumer price index (CPI-U), 1950 to 2024."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.errors import SettingsError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@cache
def cpi() -> pd.Series:
    """The index by year; source in data/cpi_u.txt.

    >>> float(cpi()[2023])
    304.702
    """
    with (files("proxycal.datasets") / "data" / "cpi_u.csv").open("rb") as source:
        return pd.read_csv(source).set_index("year")["cpi"]


def price_ratio(year: ArrayLike, base_year: int) -> np.ndarray:
    """What one dollar of each `year` is worth in dollars of `base_year`.

    >>> price_ratio([1990, 2023], 2023).round(3).tolist()
    [2.331, 1.0]
    """
    index = cpi()
    years = np.atleast_1d(np.asarray(year, dtype=int))
    unknown = sorted({int(one) for one in (*years, base_year)} - set(index.index))
    if unknown:
        raise SettingsError(
            f"no consumer price index for {', '.join(map(str, unknown[:5]))}: "
            f"the table in the package covers {index.index.min()} to {index.index.max()}"
        )
    return np.asarray(index[base_year] / index.loc[years].to_numpy(dtype=float))
