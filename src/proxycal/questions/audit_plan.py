"""Which rows to validate next: strata by how unsure the fit is of a row, more rows where it is less sure.

    n_h  proportional to  N_h * sigma_h        (Neyman), but never less than a part of N_h * n / N

sigma_h is the spread that the fit expects of truth minus calibrated value in stratum h. Rows are drawn at
random within strata, so every row has a known probability and totals stay valid even where the fit is wrong;
the floor bounds what a wrong fit can cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import SettingsError, TableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.registry import MethodFit
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]

# Rows that are answered at a time.
BLOCK = 50_000
# Strata at the most, and rows that each should have on average. Ten strata were measured beside five: the
# standard error was 0.5 to 5% smaller.
STRATA, PER_STRATUM = 10, 5
# Rows of a stratum, at the least: two show a spread, and this part of its share by size is the floor.
LEAST, FLOOR = 2, 0.4
NO_DOUBT = "no row is in doubt, each is biased for certain or not at all"
# A plan that promises less than this is not worth its strata.
WORTHWHILE = 0.98


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """The n rows to validate: positions among those asked about, strata, inclusion probabilities, (n,) each.

    ratio : expected standard error of a mean, over that of as many rows chosen at random. reading : in words.
    random : whether the rows were chosen at random after all.
    """

    rows: NDArray[np.intp]
    stratum: NDArray[np.int64]
    probability: Array
    ratio: float
    reading: str
    random: bool


def plan_audit(fitted: MethodFit, arrays: Arrays, n: int, seed: int) -> AuditPlan:
    """Choose n of the rows that are not validated yet."""
    known = np.zeros(arrays.n, dtype=bool) if arrays.truth is None else np.isfinite(arrays.truth)
    others = np.flatnonzero(~known)
    _require_rows(n, len(others), int(known.sum()))
    spread, why_not = expected_spread(fitted, arrays)
    plan = choose_rows(spread[others], n, seed, why_not)
    return AuditPlan(others[plan.rows], plan.stratum, plan.probability, plan.ratio, plan.reading, plan.random)


def expected_spread(fitted: MethodFit, arrays: Arrays) -> tuple[Array, str]:
    """Spread (n,) of truth minus calibrated value that a fit expects, and why it is of no use, if so."""
    own = getattr(fitted, "audit_spread", None)
    # A fit may keep many numbers a row while it answers: a large table is answered in pieces, unless rows of
    # a cluster are answered together.
    length = BLOCK if arrays.cluster is None else arrays.n
    pieces = (arrays.take(rows) for rows in np.split(np.arange(arrays.n), range(length, arrays.n, length)))
    if own is not None:
        return np.concatenate([own(piece) for piece in pieces]), ""
    if fitted.verdict != "bias found":
        return np.ones(
            arrays.n
        ), f"the verdict is '{fitted.verdict}', so the fit cannot say where it is unsure"
    answers = [fitted.predict(piece) for piece in pieces]
    p = np.clip(np.concatenate([answer.p_biased for answer in answers]), 0.0, 1.0)
    shift = np.abs(np.concatenate([answer.shift for answer in answers]))
    # A row is biased by `size` with probability p: what is left of it has this variance.
    size = np.divide(shift, p, out=np.zeros_like(p), where=p > 0.0)
    spread = size * np.sqrt(p * (1.0 - p))
    # Errors that are not part of the model are everywhere.
    floor = 0.5 * math.sqrt(float(np.mean(spread**2)))
    return np.hypot(spread, floor), ""


def choose_rows(spread: Array, n: int, seed: int, why_not: str = "") -> AuditPlan:
    """Choose n of the rows with these expected spreads (N,); at random where `why_not` says so.

    >>> spread = np.r_[np.full(900, 0.1), np.full(100, 2.0)]
    >>> plan = choose_rows(spread, 50, seed=0)
    >>> plan.ratio < 0.6, int((plan.rows >= 900).sum()) > 20
    (True, True)
    >>> float(np.sum(1.0 / plan.probability).round(6))
    1000.0
    """
    total = len(spread)
    rng = np.random.default_rng(seed)
    if not why_not and not spread.any():
        why_not = NO_DOUBT
    stratum = np.zeros(total, dtype=np.int64) if why_not else cut_strata(spread, n)
    sizes = np.bincount(stratum)
    counts, ratio = sizes * 0, 1.0
    if len(sizes) > 1:
        sigma = np.sqrt(np.bincount(stratum, weights=spread**2) / sizes)
        counts = allocate(sizes, sigma, n)
        ratio = _standard_error(sizes, sigma, counts) / _at_random(spread, n)
    if len(sizes) == 1 or ratio > WORTHWHILE:
        reason = why_not or "the fit is about as sure of every row as of any other"
        rows = np.sort(rng.choice(total, n, replace=False))
        reading = (
            f"The {n} rows were chosen at random, each of {total:,} with the same probability: {reason}."
        )
        return AuditPlan(rows, np.zeros(n, dtype=np.int64), np.full(n, n / total), 1.0, reading, True)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(stratum == h), counts[h], replace=False) for h in range(len(sizes))]
    )
    rows = np.sort(rows)
    reading = (
        f"The {n} rows come from {len(sizes)} strata of {total:,} rows, more from those that the fit is "
        f"less sure of: the standard error of a mean or total will be about {1.0 - ratio:.0%} smaller than "
        f"with {n} rows chosen at random, if the fit is right about where it is unsure."
    )
    chosen = stratum[rows]
    return AuditPlan(rows, chosen, (counts / sizes)[chosen], ratio, reading, False)


def cut_strata(spread: Array, n: int) -> NDArray[np.int64]:
    """Strata (N,) of rising spread, each with about the same sum of spreads; fewer where n rows are few."""
    wanted = max(min(STRATA, n // PER_STRATUM), min(2, n // LEAST))
    order = np.argsort(spread, kind="stable")
    reached = np.cumsum(spread[order])
    middle = (reached - 0.5 * spread[order]) / reached[-1]
    stratum = np.empty(len(spread), dtype=np.int64)
    stratum[order] = np.minimum((middle * wanted).astype(np.int64), wanted - 1)
    # Rows of the same spread are not told apart, and a stratum needs rows to choose from.
    same = np.unique(spread, return_inverse=True)[1]
    first = np.full(same.max() + 1, wanted, dtype=np.int64)
    np.minimum.at(first, same, stratum)
    stratum = first[same]
    sizes = np.bincount(stratum, minlength=wanted)
    for h in range(wanted - 1, 0, -1):
        if sizes[h] < 2 * LEAST:
            stratum[stratum == h] = h - 1
            sizes = np.bincount(stratum, minlength=wanted)
    return np.asarray(np.unique(stratum, return_inverse=True)[1], dtype=np.int64)


def allocate(sizes: NDArray[np.int64], sigma: Array, n: int) -> NDArray[np.int64]:
    """Rows of each stratum, (H,), that add up to n: Neyman's, with a floor, and no more than there are.

    >>> allocate(np.array([900, 100]), np.array([0.1, 2.0]), 50).tolist()
    [18, 32]
    """
    floor = np.minimum(np.maximum(LEAST, FLOOR * n * sizes / sizes.sum()), sizes).astype(float)
    share = floor.copy()
    free, left = np.ones(len(sizes), dtype=bool), float(n)
    for _ in range(2 * len(sizes)):
        # What is at its floor or full stays there; the others share the rest.
        need = sizes * sigma * free
        wanted = need * (left - share[~free].sum()) / max(float(need.sum()), 1e-300)
        bound = free & ((wanted < floor) | (wanted > sizes))
        if not bound.any():
            share[free] = wanted[free]
            break
        share[bound] = np.where(wanted < floor, floor, sizes)[bound]
        free &= ~bound
    counts = np.minimum(np.floor(share).astype(np.int64), sizes)
    for h in np.argsort(-(share - counts), kind="stable").tolist() * 2:
        if counts.sum() < n and counts[h] < sizes[h]:
            counts[h] += 1
    while counts.sum() > n:
        counts[int(np.argmax(counts))] -= 1
    while counts.sum() < n:
        counts[int(np.argmax(sizes - counts))] += 1
    return counts


def _standard_error(sizes: NDArray[np.int64], sigma: Array, counts: NDArray[np.int64]) -> float:
    """Design standard error of a sum."""
    return math.sqrt(float(np.sum(sizes * (sizes - counts) * sigma**2 / np.maximum(counts, 1))))


def _at_random(spread: Array, n: int) -> float:
    total = len(spread)
    return math.sqrt(total * (total - n) * float(np.mean(spread**2)) / n) or 1e-300


def _require_rows(n: int, others: int, known: int) -> None:
    if n < LEAST:
        raise SettingsError(f"an audit of n={n} rows shows no spread: ask for {LEAST} or more")
    if others == 0:
        raise TableError(f"all {known} rows are validated already: there is nothing left to audit")
    if n > others:
        raise SettingsError(
            f"an audit of n={n} rows is more than the {others} rows that are not validated yet: ask for fewer"
        )
