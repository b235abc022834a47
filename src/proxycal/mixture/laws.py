"""The gated shift mixture, and EM for many of them at once.

    A ~ Bernoulli(pi(E)),  pi(E) = logistic(G gamma)
    j ~ w_j(x)             constant, or softmax in the content features x
    y - shift*A | j ~ N(x' beta_j, (sigma_j * exp(H h))^2),   shift = D a

G are the gate features of E, D says how the shift may vary (a column of ones: one alpha; one-hot
levels: alpha by group). Without a shift this is the null model f(y|x) of the same shape.

Every array has a leading axis of B models: starts, shapes and bootstrap replicates are one batch.
All sums over rows are matrix products with column products that are formed once (`Rows`), so a chunk of
rows costs one pass, and the statistics of chunks add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    # An Array, or None where the shape of the model has no such part.
    Maybe = Any

# Prior precision of every gate and weight coefficient but the intercept, in units of one standardised
# column: a N(0, 5^2) prior, so that perfectly separated groups keep a finite gate.
RIDGE = 1.0 / 25.0
LOG_2PI = float(np.log(2.0 * np.pi))
# The logit of a probability that is zero to all digits, and still a number.
NEVER = -700.0
# Products of columns that a chunk of rows may keep (40 MB). With more columns (71 of 2,000 rows, 25 of a full
# chunk) sums for a few models are as fast without them; 200 columns of a full chunk would take 2.6 GB.
PRODUCTS = 5_000_000
# With one set of weights to so many columns, or fewer, sums wait for products that no cache holds (8 MB):
# 10,000 rows of 31 columns and 1 set take 1.5 ms with them, 0.8 without; up to FEW_COLUMNS they are faster.
COLUMNS_A_WEIGHT, FEW_COLUMNS, PRODUCTS_OF_FEW = 5, 15, 1_000_000
# Multiplications up to which BLAS, on some processors, takes matrices as they are; larger ones it copies
# first. 1,000 rows of 31 columns and 4 sets take 0.24 ms at once, 0.10 in parts of so many, which are not
# worth it when they have fewer than LEAST_PART columns.
MULTIPLICATIONS, LEAST_PART = 500_000, 8
# Rows whose columns fit into a processor's cache (51 columns: 400 kB).
BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """What a model may look like: the number of components and what each may depend on.

    means    "own" slopes per component, "shared" slopes with own intercepts, or "atom": own slopes but
             the last component is constant in x (zero losses, zero earnings)
    weights  "constant" or "content": w_j a softmax in x
    scale    "constant" or "environment": log sd linear in E
    shift    whether the bias is in the model at all
    gate     "environment": pi follows E; "constant": the shift is there but E does not say for whom, which
             nobody can tell from a residual with two humps, so it counts as a model without bias
    """

    J: int
    means: str = "own"
    weights: str = "constant"
    scale: str = "constant"
    shift: bool = False
    gate: str = "environment"

    @property
    def claims_bias(self) -> bool:
        """Whether this model says that reporters shift the outcome."""
        return self.shift and self.gate == "environment"

    def size(self, p: int, q: int, levels: int) -> int:
        """Number of free parameters with p content columns, q gate columns and `levels` shift columns."""
        means = {"own": self.J * p, "shared": p - 1 + self.J, "atom": (self.J - 1) * p + 1}[self.means]
        weights = (self.J - 1) * (p if self.weights == "content" else 1)
        scale = self.J + (q - 1 if self.scale == "environment" else 0)
        gate = q if self.gate == "environment" else 1
        return means + weights + scale + (levels + gate if self.shift else 0)

    @property
    def label(self) -> str:
        """A short name for tables and findings."""
        words = [f"J={self.J}"]
        if self.J > 1:
            words += [f"{self.means} slopes" if self.means != "atom" else "one spike"]
            words += ["weights by content"] if self.weights == "content" else []
        words += ["sd by environment"] if self.scale == "environment" else []
        words += ["shift without gate"] if self.shift and self.gate == "constant" else []
        return ", ".join(words)


@dataclass(frozen=True)
class Rows:
    """A chunk of rows, and the column products that the sums need, formed on first use.

    y (n,); X (n,p) content features, first column 1; G (n,q) gate features, first column 1; D (n,L) shift
    features; weights (n,) or, for a bootstrap, (B,n); trusted (n,) or None: where A = 0 is known,
    which the gate does not speak of.
    """

    y: Array
    X: Array
    G: Array
    D: Array
    weights: Array
    trusted: Maybe = None

    def shifted(self, offset: Array) -> Rows:
        """The same rows with an offset taken off the outcome."""
        return replace(self, y=self.y - offset)

    def of_models(self, index: NDArray[np.intp]) -> Rows:
        """The same rows with the weights of some replicates; themselves where all share one."""
        return self if self.weights.ndim == 1 else replace(self, weights=self.weights[index])

    @cached_property
    def XX(self) -> Array:
        """Products of every pair of content columns, packed: (n, p(p+1)/2)."""
        return _packed_products(self.X)

    @cached_property
    def GG(self) -> Array:
        """Products of every pair of gate columns, packed: (n, q(q+1)/2)."""
        return _packed_products(self.G)

    @cached_property
    def XY(self) -> Array:
        """Content columns times y, and y squared: (n, p+1)."""
        return np.column_stack([self.X * self.y[:, None], self.y * self.y])

    @cached_property
    def DX(self) -> Array:
        """Shift columns times content columns, and times y: (n, p*L + L)."""
        outer = (self.X[:, :, None] * self.D[:, None, :]).reshape(len(self.y), -1)
        return np.column_stack([outer, self.D * self.y[:, None]])

    @cached_property
    def DD(self) -> Array:
        """Products of every pair of shift columns: (n, L*L)."""
        return (self.D[:, :, None] * self.D[:, None, :]).reshape(len(self.y), -1)

    @cached_property
    def gram(self) -> Array:
        """X'WX, (1,p,p), or (B,p,p) with weights by replicate."""
        if self.weights.ndim == 2:
            return self.grams(self.weights)
        return (self.X.T @ (self.X * self.weights[:, None]))[None]

    def packs(self, weights: Array) -> bool:
        """Whether sums with these weights are made from the products of the columns."""
        return _packs(self.X, weights)

    def grams(self, weights: Array) -> Array:
        """X'WX with each of the weights (..., n), which may be negative: (..., p, p)."""
        packs = self.packs(weights)
        return _packed_grams(self.XX, weights, self.X) if packs else _grams(self.X, weights)

    def gate_grams(self, weights: Array) -> Array:
        """G'WG, likewise: (..., q, q)."""
        packs = _packs(self.G, weights)
        return _packed_grams(self.GG, weights, self.G) if packs else _grams(self.G, weights)


