"""A linear predictor is a sum of terms: each a block of columns that share one ridge variance.

What the data taught a term (knots, means, scales) is kept in it, so that the same columns can be made for
other rows. A source makes raw columns; a term centres and scales them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from scipy.interpolate import BSpline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.engine.covariates import Covariates

Kind = Literal["P", "E", "m"]
# Splines are smooth enough with so many columns; the ridge decides how many of them are used.
CURVE_COLUMNS = 9
# A product of two categories with more cells than this has next to no rows in each.
MOST_CELLS = 60
MOST_LEVELS_IN_PRODUCTS = 12
MOST_PRODUCTS = 250


class Source(Protocol):
    """Raw columns of rows."""

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, k)."""


@dataclass(frozen=True, slots=True)
class Ones:
    """The constant."""

    def columns(self, rows: Covariates) -> np.ndarray:
        """One column of ones."""
        return np.ones((rows.n, 1))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numeric columns as they are. of : proxies "P", environment "E" or content "m"; at : which of them."""

    of: Kind
    at: tuple[int, ...]

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, k)."""
        return rows.numbers(self.of)[:, list(self.at)]


@dataclass(frozen=True, slots=True)
class Steps:
    """On which side of its middle a numeric column of the environment is: 1/2 above, -1/2 below.

    Turned columns are then the same up to their sign, alone and in products.
    """

    of: Kind
    at: tuple[int, ...]
    cuts: tuple[float, ...]

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, k)."""
        return np.where(rows.numbers(self.of)[:, list(self.at)] > np.array(self.cuts), 0.5, -0.5)


@dataclass(frozen=True, slots=True)
class Levels:
    """A column for each of the `count` levels of a categorical column."""

    name: str
    count: int

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, count)."""
        out = np.zeros((rows.n, self.count))
        out[np.arange(rows.n), rows.levels[self.name]] = 1.0
        return out


@dataclass(frozen=True, slots=True)
class Curve:
    """What a smooth curve of one numeric column is beyond its straight line.

    knots : of a cubic B-spline. turn : (b, k) turns its columns so that a ridge is a penalty of roughness.
    line : (2, k) the straight line in them.
    """

    of: Kind
    at: int
    knots: np.ndarray
    turn: np.ndarray
    line: np.ndarray

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, k); beyond the outermost knots a curve goes on as its line alone."""
        x = rows.numbers(self.of)[:, self.at]
        return self._spline(x) - np.column_stack([np.ones(len(x)), x]) @ self.line

    def _spline(self, x: np.ndarray) -> np.ndarray:
        inside = np.clip(x, self.knots[3], self.knots[-4])
        return np.asarray(BSpline.design_matrix(inside, self.knots, 3).toarray() @ self.turn)

    @classmethod
    def learn(cls, of: Kind, at: int, x: np.ndarray) -> Curve | None:
        """The curve of values x (n,); None where they are too few for more than a line."""
        distinct = np.unique(x)
        if len(distinct) < 4:
            return None
        inner = np.unique(
            np.quantile(x, np.linspace(0.0, 1.0, max(min(CURVE_COLUMNS, len(distinct)) - 2, 3)))
        )
        knots = np.r_[[inner[0]] * 3, inner, [inner[-1]] * 3]
        count = len(knots) - 4
        values, vectors = np.linalg.eigh(_roughness(count))
        turn = vectors[:, 2:] / np.sqrt(values[2:])
        bare = cls(of, at, knots, turn, np.zeros((2, count - 2)))
        raw = bare._spline(x)
        line = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), raw, rcond=None)[0]
        return cls(of, at, knots, turn, line)


def _roughness(count: int) -> np.ndarray:
    second = np.diff(np.eye(count), n=2, axis=0)
    return np.asarray(second.T @ second)


@dataclass(frozen=True, slots=True)
class Product:
    """Products of columns of two sources; pairs : which with which."""

    left: Source
    right: Source
    pairs: tuple[tuple[int, int], ...]

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, pairs)."""
        left, right = self.left.columns(rows), self.right.columns(rows)
        return np.column_stack([left[:, i] * right[:, j] for i, j in self.pairs])


