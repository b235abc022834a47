"""New rows beside the fitted ones: units first, then every column, then the report given all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from proxycal.drift.reported import compare_reports
from proxycal.drift.smooth import beyond, compare_levels, compare_numbers
from proxycal.drift.units import UnitChange, reference, unit_changes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.decode import Values

What = Literal["as fitted", "drift", "unit", "refit"]
# False alarms that are allowed in a table: half to its columns together, half to the report. Measured: see
# benchmarks/drift.py.
ALARMS = 0.008
# A difference that is certain but moves fewer rows than this is none to speak of: of a column, of the report.
LEAST, LEAST_REPORT = 0.1, 0.03
# The row of the report itself.
REPORT = "(report, given the rest)"
# Of fitted rows that were all kept, so many may be alike before equal rows say nothing.
ALIKE = 0.05


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of one column, or of the report given all others.

    what : what is to be said. size : the factor of a unit; else the share of rows that lie elsewhere. shift :
    how far the mean moved, in sds of the fitted rows; NaN for levels. p : of "nothing changed". detail : the
    size in the column's own terms.
    """

    column: str
    what: What
    size: float
    shift: float
    p: float
    detail: str


@dataclass(frozen=True, slots=True)
class Drift:
    """New rows compared with the fitted ones.

    rows : one for each column, and one for the report. units : the columns that are in other units. compared,
    known : how many new rows were compared, and how many are rows of the fit and so need not be. fitted : how
    many rows the fit has.
    """

    rows: tuple[Moved, ...]
    units: tuple[UnitChange, ...]
    compared: int
    known: int
    fitted: int

    @property
    def drifted(self) -> tuple[Moved, ...]:
        """The columns that moved."""
        return tuple(row for row in self.rows if row.what == "drift")

    @property
    def refit(self) -> Moved | None:
        """The report, if it behaves otherwise than the fit expects."""
        return next((row for row in self.rows if row.what == "refit"), None)


def compare(old: Values, new: Values, fitted: int, p_biased: NDArray[np.float64] | None = None) -> Drift:
    """Compare new rows with fitted ones that were kept.

    fitted : how many rows were fitted in all. p_biased : (n,) of the kept ones, where the fit says.
    """
    is_known = known_rows(old, new, fitted)
    rest = _take(new, np.flatnonzero(~is_known)) if is_known.any() else new
    known = new.n - rest.n
    if rest.n == 0:
        return Drift(_nothing(old), (), 0, known, fitted)
    units = unit_changes(reference(old), rest)
    put_right = {unit.column: rest.numbers[unit.column] / unit.factor for unit in units}
    rest = replace(rest, numbers=rest.numbers | put_right)
    level = 0.5 * ALARMS / (len(old.numbers) + len(old.levels))
    factors = {unit.column: unit for unit in units}
    rows = [_number(old, rest, name, level, factors.get(name)) for name in old.numbers]
    rows += [_levels(old, rest, name, level) for name in old.levels]
    return Drift((*rows, _report(old, rest, p_biased)), units, rest.n, known, fitted)


def _number(old: Values, new: Values, name: str, level: float, unit: UnitChange | None) -> Moved:
    if unit is not None:
        return Moved(
            name, "unit", unit.factor, np.nan, 0.0, f"middle {_short(unit.before)}, now {_short(unit.now)}"
        )
    was, is_now = old.numbers[name], new.numbers[name]
    seen = np.isfinite(was), np.isfinite(is_now)
    if not seen[0].any() or not seen[1].any():
        return Moved(name, "as fitted", 0.0, 0.0, 1.0, "")
    weights = old.weights[seen[0]], new.weights[seen[1]]
    clusters = tuple(
        None if c is None else c[s] for c, s in zip((old.cluster, new.cluster), seen, strict=True)
    )
    found = compare_numbers(was[seen[0]], is_now[seen[1]], weights, (clusters[0], clusters[1]))
    # Rows of a cluster lie beyond all others together.
    single = [_singles(x[s], c) for x, s, c in zip((was, is_now), seen, clusters, strict=True)]
    p = min(1.0, 2.0 * min(found.p, beyond(single[0], single[1])))
    spread = float(np.std(was[seen[0]]))
    shift = (float(np.mean(is_now[seen[1]])) - float(np.mean(was[seen[0]]))) / spread if spread > 0.0 else 0.0
    detail = f"median {_quarters(was[seen[0]])}, now {_quarters(is_now[seen[1]])}"
    moved = p < level and found.distance >= LEAST
    return Moved(name, "drift" if moved else "as fitted", found.distance, shift, p, detail)