@dataclass(frozen=True, slots=True)
class Params:
    """B models of one J, all with or all without a shift.

    beta (B,J,p); log_sigma (B,J); omega (B,J,p) softmax coefficients, row 0 fixed at zero; scale (B,q)
    log-sd slopes in G, first column zero; a (B,L) and gamma (B,q), or None without a shift.
    """

    beta: Array
    log_sigma: Array
    omega: Array
    scale: Array
    a: Maybe = None
    gamma: Maybe = None

    @property
    def size(self) -> int:
        """B."""
        return len(self.beta)

    def take(self, index: NDArray[np.intp] | slice) -> Params:
        """A part of the batch."""
        taken: list[Any] = [None if v is None else v[index] for v in self.parts()]
        return Params(*taken)

    @staticmethod
    def stack(parts: Iterable[Params]) -> Params:
        """Several batches as one."""
        columns = zip(*[p.parts() for p in parts], strict=True)
        stacked: list[Any] = [None if c[0] is None else np.concatenate(c) for c in columns]
        return Params(*stacked)

    def parts(self) -> tuple[Maybe, ...]:
        """Every array, in the order of the constructor."""
        return (self.beta, self.log_sigma, self.omega, self.scale, self.a, self.gamma)

    def flat(self) -> Array:
        """All parameters of each model in one row, (B, m)."""
        return np.concatenate([v.reshape(self.size, -1) for v in self.parts() if v is not None], axis=1)

    def unflat(self, theta: Array) -> Params:
        """The inverse of `flat`, with this batch's layout."""
        parts: list[Any] = []
        start = 0
        for v in self.parts():
            if v is None:
                parts.append(None)
                continue
            width = prod(v.shape[1:])
            parts.append(theta[:, start : start + width].reshape(len(theta), *v.shape[1:]))
            start += width
        return Params(*parts)


