"""The coefficients of a fit: who misreports, by how much, and what the content is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.table.encode import Arrays

INTERCEPT, WHO, SIZE, CONTENT = "(Intercept)", "who", "size", "content"


@dataclass(frozen=True, slots=True)
class Coefficients:
    """k coefficients for encoded columns, with their joint error.

    terms, components : (k,) names, and which part each belongs to: "who" (log odds of being biased), "size"
    (in the stated direction, outcome's units) or "content" (expected truth, outcome's units). estimate (k,),
    cov (k, k). log_lik, parameters : of the whole model on the rows asked, NaN and 0 where it has none.
    """

    terms: tuple[str, ...]
    components: tuple[str, ...]
    estimate: np.ndarray
    cov: np.ndarray
    log_lik: float = float("nan")
    parameters: int = 0

    def at(self, component: str) -> np.ndarray:
        """Positions of the terms of a component."""
        return np.flatnonzero(np.array(self.components) == component)


def coefficients_of(fitted: MethodFit, arrays: Arrays) -> Coefficients:
    """The coefficients of a fit; its size alone where the method has no others. arrays : the fitted rows."""
    own = getattr(fitted, "coefficients", None)
    if own is not None:
        made: Coefficients = own(arrays)
        return made
    size = fitted.estimate
    return Coefficients(("alpha",), (SIZE,), np.array([size.alpha]), np.array([[size.se**2]]))
