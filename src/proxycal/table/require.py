"""What a fit needs of a table: whatever would make it impossible is refused here, with the column named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from proxycal.errors import SettingsError, TableError
from proxycal.table.checked import checked_of, rows_needed
from proxycal.table.columns import Column, code_hashables, read_column, read_plain
from proxycal.table.exposure import exposure_of
from proxycal.table.family import yes_no
from proxycal.table.frames import to_pandas
from proxycal.table.number_text import number_codes, number_text, two_readings
from proxycal.table.scale import varies
from proxycal.table.surface import choose, convert
from proxycal.table.trusted import trusted_of
from proxycal.table.wording import columns_named, counted, listed, rows_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from proxycal.table.roles import Roles

Missing = Literal["raise", "drop", "impute"]

# Outcome and weights keep their units and are raised to as much as the sixth power: 1e50**6 is a number.
LARGEST = 1e50
# A truth that differs from the report by more than this factor in nine rows of ten is in other units.
UNITS_FACTOR, UNITS_ROWS = 50.0, 5


@dataclass(frozen=True, slots=True)
class ReadTable:
    """The columns of a table that have a role, read; `cluster` holds (n,) codes where it was asked for.

    Where a truth has several `reports` (n, R), the outcome is the first that was made.
    """

    columns: dict[str, Column]
    index: pd.Index
    cluster: NDArray[np.int64] | None = None
    reports: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.index)


def require(frame: Any, roles: Roles, missing: Missing = "raise") -> None:
    """Raise a TableError if no fit is possible; say the column, the rows and the remedy.

    A fit needs at least max(20, 2 * (p + q)) usable rows for p + q encoded proxy and environment columns.

    >>> import pandas as pd
    >>> from proxycal.table.roles import Roles
    >>> table = pd.DataFrame({"y": range(40), "p": range(40), "e": [None] + [1, 2, 3] * 13})
    >>> require(table, Roles("y", ["p"], ["e"]))
    Traceback (most recent call last):
        ...
    proxycal.errors.TableError: column 'e' holds 1 missing value, at index 0: pass missing='drop' or 'impute'
    """
    # Loaded here: it reads columns as this module does.
    from proxycal.table.reports import with_reports

    table = with_reports(read_table(frame, roles.columns, roles.cluster, skip=(roles.id,)), roles)
    refuse_empty(table, roles)
    require_read(table, roles, rows_kept(table, roles, missing))


def read_table(
    frame: Any, names: Sequence[str], cluster: str | None = None, skip: Iterable[str | None] = ()
) -> ReadTable:
    """Read the named columns; `cluster` becomes codes, columns in `skip` must exist but are not read."""
    data = to_pandas(frame, names)
    left = {cluster, *skip}
    read = [name for name in names if name not in left]
    plain = read_plain(data, read)
    columns = {name: plain[name] if name in plain else read_column(data[name], name) for name in read}
    codes = None
    if cluster is not None:
        codes, _ = code_hashables(data[cluster], cluster)
        if (gone := codes < 0).any():
            raise TableError(
                f"column {shown(cluster)} (cluster) holds {counted(int(gone.sum()), 'missing value')}, "
                f"{rows_of(gone, data.index)}: give every row a cluster or remove those rows"
            )
    return ReadTable(columns, data.index, codes)


def rows_kept(table: ReadTable, roles: Roles, missing: Missing, outcome: bool = True) -> NDArray[np.bool_]:
    """(N,) mask of the rows that can be used; raises where `missing` does not allow the gaps there are.

    The outcome is never imputed, and neither weights nor clusters are ever guessed or dropped.
    """
    if missing not in get_args(Missing):
        raise SettingsError(f"missing={missing!r} is not known: use 'raise', 'drop' or 'impute'")
    refuse_infinite(table)
    covariates = [name for name in (*roles.proxies, *roles.environment) if name in table.columns]
    measured = [roles.outcome, *covariates] if outcome else covariates
    gaps = [name for name in measured if table.columns[name].missing.any()]
    if missing == "raise" and gaps:
        more = f" (also {columns_named(gaps[1:])})" if len(gaps) > 1 else ""
        raise TableError(f"{_gap(table, gaps[0])}{more}: {choose('missing', 'drop', 'impute')}")
    if missing == "impute" and outcome and roles.outcome in gaps:
        raise TableError(
            f"{_gap(table, roles.outcome)}, and the outcome is never imputed: "
            f"{choose('missing', 'drop')} or remove those rows"
        )
    if missing != "drop":
        return np.ones(table.n, dtype=bool)
    kept = ~np.any([table.columns[name].missing for name in measured], axis=0)
    if not kept.any():
        worst = max(gaps, key=lambda name: int(table.columns[name].missing.sum()))
        raise TableError(
            f"every one of the {table.n} rows has a missing value; {_gap(table, worst)}: "
            f"leave that column out or {choose('missing', 'impute')}"
        )
    return np.asarray(kept)


def refuse_empty(table: ReadTable, roles: Roles) -> None:
    """Raise where a column to learn from holds no value at all."""
    names = (*roles.report_names, *roles.proxies, *roles.environment)
    empty = [name for name in names if table.columns[name].missing.all()]
    if empty:
        raise TableError(
            f"{columns_named(empty)}: every value is missing; fill it or remove it from the roles"
        )


def refuse_infinite(table: ReadTable) -> None:
    """Raise for the first column that holds an infinite number."""
    for name, column in table.columns.items():
        if column.numbers is not None and (bad := np.isinf(column.numbers)).any():
            raise TableError(
                f"column {shown(name)} holds {counted(int(bad.sum()), 'infinite value')}, "
                f"{rows_of(bad, table.index)}: correct them or replace them with missing values"
            )


def require_read(table: ReadTable, roles: Roles, kept: NDArray[np.bool_]) -> None:
    """The checks of `require` on a table already read, over the kept rows."""
    y = outcome_of(table, roles)
    if not varies(y[kept]):
        raise TableError(
            f"column {shown(roles.outcome)} (outcome) is constant ({y[kept][0]:g} in all {int(kept.sum())} "
            "rows): there is nothing to calibrate; check that it is the right column"
        )
    if np.ptp(y[kept]) < 1 / LARGEST:
        raise TableError(
            f"column {shown(roles.outcome)} (outcome) varies by less than {1 / LARGEST:g}: "
            "multiply it by a power of ten"
        )
    if table.cluster is not None and np.ptp(table.cluster[kept]) == 0:
        raise TableError(
            f"column {shown(str(roles.cluster))} (cluster) has one value in all {int(kept.sum())} rows: "
            "errors by cluster need two or more; name the column that tells them apart, or leave the role out"
        )
    weights_of(table, roles)
    counts_of(table, roles)
    refuse_other_units(table, roles)
    inclusion_of(table, roles)
    trusted_of(table, roles)
    exposure_of(table, roles)
    checked_of(table, roles)
    for name in roles.proxies:
        _refuse_number_text(table.columns[name], "proxy")
    width, widest = 0, ("", 0)
    for role, names in (("proxies", roles.proxies), ("environment", roles.environment)):
        widths = [_usable_width(table.columns[name], kept) for name in names]
        widest = max([widest, *zip(names, widths, strict=True)], key=lambda pair: pair[1])
        if names and not any(widths):
            why = "say nothing about the content" if role == "proxies" else "cannot drive a bias"
            raise TableError(
                f"{columns_named(list(names))} ({role}): constant in all {int(kept.sum())} rows, they {why}"
                ": declare at least one column that varies"
            )
        width += sum(widths)
    need, n = rows_needed(width, roles), int(kept.sum())
    if n < need:
        dropped = f" after dropping {counted(table.n - n, 'row')} with missing values" if n < table.n else ""
        raise TableError(
            f"the table has {counted(n, 'usable row')}{dropped}, but a fit on {width} proxy and environment "
            f"columns needs at least {need}: {fewer_columns(*widest, width)}"
        )


def outcome_of(table: ReadTable, roles: Roles) -> NDArray[np.float64]:
    """(N,) the outcome in raw units, NaN where missing."""
    values = measured(table.columns[roles.outcome], "outcome")
    refuse_huge(values, roles.outcome, "outcome", table.index)
    return values


def refuse_negative(table: ReadTable, roles: Roles) -> None:
    """Raise where an outcome, or a validated truth, of the log scale is below 0."""
    for name, role in ((roles.outcome, "outcome"), (roles.truth, "truth")):
        if name is None or name not in table.columns:
            continue
        values = measured(table.columns[name], role)
        if (bad := values < 0.0).any():
            raise TableError(
                f"column {shown(name)} ({role}) holds {counted(int(bad.sum()), 'negative value')}, "
                f"{rows_of(bad, table.index)}, and a bias that is a factor needs 0 or more: correct them or "
                f"leave those rows out, or {choose('scale', 'linear')}"
            )


def refuse_other_proxies(log_proxies: Iterable[str], roles: Roles) -> None:
    """Raise where the logarithm is asked of a column that is no proxy."""
    for name in log_proxies:
        if name not in roles.proxies:
            raise SettingsError(
                f"log_proxies names {shown(name)}, which is no proxy: it can be any of "
                f"{listed(roles.proxies, limit=8)}"
            )


def weights_of(table: ReadTable, roles: Roles) -> NDArray[np.float64]:
    """(N,) the weights as given, ones where the table has none; finite and above 0 or an error."""
    if roles.weights is None or roles.weights not in table.columns:
        return np.ones(table.n)
    values = _numeric(table.columns[roles.weights], "weights")
    for bad, what in ((np.isnan(values), "missing value"), (values <= 0, "zero or negative value")):
        if bad.any():
            raise TableError(
                f"column {shown(roles.weights)} (weights) holds {counted(int(bad.sum()), what)}, "
                f"{rows_of(bad, table.index)}: a weight must be above 0; correct or remove those rows"
            )
    refuse_huge(values, roles.weights, "weights", table.index)
    if (tiny := values < 1 / LARGEST).any():
        raise TableError(
            f"column {shown(roles.weights)} (weights) falls below {1 / LARGEST:g}, "
            f"{rows_of(tiny, table.index)}: rescale the weights"
        )
    return values


def counts_of(table: ReadTable, roles: Roles) -> NDArray[np.float64]:
    """(N,) how many rows each stands for, ones where the table does not say; whole numbers or an error."""
    if roles.counts is None or roles.counts not in table.columns:
        return np.ones(table.n)
    return checked_counts(_numeric(table.columns[roles.counts], "counts"), roles.counts, table.index)


def checked_counts(values: NDArray[np.float64], name: str, index: pd.Index) -> NDArray[np.float64]:
    """The values of a column of counts (N,); TableError where one is no whole number of at least 1."""
    if (bad := no_counts(values)).any():
        raise TableError(
            f"column {shown(name)} (counts) holds {counted(int(bad.sum()), 'value')} that cannot be a number "
            f"of rows, {rows_of(bad, index)}: a count is a whole number of at least 1; correct or remove "
            "those rows, or give a column of sampling weights the role weights"
        )
    refuse_huge(values, name, "counts", index)
    return values


def no_counts(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values (N,) are no whole numbers of at least 1.

    >>> no_counts(np.array([1.0, 2.5, 0.0, np.nan])).tolist()
    [False, True, True, True]
    """
    return ~(np.isfinite(values) & (values >= 1.0) & (values == np.round(values)))


