"""What a compiled kernel would bring: one evaluation of the wider likelihood and one step of EM, by numba.

    pip install numba
    python scripts/time_kernel.py 500 1000 2000 10000

The simplest law with a bias (one size, one component, a gate) and the sums of a batch of mixtures with a bias
are written as loops over rows, compiled, compared with the functions of the package, and timed beside them.
numba is no dependency: benchmarks/README.md says what came of it.
"""

from __future__ import annotations

import sys
import time
from math import exp, log, log1p, sqrt

import numpy as np
from numba import njit

from proxycal.mixture.em import statistics
from proxycal.mixture.laws import LOG_2PI, Params, Rows, Shape
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.problem import Problem

P, Q, MODELS, J = 11, 6, 4, 2


@njit(fastmath=True)
def likelihood(theta, y, X, G):
    """Minus the log likelihood of b, log sigma, alpha, gamma, and its gradient; no ridge."""
    n, p = X.shape
    q = G.shape[1]
    gradient = np.zeros(p + 2 + q)
    inv, total = exp(-theta[p]), 0.0
    for i in range(n):
        mean, logit = 0.0, 0.0
        for k in range(p):
            mean += X[i, k] * theta[k]
        for k in range(q):
            logit += G[i, k] * theta[p + 2 + k]
        log_yes = min(logit, 0.0) - log1p(exp(-abs(logit)))
        z0 = (y[i] - mean) * inv
        z1 = z0 - theta[p + 1] * inv
        log0, log1 = log_yes - logit - 0.5 * z0 * z0, log_yes - 0.5 * z1 * z1
        top = max(log0, log1)
        e0, e1 = exp(log0 - top), exp(log1 - top)
        total += top + log(e0 + e1) - theta[p] - 0.5 * LOG_2PI
        r = e1 / (e0 + e1)
        by_mean = ((1.0 - r) * z0 + r * z1) * inv
        for k in range(p):
            gradient[k] -= by_mean * X[i, k]
        gradient[p] -= (1.0 - r) * z0 * z0 + r * z1 * z1 - 1.0
        gradient[p + 1] -= r * z1 * inv
        left = r - exp(log_yes)
        for k in range(q):
            gradient[p + 2 + k] -= left * G[i, k]
    return -total, gradient


@njit(fastmath=True)
def sums(beta, log_sigma, log_weight, alpha, gamma, y, X, G):
    """Log likelihood, S_xx and S_xy of a batch of mixtures with a bias, and the curvature of their gates."""
    B, components, p = beta.shape
    n, q = G.shape
    S_xx, S_xy = np.zeros((B, components, p, p)), np.zeros((B, components, p + 1))
    gates, loglik, joint = np.zeros((B, q, q)), np.zeros(B), np.empty(2 * components)
    for b in range(B):
        for i in range(n):
            logit = 0.0
            for k in range(q):
                logit += G[i, k] * gamma[b, k]
            log_yes, top = min(logit, 0.0) - log1p(exp(-abs(logit))), -np.inf
            for j in range(components):
                mean, inv = 0.0, exp(-log_sigma[b, j])
                for k in range(p):
                    mean += X[i, k] * beta[b, j, k]
                z0, common = (y[i] - mean) * inv, log_weight[b, j] - log_sigma[b, j] - 0.5 * LOG_2PI
                z1 = z0 - alpha[b] * inv
                joint[j] = common + log_yes - logit - 0.5 * z0 * z0
                joint[components + j] = common + log_yes - 0.5 * z1 * z1
                top = max(top, joint[j], joint[components + j])
            whole = 0.0
            for c in range(2 * components):
                joint[c] = exp(joint[c] - top)
                whole += joint[c]
            loglik[b] += top + log(whole)
            for j in range(components):
                r = (joint[j] + joint[components + j]) / whole
                for k in range(p):
                    for m in range(k, p):
                        S_xx[b, j, k, m] += r * X[i, k] * X[i, m]
                    S_xy[b, j, k] += r * X[i, k] * y[i]
                S_xy[b, j, p] += r * y[i] * y[i]
            yes = exp(log_yes)
            for k in range(q):
                for m in range(k, q):
                    gates[b, k, m] += yes * (1.0 - yes) * G[i, k] * G[i, m]
    return loglik, S_xx, S_xy, gates


def best_of(function, times=30):
    """The least of so many calls, in microseconds."""
    seen = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        seen.append(time.perf_counter() - start)
    return 1e6 * min(seen)


def compare(n, rng):
    """Seconds of the first calls of both kernels; microseconds of later ones beside those of the package."""
    X = np.column_stack([np.ones(n), rng.normal(size=(n, P - 1))])
    G = np.column_stack([np.ones(n), rng.normal(size=(n, Q - 1))])
    y = X @ rng.normal(size=P) / sqrt(P) + 3.0 * (rng.random(n) < 0.3)
    theta = np.r_[rng.normal(size=P) / sqrt(P), 0.0, 2.0, 0.3 * rng.normal(size=Q)]
    ours = Likelihood(Problem(y, X, G[:, 1:], np.zeros(n), np.ones(n)), Law(states=1))
    shape, rows = Shape(J, "shared", shift=True), Rows(y, X, G, np.ones((n, 1)), np.ones(n))
    batch = Params(
        beta=theta[:P] + 0.1 * rng.normal(size=(MODELS, J, P)),
        log_sigma=np.zeros((MODELS, J)),
        omega=np.zeros((MODELS, J, P)),
        scale=np.zeros((MODELS, Q)),
        a=np.full((MODELS, 1), 2.0),
        gamma=0.3 * rng.normal(size=(MODELS, Q)),
    )
    even = np.log(np.full((MODELS, J), 1.0 / J))
    given = batch.beta, batch.log_sigma, even, batch.a[:, 0], batch.gamma, y, X, G
    start = time.perf_counter()
    value, loglik = likelihood(theta, y, X, G)[0], sums(*given)[0]
    first = time.perf_counter() - start
    np.testing.assert_allclose(value, ours(theta)[0] - ours.penalty(theta)[0])
    np.testing.assert_allclose(loglik, statistics(batch, rows, shape).loglik)
    return first, [
        best_of(lambda: ours(theta)),
        best_of(lambda: likelihood(theta, y, X, G)),
        best_of(lambda: statistics(batch, rows, shape)),
        best_of(lambda: sums(*given)),
    ]


def main(sizes):
    """Print a Markdown table, and how long the first calls take."""
    rng = np.random.default_rng(0)
    print("| rows | evaluation: package, kernel (microseconds) | step of EM, 4 models: package, kernel |")
    print("|---|---|---|")
    firsts = []
    for n in sizes:
        first, (one, kernel, step, kernel_step) = compare(n, rng)
        firsts.append(first)
        print(f"| {n:,} | {one:.0f}, {kernel:.0f} | {step:.0f}, {kernel_step:.0f} |", flush=True)
    print(f"\nFirst calls of both kernels: {firsts[0]:.1f} s")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000])
