"""How strong a direct effect of the environment on the true outcome would have to be to explain b(E) away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.methods.gradual.structure import Structure

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Strength of the violation that would undo the answer; no data can tell it from a bias.

    r2 : share of the true outcome's variance, given content, that a direct effect equal to b(E) would explain
    robustness : strength that an unseen content needs, towards both the environment and the outcome
    content_r2 : what content itself explains of the outcome, given the environment
    benchmark : the environment column that moves the outcome most through content
    benchmark_r2 : share that this column explains through content
    times_benchmark : standard deviation of the violation over that of the benchmark's effect through content
    """

    r2: float
    robustness: float
    content_r2: float
    benchmark: str
    benchmark_r2: float
    times_benchmark: float


def robustness_value(r2: float) -> float:
    """Equal strength towards cause and outcome that brings an effect of partial R2 `r2` to zero.

    RV = (sqrt(f^4 + 4 f^2) - f^2) / 2 with f^2 = r2 / (1 - r2) (Cinelli and Hazlett 2020).

    >>> round(robustness_value(0.5), 3), robustness_value(0.0)
    (0.618, 0.0)
    """
    if r2 >= 1.0:
        return 1.0
    f2 = r2 / (1.0 - r2)
    return 0.5 * (math.sqrt(f2**2 + 4.0 * f2) - f2)


def sensitivity(structure: Structure, whiten: Array, owners: Sequence[str]) -> Sensitivity:
    """Sensitivity of a fitted system; `whiten` (q, q) and `owners` (q,) are those of its basis."""
    bias, gamma, slopes = structure.bias, structure.gamma, structure.loadings[-1]
    noise = float(structure.errors[-1])
    # Var(b(E) | Z): what of b(E) content does not already account for.
    shared = gamma @ bias
    content = gamma @ gamma.T + np.eye(len(gamma))
    direct = max(float(bias @ bias - shared @ np.linalg.solve(content, shared)), 0.0)
    own = float(slopes @ slopes)
    through = whiten @ (slopes @ gamma)
    cov = np.linalg.inv(whiten @ whiten.T)
    names = sorted(set(owners))
    sizes = []
    for name in names:
        part = np.where(np.array(owners) == name, through, 0.0)
        sizes.append(float(part @ cov @ part))
    strongest = int(np.argmax(sizes))
    r2 = direct / (direct + noise)
    return Sensitivity(
        r2=r2,
        robustness=robustness_value(r2),
        content_r2=own / (own + noise),
        benchmark=names[strongest],
        benchmark_r2=sizes[strongest] / (sizes[strongest] + noise),
        times_benchmark=float(np.sqrt(direct / max(sizes[strongest], 1e-300))),
    )