def truth_of(table: ReadTable, roles: Roles) -> NDArray[np.float64] | None:
    """(N,) the validated values, NaN elsewhere; None where the table has no such column."""
    if roles.truth is None or roles.truth not in table.columns:
        return None
    # Words are read where the outcome has words for yes and no as well.
    words = yes_no(table.columns[roles.outcome]) if roles.outcome in table.columns else None
    read = _numeric if words is None else measured
    values = read(table.columns[roles.truth], "truth")
    refuse_huge(values, roles.truth, "truth", table.index)
    return values


def refuse_other_units(table: ReadTable, roles: Roles) -> None:
    """Raise where the validated truths are plainly in other units than the outcome."""
    truth = truth_of(table, roles)
    times = None if truth is None else other_units(outcome_of(table, roles), truth)
    if times is not None:
        raise TableError(
            f"column {shown(roles.truth)} (truth) is about {times:,.4g} times column "
            f"{shown(roles.outcome)} in "
            "validated rows, as if it were in other units: convert one of them"
        )


def other_units(outcome: NDArray[np.float64], truth: NDArray[np.float64]) -> float | None:
    """By what the validated truths exceed the outcome, where that is no bias but another unit; else None.

    Nearly all validated rows must differ by more than UNITS_FACTOR in the same way.

    >>> y = np.linspace(1.0, 2.0, 50)
    >>> other_units(y, 1000.0 * y), other_units(y, 1.5 * y)
    (1000.0, None)
    """
    used = np.isfinite(truth) & np.isfinite(outcome) & (truth != 0.0) & (outcome != 0.0)
    if used.sum() < UNITS_ROWS:
        return None
    ratio = np.abs(truth[used] / outcome[used])
    low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
    return float(middle) if low > UNITS_FACTOR or high < 1.0 / UNITS_FACTOR else None


