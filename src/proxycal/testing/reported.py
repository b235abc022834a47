"""Tables of counts and of yes/no outcomes of which a share is reported, with their truth.

E ~ N(0, I_2)      z = 0.5 e_1 - 0.3 e_2 + noise      p_k = w_k z + 0.6 noise, four of them
counts             y_true ~ NB(level exp(0.7 z - 0.35), 3), or Poisson
yes/no             y_true ~ Bernoulli(Phi(threshold + 0.9 z))
report             y ~ Binomial(y_true, rate): of some rows, more of them where e_1 is high; or graded with E
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr, ndtri

from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Outcome = Literal["counts", "yes/no"]
Report = Literal["complete", "some rows", "graded", "everybody alike"]
ROLES = Roles("y", ["p_1", "p_2", "p_3", "p_4"], ["e_1", "e_2"])
_LOADINGS = np.array([1.0, 0.8, 0.6, 0.9])
# What the environment does to the log of a count, or to twice the index of a yes, beside content.
DIRECT: dict[str, Callable[[Array, Array], Array]] = {
    "line": lambda e, z: 0.3 * e[:, 0],
    "step": lambda e, z: np.where(e[:, 0] > 0.5, 0.6, 0.0),
    "curve": lambda e, z: 0.25 * e[:, 0] ** 2,
    "slope": lambda e, z: 0.25 * e[:, 0] * z,
}
# How the truth, the content and the proxies differ from the plain ones.
UNUSUAL = (
    "skewed proxies",
    "skewed content",
    "curved content",
    "leaking proxy",
    "spread by E",
    "lognormal",
    "own zeros",
    "zeros by E",
)


@dataclass(frozen=True, slots=True)
class Reported:
    """A table with its truth. rate : (n,) mean share that rows of the environment report."""

    table: pd.DataFrame
    y_true: Array
    rate: Array
    roles: Roles = ROLES


@dataclass(frozen=True, slots=True)
class ReportedWorld:
    """A kind of table.

    level : mean count, or prevalence. share : what a biased row reports. direct : one of DIRECT. unusual :
    one of UNUSUAL. poisson : whether counts have no spread beyond Poisson.
    """

    outcome: Outcome = "counts"
    report: Report = "complete"
    level: float = 5.0
    share: float = 0.5
    direct: str = ""
    unusual: str = ""
    poisson: bool = False

    def draw(self, seed: int, n: int) -> Reported:
        """One table.

        >>> drawn = ReportedWorld(report="some rows").draw(0, 500)
        >>> bool((drawn.table["y"] <= drawn.y_true).all())
        True
        """
        rng = np.random.default_rng([seed, n])
        e, z, p = self._columns(rng, n)
        truth = self._counts(rng, e, z) if self.outcome == "counts" else self._answers(rng, e, z)
        rate, mean_rate = self._rates(rng, e)
        y = rng.binomial(truth.astype(np.int64), rate).astype(float)
        table = pd.DataFrame(np.column_stack([y, p, e]), columns=list(ROLES.columns))
        return Reported(table, truth, mean_rate)

    def _columns(self, rng: Generator, n: int) -> tuple[Array, Array, Array]:
        e, own, noise = rng.normal(size=(n, 2)), rng.normal(size=n), rng.normal(size=(n, 4))
        if self.unusual == "skewed content":
            own = (rng.gamma(2.0, size=n) - 2.0) / np.sqrt(2.0)
        if self.unusual == "skewed proxies":
            noise = (rng.gamma(2.0, size=(n, 4)) - 2.0) / np.sqrt(2.0)
        z = 0.5 * e[:, 0] - 0.3 * e[:, 1] + own
        if self.unusual == "curved content":
            z = z + 0.4 * (e[:, 0] ** 2 - 1.0)
        p = z[:, None] * _LOADINGS + 0.6 * noise
        if self.unusual == "leaking proxy":
            p[:, 0] += 0.5 * e[:, 0]
        return e, z, p

    def _beside(self, e: Array, z: Array) -> Array:
        return DIRECT[self.direct](e, z) if self.direct else np.zeros(len(z))

    def _counts(self, rng: Generator, e: Array, z: Array) -> Array:
        n = len(z)
        mean = self.level * np.exp(0.7 * z - 0.35 + self._beside(e, z))
        if self.unusual == "lognormal":
            mean = mean * np.exp(0.6 * rng.normal(size=n) - 0.18)
        elif not self.poisson:
            k = 3.0 * np.exp(0.7 * e[:, 0]) if self.unusual == "spread by E" else np.full(n, 3.0)
            mean = mean * rng.gamma(k, 1.0 / k)
        truth = rng.poisson(np.minimum(mean, 1e7)).astype(float)
        if self.unusual in ("own zeros", "zeros by E"):
            shift = -1.5 + e[:, 0] if self.unusual == "zeros by E" else np.full(n, -1.1)
            truth = truth * (rng.random(n) > expit(shift))
        return truth

    def _answers(self, rng: Generator, e: Array, z: Array) -> Array:
        threshold = ndtri(self.level) * np.sqrt(1.0 + 0.81 * 1.34)
        index = threshold + 0.9 * z + 2.0 * self._beside(e, z)
        return (rng.random(len(z)) < ndtr(index)).astype(float)

    def _rates(self, rng: Generator, e: Array) -> tuple[Array, Array]:
        n = len(e)
        if self.report == "some rows":
            biased = expit(-0.8 + 1.2 * e[:, 0] - 0.7 * e[:, 1])
            mean = 1.0 - biased * (1.0 - self.share)
            return np.where(rng.random(n) < biased, self.share, 1.0), mean
        if self.report == "graded":
            rate = expit(1.0 - e[:, 0] + 0.5 * e[:, 1])
            return rate, rate
        rate = np.full(n, self.share if self.report == "everybody alike" else 1.0)
        return rate, rate
