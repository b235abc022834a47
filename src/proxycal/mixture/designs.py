"""From a unit's numbers to the features of the mixture, on the training rows and on any later ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, overload

import numpy as np

from proxycal.mixture.features import (
    Basis,
    bends,
    fit_basis,
    fit_products,
    fit_splines,
    knots_of,
    with_products,
)
from proxycal.mixture.laws import Params, Rows, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from proxycal.mixture.features import Knots

    Array = NDArray[np.float64]

CHUNK = 16384
KEEP_ROWS = 200_000
BASIS_ROWS = 20_000
# Products of columns are tried where they are at most this many, and where every feature has this many rows.
MOST_PRODUCTS, MIN_ROWS_A_COLUMN = 25, 6


@dataclass(frozen=True, slots=True)
class Data:
    """What the exact estimator sees, one row per unit.

    y (n,) reported outcome, turned so that the bias is upward; P (n,p), E (n,q); weights (n,); cluster (n,)
    codes or None; levels: integer codes (n,) of each categorical environment column; curved (p+q,):
    which columns of P and E may enter as splines; trusted (n,): where no bias can be, or None.
    """

    y: Array
    P: Array
    E: Array
    weights: Array
    curved: NDArray[np.bool_]
    cluster: NDArray[np.intp] | None = None
    levels: Mapping[str, NDArray[np.intp]] | None = None
    trusted: NDArray[np.bool_] | None = None
    _formed: dict[int, tuple[Frame, Rows]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def take(self, index: NDArray[np.intp]) -> Data:
        """Some of the rows, in the order given."""
        return replace(
            self,
            y=self.y[index],
            P=self.P[index],
            E=self.E[index],
            weights=self.weights[index],
            cluster=None if self.cluster is None else self.cluster[index],
            levels=None if self.levels is None else {k: v[index] for k, v in self.levels.items()},
            trusted=None if self.trusted is None else self.trusted[index],
        )

    @property
    def content(self) -> Array:
        """The columns that may explain the true outcome."""
        return np.hstack([self.P, self.E])

    def on(self, frame: Frame) -> Rows:
        """The rows in the features of a frame; of few rows they are formed once, and their products too."""
        if len(self.y) > CHUNK:
            return frame.form(self)
        if id(frame) not in self._formed:
            self._formed[id(frame)] = frame, frame.form(self)
        return self._formed[id(frame)][1]


@dataclass(frozen=True, slots=True)
class Frame:
    """How rows become features: bases of content and gate, how the shift may vary, units of the outcome.

    effect: "constant", "by:COLUMN" or "linear"; n_levels: levels of that column, 0 otherwise.
    """

    features: str
    content: Basis
    gate: Basis
    effect: str
    n_levels: int
    centre: float
    scale: float

    def rows(self, data: Data) -> Rows:
        """Features and standardised outcome of any rows."""
        return data.on(self)

    def form(self, data: Data) -> Rows:
        """The same, formed anew."""
        G = self.gate(data.E)
        y = (data.y - self.centre) / self.scale
        X, D = self.content(data.content), self.shift_features(data, G)
        return Rows(y, X, G, D, data.weights, data.trusted)

    def shift_features(self, data: Data, G: Array) -> Array:
        """D (n,L): ones, one-hot levels, or the gate's own columns."""
        if self.effect == "linear":
            return G
        if self.effect == "constant":
            return np.ones((len(data.y), 1))
        codes = (data.levels or {})[self.effect.removeprefix("by:")]
        return (codes[:, None] == np.arange(self.n_levels)).astype(float)

    def chunks(self, data: Data) -> Chunks:
        """Features of many rows in pieces."""
        return Chunks(self, data)


class Chunks(Sequence[Rows]):
    """The rows of a table as features, in pieces: column products never need all rows at once.

    Up to KEEP_ROWS the pieces are kept between passes; beyond, each pass forms them anew, so that memory
    stays that of the table itself.
    """

    def __init__(self, frame: Frame, data: Data) -> None:
        self._frame, self._data = frame, data
        self._pieces = pieces(len(data.y))
        self._kept: list[Rows] | None = None
        if len(self._pieces) == 1:
            self._kept = [frame.rows(data)]
        elif len(data.y) <= KEEP_ROWS:
            self._kept = [frame.rows(data.take(i)) for i in self._pieces]

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self._data.weights.sum())

    def __len__(self) -> int:
        return len(self._pieces)

    @overload
    def __getitem__(self, index: int) -> Rows: ...

    @overload
    def __getitem__(self, index: slice) -> list[Rows]: ...

    def __getitem__(self, index: int | slice) -> Rows | list[Rows]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self._kept is not None:
            return self._kept[index]
        return self._frame.rows(self._data.take(self._pieces[index]))