@dataclass(frozen=True, slots=True)
class Posterior:
    """What the rows say under given parameters.

    loglik (B,n) per row; r0, r1 (B,J,n): P(A=0, j | row), P(A=1, j | row) (r1 None without a shift);
    pi, p_biased (B,n) or None; precision (B,n) or None: exp(-2 H h) where the sd depends on E;
    residual (B,J,n): y - x' beta_j; shift (B,n) or None; log_w (B,J,n), or (B,J,1) if constant in x.
    """

    loglik: Array
    r0: Array
    r1: Maybe
    pi: Maybe
    p_biased: Maybe
    precision: Maybe
    residual: Array
    shift: Maybe
    log_w: Array


def posterior(params: Params, rows: Rows, shape: Shape) -> Posterior:
    """P(A, j | y, x, E) in closed form, by Bayes. The batch shares `shape` but for its means."""
    B, J, n = *params.beta.shape[:2], len(rows.y)
    residual = by_rows(params.beta, rows.X.T)
    np.subtract(rows.y, residual, out=residual)
    log_w = log_softmax(
        by_rows(params.omega, rows.X.T) if shape.weights == "content" else params.omega[:, :, :1]
    )
    constant = log_w - params.log_sigma[:, :, None] - 0.5 * LOG_2PI
    root = np.exp(-params.log_sigma)[:, :, None] * np.sqrt(0.5)
    precision = None
    if shape.scale == "environment":
        log_scale = params.scale @ rows.G.T
        precision = np.exp(-2.0 * log_scale)
        root = root * np.exp(-log_scale)[:, None]
        constant = constant - log_scale[:, None]
    # One buffer for all classes (A=0, j), (A=1, j): this is where a fit spends its time.
    joint = np.empty((B, 2 * J if shape.shift else J, n))
    _log_density(residual, root, constant, out=joint[:, :J])
    if params.a is None or params.gamma is None:
        return Posterior(_normalise(joint), joint, None, None, None, precision, residual, None, log_w)
    shift = params.a @ rows.D.T
    _log_density(residual - shift[:, None], root, constant, out=joint[:, J:])
    logit = params.gamma @ rows.G.T
    if rows.trusted is not None:
        logit[:, rows.trusted] = NEVER
    log_pi = log_expit(logit)
    pi = np.exp(log_pi)
    log_not = log_pi - logit
    joint[:, :J] += log_not[:, None]
    joint[:, J:] += log_pi[:, None]
    loglik = _normalise(joint)
    r1 = joint[:, J:]
    p_biased = r1[:, 0] if J == 1 else np.minimum(r1.sum(axis=1), 1.0)
    return Posterior(loglik, joint[:, :J], r1, pi, p_biased, precision, residual, shift, log_w)


def content_mean(params: Params, rows: Rows, post: Posterior) -> Array:
    """mu(x) = sum_j w_j(x) x' beta_j of one model, (n,): E[y_obs | do(A=0)] in standardised units."""
    return np.asarray((np.exp(post.log_w[0]) * (params.beta[0] @ rows.X.T)).sum(axis=0))


def log_softmax(x: Array) -> Array:
    """Over axis 1. (scipy's own spends longer on its checks than on arrays of this size.)."""
    x = x - x.max(axis=1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


def decided_by_gate(pi: Array, weights: Array) -> float:
    """Share of who is biased that the gate pi (n,) decides before the outcome is seen.

    >>> decided_by_gate(np.array([0.0, 1.0]), np.ones(2)), decided_by_gate(np.full(2, 0.3), np.ones(2))
    (1.0, 0.0)
    """
    share = float(np.average(pi, weights=weights))
    open_ = float(np.average(pi * (1.0 - pi), weights=weights))
    return 1.0 - open_ / max(share * (1.0 - share), 1e-12)


def log_expit(x: Array) -> Array:
    """Log of the logistic function. (scipy's own goes number by number and takes five times as long.)."""
    return np.asarray(np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x))))


