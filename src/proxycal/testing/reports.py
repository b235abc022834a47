"""Several reports of one truth, some of them biased in some rows, with that truth.

E ~ N(0, I_2)
truth     y_true = 10 + 2 noise + 1.5 (e_1 > 0.5) + exp(e_2 / 2) noise     an unseen cause that E drives
reports   y_j = y_true - size A_j + 0.7 noise_j      P(A_1 = 1) = expit(-0.8 + 1.2 e_1 - 0.7 e_2)
proxies   p_k = y_true + 1.5 noise, two of them, where they are asked for
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# What the errors look like: tails that are heavy or on one side, wider with E, larger or smaller along E in
# the first report, or another level in the second.
Errors = Literal["normal", "tails", "one side", "spread by E", "slope by E", "level"]
NAMES = ("own", "register", "neighbour", "employer")
SD = 0.7


@dataclass(frozen=True, slots=True)
class DrawnReports:
    """A table with its truth. biased : (n, R) whether each report is biased; truth : (n,)."""

    table: pd.DataFrame
    roles: Roles
    truth: Array
    biased: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SeveralReports:
    """A kind of table of several reports.

    Parameters
    ----------
    size : float, default 2.0
        By how much biased reports are too low; 0 for no bias.
    reporters : int, default 2
        How many reports a row has, 2 to 4; of four the second is biased as well, in a tenth of its rows.
    errors : str, default "normal"
        What the other errors look like.
    proxies : bool, default False
        Whether there are proxies of the truth.
    agree : float, default 0.0
        Share of rows in which all reporters tell the truth itself.
    gaps : float, default 0.0
        Share of reports, but for the first, that were not made.

    Examples
    --------
    >>> drawn = SeveralReports(reporters=3).draw(0, 100)
    >>> drawn.roles.report_names, drawn.biased.shape
    (('own', 'register', 'neighbour'), (100, 3))

    """

    size: float = 2.0
    reporters: int = 2
    errors: Errors = "normal"
    proxies: bool = False
    agree: float = 0.0
    gaps: float = 0.0

    def draw(self, seed: int, n: int) -> DrawnReports:
        """A table of n rows."""
        rng = np.random.default_rng([43, seed])
        e = rng.normal(size=(n, 2))
        cause = 1.5 * (e[:, 0] > 0.5) + rng.normal(size=n) * np.exp(0.5 * e[:, 1])
        truth = 10.0 + 2.0 * rng.normal(size=n) + cause
        reports = truth[:, None] + SD * np.column_stack([self._noise(rng, e) for _ in range(self.reporters)])
        if self.errors == "slope by E":
            reports[:, 0] += 0.5 * e[:, 0]
        if self.errors == "level":
            reports[:, 1] += 1.0
        biased = np.zeros(reports.shape, dtype=bool)
        biased[:, 0] = rng.random(n) < expit(-0.8 + 1.2 * e[:, 0] - 0.7 * e[:, 1])
        if self.reporters == 4:
            biased[:, 1] = rng.random(n) < 0.1
        exact = rng.random(n) < self.agree
        biased &= (self.size > 0.0) & ~exact[:, None]
        reports = np.where(exact[:, None], truth[:, None], reports - self.size * biased)
        made = rng.random(reports.shape) >= self.gaps
        made[:, 0] = True
        names = NAMES[: self.reporters]
        table = pd.DataFrame(np.where(made, reports, np.nan), columns=list(names))
        table[["e_1", "e_2"]] = e
        if self.proxies:
            table[["p_1", "p_2"]] = truth[:, None] + 1.5 * rng.normal(size=(n, 2))
        roles = Roles(names, ["p_1", "p_2"] if self.proxies else [], ["e_1", "e_2"])
        return DrawnReports(table, roles, truth, biased)

    def _noise(self, rng: Generator, e: Array) -> Array:
        n = len(e)
        if self.errors == "tails":
            return np.asarray(rng.standard_t(4.0, n) / np.sqrt(2.0))
        if self.errors == "one side":
            return np.asarray((rng.gamma(2.0, size=n) - 2.0) / np.sqrt(2.0))
        scale = np.exp(0.5 * e[:, 1]) if self.errors == "spread by E" else 1.0
        return np.asarray(rng.normal(size=n) * scale)
