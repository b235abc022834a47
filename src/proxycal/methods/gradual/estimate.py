"""From sums to the estimate: how many contents, b with its covariance, the joint test, what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from proxycal.errors import TableError
from proxycal.methods.gradual.mimic import MimicFit, fit_mimic, most_contents
from proxycal.methods.gradual.refusals import refusals
from proxycal.methods.gradual.sensitivity import Sensitivity, sensitivity
from proxycal.methods.gradual.shrink import shrink
from proxycal.methods.gradual.thresholds import SHRINK_LEVELS
from proxycal.methods.gradual.tsls import TslsFit, first_stage, fit_tsls

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from proxycal.finding import Finding
    from proxycal.methods.gradual.basis import Basis
    from proxycal.methods.gradual.moments import Reduced, ScoreSums

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """b(E) up to a constant, from sufficient statistics alone.

    coefficients, covariance : (q,), (q, q) in the outcome's units per unit of the basis, after shrinkage
    tsls_coefficients, tsls_covariance : the same by 2SLS, None where K < 2d
    wald_f, wald_p : joint test that the environment moves nothing beyond content, before shrinkage
    units : independent units, clusters or rows; degrees : of freedom of the intervals
    n_effective : rows that independent, equally weighted observations would need
    tried : fits by number of contents, 0 first; refusals : what forbids an answer
    """

    basis: Basis
    reduced: Reduced
    fit: MimicFit
    tsls: TslsFit | None
    coefficients: Array
    covariance: Array
    tsls_coefficients: Array | None
    tsls_covariance: Array | None
    wald_f: float
    wald_p: float
    units: int
    degrees: float
    n_effective: float
    tried: tuple[MimicFit, ...]
    sensitivity: Sensitivity
    refusals: tuple[Finding, ...]

    @property
    def dimension(self) -> int:
        """d, the number of contents chosen."""
        return self.fit.structure.dimension


def estimate_bias(
    basis: Basis, reduced: Reduced, scores: ScoreSums, shrunk_columns: Collection[str] | None = None
) -> Estimate:
    """Estimate b(E) from the reduced form and its scores.

    shrunk_columns : categories to shrink (default: those with more than SHRINK_LEVELS levels)
    """
    k1, width = reduced.slopes.shape
    if scores.count <= width + k1:
        raise TableError(
            f"{scores.count} independent rows or clusters cannot determine {width} environment coefficients: "
            "use fewer environment columns, straight lines instead of splines, or a finer cluster"
        )
    largest = most_contents(k1 - 1, width)
    covariance = scores.covariance(reduced.weight, 1 + width + largest)
    # The slopes of independent rows have variance 1/n in these units: what they have instead tells the n.
    n_effective = 1.0 / float(np.mean(np.diag(covariance)[: reduced.slopes.size]))
    tried = tuple(fit_mimic(reduced, d, covariance, n_effective) for d in range(largest + 1))
    fit = _choose(tried)
    strength, normalising = first_stage(reduced, fit.structure.dimension, n_effective)
    tsls = fit_tsls(reduced, normalising, covariance, n_effective) if normalising else None
    to_units = reduced.whiten * reduced.scale[-1]
    raw_cov = to_units @ fit.bias_cov @ to_units.T
    shrunk = shrink(to_units @ fit.bias, raw_cov, _groups(basis, shrunk_columns))
    wald_f, wald_p = wald_test(fit.bias, fit.bias_cov, scores.count)
    return Estimate(
        basis=basis,
        reduced=reduced,
        fit=fit,
        tsls=tsls,
        coefficients=shrunk.coefficients,
        covariance=shrunk.covariance,
        tsls_coefficients=None if tsls is None else to_units @ tsls.bias,
        tsls_covariance=None if tsls is None else to_units @ tsls.bias_cov @ to_units.T,
        wald_f=wald_f,
        wald_p=wald_p,
        units=scores.count,
        degrees=float(scores.count - 1 - (width + fit.structure.dimension if scores.codes is None else 0)),
        n_effective=n_effective,
        tried=tried,
        sensitivity=sensitivity(fit.structure, reduced.whiten, basis.owners),
        refusals=tuple(refusals(fit, tsls, k1 - 1, width, largest)),
    )


def wald_test(bias: Array, covariance: Array, units: int) -> tuple[float, float]:
    """F and p-value of b = 0; the covariance comes from `units` scores, so Hotelling's distribution applies."""
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if rank == 0:
        return 0.0, 1.0
    statistic = float(bias @ np.linalg.pinv(covariance, hermitian=True) @ bias)
    f = statistic * (units - rank) / ((units - 1) * rank)
    return f, float(stats.f.sf(f, rank, units - rank))


def _choose(tried: tuple[MimicFit, ...]) -> MimicFit:
    """The best by the information criterion among the fits that are determined at all."""
    determined = [fit for fit in tried if fit.flat == 0]
    return min(determined or tried, key=lambda fit: fit.bic)


def _groups(basis: Basis, shrunk_columns: Collection[str] | None) -> list[NDArray[np.int64]]:
    owners = np.array(basis.owners)
    names = [
        term.name
        for term in basis.terms
        if term.kind == "category"
        and (len(term.levels) > SHRINK_LEVELS if shrunk_columns is None else term.name in shrunk_columns)
    ]
    return [np.flatnonzero(owners == name) for name in names]
