"""B(E): the columns on which content and bias may depend, fitted once and reused on new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proxycal.errors import SettingsError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Kind = Literal["linear", "spline", "category"]
# A level with fewer rows has too much say in its own coefficient for a robust variance to be believed;
# such levels share one coefficient.
LEVEL_ROWS = 10
# Knots of a spline by independent units, rows or clusters. Bends are shrunk (shrink.py), so a spare knot
# costs little, while a missing one costs coverage where the bias bends: `proxycal bench gradual`. The outer
# knots leave 0.2% of the rows on each straight end.
KNOTS = ((1500, 12), (200, 8), (0, 5))
OUTER = 0.002
OTHER = -1
# The name under which `columns` says, with 1 and 0, which rows are trusted.
TRUSTED = "trusted rows"


@dataclass(frozen=True, slots=True)
class Term:
    """One environment column: how its values become columns of the basis.

    center, scale : of a numeric column
    knots         : (k,) in standardised units; none for a straight line
    bends         : (k - 2, k - 2) turns the spline's columns into ones whose roughness is the sum of their
                    squared coefficients
    levels        : (l,) category codes that have a coefficient, the reference first; OTHER last where rare
                    levels were merged
    """

    name: str
    kind: Kind
    center: float
    scale: float
    knots: Array
    bends: Array
    levels: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Number of basis columns."""
        if self.kind == "category":
            return len(self.levels) - 1
        return 1 + max(len(self.knots) - 2, 0)

    def columns(self, values: Array) -> Array:
        """(n, width) columns of the basis; a level never seen is missing unless rare levels share one."""
        if self.kind == "category":
            return _indicators(np.asarray(values, dtype=np.int64), self.levels)
        standard = (np.asarray(values, dtype=float) - self.center) / self.scale
        if not len(self.knots):
            return standard[:, None]
        return np.column_stack([standard, _natural_spline(standard, self.knots) @ self.bends])