def _levels(old: Values, new: Values, name: str, level: float) -> Moved:
    (was, names), (is_now, _) = old.levels[name], new.levels[name]
    found = compare_levels(was, is_now, (old.weights, new.weights), (old.cluster, new.cluster))
    shares = [
        np.bincount(codes, weights=rows.weights, minlength=len(names)) / rows.weights.sum()
        for codes, rows in ((was, old), (is_now, new))
    ]
    most = int(np.abs(shares[1] - shares[0]).argmax())
    detail = f"'{names[most]}' in {shares[0][most]:.0%} of the rows, now {shares[1][most]:.0%}"
    moved = found.p < level and found.distance >= LEAST
    return Moved(name, "drift" if moved else "as fitted", found.distance, np.nan, found.p, detail)


def _report(old: Values, new: Values, p_biased: NDArray[np.float64] | None) -> Moved:
    found = compare_reports(old, new, p_biased)
    detail = f"reports lie {found.moved:+.2f} sd from where the other columns put them in the fitted rows"
    moved = found.p < 0.5 * ALARMS and found.distance >= LEAST_REPORT
    return Moved(REPORT, "refit" if moved else "as fitted", found.distance, found.moved, found.p, detail)


def _nothing(old: Values) -> tuple[Moved, ...]:
    names = (*old.numbers, *old.levels, REPORT)
    return tuple(Moved(name, "as fitted", 0.0, 0.0, 1.0, "rows of the fit") for name in names)


def known_rows(old: Values, new: Values, fitted: int) -> NDArray[np.bool_]:
    """Which new rows (m,) are rows of the fit; all where the table was fitted, and kept in part.

    fitted : how many rows were fitted in all.
    """
    mine, theirs = _bytes(old), _bytes(new)
    distinct = np.unique(mine)
    if len(distinct) < (1.0 - ALIKE) * len(mine):
        return np.zeros(new.n, dtype=bool)
    known = np.isin(theirs, distinct)
    expected = new.n * old.n / fitted
    if old.n < fitted and expected >= 20.0 and known.sum() >= 0.7 * expected:
        return np.ones(new.n, dtype=bool)
    return known


def _bytes(rows: Values) -> NDArray[np.void]:
    """Every row as one value; to single precision, which other processors agree on."""
    columns = [*rows.numbers.values(), *(codes for codes, _ in rows.levels.values())]
    whole = np.ascontiguousarray(np.column_stack(columns).astype(np.float32) + 0.0)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1])))[:, 0]


def _take(rows: Values, at: NDArray[np.intp]) -> Values:
    return replace(
        rows,
        numbers={name: x[at] for name, x in rows.numbers.items()},
        levels={name: (codes[at], names) for name, (codes, names) in rows.levels.items()},
        weights=rows.weights[at],
        cluster=None if rows.cluster is None else rows.cluster[at],
    )


def _singles(x: NDArray[np.float64], cluster: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """One value, the first, for each cluster."""
    return x if cluster is None else x[np.unique(cluster, return_index=True)[1]]


def _quarters(x: NDArray[np.float64]) -> str:
    """The median and, in brackets, what half of the values lie between."""
    low, middle, high = (_short(float(value)) for value in np.quantile(x, [0.25, 0.5, 0.75]))
    return f"{middle} ({low} to {high})"


def _short(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