def inclusion_of(table: ReadTable, roles: Roles) -> NDArray[np.float64] | None:
    """(N,) the probability that each validated row was chosen, NaN elsewhere; None without such a column."""
    if roles.inclusion is None or roles.inclusion not in table.columns:
        return None
    values = _numeric(table.columns[roles.inclusion], "inclusion")
    truth = truth_of(table, roles)
    known = np.zeros(table.n, dtype=bool) if truth is None else np.isfinite(truth)
    for bad, what in (
        (known & np.isnan(values), "missing value of a validated row"),
        (known & ~((values > 0.0) & (values <= 1.0)) & ~np.isnan(values), "value outside 0 to 1"),
    ):
        if bad.any():
            raise TableError(
                f"column {shown(roles.inclusion)} (inclusion) holds {counted(int(bad.sum()), what)}, "
                f"{rows_of(bad, table.index)}: give each validated row the probability with which the audit "
                "chose it, or leave the role out if the rows were chosen at random"
            )
    return np.where(known, values, np.nan)


def _gap(table: ReadTable, name: str) -> str:
    gone = table.columns[name].missing
    count = counted(int(gone.sum()), "missing value")
    return f"column {shown(name)} holds {count}, {rows_of(gone, table.index)}"


def measured(column: Column, role: str) -> NDArray[np.float64]:
    """Numbers (N,), or yes and no as 1 and 0; TableError where a column has neither."""
    words = yes_no(column)
    return _numeric(column, role) if words is None else words