@dataclass(frozen=True, slots=True)
class Basis:
    """All columns of B(E), without a constant.

    keep : (q0,) mask over the raw columns; False for those that repeat others (see `without`)
    trusted : whether rows may be trusted. Then all columns are zero in trusted rows, where there is no bias,
    and the last one is 1 in all others: it holds the level of the bias
    """

    terms: tuple[Term, ...]
    interactions: tuple[tuple[str, str], ...]
    keep: NDArray[np.bool_]
    trusted: bool = False

    @property
    def owners(self) -> list[str]:
        """For each column of the basis the environment column it comes from, "a:b" for an interaction."""
        width = {term.name: term.width for term in self.terms}
        raw = [term.name for term in self.terms for _ in range(term.width)]
        raw += [f"{a}:{b}" for a, b in self.interactions for _ in range(width[a] * width[b])]
        raw += [TRUSTED] * self.trusted
        return [name for name, kept in zip(raw, self.keep, strict=True) if kept]

    @property
    def bent(self) -> NDArray[np.bool_]:
        """(q,) True for the columns that bend a spline, False for straight lines, levels and interactions."""
        raw = [term.kind == "spline" and i > 0 for term in self.terms for i in range(term.width)]
        return np.append(np.array(raw, dtype=bool), np.zeros(len(self.keep) - len(raw), dtype=bool))[
            self.keep
        ]

    def transform(self, columns: Mapping[str, Array]) -> Array:
        """(n, q) basis columns of these rows."""
        return self.raw(columns)[:, self.keep]

    def raw(self, columns: Mapping[str, Array]) -> Array:
        """(n, q0) the same with columns that repeat others."""
        made = self._assemble({term.name: term.columns(_column(columns, term.name)) for term in self.terms})
        if self.trusted and TRUSTED in columns:
            made[columns[TRUSTED] == 1.0] = 0.0
        return made

    def profile(self, name: str, values: Array, mean: Mapping[str, Array]) -> Array:
        """(m, q) rows with one column at `values` and all others at their mean basis columns."""
        parts = {}
        for term in self.terms:
            if term.name == name:
                parts[name] = term.columns(values)
            else:
                parts[term.name] = np.broadcast_to(mean[term.name], (len(values), term.width))
        return self._assemble(parts)[:, self.keep]

    def parts_of(self, mean: Array) -> dict[str, Array]:
        """For each environment column its share of the mean (q0,) of all raw columns, as `profile` needs it.

        Rows that are trusted have none of them, so that the mean is over the others.
        """
        if self.trusted:
            mean = mean / mean[-1]
        ends = np.cumsum([term.width for term in self.terms])[:-1]
        width = sum(term.width for term in self.terms)
        return {term.name: part for term, part in zip(self.terms, np.split(mean[:width], ends), strict=True)}

    def _assemble(self, parts: Mapping[str, Array]) -> Array:
        blocks = list(parts.values())
        for a, b in self.interactions:
            blocks.append((parts[a][:, :, None] * parts[b][:, None, :]).reshape(len(parts[a]), -1))
        if self.trusted:
            blocks.append(np.ones((len(blocks[0]), 1)))
        return np.hstack(blocks)

    def without(self, repeated: NDArray[np.bool_]) -> Basis:
        """The basis less the columns marked True (a mask over the columns that are kept now)."""
        keep = self.keep.copy()
        keep[np.flatnonzero(keep)[repeated]] = False
        return replace(self, keep=keep)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain JSON values and plain arrays that `from_state` turns into the same basis."""
        values = {
            "terms": [[term.name, term.kind, term.center, term.scale] for term in self.terms],
            "interactions": [list(pair) for pair in self.interactions],
            "trusted": self.trusted,
        }
        arrays: dict[str, np.ndarray] = {"keep": self.keep}
        for index, term in enumerate(self.terms):
            arrays[f"knots_{index}"] = term.knots
            arrays[f"bends_{index}"] = term.bends
            arrays[f"levels_{index}"] = term.levels
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Basis:
        """The basis that `to_state` described."""
        terms = tuple(
            Term(
                name,
                kind,
                center,
                scale,
                arrays[f"knots_{index}"],
                arrays[f"bends_{index}"],
                arrays[f"levels_{index}"],
            )
            for index, (name, kind, center, scale) in enumerate(values["terms"])
        )
        pairs = tuple((str(a), str(b)) for a, b in values["interactions"])
        return cls(terms, pairs, np.asarray(arrays["keep"], dtype=bool), bool(values["trusted"]))


def fit_basis(
    columns: Mapping[str, Array],
    kinds: Mapping[str, Kind],
    interactions: Sequence[tuple[str, str]] = (),
    weights: Array | None = None,
    units: int | None = None,
) -> Basis:
    """Fit the basis: centres, knots at weighted quantiles, levels with enough rows.

    Parameters
    ----------
    columns : mapping of name to (n,) array
        A category is given by integer codes >= 0. Where TRUSTED is among them and marks LEVEL_ROWS rows
        or more, those have no bias, and the basis is fitted to the others.
    kinds : mapping of name to "linear", "spline" or "category"
        In the order of the basis.
    interactions : pairs of names
        Whose columns are multiplied as well.
    weights : (n,) array, optional
        Sampling weights (default: all equal).
    units : int, optional
        Independent units in the whole table, which decide how many knots it can bear (default: rows).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> e = {"income": rng.normal(size=200), "sponsor": rng.integers(0, 3, size=200)}
    >>> basis = fit_basis(e, {"income": "linear", "sponsor": "category"})
    >>> basis.transform(e).shape, basis.owners
    ((200, 3), ['income', 'sponsor', 'sponsor'])

    """
    # Fewer trusted rows would have too much say in the level of the bias, as in that of a category.
    trusted = TRUSTED in columns and int((columns[TRUSTED] == 1.0).sum()) >= LEVEL_ROWS
    if trusted and (columns[TRUSTED] == 1.0).all():
        raise TableError("every row is trusted, so that there is no bias to look for: mark fewer rows")
    free = columns[TRUSTED] != 1.0 if trusted else slice(None)
    weights = None if weights is None else weights[free]
    used = {name: _column(columns, name)[free] for name in kinds}
    if trusted:
        # A column that varies among trusted rows only says nothing of the bias.
        used = {name: values for name, values in used.items() if np.ptp(values) > 0.0}
        interactions = [pair for pair in interactions if not (set(pair) & set(kinds)) - set(used)]
    terms = tuple(_fit_term(name, kinds[name], values, weights, units) for name, values in used.items())
    named = {term.name: term for term in terms}
    for pair in interactions:
        for name in pair:
            if name not in named:
                raise SettingsError(
                    f"interaction {pair[0]}:{pair[1]} names {name!r}, which is no environment column: "
                    f"use {', '.join(named)}"
                )
    pairs = tuple((a, b) for a, b in interactions)
    width = sum(term.width for term in terms) + sum(named[a].width * named[b].width for a, b in pairs)
    return Basis(terms, pairs, np.ones(width + trusted, dtype=bool), trusted)


def _column(columns: Mapping[str, Array], name: str) -> Array:
    if name not in columns:
        raise TableError(f"environment column {name!r} is missing from these rows")
    return columns[name]


def _fit_term(name: str, kind: Kind, values: Array, weights: Array | None, units: int | None) -> Term:
    none, flat = np.zeros(0), np.zeros((0, 0))
    if kind == "category":
        return Term(name, kind, 0.0, 1.0, none, flat, _levels(np.asarray(values, dtype=np.int64)))
    values = np.asarray(values, dtype=float)
    center = float(np.average(values, weights=weights))
    scale = float(np.sqrt(np.average((values - center) ** 2, weights=weights)))
    if scale == 0.0:
        raise TableError(f"environment column {name!r} is constant: leave it out")
    no_levels = np.zeros(0, dtype=np.int64)
    if kind == "linear":
        return Term(name, kind, center, scale, none, flat, no_levels)
    knots = _knots((values - center) / scale, weights, units)
    if len(knots) < 3:  # cannot bend: a column with few values stays a straight line
        return Term(name, kind, center, scale, none, flat, no_levels)
    return Term(name, kind, center, scale, knots, _unit_roughness(knots), no_levels)


def _knots(values: Array, weights: Array | None, units: int | None) -> Array:
    independent = len(values) if units is None else units
    count = next(knots for least, knots in KNOTS if independent >= least)
    inner = np.linspace(0.0, 1.0, count)[1:-1]
    return np.unique(weighted_quantile(values, np.array([OUTER, *inner, 1.0 - OUTER]), weights))


def splines_within(columns: Iterable[Array], most: float, weights: Array | None, units: int) -> bool:
    """Whether splines of these columns (n,) take no more than so many columns of a basis.

    >>> line = np.linspace(0.0, 1.0, 300)
    >>> splines_within([line, line**2], 14, None, 300), splines_within([line, line**2], 13, None, 300)
    (True, False)
    """
    width = 0
    for column in columns:
        width += max(len(_knots(column, weights, units)) - 1, 1)
        if width > most:
            return False
    return True


def weighted_quantile(values: Array, shares: Array, weights: Array | None) -> Array:
    """Quantiles of a weighted sample; with equal weights those of the rows."""
    order = np.argsort(values, kind="stable")
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)[order]
    position = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    return np.interp(shares, position, values[order])


def _levels(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes with a coefficient, the most common first; OTHER last where rare levels were merged."""
    if (codes < 0).any():
        raise TableError("category codes must be 0, 1, 2, ...: a negative code stands for a missing value")
    seen, counts = np.unique(codes, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    seen, counts = seen[order], counts[order]
    kept = int((counts >= LEVEL_ROWS).sum())
    if kept == len(seen):
        return seen
    # The merged level needs enough rows as well: it takes in the next rarest until it has them.
    while kept > 1 and counts[kept:].sum() < LEVEL_ROWS:
        kept -= 1
    return np.append(seen[: max(kept, 1)], OTHER)


def _indicators(codes: NDArray[np.int64], levels: NDArray[np.int64]) -> Array:
    columns = (codes[:, None] == levels[None, 1:]).astype(float)
    known = np.isin(codes, levels[levels != OTHER])
    if len(levels) and levels[-1] == OTHER:
        columns[:, -1] = ~known
    else:
        columns[~known] = np.nan
    return columns


def _natural_spline(x: Array, knots: Array) -> Array:
    """(n, k - 2) cubic pieces that join smoothly at the knots and are straight outside them.

    d_j(x) = ((x - t_j)+^3 - (x - t_last)+^3) / (t_last - t_j); the columns d_j - d_{last-1} span, with 1
    and x, all natural cubic splines.
    """
    ramps = np.maximum(x[:, None] - knots[None, :], 0.0)
    cubes = ramps * ramps**2  # a power of 3 takes a hundred times as long
    slopes = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    return slopes[:, :-1] - slopes[:, -1:]


def _unit_roughness(knots: Array) -> Array:
    """R^(-1/2) for R = integral of f''f'' over the spline's columns: roughness becomes a sum of squares.

    f'' is a straight line between knots, f''f'' a parabola: Simpson's rule is exact there.
    """
    middle = 0.5 * (knots[:-1] + knots[1:])
    length = np.diff(knots)
    ends, halves = _second_derivative(knots, knots), _second_derivative(middle, knots)
    rough = np.einsum("i,ij,ik->jk", 4.0 * length / 6.0, halves, halves)
    for edge in (ends[:-1], ends[1:]):
        rough += np.einsum("i,ij,ik->jk", length / 6.0, edge, edge)
    values, vectors = np.linalg.eigh(rough)
    return (vectors / np.sqrt(values)) @ vectors.T


def _second_derivative(x: Array, knots: Array) -> Array:
    ramps = 6.0 * np.maximum(x[:, None] - knots[None, :], 0.0)
    slopes = (ramps[:, :-1] - ramps[:, -1:]) / (knots[-1] - knots[:-1])
    return slopes[:, :-1] - slopes[:, -1:]