@dataclass(frozen=True, slots=True)
class Term:
    """Columns of a source, centred and scaled. penalised : whether they share a ridge variance.

    about : in a user's words. centre, scale : (k,).
    """

    about: str
    source: Source
    penalised: bool
    centre: np.ndarray
    scale: np.ndarray

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.centre)

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, k) for these rows."""
        return (self.source.columns(rows) - self.centre) / self.scale


def constant() -> Term:
    """The level of a predictor."""
    return Term("level", Ones(), False, np.zeros(1), np.ones(1))


def plain(about: str, source: Source, rows: Covariates, penalised: bool = True) -> Term:
    """Columns as they are."""
    width = source.columns(rows).shape[1]
    return Term(about, source, penalised, np.zeros(width), np.ones(width))


def spread_of(about: str, source: Source, rows: Covariates, each: bool = False) -> Term | None:
    """Columns centred and scaled to unit variance, together or each on its own; None if all are constant."""
    raw = source.columns(rows)
    variance = raw.var(axis=0)
    total = variance if each else np.full(len(variance), variance.sum())
    if not np.any(total > 1e-12):
        return None
    return Term(about, source, True, raw.mean(axis=0), np.sqrt(np.maximum(total, 1e-6)))


# --- the terms of a predictor ---


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which terms of the environment a predictor has."""

    lines: bool = True
    curves: bool = True
    levels: bool = True
    products: bool = True
    by_content: bool = False


def environment_terms(rows: Covariates, wanted: Wanted) -> list[Term]:
    """Terms of the environment: lines, curves, levels, slopes of content, products."""
    count = rows.E.shape[1]
    lines = Numbers("E", tuple(range(count)))
    levels = [Levels(name, int(rows.level_counts[name])) for name in rows.levels]
    terms: list[Term | None] = []
    if wanted.lines and count:
        terms.append(plain("environment, straight lines", lines, rows))
    if wanted.curves:
        terms += curves("E", rows)
    if wanted.levels:
        terms += [spread_of(f"levels of {source.name}", source, rows) for source in levels]
    if wanted.by_content:
        terms += _by_content(rows, lines, levels)
    if wanted.products:
        terms += [_products(rows, lines, levels)]
    return [term for term in terms if term is not None]


def curves(of: Kind, rows: Covariates) -> list[Term]:
    """A curve of each numeric column."""
    made = []
    for at, x in enumerate(rows.numbers(of).T):
        source = Curve.learn(of, at, x)
        term = None if source is None else spread_of(f"curve of {rows.name(of, at)}", source, rows)
        if term is not None:
            made.append(term)
    return made


def _by_content(rows: Covariates, lines: Numbers, levels: Sequence[Levels]) -> list[Term | None]:
    content = Numbers("m", (0,))
    sources: list[Source] = [lines] if lines.at else []
    widths = [len(lines.at)] if lines.at else []
    sources += levels
    widths += [source.count for source in levels]
    abouts = ["the environment"] if lines.at else []
    abouts += [source.name for source in levels]
    return [
        spread_of(f"slopes of content by {about}", _every(source, width, content, 1), rows)
        for about, source, width in zip(abouts, sources, widths, strict=True)
    ]


def _every(left: Source, k: int, right: Source, m: int) -> Product:
    return Product(left, right, tuple(product(range(k), range(m))))


def _products(rows: Covariates, lines: Numbers, levels: Sequence[Levels]) -> Term | None:
    """All products of two environment columns as one term, as far as their number allows."""
    count = len(lines.at)
    pairs = tuple(combinations(range(count), 2))
    steps = Steps("E", lines.at, tuple(float(cut) for cut in np.median(rows.E, axis=0)))
    parts: list[Product] = []
    if pairs:
        parts += [Product(lines, lines, pairs), Product(steps, steps, pairs)]
    if count and count <= MOST_LEVELS_IN_PRODUCTS:
        parts.append(Product(steps, Ones(), tuple((i, 0) for i in range(count))))
    few = [source for source in levels if source.count <= MOST_LEVELS_IN_PRODUCTS]
    if count:
        # A line, or a step, of its own in each level: a policy in some regions from some year on.
        parts += [_every(source, source.count, column, count) for source in few for column in (lines, steps)]
    parts += [
        _every(one, one.count, two, two.count)
        for one, two in combinations(levels, 2)
        if one.count * two.count <= MOST_CELLS
    ]
    width = sum(len(part.pairs) for part in parts)
    if not parts or width > MOST_PRODUCTS:
        return None
    return spread_of("products of two environment columns", Together(tuple(parts)), rows, each=True)


@dataclass(frozen=True, slots=True)
class Together:
    """Columns of several sources, side by side."""

    parts: tuple[Source, ...] = field(default_factory=tuple)

    def columns(self, rows: Covariates) -> np.ndarray:
        """Columns (n, k)."""
        return np.column_stack([part.columns(rows) for part in self.parts])
