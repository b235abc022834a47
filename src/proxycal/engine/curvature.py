"""The system of normal equations of a penalised fit: a dense part, and a small block for each unit.

    [ A   B ] [ dense ]        D is block diagonal: r x r for each of U units, so that U units cost O(U)
    [ B'  D ] [ units ]        by the Schur complement A - B D^-1 B'.

A : (k, k), B : (k, U, r), D : (U, r, r). Without units U = r = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs


@dataclass(frozen=True, slots=True)
class Bordered:
    """A symmetric matrix with a dense part and a block for each unit."""

    A: np.ndarray
    B: np.ndarray
    D: np.ndarray

    @property
    def diagonal(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the dense part (k,), and of the units (U, r)."""
        return np.diag(self.A).copy(), np.diagonal(self.D, axis1=1, axis2=2).copy()

    def plus(self, dense: np.ndarray, units: np.ndarray) -> Bordered:
        """With more on the diagonal: dense (k,), units (U, r) or (r,)."""
        A, D = self.A.copy(), self.D
        A.flat[:: len(A) + 1] += dense
        if D.size:
            D = D + np.eye(D.shape[1]) * np.broadcast_to(units, D.shape[:2])[:, :, None]
        return Bordered(A, self.B, D)

    def factored(self) -> Factored | None:
        """Its factors; None where it is not positive definite."""
        inverse, by_inverse, complement, of_units = self.D, self.B, self.A, 0.0
        if self.D.size:
            try:
                lower = np.linalg.cholesky(self.D)
                inverse = np.linalg.inv(self.D)
            except np.linalg.LinAlgError:
                return None
            by_inverse = np.einsum("kur,urs->kus", self.B, inverse)
            k = len(self.A)
            complement = self.A - by_inverse.reshape(k, -1) @ self.B.reshape(k, -1).T
            of_units = 2.0 * float(np.log(np.diagonal(lower, axis1=1, axis2=2)).sum())
        root, failed = dpotrf(complement, lower=1)
        logdet = 2.0 * float(np.log(np.diag(root)).sum()) + of_units if not failed else np.nan
        # LAPACK lets a NaN pass; a root without one in its diagonal has none.
        return Factored(root, inverse, by_inverse, logdet) if np.isfinite(logdet) else None


@dataclass(frozen=True, slots=True)
class Factored:
    """Factors of a `Bordered` matrix. root : of its Schur complement; inverse : of D; by_inverse : B D^-1."""

    root: np.ndarray
    inverse: np.ndarray
    by_inverse: np.ndarray
    logdet: float

    def before(self, right: np.ndarray) -> np.ndarray:
        """What the Schur complement takes to these columns."""
        return np.asarray(dpotrs(self.root, right, lower=1)[0])

    def solve(self, dense: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the matrix takes to (dense (k,), units (U, r))."""
        if not units.size:
            return self.before(dense), units
        flat = self.by_inverse.reshape(len(dense), -1)
        first = self.before(dense - flat @ units.ravel())
        second = np.einsum("urs,us->ur", self.inverse, units) - np.einsum("kur,k->ur", self.by_inverse, first)
        return first, second

    @property
    def dense(self) -> np.ndarray:
        """The dense part (k, k) of the inverse."""
        inverse = np.asarray(dpotri(self.root, lower=1)[0])
        above = np.triu_indices(len(inverse), 1)
        inverse[above] = inverse.T[above]
        return inverse

    def units(self, dense: np.ndarray) -> np.ndarray:
        """The blocks (U, r, r) of the inverse that belong to the units, given its dense part."""
        through = np.einsum("kur,kl->lur", self.by_inverse, dense)
        return np.asarray(self.inverse + np.einsum("lur,lus->urs", through, self.by_inverse))
