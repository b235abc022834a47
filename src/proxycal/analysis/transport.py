"""Calibration of another table, whose rows are drawn from elsewhere: what it rests on, and by how much less.

    half^2 = half of `calibrate`^2 + z^2 (error of the parameters * n / rows like these + error of the shift)
    half  += shift of the calibrated reports that no error explains; of biased rows what it is if it is theirs

A column that the other table lacks is drawn from fitted rows that are alike in all that it has, the report
among them, and the answers are averaged.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.spatial import KDTree
from scipy.special import expit, ndtri

from proxycal.drift.bias import log_odds_of, with_squares
from proxycal.drift.overlap import Sample, overlap, report_shift
from proxycal.drift.units import reference, unit_changes
from proxycal.drift.wording import refusal
from proxycal.effect.last_check import answer_rows
from proxycal.effect.row_truth import row_truth, shared_cov
from proxycal.errors import AnswerError, ProxycalWarning, TableError, UnavailableError, UnitsError
from proxycal.result import OUTPUT_COLUMNS
from proxycal.table.answers import laid_out
from proxycal.table.columns import read_column
from proxycal.table.decode import decoded
from proxycal.table.frames import column_names, to_pandas
from proxycal.table.kept import readable
from proxycal.table.wording import columns_named, counted, listed, shown

if TYPE_CHECKING:
    from proxycal.drift.overlap import Overlap, ReportShift
    from proxycal.result import Fit
    from proxycal.table.encode import Arrays

# Rows outside of the fitted ones beyond which nothing is answered, and fitted rows like the others that an
# answer needs.
MOST_OUTSIDE, LEAST_ROWS = 0.2, 30.0
# Share of biased rows among rows alike below which a shift of reports is not put on those alone.
LEAST_SHARE = 0.05
# Fitted rows from which a missing column is drawn, and how many draws a row gets.
DONORS = 10


@dataclass(frozen=True, slots=True)
class _Answer:
    """Answers for m rows: the output columns, and the variance (m,) that errors of the parameters add."""

    columns: dict[str, np.ndarray]
    variance: np.ndarray


def transported(fit: Fit, df: Any) -> Any:
    """The calibrated outcome of a table drawn from elsewhere, laid out like that of `calibrate`."""
    if fit.settings.family == "binary" or fit.settings.method == "binary":
        raise UnavailableError("transport=True is for numbers: of yes and no there is no interval to widen")
    if fit.roles.reports:
        raise UnavailableError("transport=True is for one report: of several, calibrate without it")
    other = _read(fit, df)
    lap = overlap(_columns(fit.training, other.here), _columns(other.arrays, other.here))
    _refuse_outside(lap, other.names)
    inside = np.flatnonzero(~lap.outside)
    rows = other.arrays.take(inside)
    own = _donated(fit, other, inside) if other.lacks else _answers(fit, rows)
    x, weights = _columns(rows, other.here).x, rows.weights
    # As if no truth had been seen: those of the fitted rows would be compared with answers of the others.
    before = _answers(fit, replace(fit.training, truth=None)).columns["y_cal"]
    old = replace(_columns(fit.training, other.here), y=_on_scale(fit, before))
    moved = report_shift(old, Sample(x, _on_scale(fit, own.columns["y_cal"]), weights), lap.ratio)
    kept = other.kept.copy()
    kept[np.flatnonzero(kept)[lap.outside]] = False
    notes = [*other.notes, *_notes(fit, lap, moved, other.lacks, kept)]
    for note in notes:
        warnings.warn(note, ProxycalWarning, stacklevel=3)
    made = laid_out(df, _widened(fit, own, rows, lap, moved, x), kept)
    if isinstance(made, pd.DataFrame):
        made.attrs["transport"] = {
            "rows_alike": lap.rows, "outside": int((~kept).sum()), "shift": moved.mean,
            "shift_se": moved.mean_se, "absent": other.lacks, "notes": notes,
        }  # fmt: skip
    return made


@dataclass(frozen=True, slots=True)
class _Other:
    """The other table: N rows, of which n have an answer.

    table : the n rows, with a stand-in for columns that are absent. arrays : encoded. here : (k,) encoded
    columns that are not absent, and their names. lacks : absent columns. kept : (N,) which the n rows are.
    """

    table: pd.DataFrame
    arrays: Arrays
    here: np.ndarray
    names: np.ndarray
    lacks: list[str]
    kept: np.ndarray
    notes: list[str]


def _read(fit: Fit, df: Any) -> _Other:
    roles, encoder = fit.roles, fit.encoder
    have = set(column_names(df))
    asked = [code.name for code in (*encoder.proxies, *encoder.environment)]
    lacks = [name for name in asked if name not in have]
    read = dict.fromkeys([name for name in (*roles.columns, *encoder.dropped) if name in have])
    if roles.outcome not in read or len(lacks) == len(asked):
        raise TableError(
            f"transport needs the report {shown(roles.outcome)} and at least one of the columns of the fit, "
            f"{listed(asked)}: the other table has {listed(list(read)) if read else 'none of them'}"
        )
    table = to_pandas(df, list(read)).reset_index(drop=True)
    notes = _constant(fit, table)
    values = decoded(encoder, fit.training)
    numbers, levels = values.numbers, values.levels
    # Columns that are absent take part in nothing: any value will do for now.
    table = table.assign(
        **{name: numbers[name][0] if name in numbers else levels[name][1][0] for name in lacks}
    )
    known = readable(encoder, table)
    _refuse_many(~known, "have levels that the fit has never seen")
    table = table[known]
    arrays = encoder.transform(table)
    units = unit_changes(reference(values), decoded(encoder, arrays))
    if units := tuple(unit for unit in units if unit.column not in lacks):
        raise UnitsError(refusal(units))
    source = np.array([*arrays.proxy_source, *arrays.environment_source])
    here = ~np.isin(source, lacks)
    kept = known.copy()
    kept[known] = arrays.kept
    return _Other(table[arrays.kept], arrays, here, source[here], lacks, kept, notes)


def _columns(arrays: Arrays, here: np.ndarray) -> Sample:
    """The columns that both tables have, and the reports."""
    assert arrays.y is not None  # calibration asks for it
    return Sample(np.hstack([arrays.P, arrays.E])[:, here], arrays.y, arrays.weights)


def _on_scale(fit: Fit, y: np.ndarray) -> np.ndarray:
    """Values on the scale of the fit, a zero as the least report above it."""
    if fit.settings.scale != "log":
        return y
    assert fit.training.y is not None  # a fit has its outcome
    return np.log(np.maximum(y, fit.training.y[fit.training.y > 0.0].min()))


def _answers(fit: Fit, rows: Arrays) -> _Answer:
    truth = row_truth(fit.method_fit, rows)
    cov = shared_cov(fit.method_fit)
    variance = (truth.slope @ cov * truth.slope).sum(axis=1)
    return _Answer(answer_rows(fit.method_fit, fit.support, rows).outputs(), np.maximum(variance, 0.0))


def _donated(fit: Fit, other: _Other, inside: np.ndarray) -> _Answer:
    """Answers averaged over what fitted rows alike have in the columns that are absent."""
    alike = [
        np.column_stack([part.x, _on_scale(fit, part.y)])
        for part in (_columns(arrays, other.here) for arrays in (fit.training, other.arrays))
    ]
    spread = alike[0].std(axis=0)
    spread[spread == 0.0] = 1.0
    near = np.asarray(KDTree(alike[0] / spread).query(alike[1][inside] / spread, DONORS)[1])
    values = decoded(fit.encoder, fit.training)
    table, lacks = other.table.iloc[inside], other.lacks
    made = []
    for donor in near.T:
        drawn = {}
        for name in lacks:
            if name in values.numbers:
                drawn[name] = values.numbers[name][donor]
            else:
                codes, names = values.levels[name]
                drawn[name] = np.array(names, dtype=object)[codes[donor]]
        made.append(_answers(fit, fit.encoder.transform(table.assign(**drawn))))
    mean = {
        column.name: np.mean([one.columns[column.name] for one in made], axis=0) for column in OUTPUT_COLUMNS
    }
    between = np.var([one.columns["y_cal"] for one in made], axis=0, ddof=1)
    reach = float(ndtri(0.5 + fit.settings.level / 2.0)) ** 2 * between * (1.0 + 1.0 / DONORS)
    for end, sign in (("y_cal_low", -1.0), ("y_cal_high", 1.0)):
        half = np.mean([(one.columns[end] - one.columns["y_cal"]) ** 2 for one in made], axis=0)
        mean[end] = mean["y_cal"] + sign * np.sqrt(half + reach)
    return _Answer(mean, np.mean([one.variance for one in made], axis=0))


def _widened(
    fit: Fit, own: _Answer, rows: Arrays, lap: Overlap, moved: ReportShift, x: np.ndarray
) -> dict[str, np.ndarray]:
    """The answers with longer intervals; validated and trusted rows are what they are."""
    assert rows.y is not None  # calibration asks for it
    y, columns = rows.y, dict(own.columns)
    z = float(ndtri(0.5 + fit.settings.level / 2.0))
    # What no error explains: a shift as large as its own standard error is none.
    plain = np.sqrt(np.maximum(moved.at**2 - moved.se**2, 0.0)) * _on_biased(fit, columns["p_biased"], x)
    at = columns["y_cal"]
    free = np.zeros(len(y), dtype=bool) if rows.trusted is None else rows.trusted.copy()
    if rows.truth is not None:
        free |= np.isfinite(rows.truth)
    grown = own.variance * max(fit.training.n / lap.rows, 1.0)
    for end, sign in (("y_cal_low", -1.0), ("y_cal_high", 1.0)):
        if fit.settings.scale == "log":
            # In logarithms; a zero stays zero.
            free |= (at <= 0.0) | (columns[end] <= 0.0)
            center = np.where(free, 1.0, at)
            half = np.log(np.where(free, 1.0, columns[end]) / center)
            wide = center * np.exp(
                sign * (np.sqrt(half**2 + z**2 * (grown / center**2 + moved.se**2)) + plain)
            )
        else:
            half = columns[end] - at
            wide = at + sign * (np.sqrt(half**2 + z**2 * (grown + moved.se**2)) + plain)
        if fit.settings.method == "counts":
            wide = np.maximum(wide, 0.0)
        columns[end] = np.where(free, columns[end], wide)
    return columns


def _on_biased(fit: Fit, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """By what a shift is multiplied (m,): if the bias made it, the biased rows alone have all of it."""
    details = fit.method_fit.details
    if details.claim or details.by_validation:
        return np.ones_like(p)
    slopes = log_odds_of(x, p, np.ones_like(p), pull=2.0 / len(p))
    return np.maximum(p / np.maximum(expit(with_squares(x) @ slopes), LEAST_SHARE), 1.0)


def _constant(fit: Fit, table: pd.DataFrame) -> list[str]:
    """What to say of columns in which the fitted rows were all alike, and these are not like them."""
    notes = []
    before = {column.name: column for column in fit.rows.environment}
    for name in fit.encoder.dropped:
        if name not in table.columns or name not in before:
            continue
        was, column = before[name], read_column(table[name], name)
        if was.levels is not None:
            codes, levels = column.as_levels()
            value, others = (
                was.levels[0],
                sorted({levels[code] for code in codes if code >= 0} - {was.levels[0]}),
            )
        else:
            numbers = column.as_numbers()
            if numbers is None:
                raise TableError(f"column {shown(name)} held numbers when the model was fitted: convert it")
            value = f"{was.values[0]:g}"
            others = [
                f"{other:g}" for other in np.unique(numbers[np.isfinite(numbers)]) if other != was.values[0]
            ]
        if others:
            notes.append(
                f"all fitted rows have {shown(name)} = {value}, and these rows have {listed(others)}: that "
                "they misreport alike, given the other columns, is your assumption; only truths can check it"
            )
    return notes


def _refuse_many(bad: np.ndarray, what: str) -> None:
    if bad.mean() > MOST_OUTSIDE:
        raise AnswerError(
            f"{counted(int(bad.sum()), 'row')} of {len(bad)} {what}, so there is nothing in the fit that an "
            "answer could rest on: leave those rows out, or fit rows like them"
        )


def _refuse_outside(lap: Overlap, names: np.ndarray) -> None:
    beyond = lap.column[lap.outside & (lap.column >= 0)]
    where = ""
    if len(beyond):
        where = f" (most often {shown(str(names[np.bincount(beyond).argmax()]))} is beyond the fitted values)"
    _refuse_many(lap.outside, f"lie where no fitted row is{where}")
    if lap.rows < LEAST_ROWS:
        raise AnswerError(
            f"only about {lap.rows:.0f} of the fitted rows are like these, and an answer needs "
            f"{LEAST_ROWS:.0f}: fit rows like them"
        )


def _notes(fit: Fit, lap: Overlap, moved: ReportShift, lacks: list[str], kept: np.ndarray) -> list[str]:
    """What a reader should know of the answer; nothing where the other rows are like the fitted ones."""
    notes = [fit.why_left_alone] if fit.why_left_alone else []
    if not kept.all():
        notes.append(
            f"{counted(int((~kept).sum()), 'row')} of {len(kept)} lie where no fitted row is, or have "
            "missing values: they have no answer"
        )
    if lacks:
        notes.append(
            f"this table has no {columns_named(lacks)}: drawn from fitted rows that are alike in the "
            "rest, the report among it; intervals hold what that leaves unknown"
        )
    if lap.rows < 0.5 * fit.training.n:
        notes.append(
            f"about {lap.rows:,.0f} of {fit.training.n:,} fitted rows are like these: the errors of the "
            "fit are taken to be those of so many"
        )
    if abs(moved.mean) > 2.6 * moved.mean_se:
        is_log = fit.settings.scale == "log"
        size = f"{np.exp(moved.mean):.3g} times" if is_log else f"{moved.mean:+.3g} from"
        notes.append(
            f"calibrated values of these rows lie {size} where those of the fitted rows put them, given the "
            "other columns: the truth or the bias is another, which reports alone cannot tell; intervals "
            "were widened by as much"
        )
    return notes