def _numeric(column: Column, role: str) -> NDArray[np.float64]:
    _refuse_number_text(column, role)
    if column.numbers is None:
        what = {"boolean": "True/False", "text": "text", "category": "categories"}[column.kind]
        remedy = (
            "write it as 0 and 1 if it is a measurement"
            if column.kind == "boolean"
            else "choose a numeric column or convert it"
        )
        raise TableError(
            f"column {shown(column.name)} ({role}) must be numeric but holds {what} "
            f"({listed(column.levels)}): {remedy}"
        )
    return column.numbers


def _refuse_number_text(column: Column, role: str) -> None:
    """Text most of which reads like numbers was meant as numbers: never make categories of it."""
    if number_text(column):
        alike = column.looks_numeric()
        others = [level for level in column.levels if level not in set(alike)]
        beside = f" beside {listed(others)}" if others else ""
        remedy = two_readings(column) or (
            f"{convert()}, after removing thousands separators, currency signs and codes for missing values"
        )
        raise TableError(
            f"column {shown(column.name)} ({role}) holds numbers written as text "
            f"({listed(alike)}{beside}): {remedy}"
        )


def refuse_huge(values: NDArray[np.float64], name: str, role: str, index: pd.Index) -> None:
    """Raise where values are too large to be squared."""
    if (huge := np.abs(values) > LARGEST).any():
        raise TableError(
            f"column {shown(name)} ({role}) reaches {np.nanmax(np.abs(values)):g}, {rows_of(huge, index)}, "
            f"too large to square: correct it or divide the column so that it stays below {LARGEST:g}"
        )


def encoded_width(column: Column, rows: NDArray[np.bool_]) -> int:
    """How many encoded columns these rows of it become: 0 if it is constant."""
    if column.numbers is not None:
        present = column.numbers[rows & np.isfinite(column.numbers)]
        return int(varies(present)) + int(column.missing[rows].any())
    assert column.codes is not None
    return max(len(np.unique(column.codes[rows])) - 1, 0)


def fewer_columns(name: str, levels: int, width: int) -> str:
    """What to do where rows are too few for `width` columns, of which one category makes so many.

    >>> fewer_columns("income", 1, 12)
    'add rows or use fewer columns'
    >>> fewer_columns("county", 59, 61)
    "column 'county' makes 59 of them: group its levels or leave it out (what names the rows has the role id)"
    """
    if levels <= width / 2 or levels < 2:
        return "add rows or use fewer columns"
    return (
        f"column {shown(name)} makes {levels} of them: group its levels or leave it out (what names the rows "
        "has the role id)"
    )


def _usable_width(column: Column, kept: NDArray[np.bool_]) -> int:
    if number_codes(column):
        raise TableError(
            f"column {shown(column.name)} has {len(column.levels)} levels, {len(column.looks_numeric())} of "
            f"which read like numbers, such as {listed(column.levels)}: {convert()}, or leave the column out "
            "(a column that names the rows has the role id)"
        )
    return encoded_width(column, kept)
