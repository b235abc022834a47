"""Derivatives of a mixture whose cells are kinds of row times components, without going cell by cell.

Cell (s, j) has a centre c and a variance v, and a weight g on the log scale, each the sum of a part that
depends on s alone and one that depends on j alone. With r the cell's share of a row, and

    M0 = r     Mc = r l_c     Mv = r l_v     Mcc = r (l_cc + l_c^2)     Mcv, Mvv likewise

the derivatives by predictors a and b are sums over cells of these times how c, v and g move, so that most of
the work is done on sums over s or over j.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.engine.families.cells import Derivatives

if TYPE_CHECKING:
    from proxycal.engine.families.densities import Density

# A quantity that moves one to one with a predictor.
ONE = np.ones((1, 1))


@dataclass(frozen=True, slots=True)
class Move:
    """How centre, variance and log weight move with predictor `at`.

    part : the kinds or components in which they do, from part[0] to before part[1].
    c, v, g : (part, n), or None where they do not move.
    """

    at: int
    part: tuple[int, int]
    c: np.ndarray | None = None
    v: np.ndarray | None = None
    g: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Second derivatives of the same by predictors a and b."""

    a: int
    b: int
    part: tuple[int, int]
    c: np.ndarray | None = None
    v: np.ndarray | None = None
    g: np.ndarray | None = None


@dataclass(slots=True)
class Moves:
    """All moves along one axis; alike : second derivatives of log weights that are the same in all cells."""

    moves: list[Move] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    alike: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)


def summed(
    log: np.ndarray, share: np.ndarray, density: Density, components: Moves, kinds: Moves, q: int
) -> Derivatives:
    """Log density (n,) with derivatives by q predictors; share : (S, J, n) of each cell in its row."""
    out = Derivatives(log, np.zeros((q, len(log))), np.zeros((q, q, len(log))))
    cells = _moments(share, density)
    by_component = [each.sum(axis=0) if len(share) > 1 else each[0] for each in cells]
    for place, move in enumerate(components.moves):
        toward = _toward(by_component, move)
        out.first[move.at] = _total(toward[2])
        _cross(out, move.at, toward, move.part, components.moves[place:])
    _bend(out, by_component, components)
    if kinds.moves:
        by_kind = [each.sum(axis=1) if share.shape[1] > 1 else each[:, 0] for each in cells]
        for place, move in enumerate(kinds.moves):
            _add_kind(out, cells, (by_kind, components.moves), move, kinds.moves[place:])
        _bend(out, by_kind, kinds)
    for a in range(q):
        out.second[a, a:] -= out.first[a] * out.first[a:]
    return out


def together(
    log: np.ndarray,
    share: np.ndarray,
    density: Density,
    moves: tuple[Moves, Moves],
    weights: tuple[dict[int, np.ndarray], dict[tuple[int, int], np.ndarray]],
    q: int,
) -> Derivatives:
    """The same, cell by cell, where log weights also move with both kind and component.

    weights : their first and second derivatives, (S, J, n) each.
    """
    out = Derivatives(log, np.zeros((q, len(log))), np.zeros((q, q, len(log))))
    m0, mc, mv, mcc, mcv, mvv = _moments(share, density)
    whole = np.zeros((q, 3, *share.shape))
    for along, by_component in zip(moves, (True, False), strict=True):
        for move in along.moves:
            _spread(whole[move.at], move, by_component)
    for at, value in weights[0].items():
        whole[at, 2] += value
    for a in range(q):
        c, v, g = whole[a]
        toward = (mcc * c + mcv * v + mc * g, mcv * c + mvv * v + mv * g, mc * c + mv * v + m0 * g)
        out.first[a] = toward[2].sum(axis=(0, 1))
        for b in range(a, q):
            out.second[a, b] = sum(
                np.einsum("sjn,sjn->n", t, by) for t, by in zip(toward, whole[b], strict=True)
            )
    for key, value in weights[1].items():
        out.second[key] += (m0 * value).sum(axis=(0, 1))
    components, kinds = moves
    _bend(out, [each.sum(axis=0) for each in (m0, mc, mv)], components)
    _bend(out, [each.sum(axis=1) for each in (m0, mc, mv)], kinds)
    for a in range(q):
        out.second[a, a:] -= out.first[a] * out.first[a:]
    return out


def _spread(into: np.ndarray, move: Move, by_component: bool) -> None:
    """Add a move to how centre, variance and log weight of all cells do, (3, S, J, n)."""
    part = slice(*move.part)
    for whole, value in zip(into, (move.c, move.v, move.g), strict=True):
        if value is None:
            continue
        if by_component:
            whole[:, part] += value
        else:
            whole[part] += value[:, None]