def spaced(n: int, most: int) -> NDArray[np.intp]:
    """All row numbers, or about `most` of them, evenly spaced."""
    return np.arange(0, n, max(1, n // most))


def pieces(n: int) -> list[NDArray[np.intp]]:
    """Consecutive row numbers, at most CHUNK at a time."""
    return [np.arange(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]


@dataclass(frozen=True, slots=True)
class Spec:
    """One fitted model (params of B = 1, in standardised units) with the frame it lives in."""

    shape: Shape
    frame: Frame
    params: Params


def canonical_order(data: Data) -> NDArray[np.intp]:
    """An order of the rows that depends on their values only: by outcome, ties by a projection of the rest.

    Sums, samples and so every digit of the answer are then the same however the table was sorted.
    """
    rest = data.content
    direction = np.cos(np.arange(1, rest.shape[1] + 1) * 1.618)
    key = (rest * direction).sum(axis=1)
    return np.lexsort((data.weights, key, data.y))


# Ways that are spanned by the columns of another one.
INSIDE = {
    "splines of P": "splines of P and E",
    "splines of E": "splines of P and E",
    "products of E": "products of P and E",
    "products of P and E": "quadratic",
}


@dataclass(frozen=True)
class Way:
    """A way in which content may enter: columns that span it on the rows that judge, and its frame.

    width : m, the number of columns; span, make : what makes them, and the frame. inside : the name of a way
    whose columns hold these and more, if there is one.
    """

    width: int
    span: Callable[[], Array]
    make: Callable[[], Frame]
    inside: str | None = None

    @cached_property
    def columns(self) -> Array:
        """(n,m). A way that cannot be the best needs none."""
        return self.span()

    @cached_property
    def frame(self) -> Frame:
        """The frame. Most ways are judged by their columns and never make one."""
        return self.make()


def candidate_frames(data: Data, effect: str) -> dict[str, Frame]:
    """Ways in which content may enter: linear, splines of P, of E, of both, products of columns."""
    return {name: way.frame for name, way in ways_of_content(data, effect).items()}


def ways_of_content(data: Data, effect: str) -> dict[str, Way]:
    """The same by their columns of `spaced(n, BASIS_ROWS)` rows, which judge between them.

    Splines take many columns: on a large table those rows also place and scale them.
    """
    n_p, n_e = data.P.shape[1], data.E.shape[1]
    of_e = np.r_[np.zeros(n_p, bool), np.ones(n_e, bool)]
    plans = {
        "linear": np.zeros(n_p + n_e, bool),
        "splines of P": data.curved & ~of_e,
        "splines of E": data.curved & of_e,
        "splines of P and E": data.curved,
    }
    frame = _frame(data, effect)
    few = data.take(spaced(len(data.y), BASIS_ROWS))
    n, content = len(few.y), few.content
    knots = knots_of(content, data.curved, few.weights)
    bent = [
        None if grid is None else bends(column, grid) for column, grid in zip(content.T, knots, strict=True)
    ]
    ways: dict[str, Way] = {}
    seen: set[bytes] = set()
    for name, splined in plans.items():
        if splined.tobytes() in seen:
            continue
        seen.add(splined.tobytes())
        more = [part for part, flag in zip(bent, splined, strict=True) if flag and part is not None]
        own = [grid if flag else None for grid, flag in zip(knots, splined, strict=True)]
        splines = partial(_with_splines, frame, name, content, own, few.weights)
        width = content.shape[1] + sum(part.shape[1] for part in more)
        span = partial(np.hstack, [content, *more])
        ways[name] = Way(width, span, splines if splined.any() else lambda: frame)
    for name, pairs in _products(n_p, n_e).items():
        if pairs and n_p + n_e + len(pairs) < n / MIN_ROWS_A_COLUMN:
            span = partial(with_products, content, pairs, few.weights)
            make = partial(_with_products, frame, name, content, pairs, few.weights)
            ways[name] = Way(content.shape[1] + len(pairs), span, make)
    return {
        name: replace(way, inside=INSIDE[name]) if INSIDE.get(name) in ways else way
        for name, way in ways.items()
    }


def _with_splines(frame: Frame, name: str, content: Array, knots: Knots, weights: Array) -> Frame:
    return replace(frame, features=name, content=fit_splines(content, knots, weights))


def _with_products(
    frame: Frame, name: str, content: Array, pairs: Sequence[tuple[int, int]], weights: Array
) -> Frame:
    return replace(frame, features=name, content=fit_products(content, pairs, weights))


def _products(n_p: int, n_e: int) -> dict[str, list[tuple[int, int]]]:
    """Products that the content holds: of the environment, of proxies with it, of all; few columns only."""
    of_e = [(i, j) for i in range(n_p, n_p + n_e) for j in range(i, n_p + n_e)]
    mixed = [(i, j) for i in range(n_p) for j in range(n_p, n_p + n_e)]
    of_p = [(i, j) for i in range(n_p) for j in range(i, n_p)]
    plans = {"products of E": of_e} if len(of_e) <= MOST_PRODUCTS else {}
    if len(of_e) + len(mixed) <= MOST_PRODUCTS:
        plans |= {"products of P and E": of_e + mixed, "quadratic": of_e + mixed + of_p}
    return plans


def _frame(data: Data, effect: str) -> Frame:
    """Linear content, fitted to all rows."""
    centre = float(np.average(data.y, weights=data.weights))
    scale = float(np.sqrt(np.average((data.y - centre) ** 2, weights=data.weights)))
    n_levels = 0
    if effect.startswith("by:"):
        n_levels = int((data.levels or {})[effect.removeprefix("by:")].max()) + 1
    columns = data.content
    content = fit_basis(columns, np.zeros(columns.shape[1], bool), data.weights)
    gate = fit_basis(data.E, np.zeros(data.E.shape[1], bool), data.weights)
    return Frame("linear", content, gate, effect, n_levels, centre, scale)
