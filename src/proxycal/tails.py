"""Tail probabilities and quantiles of the chi-square, F and t distributions.

These are the functions that scipy.stats calls for them. `import scipy.stats` itself takes half a second, most
of it for the documentation of its other distributions: a fifth of the time of a fit of a small table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc, chdtri, fdtrc, stdtr, stdtrit


def chi2_sf(statistic: Any, df: Any) -> Any:
    """P(chi-square with df degrees of freedom > statistic).

    >>> round(float(chi2_sf(3.841459, 1)), 6)
    0.05
    """
    return chdtrc(df, np.maximum(statistic, 0.0))


def chi2_isf(p: Any, df: Any) -> Any:
    """The statistic that a chi-square with df degrees of freedom exceeds with probability p.

    >>> round(float(chi2_isf(0.05, 1)), 6)
    3.841459
    """
    return chdtri(df, p)


def f_sf(statistic: Any, df: Any, df_rest: Any) -> Any:
    """P(F with df and df_rest degrees of freedom > statistic).

    >>> round(float(f_sf(4.964603, 1, 10)), 6)
    0.05
    """
    return fdtrc(df, df_rest, np.maximum(statistic, 0.0))


def t_sf(t: Any, df: Any) -> Any:
    """P(Student's t with df degrees of freedom > t).

    >>> round(float(t_sf(2.228139, 10)), 6)
    0.025
    """
    return stdtr(df, -t)


def t_ppf(p: Any, df: Any) -> Any:
    """The value that Student's t with df degrees of freedom stays below with probability p, 0 < p < 1.

    >>> round(float(t_ppf(0.975, 10)), 6)
    2.228139
    """
    return stdtrit(df, p)