def _moments(share: np.ndarray, density: Density) -> list[np.ndarray]:
    """M0, Mc, Mv, Mcc, Mcv, Mvv, (S, J, n) each."""
    c, v = share * density.c, share * density.v
    return [
        share,
        c,
        v,
        share * density.cc + c * density.c,
        share * density.cv + c * density.v,
        share * density.vv + v * density.v,
    ]


def _toward(moments: list[np.ndarray], move: Move) -> list[np.ndarray]:
    """How Mc, Mv and M0 move with a predictor: the sums that its second derivatives are made of."""
    begin, end = move.part
    m0, mc, mv, mcc, mcv, mvv = (each[begin:end] for each in moments)
    if move.c is ONE:
        return [mcc, mcv, mc]
    out: list[np.ndarray] = []
    for by_c, by_v, by_g in ((mcc, mcv, mc), (mcv, mvv, mv), (mc, mv, m0)):
        pairs = [(m, by) for m, by in ((by_c, move.c), (by_v, move.v), (by_g, move.g)) if by is not None]
        value = pairs[0][0] * pairs[0][1]
        for m, by in pairs[1:]:
            value += m * by
        out.append(value)
    return out


def _cross(
    out: Derivatives, a: int, toward: list[np.ndarray], part: tuple[int, int], others: list[Move]
) -> None:
    """Second derivatives of a with other predictors along the same axis."""
    for other in others:
        begin, end = max(part[0], other.part[0]), min(part[1], other.part[1])
        if begin >= end:
            continue
        total = None
        for to, by in zip(toward, (other.c, other.v, other.g), strict=True):
            if by is None:
                continue
            to = to[begin - part[0] : end - part[0]]
            value = _total(to) if by is ONE else _dot(to, by[begin - other.part[0] : end - other.part[0]])
            total = value if total is None else total + value
        at = (a, other.at) if a <= other.at else (other.at, a)
        out.second[at] = total


def _add_kind(
    out: Derivatives,
    cells: list[np.ndarray],
    known: tuple[list[np.ndarray], list[Move]],
    move: Move,
    others: list[Move],
) -> None:
    """Derivatives by what moves kinds of row, among themselves and with what moves components."""
    by_kind, components = known
    along = _toward(by_kind, move)
    out.first[move.at] = _total(along[2])
    _cross(out, move.at, along, move.part, others)
    J = cells[0].shape[1]
    if J == 1:
        across = [_total(each)[None] for each in along]
    else:
        begin, end = move.part
        m0, mc, mv, mcc, mcv, mvv = (each[begin:end] for each in cells)
        across = []
        for group in ((mcc, mcv, mc), (mcv, mvv, mv), (mc, mv, m0)):
            value = None
            for m, by in zip(group, (move.c, move.v, move.g), strict=True):
                if by is not None:
                    more = np.einsum("sjn,sn->jn", m, by)
                    value = more if value is None else value + more
            assert value is not None
            across.append(value)
    _cross(out, move.at, across, (0, J), components)


def _bend(out: Derivatives, moments: list[np.ndarray], moves: Moves) -> None:
    """Add what second derivatives of centre, variance and log weight do."""
    m0, mc, mv = moments[:3]
    for curve in moves.curves:
        begin, end = curve.part
        at = (curve.a, curve.b) if curve.a <= curve.b else (curve.b, curve.a)
        for m, by in ((mc, curve.c), (mv, curve.v), (m0, curve.g)):
            if by is not None:
                out.second[at] += _dot(m[begin:end], by)
    for (a, b), value in moves.alike.items():
        out.second[(a, b) if a <= b else (b, a)] += value


def _total(values: np.ndarray) -> np.ndarray:
    return values[0] if len(values) == 1 else values.sum(axis=0)


def _dot(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum (n,) over the first axis of the product."""
    return left[0] * right[0] if len(left) == 1 else np.asarray(np.einsum("kn,kn->n", left, right))


def in_kinds(value: np.ndarray, part: tuple[int, int], shape: tuple[int, int]) -> np.ndarray:
    """What moves some kinds of row, as an array for all of them."""
    out = np.zeros(shape)
    out[part[0] : part[1]] = value
    return out


def chances(
    odds: np.ndarray,
    moved: dict[int, np.ndarray],
    bent: dict[tuple[int, int], np.ndarray],
    trusted: np.ndarray | None,
) -> tuple[dict[int, np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """First and second derivatives (S, J, n) of the log chance of each kind of row: the first has no bias.

    odds : log odds of a bias, with their own derivatives. trusted : (n,) rows known to have none.
    """
    p = expit(odds)
    slope, curve = 1.0 - p, -p * (1.0 - p)
    slope[0] = -p[0]
    if trusted is not None:
        slope[..., trusted] = 0.0
        curve[..., trusted] = 0.0
    second = {
        (a, b): curve * moved[a] * moved[b] + (slope * bent[a, b] if (a, b) in bent else 0.0)
        for a in moved
        for b in moved
        if a <= b
    }
    return {a: slope * value for a, value in moved.items()}, second