def _log_density(residual: Array, root: Array, constant: Array, out: Array) -> None:
    np.multiply(residual, root, out=out)
    np.multiply(out, out, out=out)
    np.subtract(constant, out, out=out)


def _normalise(joint: Array) -> Array:
    """Log sum_c exp over classes c (axis 1); `joint` becomes the posterior in place."""
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint /= total[:, None]
    return np.asarray(np.log(total) + top)


def by_rows(batch: Array, columns: Array) -> Array:
    """(B,K,n) @ (n,m) as one product of two matrices: numpy would go model by model, many times slower."""
    B, K, n = batch.shape
    return (batch.reshape(B * K, n) @ columns).reshape(B, K, columns.shape[1])


def _packs(X: Array, weights: Array) -> bool:
    """Whether the products of the columns are worth their memory, and the time to read them."""
    n, p = X.shape
    size, few = n * p * (p + 1) // 2, weights.size <= n * p // COLUMNS_A_WEIGHT
    return size <= (PRODUCTS_OF_FEW if few and p > FEW_COLUMNS else PRODUCTS)


def _packed_grams(products: Array, weights: Array, X: Array) -> Array:
    """The same from the products of the columns, in one product of two matrices."""
    packed = _in_parts(weights.reshape(-1, len(X)), products)
    return unpack(packed.reshape(*weights.shape[:-1], packed.shape[1]), X.shape[1])


def _in_parts(weights: Array, products: Array) -> Array:
    """(k,n) @ (n,m), some of the m columns at a time."""
    m, part = products.shape[1], MULTIPLICATIONS // max(weights.size, 1)
    if not LEAST_PART <= part < m:
        return weights @ products
    out = np.empty((len(weights), m))
    for start in range(0, m, part):
        at = slice(start, start + part)
        np.matmul(weights, products[:, at], out=out[:, at])
    return out


def _grams(X: Array, weights: Array) -> Array:
    """X'WX for each of many weights, some rows at a time: what is weighted stays in the processor's cache."""
    flat, p = weights.reshape(-1, len(X)), X.shape[1]
    # A product with itself takes half as long.
    roots = np.sqrt(flat) if flat.min(initial=0.0) >= 0.0 else None
    out, weighted = np.zeros((len(flat), p, p)), np.empty((min(BLOCK, len(X)), p))
    for start in range(0, len(X), BLOCK):
        part, at = X[start : start + BLOCK], slice(start, start + BLOCK)
        into = weighted[: len(part)]
        for one, gram in zip((flat if roots is None else roots)[:, at, None], out, strict=True):
            np.multiply(part, one, out=into)
            gram += (part if roots is None else into).T @ into
    return out.reshape(*weights.shape[:-1], p, p)


def _packed_products(X: Array) -> Array:
    """The products of every pair of columns, upper triangle only: (n, p(p+1)/2).

    Made and kept by columns, seven times faster than by rows (20 columns): rows of the table that are formed
    anew in each pass pay for this in each pass.
    """
    n, p = X.shape
    columns, products = np.ascontiguousarray(X.T), np.empty((p * (p + 1) // 2, n))
    start = 0
    for first in range(p):
        stop = start + p - first
        np.multiply(columns[first], columns[first:], out=products[start:stop])
        start = stop
    return products.T


@cache
def _triangle(p: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(p)


def unpack(packed: Array, p: int) -> Array:
    """Packed upper triangles (..., p(p+1)/2) as symmetric matrices (..., p, p)."""
    full = np.empty((*packed.shape[:-1], p, p))
    rows, cols = _triangle(p)
    full[..., rows, cols] = packed
    full[..., cols, rows] = packed
    return full
